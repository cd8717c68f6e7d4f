"""Shudler and others 2015: verdicts on the growth of MPI and of MAFIA. Main entry: `paper`."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.validation.papers.rows import Gap, Paper, Row, off

from commmodel.scaling import Growth, Model, judge, largest_scale, parse_growth, parse_rule
from commmodel.scaling.rules import class_violation
from commmodel.scaling.search_space import case_study_space, search_space, ticks
from commmodel.scaling.verdict import divergence, published_verdict, rank

__all__ = ["paper"]

TABLES = Path(__file__).parents[3] / "tests" / "oracles" / "scaling.toml"
"""All cells as printed, with the paper's words for its verdicts."""
PLACES = {"runtime": "Table 2", "memory": "Table 3", "mafia": "Table 4"}
SCALES = {
    "runtime": [2**exponent for exponent in range(7, 14)],
    "memory": [2**exponent for exponent in range(7, 14)],
    "mafia": list(range(3, 17)),
}
"""Of the data that are made of the models: 128 to 8,192 processes; k = 3 to 16, as the paper has it."""
NOISE, LAUNCHES, SEED = 0.02, 10, 1


def verdicts(tables: dict[str, Any]) -> Iterator[Row]:
    """Yield how many verdicts and divergences come out as printed."""
    for table, place in PLACES.items():
        entry = tables[table]
        deviation = parse_growth(entry["deviation"])
        cells = [(row, column) for row in entry["rows"] for column in range(len(row["models"]))]
        matches = [
            rank(parse_growth(row["models"][column]), parse_growth(row["expect"]), deviation) == row["verdicts"][column]
            for row, column in cells
        ]
        divergences = [
            divergence(parse_growth(row["models"][column]), parse_growth(row["expect"]))
            == parse_growth(row["divergence"][column])
            for row, column in cells
        ]
        yield Row(
            place,
            "verdicts from the printed models, and divergences",
            f"{len(cells)}, {len(cells)}",
            f"{sum(matches)}, {sum(divergences)}",
            "the same" if all(matches) and all(divergences) else "differs",
            "`commmodel check`, `scaling.verdict`",
        )
    memory = tables["memory"]
    poor = [
        f"{row['name']} on {name}"
        for row in memory["rows"]
        for column, name in enumerate(tables["machines"])
        if published_verdict(
            parse_growth(row["models"][column]),
            row["adjusted_r2"][column],
            parse_growth(row["expect"]),
            parse_growth(memory["deviation"]),
        )
        == "uncertain"
    ]
    yield Row(
        "Table 3",
        "cells whose fit is too poor for a verdict",
        "none: a match with an adjusted R² of 0.23",
        ", ".join(poor),
        "on purpose",
        "`commmodel check`",
    )


def made_models(tables: dict[str, Any]) -> Iterator[Row]:
    """Yield how often the class of a printed model is found in data made of it."""
    random = np.random.default_rng(SEED)
    for table, place in PLACES.items():
        entry, misses = tables[table], []
        cells = [(row, column) for row in entry["rows"] for column in range(len(row["models"]))]
        for row, column in cells:
            growth, scales = parse_growth(row["models"][column]), np.array(SCALES[table], float)
            clean = 1 + growth(scales) / growth(scales[:1])
            values = clean[:, None] * np.exp(NOISE * random.normal(size=(scales.size, LAUNCHES)))
            result = judge(
                scales,
                list(values),
                parse_growth(row["expect"]),
                parse_growth(entry["deviation"]),
                over="k" if table == "mafia" else "p",
            )
            if result.verdict != row["verdicts"][column]:
                name = tables["machines"][column] if len(row["models"]) > 1 else "MAFIA"
                misses.append(f"{row['name']} on {name}: {result.verdict}")
        yield Row(
            place,
            f"verdicts on data made of the printed models, {NOISE:.0%} noise, {LAUNCHES} launches",
            str(len(cells)),
            str(len(cells) - len(misses)),
            "; ".join(misses) or "the same",
            "`scaling.judge`",
        )


def rules(tables: dict[str, Any]) -> Iterator[Row]:
    """Yield which guidelines the printed models break."""
    broken = [
        [rule, name]
        for rule in tables["rules"]["rules"]
        for column, name in enumerate(tables["machines"])
        if class_violation(
            parse_rule(rule), {row["name"]: parse_growth(row["models"][column]) for row in tables["runtime"]["rows"]}
        )
    ]
    yield Row(
        "Table 2, guidelines",
        "rules that the models break",
        "allreduce <= reduce + bcast on Piz Daint",
        "; ".join(f"{rule} on {name}" for rule, name in broken),
        "the second follows from the printed models, and is not marked there",
        "`commmodel check`",
    )


def spaces_and_wall(tables: dict[str, Any]) -> Iterator[Row]:
    """Yield the sizes of search spaces and the memory wall."""
    linear = parse_growth("p")
    sizes = len(ticks(linear)), len(search_space(linear)), len(case_study_space())
    yield Row(
        "Sections 2.3, 3.3",
        "ticks and terms for p, terms of the case study",
        "9, 17, 26",
        ", ".join(map(str, sizes)),
        "the same" if sizes == (9, 17, 26) else "differs",
        "`scaling.search_space`",
    )
    wall = tables["memory_wall"]
    model = Model(wall["constant"], wall["coefficient"], Growth(power=1))
    on_node = wall["processes_on_a_node"]
    needed = on_node * float(model(wall["processes"]))
    yield Row(
        "Section 4.2, Figure 2i",
        "memory of a node of Juropa with 8,192 processes",
        "35 GB",
        f"{needed / 1e9:.1f} GB",
        off(needed, 35e9),
        "`commmodel check --memory`",
    )
    most = largest_scale(model, wall["node_memory"], processes=on_node)
    yield Row(
        "Section 4.2, Figure 2i",
        "the most processes whose memory fits into 24 GB",
        "fewer than 8,192",
        f"{most:,.0f}",
        "holds" if most < wall["processes"] else "fails",
        "`scaling.largest_scale`",
    )


def paper() -> Paper:
    """Return the rows and gaps."""
    tables = tomllib.loads(TABLES.read_text("utf-8"))
    gaps = [
        Gap("Table 1", "a description of three machines, all gone", "none"),
        Gap("Figure 1", "the workflow, without numbers", "`commmodel check`, `sweep`, the pytest plugin"),
        Gap(
            "Figure 2, Tables 2, 3, measured",
            "the measurements are drawn, the models' coefficients are not printed for times",
            "the same tables for your machine: `mpiexec -n 64 python -m commmodel.bench collective memory "
            "--process-counts 2:all`, `commmodel check mpi`",
        ),
        Gap(
            "Table 4, measured",
            "times of Juropa, which is gone, are not printed",
            'your own functions: `@pytest.mark.scales("k^3 2^k", over="k")`',
        ),
    ]
    rows = [*verdicts(tables), *made_models(tables), *rules(tables), *spaces_and_wall(tables)]
    return Paper("Shudler and others 2015: scaling expectations", rows, gaps)
