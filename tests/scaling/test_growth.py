"""Classes of growth: what people write is read, what is printed is read again, and the order is that of large x."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commmodel.errors import InputError
from commmodel.scaling import Growth, parse_growth
from commmodel.scaling.growth import ONE, parse_product

EXPONENT = st.builds(Fraction, st.integers(-12, 12), st.integers(1, 12))
GROWTH = st.builds(Growth, EXPONENT, EXPONENT, EXPONENT)
NAME = st.sampled_from(["p", "k", "n", "message_size", "x_1", "O"])

WRITTEN = {
    "1": (0, 0, 0),
    "O(1)": (0, 0, 0),
    "log p": (1, 0, 0),
    "log2(p)": (1, 0, 0),
    "O(log₂ p)": (1, 0, 0),
    "p log^2 p": (2, 1, 0),
    "p*log(p)^2": (2, 1, 0),
    "p (log p)^2": (2, 1, 0),
    "log p · p": (1, 1, 0),
    "p^0.5": (0, "1/2", 0),
    "p^(1/3)": (0, "1/3", 0),
    "p^.25": (0, "1/4", 0),
    "N^2.8074": (0, "2.8074", 0),
    "sqrt(p)": (0, "1/2", 0),
    "√p log p": (1, "1/2", 0),
    "sqrt(p log p)": ("1/2", "1/2", 0),
    "p**2": (0, 2, 0),
    "p²": (0, 2, 0),
    "n log n": (1, 1, 0),
    "2^k": (0, 0, 1),
    "2^(k/2)": (0, 0, "1/2"),
    "2^(3k/2)": (0, 0, "3/2"),
    "2^(0.5 k)": (0, 0, "1/2"),
    "2^-k": (0, 0, -1),
    "4^k": (0, 0, 2),
    "k^3 2^k": (0, 3, 1),
    "k^3 * 2^k": (0, 3, 1),
    "1/p": (0, -1, 0),
    "p^-1": (0, -1, 0),
    "p^0.5 / log p": (-1, "1/2", 0),
    "1 / (p log p)": (-1, -1, 0),
    "p log p / p": (1, 0, 0),
}
WRONG = {
    "": "write 1 for a constant",
    "p +": "one term is asked for",
    "p + log p": "one term is asked for",
    "2p": "leave out the 2",
    "0.56 p": "leave out the 0.56",
    "p^1/2": "p^(1/2)",
    "2^k/2": "2^(k/2)",
    "2^10": "no coefficients",
    "3^k": "power of 2",
    "1^k": "power of 2",
    "k^k": "needs a number below it",
    "log p^2": "log^2 p",
    "log(p^2)": "log^2 p",
    "log log p": "logarithm of a logarithm",
    "log 2": "log p",
    "log": "log p",
    "nlogn": "n log n",
    "p^": "an exponent is missing",
    "p^(1/0)": "division by 0",
    "p^(": "an exponent is missing",
    "2^(k": "an exponent is a number",
    "2^(k k)": "an exponent is a number",
    "2^(1/k)": "an exponent is a number",
    "2^(k-1)": "an exponent is a number",
    "p^2000": "beyond 1000",
    "(p": "a ) is missing",
    "p)": "')' has no meaning",
    "p // 2": "a term is missing",
    "p !": "'!' has no meaning",
    "p\x00": "has no meaning",
    "n log p": "only one is asked for",
    "p " * 200: "longer than 200",
}


@pytest.mark.parametrize("text", WRITTEN)
def test_what_people_write_is_read(text):
    assert parse_growth(text) == Growth(*map(Fraction, WRITTEN[text]))


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_class_gets_one_line_with_the_mend(text):
    with pytest.raises(InputError) as caught:
        parse_growth(text)
    assert WRONG[text] in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="pkn 12.()^*/+-logsqrtO²√", max_size=30))
def test_any_text_is_read_or_refused(text):
    try:
        product = parse_product(text)
    except InputError:
        return
    for name, growth in product.items():
        assert parse_growth(growth.text(name)) == growth


@given(GROWTH, NAME)
def test_what_is_printed_is_read_again(growth, name):
    assert parse_growth(growth.text(name), over=name) == growth


def test_another_parameter_than_the_one_meant_is_refused():
    assert parse_growth("1", over="p") == ONE
    with pytest.raises(InputError, match="over n, not over p"):
        parse_growth("n", over="p")


@given(GROWTH, GROWTH)
def test_product_quotient_and_power_belong_together(left, right):
    assert left * right / right == left
    assert left / left == ONE == left**0
    assert (left * right) ** 2 == left**2 * right**2


@given(GROWTH, GROWTH)
def test_the_order_is_total_and_products_keep_it(left, right):
    assert (left < right) + (left == right) + (left > right) == 1
    assert (left < right) == (left / right < ONE)


def test_the_order_is_that_of_large_values():
    rising = [
        parse_growth(text)
        for text in ("1/p", "1/log p", "1", "log p", "log^3 p", "p^0.1", "p", "p log p", "p^3", "2^p")
    ]
    assert all(lower < higher for lower, higher in pairwise(rising))
    values = [
        float(growth(300.0)) for growth in rising if growth not in (parse_growth("log^3 p"), parse_growth("p^0.1"))
    ]
    assert values == sorted(values)


@given(GROWTH, st.floats(2, 30))
def test_values_are_the_formula(growth, x):
    expected = 2.0 ** (
        float(growth.log) * np.log2(np.log2(x)) + float(growth.power) * np.log2(x) + float(growth.exponential) * x
    )
    assert float(growth(x)) == pytest.approx(expected, rel=1e-9)


def test_too_large_a_value_is_infinite_and_warns_of_nothing():
    assert np.isinf(Growth(exponential=1)(2000.0))
    assert Growth(log=-1)(np.array([1.0, 2.0])).tolist() == [np.inf, 1.0]
