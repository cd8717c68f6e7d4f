"""The plugin of pytest: ``pytest --mpi simulated [--on graphene] [--ranks 64]``.

pytest loads this in every test suite of an environment that has commmodel: it imports nothing but pytest before the
option is given.
"""

import os
from typing import TYPE_CHECKING, Any

import pytest

from commmodel.pytest_simulation import messages

if TYPE_CHECKING:
    from commmodel.pytest_simulation.controller import Controller
    from commmodel.pytest_simulation.last_words import WordsOfWorkers


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("mpi", "MPI on simulated ranks (commmodel)")
    group.addoption(
        "--mpi", choices=["simulated"],
        help="run tests with the mark parallel(nprocs), and all others on --ranks, on ranks that are simulated",
    )  # fmt: skip
    group.addoption(
        "--on", metavar="WHERE", default="graphene",
        help="platform whose ranks they are: a name or a file (default: graphene)",
    )  # fmt: skip
    group.addoption("--ranks", metavar="P", type=int, default=1, help="ranks of tests without the mark (default: 1)")
    group.addoption(
        "--no-check", action="store_true",
        help="do not fail tests that pass but use MPI wrongly: messages never received, other types, leaks",
    )  # fmt: skip


def _has_workers(config: pytest.Config) -> bool:
    """Whether this process passes tests to workers of pytest-xdist."""
    return getattr(config.option, "dist", "no") != "no" and not hasattr(config, "workerinput")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register what has tests run."""
    if config.option.mpi is None:
        return
    mpi_pytest: Any = config.pluginmanager.get_plugin("mpi-pytest")
    if mpi_pytest is not None:  # would begin MPI here
        config.pluginmanager.unregister(mpi_pytest)
    if messages.SPECIFICATION not in os.environ:  # this is no rank
        plugin = _words_of_workers() if _has_workers(config) else _controller(config)
        config.pluginmanager.register(plugin, "commmodel-controller")


def _controller(config: pytest.Config) -> "Controller":
    from commmodel.pytest_simulation.controller import Controller

    return Controller(config)


def _words_of_workers() -> "WordsOfWorkers":
    from commmodel.pytest_simulation.last_words import WordsOfWorkers

    return WordsOfWorkers()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Pass the arguments on to the workers of pytest-xdist."""
    node.workerinput["commmodel_arguments"] = [*map(str, node.config.invocation_params.args)]
