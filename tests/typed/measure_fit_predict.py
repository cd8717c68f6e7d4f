"""A script of a user, checked by mypy --strict: measurements, a machine, predictions."""

import sys

import commmodel

measurements = commmodel.results.load(sys.argv[1])
machine = commmodel.fit.fit_machine(measurements, settings=commmodel.fit.FitSettings(seed=1))
commmodel.machine.dump(machine, "machine.toml")
for size in (1024, 1 << 20):
    message = commmodel.predict.send(machine, size, processes=4)
    broadcast = commmodel.predict.collective(machine, "bcast", commmodel.collectives.Problem(16, size))
    seconds: float = message.time.seconds + broadcast.time.seconds
    print(commmodel.units.format_time(seconds), message.model, broadcast.algorithm)
