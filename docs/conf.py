"""Sphinx: ``sphinx-build -W -n --keep-going -b html docs docs/_build/html``. Needs no network."""

import os
import sys
import tomllib
from importlib import import_module
from pathlib import Path

from commmodel import __version__, choices

for name in ("collectives", "optimize", "predict", "simulate.platform", "simulate.timeline", "simulate.work"):
    package = import_module(f"commmodel.{name}")  # Sphinx lists what is there: not names that are loaded at first use
    vars(package).update({member: getattr(package, member) for member in package.__all__})

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ["NO_COLOR"] = "1"  # argparse colours its help where it can
os.environ["COLUMNS"] = "88"

project = "commmodel"
author = "The commmodel developers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "drawings",
    "generated",
    "mathml",
    "questions",
]
exclude_patterns = ["_build"]
nitpicky = True
nitpick_ignore_regex = [
    # What others define: there is no network at build time, so their inventories are not read.
    ("py:.*", r"(numpy|np|msgspec|pathlib|os|collections|argparse|mpi4py|MPI|mmap|datetime|decimal|fractions)\..*"),
    ("py:.*", r"(pandas|matplotlib|rich)\..*|Axes|ScheduleError"),
    ("py:class", r"concurrent\.futures\..*|_Parameters"),
    # Types in the docstrings of attributes are words for people: "callable", "uint8 arrays".
    ("py:class", r"[a-z][a-z0-9_]*|(float64|int64|uint8|structured) array|processes \+ 1"),
    # One of some words, such as "match", the union of all kernels' configurations, and what is compiled.
    ("py:class", r'"[^"]*"|Configuration|CommonClock|struct types|Option|Path'),
    # Words to choose from, which the parameter's text lists, and arrays or lists of numbers.
    ("py:class", "Numbers|" + "|".join(name for name in vars(choices) if name[0].isupper())),
    # Types that are named in signatures only.
    (
        "py:class",
        r"commmodel\.(collectives\.schedule\.Schedule|fit\.robust\.Fit|documents\.Struct|scaling\.collected\.Samples)",
    ),
    ("py:class", r"commmodel\.(fit\.(model_errors\.ErrorSums|consistency\.Agreement))|LinkLoad"),
    ("py:class", r"commmodel\.simulate\.scenario\.comparison\.Preparation"),
    ("py:class", r"commmodel\.simulate\.online\.(processes\.(Repeated)?Forks|decisions\.RunRecord)"),
    (
        "py:class",
        r"commmodel\.(arguments\._Array|simulate\.questions\.(Program|Jobs)?How|report\.(sections\.MachineSection|listing\.IndexRow))",
    ),
    ("py:class", r"commmodel\.report\.(kit\.(tables|blocks)\.\w+|recording\.page\.Leads)"),
    ("py:class", r"commmodel\.(simulate\.(summary\.RunSummary|link_load\.LinkLoad)|optimize\.validation\.Validation)"),
    ("py:class", r"commmodel\.(collectives\.call\.CollectiveCall|simulate\.work\.communicators\.Definition)"),
    ("py:class", r"commmodel\.collectives\.(schedule\.Round|algorithms\.registry\.Stage)"),
    ("py:class", r"commmodel\.simulate\.(traces\.writer\..*|platform\.topologies\.TopologyKind)"),
    ("py:class", r"commmodel\.(record\.files\.(_RecordingFile|LogHeader)|sites\.Site)"),
    ("py:class", r"commmodel\.(record\.(communicators|clocks|windows)\..*|_core\.recordings\.logs\.Clock)"),
    # Parts of aliases such as dict[str, float], which Sphinx cuts at their commas.
    ("py:.*", r"(typing\.Annotated|tuple|dict)\[.*"),
]
suppress_warnings = ["ref.python"]  # `low` in a docstring is its own class's, however many classes have one

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# A copy holds what is typed: of a block with prompts, their lines alone.
copybutton_prompt_text = r"\$ |> |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

default_role = "code"
smartquotes = False  # -- is an option's
autodoc_member_order = "bysource"
autodoc_mock_imports = ["mpi4py"]
autodoc_typehints = "signature"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_use_ivar = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

doctest_test_doctest_blocks = ""  # those of docstrings are run by pytest
doctest_global_setup = f"import os; os.chdir({str(HERE / 'examples')!r})"

REPOSITORY = (
    tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"].get("urls", {}).get("Repository")
)
"""The public address of the sources; pages have links to view and edit their source once pyproject.toml names it."""

html_theme = "furo"
html_theme_options = (
    {"source_repository": REPOSITORY, "source_branch": "main", "source_directory": "docs/"} if REPOSITORY else {}
)
html_title = f"commmodel {release}"
html_math_renderer = "mathml"
html_search_scorer = str(HERE / "search.js")
html_static_path = ["_static"]
html_css_files = ["commmodel.css"]
html_copy_source = False
html_show_copyright = False
