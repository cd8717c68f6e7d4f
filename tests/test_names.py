"""Names in the code: each class has its own, and none is a pronoun or a participle."""

import ast
import re
from collections import Counter
from functools import cache

from support.paths import ROOT

EMPTY_WORDS = {
    *("asked", "both", "called", "each", "either", "every", "everything", "found", "given", "gone", "held", "here"),
    *(
        "its",
        "kept",
        "known",
        "made",
        "meant",
        "me",
        "mine",
        "named",
        "none",
        "nothing",
        "one",
        "others",
        "ours",
        "own",
    ),
    *("said", "same", "seen", "taken", "theirs", "there", "told", "wanted", "what", "which", "who", "whose", "written"),
}
"""Words that say nothing of what a name holds: name it by a noun of the domain (`record`, `size`, `arguments`)."""
FILES = [path for folder in ("src", "tests", "tools", "benchmarks") for path in (ROOT / folder).rglob("*.py")]

C_WORDS = EMPTY_WORDS | {"me", "of", "place", "places", "some", "wrong"}
"""Those of C, where a preposition can be a name, and `place` had seven meanings: call_site, offset, position, host."""
C_FILES = [
    path
    for folder in ("online", "preload", "record")
    for path in sorted((ROOT / "src/commmodel/_core" / folder).rglob("*"))
    if path.suffix in {".c", ".h", ".hpp"}
]
C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|#include[^\n]*|(\w+)', re.DOTALL)


def c_names(text):
    """Return the words of C code outside comments and strings: its own names, among others."""
    return {match[1] for match in C_TOKEN.finditer(text)} - {None}


@cache
def bound_names(path):
    """Return the names that a file gives: the kind of each, the name and its line."""
    names = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                names.append((type(node), name, node.lineno))
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.MatchAs(name=str(name)):
                names.append((type(node), name, node.lineno))
    return names


def test_no_two_classes_share_a_name():
    names = Counter(
        name
        for path in FILES
        if path.is_relative_to(ROOT / "src")
        for kind, name, _ in bound_names(path)
        if kind is ast.ClassDef
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_no_name_is_a_pronoun_or_a_participle():
    empty = {
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in FILES
        for _, name, line in bound_names(path)
        if name.strip("_") in EMPTY_WORDS
    }
    assert empty == set()


def test_no_name_in_c_is_a_pronoun_or_a_participle():
    assert len(C_FILES) > 60
    empty = {(path.name, name) for path in C_FILES for name in c_names(path.read_text("utf-8")) & C_WORDS}
    assert empty == set()


def test_names_in_c_are_read_without_comments_and_strings():
    text = '#include "given.h"\nint made = 1;  // taken\n/* known\nheld */ char *text = "own \\" said";'
    assert c_names(text) == {"int", "made", "1", "char", "text"}
