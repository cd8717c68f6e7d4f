"""Units: what people write is read exactly, what is shown can be read back, nonsense is refused."""

import contextlib
import math
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commmodel import units
from commmodel.errors import InputError

WRITTEN = [
    (units.parse_size, "0", 0),
    (units.parse_size, "8", 8),
    (units.parse_size, "8B", 8),
    (units.parse_size, " 64 KiB ", 65536),
    (units.parse_size, "64kB", 64000),
    (units.parse_size, "0.5KiB", 512),
    (units.parse_size, "1.5GB", 1_500_000_000),
    (units.parse_size, "1e3", 1000),
    (units.parse_size, "2TiB", 2**41),
    (units.parse_time, "60", 60.0),
    (units.parse_time, "3ms", 3e-3),
    (units.parse_time, "2.5us", 2.5e-6),
    (units.parse_time, "2.5µs", 2.5e-6),  # the micro sign
    (units.parse_time, "2.5μs", 2.5e-6),  # the Greek letter
    (units.parse_time, ".7ns", 7e-10),
    (units.parse_time, "1.5min", 90.0),
    (units.parse_time, "2h", 7200.0),
    (units.parse_rate, "5.5GB/s", 5.5e9),
    (units.parse_rate, "800MiB/s", 800.0 * 2**20),
    (units.parse_rate, "5.5e9", 5.5e9),
    (units.parse_fraction, "2%", 0.02),
    (units.parse_fraction, "0.02", 0.02),
    (units.parse_sizes, "4", (4,)),
    (units.parse_sizes, "1:1KiB:*4", (1, 4, 16, 64, 256, 1024)),
    (units.parse_sizes, "1:10", (1, 2, 4, 8)),
    (units.parse_sizes, "8,1:4,2, 8B", (1, 2, 4, 8)),
    (units.parse_sizes, "0:24:+8", (0, 8, 16, 24)),
    (units.parse_counts, "1:3,8", (1, 2, 3, 8)),
    (units.parse_counts, "1:16:*4", (1, 4, 16)),
]

REFUSED = [
    (units.parse_size, "", "is no size"),
    (units.parse_size, "big", "is no size"),
    (units.parse_size, "0x10", "is no size"),
    (units.parse_size, "1 2", "is no size"),
    (units.parse_size, "nan", "is no size"),
    (units.parse_size, "64K", "unknown unit 'K'"),
    (units.parse_size, "64kb", "unknown unit 'kb'"),
    (units.parse_size, "4us", "unknown unit 'us'"),
    (units.parse_size, "1.5", "whole number of bytes"),
    (units.parse_size, "0.1KiB", "whole number of bytes"),
    (units.parse_size, "8388608TiB", "below 8 EiB"),
    (units.parse_size, "-1", "not negative"),
    (units.parse_size, "9" * 5000, "must be finite"),
    (units.parse_size, "8\n9", "is no size"),
    (units.parse_size, "1_000", "is no size"),
    (units.parse_size, "\u0663", "is no size"),
    (units.parse_time, "1\u00b2s", "unknown unit"),
    (units.parse_number, "1_0", "is no number"),
    (units.parse_number, "\u0663", "is no number"),
    (units.parse_number, "inf", "is no number"),
    (units.parse_number, "1e999", "is no number"),
    (units.parse_number, "5us", "is no number"),
    (units.parse_whole, "\u0663", "no whole number"),
    (units.parse_whole, "1_0", "no whole number"),
    (units.parse_whole, "1.0", "no whole number"),
    (units.parse_whole, "9" * 5000, "no whole number"),
    (units.parse_counts, "\u0663", "is no count"),
    (units.parse_time, "5m", "unknown unit 'm'"),
    (units.parse_time, "5GB/s", "unknown unit 'GB/s'"),
    (units.parse_time, "-3ms", "not negative"),
    (units.parse_time, "1e999", "must be finite"),
    (units.parse_time, "1e99999999999999h", "must be finite"),
    (units.parse_time, "1e999999999999999999999999", "must be finite"),
    (units.parse_rate, "5GB", "unknown unit 'GB'"),
    (units.parse_rate, "5Gbit", "unknown unit 'Gbit'"),
    (units.parse_fraction, "%", "is no share"),
    (units.parse_fraction, "10", "'10' is 1000% as a share: write 10%, or 0.1"),
    (units.parse_sizes, "", "is no size"),
    (units.parse_sizes, "1,,2", "is no size"),
    (units.parse_sizes, "1:", "is no size"),
    (units.parse_sizes, "8:1", "ends before it begins"),
    (units.parse_sizes, "0:8", "write 0,1:8"),
    (units.parse_sizes, "1:8:2", "step of a range"),
    (units.parse_sizes, "1:8:*1", "step of a range"),
    (units.parse_sizes, "1:8:+0", "step of a range"),
    (units.parse_sizes, "1:8:*", "step of a range"),
    (units.parse_sizes, "1:2:*2:3", "FIRST:LAST"),
    (units.parse_sizes, "1:1GiB:+1", "more than 100000 values"),
    (units.parse_counts, "0", "begin at 1"),
    (units.parse_counts, "1.5", "is no count"),
    (units.parse_counts, "-2", "is no count"),
    (units.parse_counts, "4KiB", "is no count"),
    (units.parse_counts, "9" * 5000, "is no count"),
]

SHOWN = [
    (units.format_size, (0,), "0 B"),
    (units.format_size, (1023,), "1023 B"),
    (units.format_size, (1024,), "1 KiB"),
    (units.format_size, (1536,), "1536 B"),
    (units.format_size, (2**40,), "1 TiB"),
    (units.format_size, (1_234_567,), "1.23 MB"),
    (units.format_time, (0.0,), "0 ns"),
    (units.format_time, (9.996e-7,), "1.00 us"),
    (units.format_time, (4e-6,), "4.00 us"),
    (units.format_time, (0.25,), "250 ms"),
    (units.format_time, (3600,), "3600 s"),
    (units.format_rate, (999.4,), "999 B/s"),
    (units.format_rate, (999_900.0,), "1.00 MB/s"),
    (units.format_quantity, (1.5e-10, "s/B"), "1.5e-10 s/B"),
    (units.format_quantity, (65536, "B"), "64 KiB"),
    (units.format_ratio, (0.0,), "0.0 %"),
    (units.format_ratio, (0.5,), "50 %"),
    (units.format_interval, (2e-6, 999e-9, 1.1e-3, "s"), "2.00 us [0.999, 1100]"),
    (units.format_interval, (2e-6, None, None, "s"), "2.00 us"),
]


@pytest.mark.parametrize(("parse", "text", "value"), WRITTEN)
def test_what_people_write_is_read_exactly(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(("parse", "text", "words"), REFUSED)
def test_nonsense_is_refused_in_one_line_that_says_why(parse, text, words):
    with pytest.raises(InputError) as caught:
        parse(text)
    message = str(caught.value)
    assert words in message
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(("show", "arguments", "text"), SHOWN)
def test_numbers_are_shown_in_the_unit_a_person_would_choose(show, arguments, text):
    assert show(*arguments) == text


@pytest.mark.parametrize(
    ("unit", "text", "value"),
    [
        ("s", "4us", 4e-6),
        ("B", "8KiB", 8192),
        ("B/s", "1GB/s", 1e9),
        ("s/B", "2e-10", 2e-10),
        ("s/B", "2e-10 s/B", 2e-10),
        ("flop/s", "1.2Gflop/s", 1.2e9),
        ("flop/s", "3e9 flop/s", 3e9),
    ],
)
def test_a_quantity_is_read_in_the_unit_it_must_have(unit, text, value):
    assert units.parse_quantity(text, unit) == value


def test_a_quantity_of_another_unit_is_refused():
    with pytest.raises(InputError, match="unknown unit 'GB' of a number of s/B"):
        units.parse_quantity("4GB", "s/B")


@given(st.integers(0, 2**53))
def test_any_whole_number_of_bytes_is_read_as_it_is_written(size):
    assert units.parse_size(str(size)) == size
    assert units.parse_size(f"{size}B") == size


# Of any magnitude, and often close to where the unit changes.
AMOUNTS = st.floats(1e-15, 1e15) | st.floats(0.9, 1.1).flatmap(
    lambda near: st.sampled_from([near * 10.0**power for power in range(-9, 13)])
)


@given(AMOUNTS)
def test_a_time_shown_is_read_back_within_three_digits(seconds):
    assert units.parse_time(units.format_time(seconds)) == pytest.approx(seconds, rel=5.01e-3)


@given(AMOUNTS)
def test_a_rate_shown_is_read_back_within_three_digits(rate):
    assert units.parse_rate(units.format_rate(rate)) == pytest.approx(rate, rel=5.01e-3)


@given(st.integers(0, 2**60) | st.integers(0, 40).map(lambda power: 3 * 2**power))
def test_a_size_shown_is_read_back_within_three_digits(size):
    read_back = units.parse_size(units.format_size(size))
    assert read_back == pytest.approx(size, rel=5.01e-3)
    assert size % 1024 or size == 0 or read_back == size  # whole KiB are shown exactly


@given(AMOUNTS, st.sampled_from(["s", "B/s", "s/B"]))
@example(9.995e-07, "s")  # was 0.999 us
@example(0.0009994999999999998, "s")  # was 1e+03 us
def test_showing_what_was_shown_changes_nothing(value, unit):
    once = units.format_quantity(value, unit)
    assert units.format_quantity(units.parse_quantity(once, unit), unit) == once


@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(1, 5000))
def test_a_range_that_adds_is_that_of_python(first, length, step):
    assert units.parse_sizes(f"{first}:{first + length}:+{step}") == tuple(range(first, first + length + 1, step))


@given(
    st.lists(
        st.integers(1, 10**6).map(str)
        | st.tuples(st.integers(1, 10**4), st.integers(0, 10**6), st.integers(2, 9)).map(
            lambda parts: f"{parts[0]}:{parts[0] + parts[1]}:*{parts[2]}"
        ),
        min_size=1,
        max_size=6,
    )
)
def test_lists_of_sizes_ascend_and_name_no_size_twice(parts):
    sizes = units.parse_sizes(",".join(parts))
    assert list(sizes) == sorted(set(sizes))
    assert {int(part.split(":")[0]) for part in parts} <= set(sizes)
    assert max(sizes) <= max(int(part.split(":*")[0].split(":")[-1]) for part in parts)
    assert units.parse_counts(",".join(parts)) == sizes


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused_and_never_anything_else(text):
    for parse in (
        units.parse_size,
        units.parse_time,
        units.parse_rate,
        units.parse_fraction,
        units.parse_counts,
    ):
        try:
            value = parse(text)
        except InputError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017  (both outcomes are right)
        else:
            assert parse is units.parse_counts or (value >= 0 and math.isfinite(value))


@pytest.mark.parametrize("rest", ["", "9" * 20, ".", " " * 20 + "x x", "e", "µ" * 20 + "9"])
@pytest.mark.parametrize("parse", [units.parse_size, units.parse_number, units.parse_whole])
def test_a_long_line_takes_time_in_proportion_to_its_length(parse, rest):
    def steps(length):
        text = ("9" * (length // 2) + " " * (length // 2)).strip() + rest * (length // 20)
        begin = time.process_time()
        with contextlib.suppress(InputError):
            parse(text)
        return time.process_time() - begin

    steps(1000)
    shorter = min(steps(20_000) for _ in range(3))
    assert steps(160_000) < 30 * max(shorter, 1e-3)  # the square would be 64 times, of some seconds
