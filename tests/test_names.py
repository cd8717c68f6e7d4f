"""Names in the code: each class has its own."""

import ast
from collections import Counter

from support.paths import ROOT


def test_no_two_classes_share_a_name():
    names = Counter(
        node.name
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert [name for name, count in names.items() if count > 1] == []
