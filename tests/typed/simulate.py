"""A script of a user, checked by mypy --strict: a collective on an own fat tree."""

from commmodel import collectives, simulate

tree = simulate.platform.fat_tree([4, 4], [1, 2], [1, 1], 12.5e9, 1e-6, cores=2)
place = simulate.scenario.place("graphene")
workload = simulate.scenario.workloads.collective(place, "alltoall", collectives.Problem(32, 1024))
result: simulate.SimulationResult = simulate.scenario.prepare(place, workload).run()
ends: list[float] = result.ends.tolist()
print(result.seconds, max(ends), tree.hosts)
