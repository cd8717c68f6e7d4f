"""All tables and figures of the five papers, theirs beside ours: ``python -m benchmarks.validation.papers [FOLDER]``.

FOLDER holds clones of public repositories, which do not come with commmodel: bienz2/BlueWatersModel and
Ezibenroc/platform-calibration of GitHub. Rows that need one that is not there are named as gaps. Prints Markdown, a
section for each paper; ``-o docs/theory/papers.md`` replaces what the page has below its introduction. Two minutes.
"""

import argparse
from pathlib import Path

from benchmarks.validation.papers import bedaride, gropp, iancu, march, shudler
from benchmarks.validation.papers.rows import page

PAPERS = {
    "gropp": gropp.paper,
    "iancu": lambda _: iancu.paper(),
    "march": lambda _: march.paper(),
    "bedaride": bedaride.paper,
    "shudler": lambda _: shudler.paper(),
}
"""Name -> its rows, given the folder."""
END = "<!-- printed by the command above -->\n"


def main() -> None:
    """Compute and print."""
    parser = argparse.ArgumentParser(description="The tables and figures of the five papers, made again.")
    parser.add_argument("folder", type=Path, nargs="?", help="of the repositories (none)")
    parser.add_argument("--papers", default=",".join(PAPERS), help="(all)")
    parser.add_argument("-o", "--output", type=Path, help="page whose figures are replaced")
    arguments = parser.parse_args()
    names = arguments.papers.split(",")
    if unknown := set(names) - set(PAPERS):
        parser.error(f"--papers {', '.join(sorted(unknown))}: choose from {', '.join(PAPERS)}")
    if arguments.folder is not None and not arguments.folder.is_dir():
        parser.error(f"{arguments.folder} is no folder: clone the repositories into one")
    introduction = ""
    if arguments.output is not None:
        head, mark, _ = arguments.output.read_text("utf-8").partition(END)
        if not mark:
            parser.error(f"{arguments.output} has no line {END.strip()}")
        introduction = head + END + "\n"
    text = page(PAPERS[name](arguments.folder) for name in names)
    if arguments.output is None:
        print(text, end="")
    else:
        arguments.output.write_text(introduction + text, "utf-8")


if __name__ == "__main__":
    main()
