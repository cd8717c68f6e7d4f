"""Python functions as programs that run: what a caller writes for its ranks, and reads of them.

A rank is `commmodel.simulate.online.function_rank`. Main entries: `write_call`, `read_returned`, `explained`.
"""

import io
import operator
import pickle
import sys
from collections import ChainMap
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any, ClassVar

import cloudpickle

from commmodel.errors import InputError, RankEndedError

FUNCTION_RANK = str(Path(__file__).with_name("function_rank.py"))
"""The script of a rank; its argument is the folder of the call."""


class _Nameless:
    """Code as cloudpickle sends it: without its file."""

    def __init__(self, code: CodeType) -> None:
        self._code = code

    def __reduce__(self) -> Any:
        return cloudpickle.Pickler.dispatch_table[CodeType](self._code)


def _with_file(code: CodeType) -> tuple[Any, ...]:
    return operator.methodcaller("replace", co_filename=_file_name(code.co_filename)), (_Nameless(code),)


def _file_name(name: str) -> str:
    """Return a file's name, or of a notebook's cell the name that its reader knows, like ``In[8]``."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    cell: tuple[str, str] | None = shell.compile.format_code_name(name) if shell else None
    return cell[1] if cell else name


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Sends functions with the names of their files, for tracebacks and sites of calls."""

    dispatch_table: ClassVar[Any] = ChainMap({CodeType: _with_file}, cloudpickle.Pickler.dispatch_table)


def write_call(folder: str, function: Callable[..., Any], arguments: tuple[Any, ...], path: list[str]) -> None:
    """Write a function and its arguments for the ranks, which import what they need along `path`."""
    content = io.BytesIO()
    pickle.dump(path, content)
    try:
        _Pickler(content).dump((function, arguments))
    except Exception as error:  # of any kind, as objects say themselves how they are sent
        raise InputError(f"the function and its arguments cannot be sent to the ranks: {error}") from error
    Path(folder, "call").write_bytes(content.getvalue())


def read_returned(folder: str, processes: int) -> tuple[Any, ...]:
    """Return what the ranks returned; None of one that did not."""
    files = (Path(folder, str(rank)) for rank in range(processes))
    return tuple(pickle.loads(file.read_bytes()) if file.exists() else None for file in files)  # noqa: S301


def explained(error: RankEndedError, folder: str) -> RankEndedError:
    """Return an error that says what the function raised on the first rank where it did, its traceback as a note."""
    errors = sorted(Path(folder).glob("*-error"), key=lambda path: int(path.name.partition("-")[0]))
    if not errors:
        return error
    rank, text = errors[0].name.partition("-")[0], errors[0].read_text("utf-8").rstrip()
    raised = RankEndedError(
        f"rank {rank} raised {text.rpartition(chr(10))[2]}", error.exit_code, "exception", error.findings
    )
    raised.add_note(f"On rank {rank}:\n{text}")
    return raised
