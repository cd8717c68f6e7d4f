"""Write the man page of the command, and its completions for shells, from its parsers: `make manuals`.

    python packaging/manuals.py FOLDER

FOLDER gets ``share/man/man1/commmodel.1`` and completions where bash, zsh and fish look for them below a prefix such as
``~/.local`` or ``/usr``. Needs argparse-manpage and shtab, and commmodel installed.
"""

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import shtab
from argparse_manpage.manpage import Manpage

from commmodel import __version__
from commmodel.bench.options import _parser as bench_parser
from commmodel.cli import _parser

PLACES = {
    "bash": "share/bash-completion/completions/commmodel",
    "zsh": "share/zsh/site-functions/_commmodel",
    "fish": "share/fish/vendor_completions.d/commmodel.fish",
}


def main() -> None:
    """Write all files."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python packaging/manuals.py FOLDER")
    folder = Path(sys.argv[1])
    parser = _parser()
    verbs = next(action for action in parser._actions if isinstance(action.choices, dict))
    bench = bench_parser()
    bench.prog = "commmodel bench"
    verbs.choices["bench"] = bench
    about = {
        "project_name": "commmodel",
        "version": __version__,
        "manual_section": "1",
        "manual_title": "commmodel",
        "date": datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), UTC).strftime("%Y-%m-%d"),
        "description": "measure, model, predict and simulate the communication of MPI programs",
    }
    content = {place: shtab.complete(parser, shell) for shell, place in PLACES.items()}
    content["share/man/man1/commmodel.1"] = str(Manpage(parser, about))
    for place, text in content.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
