"""What the models of several types say of a job, in the terms of OptEx.

Runs on several types at once are not observed. What the types' models say of runs on one type alone is
taken together::

    T_t(n) ~ F + C*n + W_t/n        for each type t

with one F and one C for all, and W_t the work by the type's own clock: the relative speeds come out of the
models. A mix of n_t machines then takes ``F + C*N + W/V``, N being all its machines and V their speed; see
`optex.composition`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from airflow_provider_ernest.exceptions import FitError
from airflow_provider_ernest.model.choice import LIKELY, NEARLY_CERTAIN
from airflow_provider_ernest.model.intervals import two_sided
from airflow_provider_ernest.model.least_squares import non_negative_least_squares
from airflow_provider_ernest.model.offers import Offer, OfferForecast
from airflow_provider_ernest.model.parameters import FloatArray, IntArray

MOST_MISFIT = 0.15
"""Root of the mean squared relative error of the formula against the models, from which on it is not used."""

FEWEST_NUMBERS = 3
"""Of machines of each type: from fewer, what is fixed, what grows and what shrinks cannot be told apart."""

LEAST_SPREAD = 1e-6
"""Models of exact runs know no scatter at all, which nothing could be divided by."""


@dataclass(frozen=True, kw_only=True)
class MixedJob:
    """What the models of k types say of a job, in the terms of OptEx.

    Attributes:
        offers: the types, which all were trained.
        scale: the production input relative to the one that was sampled.
        fixed_seconds: F.
        sharing_seconds: C.
        work_seconds: W_t of each type, shape (k,).
        misfit: root of the mean squared relative error of the formula.
        log_spreads: for each type the widest standard deviation of log(seconds) that its intervals speak
            of, by ascending number of machines.
    """

    offers: tuple[Offer, ...]
    scale: float
    fixed_seconds: float
    sharing_seconds: float
    work_seconds: FloatArray
    misfit: float
    log_spreads: tuple[FloatArray, ...]

    @property
    def speeds(self) -> FloatArray:
        """Relative to the first type, shape (k,)."""
        return np.asarray(self.work_seconds[0] / self.work_seconds)

    @property
    def startup_seconds(self) -> float:
        """The longest of the types': a run waits for all of its machines."""
        return max(offer.model.startup_seconds for offer in self.offers)

    def run_seconds(self, counts: IntArray) -> float:
        """Of a run on a composition, shape (k,), start-up excluded."""
        spread = float(self.work_seconds[0] / (self.speeds @ counts))
        return self.fixed_seconds + self.sharing_seconds * int(counts.sum()) + spread

    def log_spread(self, machines: int) -> float:
        """The standard deviation of log(seconds) on so many machines.

        The widest of the types' models, at the nearest number that is offered, and the misfit.
        """
        widest = max(
            float(spreads[np.argmin(np.abs(np.array(offer.counts) - machines))])
            for offer, spreads in zip(self.offers, self.log_spreads, strict=True)
        )
        return max(LEAST_SPREAD, math.hypot(widest, self.misfit))


def mixed_job(offers: Sequence[Offer], *, scale: float, iterations: int | None) -> MixedJob | None:
    """The terms of OptEx that fit the models of trained types best, with their relative errors squared.

    They are fitted at the numbers of machines that are offered; where those of a type are too few, at the
    observed ones as well.

    Returns:
        None where they are too few even so, or the formula does not fit.
    """
    fitted = [
        OfferForecast(_with_enough_numbers(each), scale=scale, iterations=iterations) for each in offers
    ]
    if any(len(forecast.seconds) < FEWEST_NUMBERS for forecast in fitted):
        return None
    rows = []
    for position, forecast in enumerate(fitted):
        machines = np.array(forecast.offer.counts, dtype=np.float64)
        columns = np.zeros((len(machines), 2 + len(fitted)))
        columns[:, 0], columns[:, 1], columns[:, 2 + position] = 1.0, machines, 1.0 / machines
        rows.append(columns / forecast.seconds[:, None])
    relative = np.concatenate(rows)
    try:
        coefficients = non_negative_least_squares(relative, np.ones(len(relative)))
    except FitError:
        return None
    misfit = float(np.sqrt(np.mean((relative @ coefficients - 1.0) ** 2)))
    if misfit >= MOST_MISFIT or not (coefficients[2:] > 0).all():
        return None
    return MixedJob(
        offers=tuple(offers),
        scale=scale,
        fixed_seconds=float(coefficients[0]),
        sharing_seconds=float(coefficients[1]),
        work_seconds=coefficients[2:],
        misfit=misfit,
        log_spreads=tuple(
            _log_spreads(OfferForecast(each, scale=scale, iterations=iterations)) for each in offers
        ),
    )


def _with_enough_numbers(offer: Offer) -> Offer:
    if len(offer.counts) >= FEWEST_NUMBERS:
        return offer
    return replace(offer, machines=[*offer.counts, *(run.machines for run in offer.model.observations)])


def _log_spreads(forecast: OfferForecast) -> FloatArray:
    """Of a type's runs, by ascending number of machines, shape (n,)."""
    spreads = []
    for level in (LIKELY, NEARLY_CERTAIN):
        low, high = forecast.interval(level)
        distance = np.maximum(np.log(forecast.seconds / low), np.log(high / forecast.seconds))
        spreads.append(distance / ndtri(two_sided(level)[1]))
    return np.asarray(np.maximum(*spreads))
