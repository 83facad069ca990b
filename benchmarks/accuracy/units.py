"""Do units matter? All seconds times ten should give predictions times ten.

What is believed beforehand of a machine's overhead is in seconds or in shares of the job's time. Each job's
training runs are fitted once as they are and once with all times multiplied. Told is by what that multiplies
the predictions, over the factor: 1 where units do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.prediction.numbers import FloatArray
from benchmarks.accuracy.ours import Averaging
from benchmarks.accuracy.runs import Case, Round

FACTOR = 10.0
MACHINES = (10, 100, 1000)
QUANTILES = (0.1, 0.5, 0.9)

MOST_CASES = 100
"""Of each protocol, evenly spread over it: the medians hardly change with more."""


def ratios(cases: Sequence[Case]) -> FloatArray:
    """For each case that is not refused, and number of `MACHINES`, shape (n, 3), on the whole input."""
    found = []
    for case in cases:
        try:
            as_they_are, multiplied = _predicted(case, 1.0), _predicted(case, FACTOR)
        except ErnestError:
            continue
        found.append(multiplied / as_they_are / FACTOR)
    return np.array(found).reshape(-1, len(MACHINES))


def table(protocols: Sequence[tuple[str, Sequence[Round]]]) -> list[str]:
    """A row for each protocol and number of machines."""
    lines = [
        f"predictions with all seconds times {FACTOR:g}, over {FACTOR:g} times the predictions",
        f"{'':24s}  {'machines':>8s}  {'median':>6s}  {'10 % to 90 % of jobs':>20s}  {'jobs':>4s}",
    ]
    for title, rounds in protocols:
        cases = [case for one_round in rounds for case in one_round.cases]
        found = ratios(cases[:: -(-len(cases) // MOST_CASES)])
        for machines, column in zip(MACHINES, found.T, strict=True):
            low, median, high = np.quantile(column, QUANTILES)
            spread = f"{low:.2f} to {high:.2f}"
            lines.append(f"{title:24s}  {machines:8d}  {median:6.2f}  {spread:>20s}  {len(column):4d}")
    return lines


def _predicted(case: Case, factor: float) -> FloatArray:
    train = case.train
    forecast = Averaging().fit(machines=train.machines, scale=train.scale, seconds=factor * train.seconds)
    return forecast.predict(machines=np.array(MACHINES, dtype=np.float64), scale=np.ones(len(MACHINES)))
