"""Choices by one row of keywords: each goes to the struct that has it."""

from commmodel import optimize
from commmodel.optimize import Candidates, MessageCosts, SurfaceAxes, TransferProblem
from commmodel.optimize.problem import DecompositionSearch


def fields_of(options, struct):
    return {name: options.pop(name) for name in struct.__struct_fields__ if name in options}


def structs(volume, computation, machine=None, **options):
    """Return costs, problem and candidates, and the options that are left."""
    costs = MessageCosts(machine, **fields_of(options, MessageCosts))
    problem = TransferProblem(volume, computation, **fields_of(options, TransferProblem))
    return (costs, problem, Candidates(**fields_of(options, Candidates))), options


def applied(function):
    def call(*arguments, **options):
        positional, rest = structs(*arguments, **options)
        return function(*positional, **rest)

    return call


choose = applied(optimize.choose)
sensitivity = applied(optimize.sensitivity)
misdiagnosis = applied(optimize.misdiagnosis)
decomposition_search = applied(DecompositionSearch)


def surface(volumes, sizes, bursts, computations, machine=None, **options):
    costs = MessageCosts(machine, **fields_of(options, MessageCosts))
    return optimize.surface(costs, SurfaceAxes(volumes, sizes, bursts, computations), **options)
