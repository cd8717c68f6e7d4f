"""What scaling models cost, and how often they are right: ``python benchmarks/scaling_models.py [--extrap PYTHON]``.

- Speed: models of 1000 kernels fitted at once, five scales, the 26 terms of the paper's study of MPI.
- Recovery: data made from a known class under multiplicative noise, five repetitions at each of five scales. Rows say
  how often the class comes back, and how often within a factor p^(1/4).

Ours is shown for the first quartile, our default, and for the mean, the other generator's. With ``--extrap``, the
interpreter of a virtual environment in which the well-known generator is installed (``python -m venv DIR; DIR/bin/pip
install extrap``), the same data go through that generator, with its own defaults but the same terms; on data without
noise both must choose the same.
"""

import argparse
import json
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from commmodel.scaling import Growth, case_study_space, fit, parse
from commmodel.statistics import summarise

SCALES = np.array([4.0, 8.0, 16.0, 32.0, 64.0])
REPETITIONS = 5
CLASSES = ("1", "log p", "p^0.5", "p", "p log p", "p^1.5", "p^2")
NOISES = (0.02, 0.05, 0.10)
CONSTANT, COEFFICIENT = 5.0, 3.0
NEAR = Growth(power=Fraction(1, 4))
KERNELS, ROUNDS = 1000, 20
WANTED = 0.05e-3  # seconds a model

Values = NDArray[np.float64]

OTHER = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
from extrap.entities.coordinate import Coordinate
from extrap.entities.measurement import Measurement
from extrap.entities.callpath import Callpath
from extrap.entities.metric import Metric
from extrap.entities.terms import CompoundTerm
from extrap.modelers.single_parameter.basic import SingleParameterModeler
import numpy as np
given = json.load(sys.stdin)
modeler = SingleParameterModeler()
modeler.hypotheses_building_blocks = [CompoundTerm.create(*block) for block in given["blocks"]]
chosen, start = [], time.perf_counter()
for kernel in given["samples"]:
    data = [
        Measurement(Coordinate(scale), Callpath("f"), Metric("time"), np.array(repetitions))
        for scale, repetitions in zip(given["scales"], kernel)
    ]
    terms = modeler.create_model(data).hypothesis.function.compound_terms
    exponents = {"polynomial": "0", "logarithm": "0"}
    for term in terms[0].simple_terms if terms else []:
        exponents[term.term_type] = str(term.exponent)
    chosen.append([exponents["logarithm"], exponents["polynomial"]])
seconds = time.perf_counter() - start
json.dump({"chosen": chosen, "seconds": seconds}, sys.stdout)
"""
"""Run by the other interpreter: samples in, exponents of log p and p out."""


def made(growth: Growth, noise: float, kernels: int, seed: int) -> Values:
    """Return samples, shape (kernels, scales, repetitions)."""
    truth = CONSTANT + (COEFFICIENT * growth(SCALES) if growth != Growth() else 0 * SCALES)
    scatter = np.random.default_rng(seed).normal(size=(kernels, len(SCALES), REPETITIONS))
    samples: Values = truth[:, None] * (1 + noise * scatter)
    return samples


def ours(values: Values) -> list[Growth]:
    """Return the classes that we find in values, shape (kernels, scales)."""
    found = fit(SCALES, values, case_study_space())
    return [found.model(kernel).growth for kernel in range(len(found))]


def theirs(interpreter: str, samples: Values) -> tuple[list[Growth], float]:
    """Return the classes that the other generator finds, and the seconds of a model."""
    blocks = [[term.power.numerator, term.power.denominator, int(term.log)] for term in case_study_space()[1:]]
    given = json.dumps({"scales": SCALES.tolist(), "samples": samples.tolist(), "blocks": blocks})
    done = subprocess.run([interpreter, "-c", OTHER], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"--extrap {interpreter}: {done.stderr.strip().splitlines()[-1]}")
    answer = json.loads(done.stdout)
    chosen = [Growth(*(Fraction(one).limit_denominator(12) for one in pair)) for pair in answer["chosen"]]
    return chosen, answer["seconds"] / len(samples)


def rates(found: list[Growth], truth: Growth) -> tuple[float, float]:
    """Return how often the class came back, and how often nearly."""
    exact = sum(one == truth for one in found) / len(found)
    near = sum(truth / NEAR <= one <= truth * NEAR for one in found) / len(found)
    return exact, near


def speed() -> None:
    """Print what a model costs when 1000 are fitted at once."""
    samples = made(parse("p log p"), 0.05, KERNELS, 0)
    values, terms = np.quantile(samples, 0.25, axis=2), case_study_space()
    fit(SCALES, values, terms)  # simulates once what noise about a constant reaches
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        fit(SCALES, values, terms)
        seconds.append((time.perf_counter() - start) / KERNELS)
    typical = summarise(seconds).median
    print(f"a model of {KERNELS} at once: {typical * 1e3:.4f} ms (wanted: at most {WANTED * 1e3:g} ms)")


def recovery(kernels: int, interpreter: str | None) -> None:
    """Print how often the class comes back, ours and theirs."""
    print(f"class    noise   first quartile  nearly   mean  nearly{'   theirs  nearly' if interpreter else ''}")
    for row, text in enumerate(CLASSES):
        for noise in (0.0, *NOISES):
            samples = made(parse(text), noise, kernels if noise else 1, row)
            quartiles, means = ours(np.quantile(samples, 0.25, axis=2)), ours(samples.mean(axis=2))
            line = f"{text:8} {noise:5.0%}   " + "{:14.1%} {:7.1%}".format(*rates(quartiles, parse(text)))
            line += " {:6.1%} {:7.1%}".format(*rates(means, parse(text)))
            if interpreter:
                found, _ = theirs(interpreter, samples)
                line += "   {:6.1%} {:7.1%}".format(*rates(found, parse(text)))
            print(line, flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, default=1000, help="data sets in each row (default: %(default)s)")
    parser.add_argument("--extrap", metavar="PYTHON", help="interpreter that has the package extrap")
    options = parser.parse_args()
    speed()
    if options.extrap:
        _, seconds = theirs(options.extrap, made(parse("p log p"), 0.05, 50, 0))
        print(f"the other generator, a model: {seconds * 1e3:.3g} ms")
    else:
        print("the other generator is not compared: give the interpreter that has it with --extrap")
    recovery(options.kernels, options.extrap)


if __name__ == "__main__":
    main()
