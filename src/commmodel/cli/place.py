"""The verb ``place``: where the ranks of a program should be."""

import argparse
import os
from typing import Any, get_args

from commmodel.choices import ProgramModel
from commmodel.cli.pages import OutputPage
from commmodel.cli.parsers import add_output, add_processes, new_verb, number, tell, warn_of, whole
from commmodel.cli.simulate import one_model
from commmodel.cli.simulation import place_of


def add(verbs: Any) -> None:
    """Add the verb."""
    place = new_verb(
        verbs, "place", _run, "place the ranks of a program so that its traffic stays near: by simulation, never worse "
        "than in blocks", "commmodel place graphene recording -o placement", [one_model(get_args(ProgramModel))],
    )  # fmt: skip
    place.add_argument("where", metavar="WHERE", help="platform (file, or name from: commmodel list platforms)")
    place.add_argument(
        "traces", metavar="FROM",
        help="folder of a recording; traces, as of simulate replay; or a CSV file with sender,receiver,bytes",
    )  # fmt: skip
    add_processes(
        place, "number of MPI processes, of a CSV file or an extrapolated recording (default: its own)", whole(1)
    )
    place.add_argument(
        "-k", "--per-node", dest="per_node", metavar="K", type=whole(1),
        help="MPI processes of a node (default: one for each of its cores)",
    )  # fmt: skip
    place.add_argument(
        "--nodes", metavar="FILE", help="nodes of the allocation, a name on each line (default: the first of WHERE)"
    )
    place.add_argument(
        "--faster", metavar="FACTOR", type=number,
        help="how many times faster cores are than those of a recording or of traces in seconds (default: 1)",
    )  # fmt: skip
    place.add_argument(
        "--workers", metavar="N", type=whole(1, 4096), help="simulations side by side (default: one for each core)"
    )
    add_output(
        place,
        "folder for hostfile (Slurm), rankfile (Open MPI) and MPICH_RANK_ORDER, or page of all mappings (.html); they",
    )  # fmt: skip


def _run(arguments: argparse.Namespace) -> int:
    """Simulate the candidates, write the files of the best one, and print the table or JSON."""
    from commmodel import placement
    from commmodel.placement.files import refuse_existing
    from commmodel.simulate.scenario.preparation import host_names

    where = place_of(arguments, arguments.where)
    warn_of(where.machine)
    how = {name: getattr(arguments, name) for name in ("processes", "per_node", "faster")}
    nodes = None if arguments.nodes is None else host_names(arguments.nodes, (), "nodes")
    folder = None
    if arguments.output is not None and not arguments.output.lower().endswith(".html"):
        folder, arguments.output = arguments.output, None
        refuse_existing(folder, replace=arguments.force)
    page = OutputPage(arguments, "write_placement", [arguments.where, arguments.traces])
    workers = arguments.workers or len(os.sched_getaffinity(0))
    mapping = placement.map_ranks(arguments.traces, on=where, nodes=nodes, workers=workers, **how)
    paths = [] if folder is None else mapping.write(folder, replace=arguments.force)
    page.write(mapping)

    def blocks() -> list[Any]:
        from commmodel.report.kit.tables import text
        from commmodel.report.simulation.placements import mapping_lines, mapping_table

        title = text(f"{mapping.title}, {mapping.platform.name}", "bold")
        return [title, mapping_table(mapping), *map(text, mapping_lines(mapping))]

    page.answer(lambda: mapping.as_json() | ({} if folder is None else {"output": folder}), blocks)
    for path in () if arguments.json else paths:
        print(f"written to {path}")
    tell("note", mapping.notes)
    return page.code
