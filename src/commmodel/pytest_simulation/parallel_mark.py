"""The mark of mpi-pytest, ``@pytest.mark.parallel(nprocs=[1, 4])``, read as that plugin reads it.

Its own plugin is left out of simulated runs, as it starts mpiexec. Main entries: the hooks, `ranks_of`.
"""

from collections.abc import Iterable
from typing import Any

import pytest

DEFAULT = 3
_PARAMETER = "_nprocs"


def _numbers(mark: pytest.Mark) -> tuple[int, ...]:
    """Return the numbers of ranks that a mark asks for."""
    values = [*mark.args, *(value for name, value in mark.kwargs.items() if name == "nprocs")]
    if len(values) > 1 or len(values) < len(mark.args) + len(mark.kwargs):
        raise pytest.UsageError(f"pytest.mark.parallel{mark.args}: it takes nprocs alone, a number or a list of them")
    value = values[0] if values else DEFAULT
    numbers = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
    for number in numbers:
        if not isinstance(number, int) or number < 1:
            raise pytest.UsageError(f"pytest.mark.parallel: nprocs={number!r} is no number of ranks")
    return numbers


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line("markers", f"parallel(nprocs): run the test on so many ranks (default: {DEFAULT})")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each number of a mark that has several."""
    marks = [mark for mark in getattr(metafunc.function, "pytestmark", ()) if mark.name == "parallel"]
    if marks and len(numbers := _numbers(marks[0])) > 1:
        metafunc.fixturenames.append(_PARAMETER)
        metafunc.parametrize(_PARAMETER, numbers, ids=lambda number: f"nprocs={number}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test by its number of ranks, so that ``-m "parallel[4]"`` picks those."""
    for item in items:
        name = f"parallel[{ranks_of(item, 1)}]"
        if name not in pytest.mark._markers:
            config.addinivalue_line("markers", f"{name}: tests on so many ranks")
        item.add_marker(getattr(pytest.mark, name))


def ranks_of(item: pytest.Item, default: int) -> int:
    """Return the number of ranks of a test; `default` without a mark."""
    chosen: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    if _PARAMETER in chosen:
        return int(chosen[_PARAMETER])
    mark = item.get_closest_marker("parallel")
    return default if mark is None else _numbers(mark)[0]
