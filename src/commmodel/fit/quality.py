"""A fit with the errors of its models. Main entry: `FitReport`."""

from typing import Any

import msgspec
from msgspec import Struct

from commmodel.fit.consistency import Agreement
from commmodel.fit.model_errors import ErrorSums
from commmodel.machine import Machine
from commmodel.machine.parameters import MODELS
from commmodel.results import Measurements
from commmodel.values import Value


class FitReport(Value, Struct, frozen=True):
    """A machine that was fitted, and how well its models agree with the measurements and with each other."""

    machine: Machine
    measurements: Measurements
    """What it was fitted to. Records of one configuration are pooled where there are very many."""
    error_sums: tuple[ErrorSums, ...]
    """Sums of relative errors of all models on the same points (Gropp 2016, Table 2), a row for each segment with
    several numbers of pairs."""
    consistency: tuple[Agreement, ...]
    """LogGP of trains beside that of pLogP, and the error of each against the ping-pong, a row for each segment that
    has one of them."""

    def to_dict(self) -> dict[str, Any]:
        """Return what ``commmodel fit --json`` prints: protocols, models with their parameters in each, errors."""
        machine = self.machine
        plain = msgspec.to_builtins(machine)
        models: dict[str, list[Any]] = {name: [] for name in MODELS}
        for segment in plain["segments"]:
            for name, parameters in models.items():
                parameters.append(segment.pop(name, None))
        return {
            "name": machine.name,
            "confidence": machine.confidence,
            "warnings": machine.warnings,
            "segments": plain["segments"],
            "models": models,
            "error_sums": [row._asdict() for row in self.error_sums],
            **{name: plain.get(name, []) for name in ("plogp", "overlap", "bandwidth", "hybrid")},
            "consistency": [msgspec.to_builtins(row._asdict()) for row in self.consistency],
        }
