"""The plots of the report: every point and line where it belongs, and said in words."""

import math
import re
from collections import Counter
from functools import cache

import numpy as np
import pytest
from support.report_samples import (
    CLUSTER_PAIRS,
    CLUSTER_SIZES,
    FULL,
    LIMIT,
    SIZES,
    cluster,
    cluster_measurements,
    cluster_page,
    cluster_seconds,
    machine,
    measurements,
    parameter,
    quality,
    record,
    records,
    segment,
)
from support.whole_html import Balance

from commmodel.machine import Extended, LatencyAware, Limit, Machine, MaxRate, Parameter, Postal, Segment
from commmodel.report import page
from commmodel.report.kit.blocks import Plot
from commmodel.report.machine.error_map import error_maps
from commmodel.report.machine.model_curves import lines, prediction
from commmodel.report.machine.plots import draw
from commmodel.results.configurations import Stream


def series(svg: str) -> Counter[str]:
    """Return how many markers each series of measured points has."""
    groups = re.findall(r'<g id="[a-z-]*?-(measured-[^"]*)">(.*?</g>)', svg, re.DOTALL)
    return Counter({name: content.count("<use ") for name, content in groups})


@cache
def drawn_cluster() -> list[Plot]:
    return draw(cluster_measurements(), cluster())


def cells(svg: str) -> int:
    """Return how many cells of a map say what they are."""
    groups = re.findall(r'<g id="[a-z-]*?-cells-\d">(.*?)</g>', svg, re.DOTALL)
    return sum(group.count("<title>") for group in groups)


def test_every_plot_has_as_many_points_as_the_data() -> None:
    plots = {plot.key: plot for plot in draw(FULL, machine())}
    sized = len(SIZES) - 1  # 0 bytes have no place on a logarithmic axis
    maps = {"error-postal-same-node", "error-max-rate-same-node"}
    assert set(plots) == {"time", "bandwidth", "rate-same-node", "residuals-same-node"} | maps
    for key in maps:
        assert cells(plots[key].svg) == 3 * sized
        assert "Left out: 4 of 0 bytes" in plots[key].caption
    for key in ("time", "bandwidth"):
        assert series(plots[key].svg) == {"measured-same-node": 2 * sized}  # pingpong, and pairs of one
        assert "Left out: 2 of 0 bytes" in plots[key].caption
    for key in ("rate-same-node", "residuals-same-node"):
        assert series(plots[key].svg) == {
            "measured-same-node-1": 2 * sized, "measured-same-node-2": sized, "measured-same-node-8": sized
        }  # fmt: skip
        assert "Left out: 4 of 0 bytes" in plots[key].caption


def test_points_say_what_they_are() -> None:
    time = draw(FULL, None)[0]
    assert "<title>1 MiB, 1 pair: 53.9 us [53.5, 54.4], 19.4 GB/s</title>" in time.svg


def test_without_a_model_there_are_points_alone() -> None:
    plots = draw(FULL, None)
    assert [plot.key for plot in plots] == ["time", "bandwidth", "rate-same-node"]
    assert all("only the points are shown" in plot.caption for plot in plots)
    assert all("Lines:" not in plot.caption for plot in plots)


def test_one_pair_alone_is_said_to_be_all() -> None:
    plots = {plot.key: plot for plot in draw(measurements(records(pairs=(1,))), machine())}
    assert "Only one pair was measured" in plots["rate-same-node"].caption


def test_the_colours_of_a_plot_are_variables() -> None:
    for plot in draw(FULL, machine()):
        assert not re.search(r"(?<!, )#[0-9a-f]{6}", plot.svg)
        assert {f"#{name}" for name in re.findall(r"var\(--c-([0-9a-f]{6})", plot.svg)} <= set(plot.colours)


def test_model_lines_stop_where_their_segment_does() -> None:
    eager, rendezvous = lines(machine().segments, 1, 1 << 20, 1)
    assert (eager.message_size[0], eager.message_size[-1]) == (1, 8116)
    assert (rendezvous.message_size[0], rendezvous.message_size[-1]) == (8117, 1 << 20)


def test_the_band_holds_the_parameters_at_the_ends_of_their_intervals() -> None:
    (line,) = lines(machine().segments, 1, 8116, 1)
    assert line.fast is not None
    assert line.slow is not None
    assert line.fast[-1] == pytest.approx(0.95 * 0.75e-6 + 8116 / (1.05 * 3e9))
    assert line.slow[-1] == pytest.approx(1.05 * 0.75e-6 + 8116 / (0.95 * 3e9))


@pytest.mark.parametrize("alpha", [Parameter(0.0, "s", -1.0, 1e-9), Parameter(1e-6, "s", 0.0, math.inf)])
@pytest.mark.parametrize("R_C", [Parameter(math.inf, "B/s", 1e9, math.inf), Parameter(1e9, "B/s", 0.0, math.inf)])
def test_intervals_without_an_end_can_be_drawn(alpha: Parameter, R_C: Parameter) -> None:
    fitted = Machine("m", (Segment("all", "any", max_rate=MaxRate(alpha, R_C, R_C)),))
    Balance(page.render(FULL, fitted, "m"))


def test_a_model_of_one_pair_predicts_nothing_for_two() -> None:
    sizes = np.array([1.0, 8116.0, 8117.0])
    alone = segment("all", 1e-6, 1e9, None, "any", None)
    assert prediction([alone], sizes, 1) == pytest.approx(1e-6 + sizes / 1e9)
    assert np.isnan(prediction([alone], sizes, 2)).all()


def test_a_model_predicts_nothing_beyond_its_last_limit() -> None:
    ending = segment("eager", 1e-6, 1e9, None, "any", Limit(64))
    assert np.isfinite(prediction([ending], np.array([64.0, 65.0]), 1)).tolist() == [True, False]


# Several models


def only(**models: object) -> Segment:
    return Segment("all", "any", **models)  # type: ignore[arg-type]


def rate(value: float) -> Parameter:
    return parameter(value, "B/s")


ALPHA = parameter(2e-6, "s")
N = np.array([1.0, 4096.0, 1048576.0])


@pytest.mark.parametrize("pairs", [1, 3, 16])
@pytest.mark.parametrize("R_N", [12e9, math.inf])
@pytest.mark.parametrize("R_Ci", [0.0, 1.5e9])
def test_each_model_predicts_what_its_equation_says(pairs: int, R_N: float, R_Ci: float) -> None:
    extended = Extended(ALPHA, rate(5e9), rate(R_Ci), rate(R_N))
    aware = LatencyAware(ALPHA, rate(5e9), rate(R_N))
    plain = MaxRate(ALPHA, rate(5e9), rate(R_N))
    result = only(extended=extended, latency_aware=aware, max_rate=plain, one_way=plain)
    expected = {
        "extended": 2e-6 + pairs * N / min(R_N, 5e9 + (pairs - 1) * R_Ci),
        "latency-aware": np.maximum(pairs * N / R_N, 2e-6 + N / 5e9),
        "max-rate": 2e-6 + pairs * N / min(R_N, pairs * 5e9),
        "one-way": 2e-6 + pairs * N / min(R_N, pairs * 5e9),
    }
    for name, times in expected.items():
        assert prediction([result], N, pairs, name) == pytest.approx(times)


def test_the_recommended_model_draws_the_lines() -> None:
    models = {
        "postal": Postal(ALPHA, parameter(1 / 4e9, "s/B")),
        "max_rate": MaxRate(ALPHA, rate(5e9), rate(12e9)),
        "extended": Extended(ALPHA, rate(6e9), rate(1e9), rate(12e9)),
    }
    for name in ("postal", "max-rate", "extended"):
        advised = only(**models, recommended=name)
        assert prediction([advised], N, 1) == pytest.approx(prediction([advised], N, 1, name))
    assert prediction([only(**models)], N, 1) == pytest.approx(2e-6 + N / 6e9)
    by_hand = only(**models, recommended="no such model")
    assert prediction([by_hand], N, 1) == pytest.approx(2e-6 + N / 6e9)


def test_the_postal_model_speaks_for_several_pairs_where_several_were_measured() -> None:
    postal = Postal(ALPHA, parameter(1 / 4e9, "s/B"))
    unlimited = MaxRate(ALPHA, rate(4e9), Parameter(math.inf, "B/s", 20e9, math.inf))
    alone = MaxRate(ALPHA, rate(4e9), None)
    result = only(postal=postal, max_rate=unlimited, recommended="postal")
    assert prediction([result], N, 8) == pytest.approx(2e-6 + N / 4e9)
    assert np.isnan(prediction([only(postal=postal, max_rate=alone, recommended="postal")], N, 8)).all()


def test_paths_pairs_streams_and_models_each_have_their_plot() -> None:
    plots = {plot.key: plot for plot in drawn_cluster()}
    kinds = ("rate", "streams", "residuals", "error-postal", "error-max-rate", "error-recommended", "error-one-way")
    paths = ("same-socket", "same-node", "between-nodes")
    assert set(plots) == {"time", "bandwidth", *(f"{kind}-{path}" for kind in kinds for path in paths)}
    for path in paths:
        for kind in kinds[3:]:
            assert cells(plots[f"{kind}-{path}"].svg) == len(CLUSTER_SIZES) * len(CLUSTER_PAIRS)
        assert series(plots[f"streams-{path}"].svg) == {
            f"measured-{path}-{pairs}": len(CLUSTER_SIZES) for pairs in CLUSTER_PAIRS
        }
    assert "extended, recommended" in plots["error-recommended-same-node"].title
    assert plots["streams-same-node"].svg.count("R_N one way 27.8 GB/s") == 1
    assert plots["rate-same-node"].svg.count("R_N 50.0 GB/s") == 1


def test_a_map_names_its_largest_error_and_each_cell_its_own() -> None:
    (postal,) = (plot for plot in drawn_cluster() if plot.key == "error-postal-between-nodes")
    factors = {
        (size, pairs): (alpha + size / R_C) / cluster_seconds("between-nodes", size, pairs)
        for size in CLUSTER_SIZES
        for pairs in CLUSTER_PAIRS
        for alpha, R_C in [(1.3e-6, 2e9) if size <= LIMIT else (3.1e-6, 10e9)]
    }
    errors = {place: max(factor, 1 / factor) - 1 for place, factor in factors.items()}
    (size, pairs), worst = max(errors.items(), key=lambda item: item[1])
    assert (size >= 1 << 20, pairs) == (True, 16)
    assert f"The largest is {100 * worst:.0f} %, at {size >> 20} MiB with 16 pairs" in postal.caption
    assert f"{size >> 20} MiB, 16 pairs: {100 * worst:.0f} % off, measured" in postal.svg


def test_without_several_numbers_of_pairs_there_is_no_map() -> None:
    assert not any(plot.key.startswith("error") for plot in draw(measurements(records(pairs=(1,))), machine()))
    assert error_maps(None, None) == []


def test_a_map_is_of_one_model_only_once() -> None:
    advised = [Segment("all", "same-node", max_rate=MaxRate(ALPHA, rate(5e9), rate(12e9)), recommended="max-rate")]
    maps = [plot for plot in draw(FULL, Machine("m", tuple(advised))) if plot.key.startswith("error")]
    assert [plot.key for plot in maps] == ["error-max-rate-same-node"]
    assert maps[0].title.endswith("max-rate, recommended")


def test_a_map_has_the_same_colours_for_the_same_errors() -> None:
    fills = set()
    for plot in drawn_cluster():
        matches = re.findall(r'-cells-(\d)">(.*?)</g>', plot.svg, re.DOTALL)
        fills |= {(number, fill) for number, group in matches for fill in re.findall(r"fill: (var\([^)]*\))", group)}
    assert len(fills) == len({number for number, _ in fills}) > 3


def test_streams_alone_are_drawn_with_and_without_a_model() -> None:
    streams = measurements([record(Stream(size, 2, "same-node"), 1e-6 + size / 1e9) for size in SIZES])
    assert [plot.key for plot in draw(streams, None)] == ["streams-same-node"]
    plots = draw(streams, machine())
    assert [plot.key for plot in plots] == ["streams-same-node"]
    assert "only the points are shown" in plots[0].caption
    one_way = MaxRate(ALPHA, rate(1e9), None, quality())
    result = Machine("m", (Segment("all", "same-node", one_way=one_way),))
    assert "the one-way model" in draw(streams, result)[0].caption
    text = Balance(page.render(streams, result, "m")).text
    assert "every fit passed its checks" in text
    assert "one way" in text


@pytest.mark.slow
def test_every_colour_of_a_full_page_can_turn_dark() -> None:
    html = cluster_page()
    parsed = Balance(html)
    assert len(parsed.ids) == len(set(parsed.ids))
    used = set(re.findall(r"var\((--c-[0-9a-f]{6})", html))
    for declared in re.findall(r":root { (--c-[^}]*) }", html):
        assert used <= {part.split(":")[0].strip() for part in declared.split(";")}
    assert html == page.render(cluster_measurements(), cluster(), "cluster")
