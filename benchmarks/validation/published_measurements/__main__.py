"""What others measured, predicted and simulated: ``python -m benchmarks.validation.published_measurements FOLDER``.

FOLDER holds clones of public repositories, which do not come with commmodel: bienz2/BlueWatersModel, bienz2/BenchPress
and Ezibenroc/platform-calibration of GitHub. Of each set of measurements the point-to-point part is fitted, and the
rest predicted or simulated: exchanges of multigrid on Blue Waters, paths and alltoalls of Summit and Lassen, load tests
of clusters. A repository that is not there is left out.
"""

import argparse
from pathlib import Path

from benchmarks.validation.published_measurements import blue_waters, calibrated_clusters, gpu_memory, summit
from benchmarks.validation.published_measurements.rows import detail, summary
from rich.console import Console

SOURCES = {
    "platform-calibration": calibrated_clusters.rows,
    "BlueWatersModel": blue_waters.rows,
    "BenchPress": summit.rows,
}
"""Name of a repository -> its rows."""


def main() -> None:
    """Predict, simulate and print."""
    parser = argparse.ArgumentParser(description="Errors on what others measured and published.")
    parser.add_argument("folder", type=Path, help="of the repositories")
    parser.add_argument("--sources", default=",".join(SOURCES), help="repositories (all)")
    parser.add_argument("--rows", action="store_true", help="all rows, beside the summary")
    arguments = parser.parse_args()
    names = arguments.sources.split(",")
    if unknown := set(names) - set(SOURCES):
        parser.error(f"--sources {', '.join(sorted(unknown))}: choose from {', '.join(SOURCES)}")
    missing = [name for name in names if not (arguments.folder / name).is_dir()]
    for name in missing:
        print(f"{name} is not in {arguments.folder}: left out")
    if len(missing) == len(names):
        raise SystemExit(2)
    console = Console(width=150)
    rows = [row for name in names if name not in missing for row in SOURCES[name](arguments.folder / name)]
    if arguments.rows:
        for table in detail(rows):
            console.print(table)
    console.print(summary(rows))
    if "BenchPress" in names and "BenchPress" not in missing:
        of_gpus = [*gpu_memory.rows(arguments.folder / "BenchPress")]
        if arguments.rows:
            for table in detail(of_gpus):
                console.print(table)
        console.print(summary(of_gpus), gpu_memory.within(of_gpus))
        console.print(gpu_memory.choice_table([*gpu_memory.choices(arguments.folder / "BenchPress")]))


if __name__ == "__main__":
    main()
