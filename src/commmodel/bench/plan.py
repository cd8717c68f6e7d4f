"""The plan: configurations, their order and their visits. Main entries: `make_plan` and `in_rounds`.

Some configurations are visited several times. Between two visits to a configuration all others are measured, so what
disturbs one is over at the next.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from commmodel.bench.kernels import REGISTRY, kernel_of, on_several_nodes
from commmodel.bench.placement import FurtherNodes, Placement
from commmodel.errors import blame
from commmodel.results import BenchOptions, Configuration, Record

_LEAST_VISIT_SECONDS = 20e-3  # some time slices of a scheduler; where there is less for each, there are fewer visits
_LEAST_VISIT_SAMPLES = 50
_PATIENCE_SECONDS = 120.0


def make_plan(options: BenchOptions, placement: Placement, further_nodes: FurtherNodes = ()) -> list[Configuration]:
    """Return all configurations of the requested kernels, shuffled by the seed; first those that decide a model's kind.

    A launch that ends early then lacks some sizes, but not what their times mean.
    """
    plan = [configuration for name in options.kernels for configuration in _planned(name, options, placement)]
    order = shuffled(on_several_nodes(plan, options, placement, further_nodes), options.seed)
    return sorted(order, key=lambda configuration: not kernel_of(configuration).decides)


def _planned(name: str, options: BenchOptions, placement: Placement) -> list[Configuration]:
    """Return the configurations of one kernel."""
    kernel = REGISTRY[name]
    try:
        return [*kernel.plan(options, placement)]
    except Exception as error:
        blame(error, f"the kernel {name}", kernel.plan)
        raise


def latest(seconds: float) -> float:
    """Return when the last measurement of a launch of this many seconds may begin: twice as late, or two minutes later.

    >>> latest(1.0), latest(600.0)
    (121.0, 1200.0)
    """
    return seconds + max(seconds, _PATIENCE_SECONDS)


def shuffled(configurations: Sequence[Configuration], seed: int) -> list[Configuration]:
    """Return the configurations, shuffled by the seed."""
    order = list(configurations)
    random.Random(seed).shuffle(order)  # noqa: S311  (an order, no secret)
    return order


@dataclass(frozen=True)
class Rounds:
    """A plan in rounds of visits.

    Attributes
    ----------
    rounds : list of lists of configurations
        What is measured in each round: all in the first, in the others those that are visited again.
    visits : Counter
        Visits that are paid to each configuration in all, those of earlier runs too.
    """

    rounds: list[list[Configuration]]
    visits: Counter[Configuration]

    def __len__(self) -> int:
        return sum(map(len, self.rounds))

    def without(self, records: Iterable[Record]) -> "Rounds":
        """Return the remaining rounds where a file has these records."""
        done: Counter[Configuration] = Counter()
        for record in records:
            done[record.configuration] += max(1, len(record.visits))
        left = [
            [configuration for configuration in configurations if done[configuration] <= number]
            for number, configurations in enumerate(self.rounds)
        ]
        return Rounds([configurations for configurations in left if configurations], self.visits)


def in_rounds(configurations: Sequence[Configuration], options: BenchOptions) -> Rounds:
    """Return the rounds of a plan: the requested visits, as far as there is time."""
    again = [
        configuration for configuration in configurations if type(configuration) in kernel_of(configuration).visited
    ]
    visits = min(options.visits, options.repetitions // _LEAST_VISIT_SAMPLES)
    while visits > 1 and options.time < _LEAST_VISIT_SECONDS * (len(configurations) + (visits - 1) * len(again)):
        visits -= 1
    further = [shuffled(again, options.seed + visit) for visit in range(1, visits) if again]
    rounds = [list(configurations), *further]
    return Rounds(
        [visit for visit in rounds if visit], Counter(configuration for visit in rounds for configuration in visit)
    )
