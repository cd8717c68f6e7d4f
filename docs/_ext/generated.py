"""Directives for what must not go stale: help texts, output of commands, examples, lists of formulas.

``help-text``       the ``--help`` of a command line
``command-output``  a command of `commmodel` and what it prints, run in a copy of ``docs/examples``
``json-line``       a line of a file in ``docs/examples``, indented
``formulas``        a description of every formula of a module of `commmodel.models`
``names``           a table of what a module of `commmodel` has, from its docstrings
``algorithms``      a table of all collective algorithms, from their docstrings
``smpi-algorithms`` the names of SMPI's algorithms that have schedules
``import-rule``     the table of who may import whom, from ``tests/test_imports.py``
``citation``        an entry for BibTeX, from ``CITATION.cff``
"""

import contextlib
import inspect
import io
import json
import re
import runpy
import shlex
import shutil
import tempfile
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from commmodel.docstrings import AttributeDoc

EXAMPLES = Path(__file__).parents[1] / "examples"


def printed_by(arguments: list[str]) -> str:
    """Return what ``commmodel ARGUMENTS`` prints on standard output."""
    from commmodel.cli import main

    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        main(arguments)
    return "\n".join(line.rstrip() for line in output.getvalue().strip("\n").splitlines())


def help_text(command: str) -> str:
    """Return the help of ``commmodel.bench``, ``commmodel`` or ``commmodel VERB``."""
    program, *verb = command.split()
    if program != "commmodel.bench":
        return printed_by([*verb, "--help"])
    from commmodel.bench.options import HelpRequest, parse

    try:
        parse(["--help"])
    except HelpRequest as text:
        return str(text).rstrip()
    raise AssertionError("--help asked for nothing")


def bibtex(citation: dict[str, Any]) -> str:
    """Return an entry for BibTeX from the content of a ``CITATION.cff``."""
    people = (
        author.get("name") or f"{author['family-names']}, {author['given-names']}" for author in citation["authors"]
    )
    values = {
        "author": " and ".join(f"{{{name}}}" for name in people),
        "title": f"{{{citation['title']}}}: {citation['abstract'].rstrip('.')}",
        "version": citation["version"],
        "year": str(citation.get("date-released", ""))[:4],
        "url": citation.get("repository-code") or citation.get("url"),
        "license": citation["license"],
    }
    lines = [f"  {name} = {{{value}}}," for name, value in values.items() if value]
    return "\n".join([f"@software{{{citation['title']},", *lines, "}"])


class _Generated(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True

    def literal(self, text: str, language: str) -> list[nodes.Node]:
        self.env.note_reread()
        block = nodes.literal_block(text, text)
        block["language"] = language
        return [block]


class HelpText(_Generated):
    """``help-text:: commmodel fit``."""

    def run(self) -> list[nodes.Node]:
        """Return the help as it would be printed."""
        return self.literal(help_text(self.arguments[0]), "none")


class CommandOutput(_Generated):
    """``command-output:: commmodel fit results.jsonl``."""

    def run(self) -> list[nodes.Node]:
        """Return the command and what it prints."""
        program, *arguments = shlex.split(self.arguments[0])
        if program != "commmodel":
            raise self.error(f"runs commmodel only, not {program}")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
            with contextlib.chdir(folder):
                output = printed_by(arguments)
        return self.literal(f"$ {self.arguments[0]}\n{output}", "console")


class JsonLine(_Generated):
    """``json-line:: results.jsonl 2``; of a long list, only the first elements are shown."""

    option_spec: ClassVar[dict[str, Any]] = {"first": int}

    def run(self) -> list[nodes.Node]:
        """Return the line as indented JSON."""
        name, number = self.arguments[0].split()
        line = json.loads((EXAMPLES / name).read_text().splitlines()[int(number) - 1])
        text = self._shown(line, "", self.options.get("first", 4))
        return self.literal(text, "none")

    def _shown(self, value: Any, indent: str, most: int) -> str:
        deeper = indent + "  "
        if isinstance(value, dict) and len(json.dumps(value)) + len(indent) > 80:
            inside = (f"{deeper}{json.dumps(key)}: {self._shown(one, deeper, most)}" for key, one in value.items())
            return "{\n" + ",\n".join(inside) + f"\n{indent}}}"
        if isinstance(value, list) and value and isinstance(value[0], dict):
            inside = (deeper + self._shown(one, deeper, most) for one in value)
            return "[\n" + ",\n".join(inside) + f"\n{indent}]"
        if isinstance(value, list) and len(json.dumps(value)) > 80:
            shown = ", ".join(json.dumps(one) for one in value[:most])
            return f"[{shown}, ...]"
        return json.dumps(value)


class Citation(_Generated):
    """``citation::``."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        """Return the entry."""
        path = Path(__file__).parents[2] / "CITATION.cff"
        self.env.note_dependency(str(path))
        return self.literal(bibtex(yaml.safe_load(path.read_text("utf-8"))), "bibtex")


class Formulas(SphinxDirective):
    """``formulas:: postal``: an entry for every formula that the registry has from that module."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return their descriptions."""
        from commmodel.models import REGISTRY

        module = f"commmodel.models.{self.arguments[0]}"
        names = dict.fromkeys(formula.__name__ for formula in REGISTRY.values() if formula.__module__ == module)
        text = "\n".join(f".. autofunction:: {module}.{name}\n" for name in names)
        return self.parse_text_to_nodes(StringList(text.splitlines(), source=module))


class _Table(SphinxDirective):
    def table(self, heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[nodes.Node]:
        """Return a table of cells in Markdown."""
        lines = ["| " + " | ".join(row) + " |" for row in (heading, ("---",) * len(heading), *rows)]
        return self.parse_text_to_nodes(StringList(lines, source=__file__))


class Algorithms(_Table):
    """``algorithms::``."""

    def run(self) -> list[nodes.Node]:
        """Return a row for each algorithm."""
        from commmodel.collectives import ALGORITHMS, summary

        rows = ((operation, name) for operation, names in ALGORITHMS.items() for name in names)
        return self.table(
            ("Operation", "Algorithm", "What it does"),
            ((f"`{operation}`", f"`{name}`", summary(operation, name)) for operation, name in rows),
        )


class SmpiAlgorithms(_Table):
    """``smpi-algorithms::``."""

    def run(self) -> list[nodes.Node]:
        """Return a row for each collective."""
        from commmodel.simulate.smpi_collectives import ALGORITHMS

        rows = (
            (f"`{operation}`", str(len(names)), ", ".join(f"`{name}`" for name in names))
            for operation, names in ALGORITHMS.items()
        )
        return self.table(("Operation", "Number", "Names"), rows)


class ImportRule(_Table):
    """``import-rule::``."""

    def run(self) -> list[nodes.Node]:
        """Return a row for each part of the package."""
        path = Path(__file__).parents[2] / "tests" / "test_imports.py"
        self.env.note_dependency(str(path))
        rule = runpy.run_path(str(path))
        rows = (
            (f"`{part}`", ", ".join(f"`{name}`" for name in sorted(allowed - {"*"})) or ("all" if allowed else ""))
            for part, allowed in rule["MAY_IMPORT"].items()
        )
        everybody = ", ".join(f"`{name}`" for name in sorted(rule["BASE"]))
        return self.table(("Part", f"may import, beside {everybody}"), rows)


class Names(_Table):
    """``names:: commmodel.machine``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a row for each name that the module lists, functions first."""
        module = import_module(self.arguments[0])
        values = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
        shown = {name: value for name, value in values.items() if inspect.isclass(value) or callable(value)}
        order = sorted(shown, key=lambda name: (inspect.isclass(shown[name]), name.lower()))
        rows = [(f"`{name}`", self._summary(shown[name])) for name in order]
        return self.table(("Name", "What it is"), rows) if rows else []

    def _summary(self, value: object) -> str:
        text = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
        return text.replace("``", "`").replace("|", "\\|")


def without_constraints(
    _app: Sphinx, _what: str, _name: str, _object: object, _options: object, signature: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """Return a signature with types alone, without what files may hold in a field."""
    return _types_alone(signature), _types_alone(result)


def _types_alone(text: str | None) -> str | None:
    while text and (begin := re.search(r"~?(?:typing\.)?Annotated\[", text)):
        depth, comma, place = 1, 0, begin.end()
        while depth:
            depth += {"[": 1, "(": 1, "{": 1, "]": -1, ")": -1, "}": -1}.get(text[place], 0)
            comma = place if text[place] == "," and depth == 1 and not comma else comma
            place += 1
        text = text[: begin.start()] + text[begin.end() : comma] + text[place:]
    return text


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("help-text", HelpText)
    app.add_directive("command-output", CommandOutput)
    app.add_directive("json-line", JsonLine)
    app.add_directive("formulas", Formulas)
    app.add_directive("algorithms", Algorithms)
    app.add_directive("smpi-algorithms", SmpiAlgorithms)
    app.add_directive("import-rule", ImportRule)
    app.add_directive("names", Names)
    app.add_directive("citation", Citation)
    app.connect("autodoc-process-signature", without_constraints)
    AttributeDoc.is_active = False  # autodoc shows attributes itself
    return {"parallel_read_safe": False, "parallel_write_safe": True}
