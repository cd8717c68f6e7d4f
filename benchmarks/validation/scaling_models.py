"""Cost and correctness of scaling models: ``python -m benchmarks.validation.scaling_models [--extrap PYTHON]``.

- Speed: models of 1000 kernels fitted at once, five scales, the default terms; and models over two parameters, the
  first one over some points, which simulates what noise reaches there, and all others.
- Statistics: 19 classes under noise that is symmetric, of one side, or has disturbed repetitions, each scale's
  repetitions reduced in several ways: how often the class comes back, how often a constant is called a growth, and what
  grows a constant. Also with the 26 terms of the paper's study of MPI.
- Bound: how many classes of such data Bayes's choice finds, which integrates constants and coefficients (``--bound``:
  this alone).
- Recovery: the same for each class, five repetitions at each of five scales. Rows say how often the class comes back,
  and how often within a factor p^(1/4).
- Other scales and larger constants: the same for three to ten scales and constants of 5 to 500 times the coefficient.
- Verdicts: how often one is wrong, and how often it is uncertain; and on what grows nearly as log p, over four ranges.

With ``--extrap``, the interpreter of a virtual environment in which the well-known generator is installed (``python -m
venv DIR; DIR/bin/pip install extrap``), the first ``--theirs`` of the same data sets go through that generator, with
its own defaults; on data without noise both must choose the same.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from commmodel.scaling import STATISTICS as STATISTIC
from commmodel.scaling import Growth, fit, fit_surface, judge, parse_growth
from commmodel.scaling.growth import ONE
from commmodel.scaling.search_space import case_study_space, default_space, prior_odds
from commmodel.scaling.verdict import rank
from commmodel.statistics import summarise

SCALES = np.array([4.0, 8.0, 16.0, 32.0, 64.0])
OTHER_SCALES = (
    (4, 16, 64),
    (4, 8, 16, 32),
    (2, 4, 8, 16, 32, 64),
    tuple(2**step for step in range(1, 11)),
    (4, 16, 64, 256, 1024),
)
REPETITIONS = 5
CLASSES = (
    "1",
    "log p",
    "p^0.5",
    "p",
    "p log p",
    "p^1.5",
    "p^2",
    "log^2 p",
    "p log^2 p",
    "p^3",
    "p^0.25",
    "p^(1/3)",
    "p^0.25 log p",
    "p^0.5 log p",
    "p^(2/3)",
    "p^0.75 log p",
    "p^(4/3)",
    "p^1.25 log p",
    "p^1.75",
)
STATISTICS = ("lower half", "first quartile", "median", "minimum", "mean")
KINDS = ("symmetric", "one side", "disturbed")
DISTURBED = 0.1  # share of the repetitions that take longer, by as much again in the mean
EXPECTED = ("1", "log p", "p")
JUDGED = ("1", "log p", "p^0.5", "p", "p log p", "p^2", "p^0.25")
NEAR_LOG = ("log p", "log^2 p", "p^0.25", "p^(1/3)", "p^0.5", "p", "1")
RANGES = ((4, 64), (2, 32), (16, 256), (64, 1024))
NOISES = (0.02, 0.05, 0.10)
CONSTANT, COEFFICIENT = 5.0, 3.0
SHARES = (5, 50, 500)
"""Constants over coefficients."""
RATIOS = np.geomspace(0.01, 100, 400)
"""Coefficients over constants between which the best choice integrates."""
NEAR = Growth(power=Fraction(1, 4))
KERNELS, ROUNDS = 1000, 20
SURFACE_SCALES, SURFACE_SIZES = [2.0, 4, 8, 16, 32], [16.0, 64, 256, 1024, 4096]
WANTED = 0.05e-3  # seconds a model
DRAWS = 100

Values = NDArray[np.float64]

OTHER = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
from extrap.entities.coordinate import Coordinate
from extrap.entities.measurement import Measurement
from extrap.entities.callpath import Callpath
from extrap.entities.metric import Metric
from extrap.modelers.multi_parameter.multi_parameter_modeler import MultiParameterModeler
from extrap.modelers.single_parameter.basic import SingleParameterModeler
import numpy as np
given = json.load(sys.stdin)
modeler = SingleParameterModeler() if given["parameters"] == 1 else MultiParameterModeler()
chosen, seconds = [], 0.0
for kernel in given["samples"]:
    data = [
        Measurement(Coordinate(*scale), Callpath("f"), Metric("time"), np.array(repetitions))
        for scale, repetitions in zip(given["scales"], kernel)
    ]
    start = time.perf_counter()
    terms = modeler.create_model(data).hypothesis.function.compound_terms
    seconds += time.perf_counter() - start
    exponents = {"polynomial": "0", "logarithm": "0"}
    for term in terms[0].simple_terms if terms and given["parameters"] == 1 else []:
        exponents[term.term_type] = str(term.exponent)
    chosen.append([exponents["logarithm"], exponents["polynomial"]])
json.dump({"chosen": chosen, "seconds": seconds}, sys.stdout)
"""
"""Run by the other interpreter: samples in, exponents of log p and p out."""


def generated(truth: Values, noise: float, kernels: int, seed: int, kind: str = "symmetric") -> Values:
    """Return samples about the true values, shape (kernels, scales, repetitions)."""
    random = np.random.default_rng(seed)
    shape = kernels, len(truth), REPETITIONS
    scatter = random.exponential(size=shape) if kind == "one side" else random.normal(size=shape)
    factor = 1 + noise * scatter
    if kind == "disturbed":
        factor *= 1 + (random.random(shape) < DISTURBED) * random.exponential(size=shape)
    samples: Values = truth[:, None] * factor
    return samples


def curve(text: str, scales: Values, constant: float = CONSTANT, coefficient: float = COEFFICIENT) -> Values:
    """Return the true values; for a class of constants, the constant."""
    growth = parse_growth(text)
    return constant + (coefficient * growth(scales) if growth != ONE else np.zeros_like(scales))


def commmodel_growths(scales: Values, values: Values, terms: Sequence[Growth] | None = None) -> list[Growth]:
    """Return the classes that we find in values, shape (kernels, scales)."""
    fitted = fit(scales, values, default_space() if terms is None else terms)
    grows = fitted.coefficient > 0
    return [fitted.terms[place] if is_growing else ONE for place, is_growing in zip(fitted.chosen, grows, strict=True)]


def peer_growths_of(
    interpreter: str, points: Sequence[tuple[float, ...]], samples: Values
) -> tuple[list[Growth], float]:
    """Return the classes that the other generator finds over one parameter, and the seconds of a model."""
    request = json.dumps({"scales": points, "samples": samples.tolist(), "parameters": len(points[0])})
    done = subprocess.run([interpreter, "-c", OTHER], input=request, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"--extrap {interpreter}: {done.stderr.strip().splitlines()[-1]}")
    answer = json.loads(done.stdout)
    chosen = [Growth(*(Fraction(exponent).limit_denominator(12) for exponent in pair)) for pair in answer["chosen"]]
    return chosen, answer["seconds"] / len(samples)


def theirs_of_each(interpreter: str, samples: dict[str, Values], few: int) -> dict[str, list[Growth]]:
    """Return what the other generator finds in the first few data sets of each class, in one go."""
    together = np.concatenate([sample[:few] for sample in samples.values()])
    growths = iter(peer_growths_of(interpreter, over(SCALES), together)[0])
    return {text: list(islice(growths, len(sample[:few]))) for text, sample in samples.items()}


def over(scales: Values) -> list[tuple[float]]:
    """Return scales as points of one parameter."""
    return [(scale,) for scale in scales.tolist()]


def rates(growths: list[Growth], text: str) -> tuple[float, float]:
    """Return how often the class came back, and how often nearly."""
    truth, counts = parse_growth(text), Counter(growths)
    low, high = truth / NEAR, truth * NEAR
    exact = counts[truth] / len(growths)
    near = sum(count for growth, count in counts.items() if low <= growth <= high) / len(growths)
    return exact, near


def speed(seed: int, interpreter: str | None) -> None:
    """Print what a model costs when 1000 are fitted at once, and what one over two parameters costs."""
    samples = generated(curve("p log p", SCALES), 0.05, KERNELS, seed)
    values, terms = np.quantile(samples, 0.25, axis=2), default_space()
    fit(SCALES, values, terms)  # simulates once what noise about a constant reaches
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        fit(SCALES, values, terms)
        seconds.append((time.perf_counter() - start) / KERNELS)
    print(f"a model of {KERNELS} at once: {summarise(seconds).median * 1e3:.4f} ms (at most {WANTED * 1e3:g} wanted)")
    x, y = (axis.ravel() for axis in np.meshgrid(SURFACE_SCALES, SURFACE_SIZES))
    truth = 3 + 2 * np.log2(x) * y
    surfaces = generated(truth, 0.05, KERNELS // 10, seed)
    seconds = []
    for lower in np.quantile(surfaces, 0.25, axis=2):
        start = time.perf_counter()
        fit_surface(x, y, lower, terms, terms)
        seconds.append(time.perf_counter() - start)
    first, rest = seconds[0] * 1e3, summarise(seconds[1:]).median * 1e3
    print(
        f"a model over two parameters, {x.size} points: first {first:.3g} ms, others {rest:.3g} ms (at most 1 wanted)"
    )
    if interpreter is None:
        print("the other generator is not compared: give the interpreter that has it with --extrap")
        return
    lower = peer_growths_of(interpreter, over(SCALES), samples[:50])[1] * 1e3
    two = peer_growths_of(interpreter, list(zip(x.tolist(), y.tolist(), strict=True)), surfaces[:20])[1] * 1e3
    print(f"the other generator: {lower:.3g} ms, over two parameters {two:.3g} ms, {two / rest:.0f} times ours")


def statistics(kernels: int, seed: int, interpreter: str | None, few: int) -> None:
    """Print how often classes come back, by the statistic, the noise and its kind."""
    print(
        f"\n{len(CLASSES)} classes, {NOISES} noise, in %: found; constants called a growth; growths called a constant"
    )
    reduced: dict[str, tuple[str, Sequence[Growth]]] = {name: (name, default_space()) for name in STATISTICS}
    reduced["lower half, 26 terms"] = STATISTICS[0], case_study_space()
    for kind in KINDS:
        counted: dict[str, list[list[tuple[float, float]]]] = {name: [] for name in reduced}
        counted |= {"theirs": []} if interpreter else {}
        for noise in NOISES:
            shares: dict[str, list[tuple[float, float]]] = {name: [] for name in counted}
            made_of = {
                text: generated(curve(text, SCALES), noise, kernels, seed + row, kind)
                for row, text in enumerate(CLASSES)
            }
            other = theirs_of_each(interpreter, made_of, few) if interpreter else {}
            for text, samples in made_of.items():
                answers = {
                    name: commmodel_growths(SCALES, STATISTIC[statistic](samples, axis=2), terms)
                    for name, (statistic, terms) in reduced.items()
                }
                if interpreter:
                    answers["theirs"] = other[text]
                for name, classes in answers.items():
                    constant = Counter(classes)[ONE] / len(classes)
                    shares[name].append((rates(classes, text)[0], constant))
            for name, pairs in shares.items():
                counted[name].append(pairs)
        for name, noises in counted.items():
            exact = " ".join(f"{100 * np.mean([pair[0] for pair in pairs]):5.1f}" for pairs in noises)
            grown = " ".join(f"{100 * (1 - pairs[0][1]):5.1f}" for pairs in noises)
            lost = " ".join(f"{100 * np.mean([pair[1] for pair in pairs[1:]]):5.2f}" for pairs in noises)
            print(f"{kind:10} {name:25} {exact};  {grown};  {lost}", flush=True)


def bound(kernels: int, seed: int) -> None:
    """Print how often classes come back from means under symmetric noise, ours and at best.

    The data are those of the other tables, and some whose coefficient is anything from a hundredth to a hundred times
    their constant. The best choice is Bayes's: it integrates constants and coefficients of those sizes, and takes the
    most probable class. Where it knows the noise and that the classes of the table are as likely and the only ones, no
    other finds more of the drawn data.
    """
    alone, space = tuple(map(parse_growth, CLASSES)), (ONE, *(term for term in default_space() if term != ONE))
    print("\nfound in means under symmetric noise, in %")
    for kind in ("5 + 3 t", "drawn"):
        shares: dict[str, list[float]] = {}
        for noise in NOISES:
            means = [_means(text, noise, kernels, seed + row, kind) for row, text in enumerate(CLASSES)]
            deviation = noise / np.sqrt(REPETITIONS)
            answers = {
                "ours": [commmodel_growths(SCALES, values) for values in means],
                "best, table's classes, noise known": [best_growths(values, alone, deviation) for values in means],
                "best, table's classes": [best_growths(values, alone) for values in means],
                "best, default space": [best_growths(values, space, odds=prior_odds) for values in means],
            }
            for name, growths in answers.items():
                of_classes = [rates(of_class, text)[0] for of_class, text in zip(growths, CLASSES, strict=True)]
                shares.setdefault(name, []).append(float(np.mean(of_classes)))
        for name, of_noises in shares.items():
            print(f"{kind:8} {name:35} {' '.join(f'{100 * share:5.1f}' for share in of_noises)}", flush=True)


def _means(text: str, noise: float, kernels: int, seed: int, kind: str) -> Values:
    """Return means of repetitions, with the coefficients of the table or drawn ones, shape (kernels, scales)."""
    if kind != "drawn":
        return np.asarray(generated(curve(text, SCALES), noise, kernels, seed).mean(axis=2))
    ratios = RATIOS[-1] ** np.random.default_rng([seed, 1]).uniform(-1, 1, kernels)
    relative = generated(np.ones(SCALES.size), noise, kernels, seed).mean(axis=2)
    return np.asarray(relative * [curve(text, SCALES, 1.0, ratio) for ratio in ratios])


def best_growths(
    values: Values,
    terms: Sequence[Growth],
    deviation: float | None = None,
    odds: Callable[[Growth], float] = lambda _: 1.0,
) -> list[Growth]:
    """Return the most probable classes of values of shape (kernels, scales), whose relative deviation may be known.

    The logarithms of the constant and of coefficient over constant are even, the latter from a hundredth to a hundred;
    that of an unknown deviation is even, too. The constant is integrated by Laplace's method, the ratio numerically.
    """
    evidence = []
    for term in terms:
        inverse = 1 / (1 + RATIOS[:, None] * term(SCALES)) if term != ONE else np.ones((1, SCALES.size))
        squared, plain = inverse**2 @ values.T**2, inverse @ values.T
        squares = SCALES.size - plain**2 / squared  # of relative residuals about the best constant
        with_noise = -squares / (2 * deviation**2) if deviation else -(SCALES.size - 1) / 2 * np.log(squares)
        constant = (SCALES.size - 1) * np.log(plain / squared) - np.log(squared) / 2
        likelihood = with_noise + constant + np.log(inverse).sum(axis=1, keepdims=True)
        evidence.append(np.log(odds(term)) + logsumexp(likelihood, axis=0) - np.log(len(inverse)))
    return [terms[place] for place in np.argmax(evidence, axis=0)]


def recovery(kernels: int, seed: int, interpreter: str | None, few: int) -> None:
    """Print how often each class comes back, ours and theirs, and on how many rows ours is at least as good."""
    print(f"\nclass         noise   lower half  nearly   mean  nearly{'   theirs  nearly' if interpreter else ''}")
    as_good, rows = [0, 0], 0
    for noise in (0.0, *NOISES):
        made_of = {
            text: generated(curve(text, SCALES), noise, kernels if noise else 1, seed + row)
            for row, text in enumerate(CLASSES)
        }
        peer_growths = theirs_of_each(interpreter, made_of, few) if interpreter else {}
        for text, samples in made_of.items():
            lower = rates(commmodel_growths(SCALES, STATISTIC["lower half"](samples, axis=2)), text)
            means = rates(commmodel_growths(SCALES, samples.mean(axis=2)), text)
            line = f"{text:13} {noise:5.0%}   {lower[0]:10.1%} {lower[1]:7.1%} {means[0]:6.1%} {means[1]:7.1%}"
            if interpreter:
                other = rates(peer_growths[text], text)
                line += f"   {other[0]:6.1%} {other[1]:7.1%}"
                rows += 1
                as_good = [count + (rate >= peer) for count, rate, peer in zip(as_good, lower, other, strict=True)]
            print(line, flush=True)
    if interpreter:
        print(f"lower half at least as good: {as_good[0]} of {rows} rows; nearly: {as_good[1]} of {rows}")


def other_scales(kernels: int, seed: int) -> None:
    """Print recovery at 5 % noise over other scales, and where constants dominate; lower half."""
    headings = "   ".join(f"constant {share:3} times" for share in SHARES)
    print("\nexact, nearly, called constant; 5 % noise")
    print(f"scales          class    {headings}")
    for number, chosen in enumerate(((4, 8, 16, 32, 64), *OTHER_SCALES)):
        scales = np.array(chosen, dtype=np.float64)
        for row, text in enumerate(("log p", "p", "p log p")):
            line = f"{len(chosen):2}: {chosen[0]} ... {chosen[-1]:<5} {text:8}"
            for place, share in enumerate(SHARES):
                truth = curve(text, scales, float(share), 1.0)
                samples = generated(truth, 0.05, kernels, seed + 100 + 10 * (3 * number + row) + place)
                growths = commmodel_growths(scales, STATISTIC["lower half"](samples, axis=2))
                line += "  {:6.1%} {:6.1%} {:6.1%}".format(*rates(growths, text), Counter(growths)[ONE] / kernels)
            print(line, flush=True)


def verdicts(sets: int, seed: int) -> None:
    """Print how often a verdict is wrong: within the limits where the truth is not, or the other way round."""
    print(f"\nverdicts, {sets} data sets each: wrong, uncertain; the default deviations")
    print("truth     noise " + "".join(f"   expected {text:8}" for text in EXPECTED))
    most = 0.0
    for row, text in enumerate(JUDGED):
        for noise in NOISES:
            samples = generated(curve(text, SCALES), noise, sets, seed + 1000 + row)
            line = f"{text:9} {noise:5.0%} "
            for expected in EXPECTED:
                true = rank(parse_growth(text), parse_growth(expected))
                count = Counter(
                    judge(SCALES, list(sample), parse_growth(expected), draws=DRAWS).verdict for sample in samples
                )
                wrong = count["match"] + count["approximate"] if true == "mismatch" else count["mismatch"]
                # What was promised and is there, but is not among the models left over, is no match either.
                wrong += count["approximate"] if true == "match" else 0
                most = max(most, wrong / sets)
                line += f"   {wrong / sets:7.1%} {count['uncertain'] / sets:7.1%}    "
            print(line.rstrip(), flush=True)
    print(f"at most {most:.1%} wrong (wanted: at most 5 %)")


def near_log(sets: int, seed: int) -> None:
    """Print the verdicts on what grows nearly as log p against it, on five powers of two."""
    print(f"\nexpected log p, {sets} data sets each: match or approximate, uncertain, mismatch")
    print("scales      truth    " + "".join(f"{noise:>17.0%}" for noise in (0.01, *NOISES)))
    for first, last in RANGES:
        scales = np.array([first * 2.0**step for step in range(5)])
        for row, text in enumerate(NEAR_LOG):
            line = f"{first:2} ... {last:<5} {text:8}"
            for noise in (0.01, *NOISES):
                samples = generated(curve(text, scales), noise, sets, seed + 2000 + row)
                count = Counter(
                    judge(scales, list(sample), parse_growth("log p"), draws=DRAWS).verdict for sample in samples
                )
                shares = (count["match"] + count["approximate"], count["uncertain"], count["mismatch"])
                line += "   " + " ".join(f"{share / sets:4.0%}" for share in shares)
            print(line, flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", type=int, default=1000, help="data sets in each row (default: %(default)s)")
    parser.add_argument("--sets", type=int, default=40, help="data sets of each verdict (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=31415, help="of the data (default: %(default)s)")
    parser.add_argument("--extrap", metavar="PYTHON", help="interpreter that has the package extrap")
    parser.add_argument("--theirs", type=int, default=100, help="data sets of each row for it (default: %(default)s)")
    parser.add_argument("--bound", action="store_true", help="only how many classes Bayes's choice finds")
    options = parser.parse_args()
    if options.bound:
        bound(options.kernels, options.seed)
        return
    speed(options.seed, options.extrap)
    statistics(options.kernels, options.seed, options.extrap, options.theirs)
    bound(options.kernels, options.seed)
    recovery(options.kernels, options.seed + 50, options.extrap, options.theirs)
    other_scales(options.kernels, options.seed)
    verdicts(options.sets, options.seed)
    near_log(options.sets, options.seed)


if __name__ == "__main__":
    main()
