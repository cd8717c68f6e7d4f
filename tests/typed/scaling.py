"""A script of a user, checked by mypy --strict: measured times against expected growth."""

from commmodel import scaling

judgement = scaling.judge([2, 4, 8, 16, 32], [[1.0, 2.0]] * 5, scaling.parse_growth("log p"))
verdict: scaling.Verdict = judgement.verdict
print(verdict, judgement.advice, judgement.divergence.text("p"))
