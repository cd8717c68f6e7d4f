"""Each ignored error must be one: mypy --strict refuses a comment that nothing needs."""

import commmodel
from commmodel import collectives, models, optimize, predict, record, report, scaling, simulate, sweep

commmodel.machne  # type: ignore[attr-defined]
collectives.bulid  # type: ignore[attr-defined]
optimize.chose  # type: ignore[attr-defined]
predict.sned  # type: ignore[attr-defined]
record.laod  # type: ignore[attr-defined]
report.rendr  # type: ignore[attr-defined]
scaling.juge  # type: ignore[attr-defined]
simulate.scenari  # type: ignore[attr-defined]
simulate.platform.flt  # type: ignore[attr-defined]
simulate.timeline.dmp  # type: ignore[attr-defined]
simulate.work.hallo  # type: ignore[attr-defined]
sweep.gathr  # type: ignore[attr-defined]

models.postal.time(1000, 2e-6, beta=1e-9)
models.postal.time(1000, 2e-6, btea=1e-9)  # type: ignore[call-overload]
models.postal.time(message_size=[1, 2], alphas=2e-6, beta=1e-9)  # type: ignore[call-overload]

models.collectives.bcast_binomial(8, 16, 2.0, 1.0, 1.0, 0.5, memory_copy=0.125, reduction=0.25)
models.collectives.bcast_binomial(8, 16, 2.0, 1.0, 1.0, 0.5, memory_copy=0.125, reductoin=0.25)  # type: ignore[call-overload]
