"""Other orders in which messages may come, each run once. Main entry: `run_orders`.

By partial orders (as DPOR, ISP and DAMPI do it): a run notes its decisions and, by vector clocks, what else each could
have been; another run begins with the same decisions up to one that is changed, and with those on which that depends.
So no two runs are equivalent: they differ in what a receive got, or in which request was completed.
"""

import os
import subprocess
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from commmodel.errors import RankEndedError
from commmodel.simulate.findings import Finding
from commmodel.simulate.online.beginnings import BeginningOverError
from commmodel.simulate.online.call_names import CallNames
from commmodel.simulate.online.decisions import COMPLETION, SPIN, Choices, Decision, Place, RunRecord, order_text
from commmodel.simulate.online.live import Outlets
from commmodel.simulate.online.order_workers import OrderRunner, OrderWorkers, OwnRunner, can_fork
from commmodel.simulate.online.processes import RepeatedForks
from commmodel.simulate.scenario import Scenario, Workload

RACE = "message race"
"""Some orders of messages end the program otherwise than others."""
OUTPUT = "output depends on the order of messages"
_MOST_FINDINGS = 20


@dataclass
class Outcome:
    """What became of a run."""

    kind: str = ""
    """Of the error that ended it; empty where all ranks came to their end."""
    words: str = ""
    output: str = ""
    """Standard output of all ranks."""
    findings: Sequence[Finding] = ()
    is_unmet: bool = False
    """Whether it says nothing, as of `RunRecord.unmet`."""
    decisions: list[Decision] = field(default_factory=list)
    """In an order in which each follows those on which it depends."""
    alternatives: dict[Place, dict[int, Choices]] = field(default_factory=dict)
    """As of `RunRecord.alternatives`."""


@dataclass
class Exploration:
    """What other orders have shown."""

    runs: int = 1
    unmet: int = 0
    """Orders that did not come about."""
    left: int = 0
    """Orders that are known and were not run."""
    findings: list[Finding] = field(default_factory=list)

    @property
    def note(self) -> str:
        """How many orders were run, in words."""
        if self.runs == 1 and not self.left:
            return "no other order of messages is possible"
        rest = f"; at least {self.left} more are possible, and unknown" if self.left else ", which are all"
        return f"{self.runs} orders of messages were run{rest}"


@dataclass
class _ChoicePoint:
    """A decision of a run, with the choices that have been seen there."""

    place: Place
    choices: set[int]
    test: tuple[int, tuple[str, ...]] | None
    """Rank and call site of a test."""


@dataclass
class _ChoiceStep:
    """A choice, behind those before it."""

    before: "_ChoiceStep | None"
    point: _ChoicePoint
    choice: int
    is_change: bool = False
    """Of what a run has chosen by itself."""

    def path(self) -> list["_ChoiceStep"]:
        """Return the choices from the first on."""
        steps: list[_ChoiceStep] = []
        step: _ChoiceStep | None = self
        while step is not None:
            steps.append(step)
            step = step.before
        return steps[::-1]


@dataclass(frozen=True)
class _Change:
    """A run that is to be done: the last step differs from the run in which it was found, and needs candidates."""

    step: _ChoiceStep
    causes: Choices
    decision: Decision
    before: Outcome
    """Of that run."""

    def prescribed(self) -> Choices:
        """Return the choices that it prescribes."""
        return self.causes | {step.point.place: step.choice for step in self.step.path()}


def explore(first: Outcome, runner: OrderRunner, most: int | None, call_of: CallNames) -> Exploration:
    """Run other orders than the first one, at most so many in all, and say what is different in them.

    Runs with few changes come first.
    """
    exploration = Exploration()
    queue: deque[_Change] = deque()
    begun: deque[tuple[_Change, Choices]] = deque()
    reported: set[tuple[str, str]] = set()
    spins: set[tuple[int, tuple[str, ...]]] = set()  # tests of loops that do nothing else

    def note(outcome: Outcome, path: list[_ChoiceStep]) -> None:
        """Keep what else could have been decided."""
        by_place = {decision.place: decision for decision in outcome.decisions}
        earlier = {step.point.place for step in path}
        for decision in outcome.decisions:
            if decision.place not in earlier:
                test = (decision.rank, tuple(decision.site)) if decision.is_test else None
                point = _ChoicePoint(decision.place, {decision.choice}, test)
                path.append(_ChoiceStep(path[-1] if path else None, point, decision.choice))
        failed = {step.point.test for step in path if step.is_change and step.point.test and not step.choice}
        for step in path:
            for choice, causes in outcome.alternatives.get(step.point.place, {}).items():
                if choice in step.point.choices or (
                    step.point.test in failed and not choice
                ):  # or a test fails for ever
                    continue
                step.point.choices.add(choice)
                changed = _ChoiceStep(step.before, step.point, choice, is_change=True)
                queue.append(_Change(changed, causes, by_place[step.point.place], outcome))
        outcome.decisions, outcome.alternatives = [], {}

    spins.update(_spins(first))
    note(first, [])
    while queue or begun:
        while queue and len(begun) < runner.ahead and (most is None or exploration.runs + len(begun) < most):
            change = queue.popleft()
            prescribed = change.prescribed()
            runner.ask(prescribed, len(queue))
            begun.append((change, prescribed))
        if not begun:
            break
        change, prescribed = begun.popleft()
        outcome = runner.outcome()
        spins.update(_spins(outcome))
        if change.step.point.test in spins:  # the run is as one without the change
            continue
        if outcome.is_unmet:
            exploration.unmet += 1
            continue
        exploration.runs += 1
        if outcome.output == first.output:
            outcome.output = first.output  # kept once
        for finding in _differences(first, outcome, change, call_of):
            key = finding.kind, finding.sites[0] if finding.sites else ""
            if key not in reported and len(reported) < _MOST_FINDINGS:
                reported.add(key)
                exploration.findings.append(finding)
        note(outcome, change.step.path())
    exploration.left = len(queue)
    return exploration


def _spins(outcome: Outcome) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Return rank and call site of tests that a loop has made again at once."""
    for decision in outcome.decisions:
        if decision.kind == SPIN:
            yield decision.rank, tuple(decision.site)


def _differences(first: Outcome, outcome: Outcome, change: _Change, call_of: CallNames) -> list[Finding]:
    """Return what a run shows that the first one and the one before the change did not; or the first one alone."""
    decision, before = change.decision, change.before
    earlier = {(finding.kind, finding.sites) for finding in (*first.findings, *before.findings)}
    added = [finding for finding in outcome.findings if (finding.kind, finding.sites) not in earlier]
    is_other_end = outcome.kind != before.kind and (outcome.kind not in ("", first.kind) or before is first)
    difference = "" if outcome.kind or before.kind else _difference(before.output, outcome.output)
    if not added and not is_other_end and not difference:
        return []
    words, sites = _changed(decision, outcome, call_of)
    cause = f"{words}: --order '{order_text(change.prescribed())}'"
    if is_other_end:
        end = f"{outcome.words}," if outcome.kind else f"{first.words}, but not"
        return [Finding(RACE, f"{end} {cause}", (decision.rank,), sites)]
    listed = [
        Finding(finding.kind, f"{finding.sentence}, {cause}", finding.ranks, finding.sites, finding.times)
        for finding in added
    ]
    if difference:
        listed.append(Finding(OUTPUT, f"{difference}, {cause}", (decision.rank,), sites))
    return listed


def _changed(decision: Decision, outcome: Outcome, call_of: CallNames) -> tuple[str, tuple[str, ...]]:
    """Return in words what differs from the run before, and the sites of the calls: the receive's first."""
    other = next((entry for entry in outcome.decisions if entry.place == decision.place), decision)
    sites = [call_of(words) for words in (decision.site, other.other_site, decision.other_site) if words]
    listed = tuple(dict.fromkeys(sites))
    if decision.is_test:
        finding = "nothing" if decision.choice else "what it looks for at once"
        return f"where rank {decision.rank} finds {finding}, in {call_of(decision.site)}", listed
    if decision.kind == COMPLETION:
        text = f"where rank {decision.rank} completes request {other.choice} of the list, not {decision.choice}"
        return f"{text}, in {call_of(decision.site)}", listed
    text = f"where rank {decision.rank} gets the message of rank {_sender(other, call_of)}, not of rank "
    return f"{text}{_sender(decision, call_of)}, in {call_of(decision.site)}", listed


def _sender(decision: Decision, call_of: CallNames) -> str:
    return f"{decision.choice} ({call_of(decision.other_site)})" if decision.other_site else str(decision.choice)


def _difference(first: str, other: str) -> str:
    """Return the first line that one output has and the other has not, in words; lines may come in any order."""
    before, after = Counter(first.splitlines()), Counter(other.splitlines())
    if before == after:
        return ""
    added, missing = [*(after - before)], [*(before - after)]
    words = [f"prints {added[0]!r}"] if added else []
    return " ".join([*words, *([f"{'instead of' if added else 'does not print'} {missing[0]!r}"] if missing else [])])


def run_orders(
    earlier: RunRecord,
    workload: Callable[[Outlets], Workload],
    prepared: Callable[[Workload], Scenario],
    most: int | None,
    outlets: Outlets,
) -> Exploration:
    """Run a program once more and then in other orders, at most so many in all, if an earlier run has left any.

    `workload` returns it with its outlets, `prepared` a scenario of that. It runs with checks and clocks as `outlets`
    say; what it prints is kept from the terminal. The ranks of all runs are forks of one process, which has loaded the
    program.
    """
    if not earlier.alternatives(earlier.decisions()):
        return Exploration()

    ready = partial(_prepared, workload, prepared, outlets)
    with closing(OrderWorkers(ready) if can_fork() else OwnRunner(ready)) as runner:
        runner.ask({}, 0)
        return explore(runner.outcome(), runner, most, CallNames())


@contextmanager
def _prepared(
    workload: Callable[[Outlets], Workload], prepared: Callable[[Workload], Scenario], outlets: Outlets
) -> Iterator[Callable[[Choices], Outcome]]:
    """Return what runs a program as choices prescribe it, from where nothing is decided yet."""
    record, forks = RunRecord(), RepeatedForks()
    with tempfile.TemporaryFile("w+") as file, closing(forks):
        silent = replace(
            outlets, output=file, report=None, patience=0.0, forks=forks, errors=subprocess.DEVNULL, record=record
        )
        scenario = prepared(workload(silent))
        forks.makes_beginning = True
        with suppress(BeginningOverError):
            scenario.run(deadlock="return")
        forks.makes_beginning = False
        begin = file.seek(0, os.SEEK_END)

        def run(prescribed: Choices) -> Outcome:
            file.seek(begin)
            file.truncate()
            record.prescribed = prescribed
            outcome = _outcome(scenario)
            outcome.is_unmet = record.unmet()
            outcome.decisions = record.decisions()
            outcome.alternatives = record.alternatives(outcome.decisions)
            file.seek(0)
            outcome.output = file.read()
            return outcome

        yield run


def _outcome(scenario: Scenario) -> Outcome:
    """Run a program and return what became of it."""
    try:
        result = scenario.run(deadlock="return")
    except RankEndedError as error:
        return Outcome(error.kind or "abort", str(error), findings=error.findings)
    if result.blocked:
        first, *lines = result.deadlock_lines(most=3)
        return Outcome("deadlock", f"{first}: {'; '.join(lines)}", findings=result.findings)
    return Outcome(findings=result.findings)
