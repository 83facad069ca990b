"""The predictor: an average over all sets of terms, weighted by how well each explains the runs.

A few runs seldom tell which terms a job has. So the predictor weighs every set of terms (Bayesian model
averaging; Hoeting et al. 1999) and every other hypothesis of `evidence`, draws coefficients from the weighted
whole, and predicts with all draws: the median is the prediction, the spread the interval. Each draw is a sum
of non-negative terms, so the parts of a prediction are still seconds of something.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, Unpack

import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.exceptions import FitError, InvalidParameterError, TooFewObservationsError
from airflow_provider_ernest.prediction.evidence import (
    POINTS_LEFT,
    POINTS_TO_SUSPECT,
    Points,
    memory_cuts,
    points_of,
    term_columns,
    ways_to_count,
)
from airflow_provider_ernest.prediction.numbers import FloatArray
from airflow_provider_ernest.prediction.posterior import NO_TIME, Posterior
from airflow_provider_ernest.prediction.regression import (
    mixture_probabilities,
    nearest,
    non_negative_least_squares,
    two_sided,
)
from airflow_provider_ernest.prediction.terms import (
    DICTIONARY,
    ObservedColumns,
    RunColumns,
    Runs,
    check_terms,
)
from airflow_provider_ernest.words import counted, input_share
from airflow_provider_ernest.words import duration as seconds_in_words

LEAST_POINTS = 3  # fixed and spreading work fit any two points; only a third one tests them
MOST_TERMS = 8  # each term doubles the sets of terms; with eight a fit takes about a second


class TermAveraging:
    """Run time as a sum of terms, without knowing which terms there are.

    Args:
        terms: names of p terms over whose subsets to average; see `terms.DICTIONARY`.
        prior: what is believed before the runs; None for `AveragingPrior()`.

    Attributes:
        coefficients_: after `fit`: mean seconds per unit of each term, shape (p,), none negative.
        probabilities_: that each term is part of the model, shape (p,).
        driver_share_: the probability that one of the machines does no work.
        noise_: mean relative standard deviation of a single run that is as long as the observed ones.
        disturbed_: the probability that each run does not belong to the others, shape (runs,).
        apart_: runs that were left out because they contradict the others, shape (runs,).
        posterior_: the draws that all predictions are made with.

    Example:
        A job with 10 s of fixed work and 200 s of work that spreads, observed on small samples:

        >>> import numpy as np
        >>> machines = np.array([1, 2, 4, 8, 2, 8])
        >>> scale = np.array([0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
        >>> seconds = 10 + 200 * scale / machines
        >>> averaging = TermAveraging().fit(machines=machines, scale=scale, seconds=seconds)
        >>> bool(abs(averaging.predict(machines=16, scale=1.0)[0] / 22.5 - 1) < 0.1)
        True
        >>> low, high = averaging.interval(machines=16, scale=1.0, level=0.95)
        >>> bool(low[0] < 22.5 < high[0])
        True
    """

    coefficients_: FloatArray
    probabilities_: FloatArray
    driver_share_: float
    noise_: float
    disturbed_: FloatArray
    apart_: NDArray[np.bool_]
    posterior_: Posterior

    def __init__(self, *, terms: Sequence[str] = DICTIONARY, prior: AveragingPrior | None = None) -> None:
        self.terms = terms
        self.prior = prior

    def fit(self, **runs: Unpack[ObservedColumns]) -> Self:
        """Weigh the hypotheses by the runs.

        Raises:
            InvalidParameterError: a value is not finite, or not above 0; the message gives its position.
            TooFewObservationsError: there are fewer than three distinct configurations.
            FitError: all runs used the same number of machines, or they contradict each other.
        """
        points = self._points(runs)
        if len(points.seconds) < LEAST_POINTS:
            raise TooFewObservationsError(
                f"{len(points.seconds)} distinct configurations say too little about a job.",
                remedy=f"Observe at least {LEAST_POINTS} pairs of machines and scale, better 5 to 8.",
            )
        if len(np.unique(points.machines)) == 1:
            raise FitError(
                f"All runs used {counted(int(points.machines[0]), 'machine')}: how the time changes with "
                "their number cannot be told.",
                remedy="Observe runs on at least one other number of machines.",
            )
        return self._fit(points, wrong_points(points, check_terms(self.terms), self._prior))

    def fit_undetermined(self, **runs: Unpack[ObservedColumns]) -> Self:
        """Like `fit`, but with any runs, as for cross-validation: the prior decides what they leave open."""
        points = self._points(runs)
        try:
            wrong = wrong_points(points, check_terms(self.terms), self._prior)
        except FitError:
            wrong = np.zeros(len(points.seconds), dtype=bool)
        return self._fit(points, wrong)

    def predict(self, **runs: Unpack[RunColumns]) -> FloatArray:
        """Median seconds of the runs that `terms.Runs` describes, shape (n,).

        Raises:
            FitError: the predictor has not been fitted.
            InvalidParameterError: a value is invalid.
        """
        return np.asarray(self._fitted().quantiles(Runs(**runs), (0.5,))[0], dtype=np.float64)

    def interval(self, *, level: float, **runs: Unpack[RunColumns]) -> tuple[FloatArray, FloatArray]:
        """Seconds between which a single run lies with probability `level`, 0 to 1, shape (n,) each."""
        low, high = self._fitted().quantiles(Runs(**runs), two_sided(level))
        return low, high

    def probability_within(self, *, limits: FloatArray, **runs: Unpack[RunColumns]) -> FloatArray:
        """The probability that a single run takes no longer than `limits` (seconds above 0), shape (n,)."""
        posterior = self._fitted()
        log_seconds, spreads = posterior.log_seconds(Runs(**runs))
        log_limits = np.log(np.asarray(limits, dtype=np.float64))
        return mixture_probabilities(log_seconds, spreads, log_limits, weights=posterior.draws.weights)

    def contributions(self, **runs: Unpack[RunColumns]) -> FloatArray:
        """Seconds of each prediction by term, shape (n, p), by each term's mean share over the draws."""
        posterior = self._fitted()
        parts = posterior.parts(Runs(**runs))
        shares = posterior.mean(parts / np.maximum(parts.sum(axis=-1, keepdims=True), NO_TIME))
        return np.asarray(shares * self.predict(**runs)[:, None], dtype=np.float64)

    def _points(self, runs: ObservedColumns) -> Points:
        names = check_terms(self.terms)
        if len(names) > MOST_TERMS:
            raise InvalidParameterError(
                "terms", names, f"are {len(names)}", remedy=f"Average over at most {MOST_TERMS} terms."
            )
        return points_of(**runs)

    @property
    def _prior(self) -> AveragingPrior:
        return self.prior or AveragingPrior()

    def _fit(self, points: Points, wrong: NDArray[np.bool_]) -> Self:
        self.posterior_ = Posterior(points.at(~wrong), terms=check_terms(self.terms), prior=self._prior)
        posterior, evidence, draws = self.posterior_, self.posterior_.evidence, self.posterior_.draws
        self.coefficients_ = posterior.mean(draws.coefficients)
        self.probabilities_ = draws.inclusion
        takes = np.array([counting.driver_machines for counting in evidence.countings])
        self.driver_share_ = float(posterior.mean(takes[draws.counting]))
        as_long = np.array([np.median(points.seconds)])
        self.noise_ = float(posterior.mean(np.sqrt(posterior.noise_variance(as_long)))[0])
        disturbed = wrong.astype(np.float64)
        disturbed[~wrong] = posterior.mean(evidence.outside[draws.outside])
        self.disturbed_, self.apart_ = disturbed[points.point_of_run], wrong[points.point_of_run]
        return self

    def _fitted(self) -> Posterior:
        if not hasattr(self, "posterior_"):
            raise FitError("This predictor has seen no runs yet.", remedy="Call fit first.")
        return self.posterior_


# Whether the runs can be runs of one job, and if not, which of them is wrong.
#
# A run that ended much too early with exit code 0 is not noise: least squares would fit it and call the
# others disturbed. So before anything is weighed, one question is asked without any distribution: by what
# factor does the nearest sum of terms miss the run that it describes worst? Real jobs stay far below
# `MOST_DISAGREEMENT`, even noisy ones and those that no term describes well. Above it, the wrong run is the
# one without which all others agree, if there is exactly one. Otherwise nobody can tell.

MOST_DISAGREEMENT = 2.0
"""The factor by which the nearest sum of terms may miss; two runs then differ by four times what any job
explains."""

MOST_DISAGREEMENT_OF_FEW = 1.5
"""The same below `POINTS_TO_SUSPECT` points: terms fit few points easily, whatever their times."""

CLEARLY_WORSE = 1.25
"""A run is wrong if the others agree without it and, without any other run, still miss by at least this
factor and three times as much on the logarithm."""

TIGHT = 1e-6  # relative: a point whose error is this close to the largest is one of those that determine it


def wrong_points(points: Points, terms: tuple[str, ...], prior: AveragingPrior) -> NDArray[np.bool_]:
    """The points that contradict the others, shape (n,); none if all agree.

    A point with several runs is no mistake, however badly the terms describe it.

    Raises:
        FitError: points contradict each other, and it cannot be told which are wrong.
    """
    columns = [term_columns(terms, points, counting) for counting in ways_to_count(points, prior)]
    every = np.ones(len(points.seconds), dtype=bool)
    if _agree(columns, points.seconds, every):
        return ~every
    suspects = _tight(columns, points.seconds)
    wrong = _wrong_one(columns, points, suspects)
    if wrong is not None:
        return np.asarray((np.arange(len(every)) == wrong) & ~points.told_again, dtype=np.bool_)
    for short_of_memory, _ in zip(memory_cuts(points), prior.memory_cut, strict=False):
        if _decide(columns, points, ~short_of_memory):
            return short_of_memory
    raise contradiction(points, suspects or range(len(every)))


def _wrong_one(columns: Sequence[FloatArray], points: Points, suspects: Sequence[int]) -> int | None:
    """The suspect without which the others agree; None if there is none, or it may be another."""
    if not suspects:
        return None
    left: list[tuple[float, int]] = []
    for suspect in suspects:
        rest = np.arange(len(points.seconds)) != suspect
        left.append((disagreement([each[rest] for each in columns], points.seconds[rest]), suspect))
    (least, wrong), *others = sorted(left)
    if not _decide(columns, points, np.arange(len(points.seconds)) != wrong):
        return None
    clearly = max(CLEARLY_WORSE, least**3)
    return wrong if all(each >= clearly for each, _ in others) else None


def disagreement(columns: Sequence[FloatArray], seconds: FloatArray) -> float:
    """The factor of `nearest` for the way of counting that suits the points best."""
    return min(nearest(each, seconds)[1] for each in columns)


def _agree(columns: Sequence[FloatArray], seconds: FloatArray, which: NDArray[np.bool_]) -> bool:
    """Whether the points can be runs of one job."""
    is_few = which.sum() < POINTS_TO_SUSPECT
    limit = MOST_DISAGREEMENT_OF_FEW if is_few else MOST_DISAGREEMENT
    kept = [each[which] for each in columns]
    # Any sum of terms that is near enough will do, and least squares takes a hundredth of the time.
    for each in kept:
        shares = each / seconds[which, None]
        explained = shares @ non_negative_least_squares(shares, np.ones(len(shares)))
        if np.max(np.maximum(explained, 1.0 / np.maximum(explained, np.finfo(float).tiny))) <= limit:
            return True
    return disagreement(kept, seconds[which]) <= limit


def _decide(columns: Sequence[FloatArray], points: Points, rest: NDArray[np.bool_]) -> bool:
    """Whether the rest of the points agree, and are enough to say so."""
    is_enough = rest.sum() >= POINTS_LEFT and len(np.unique(points.machines[rest])) > 1
    return bool(is_enough) and _agree(columns, points.seconds, rest)


def _tight(columns: Sequence[FloatArray], seconds: FloatArray) -> list[int]:
    """The points that determine the error of the nearest sum of terms."""
    tight: set[int] = set()
    for each in columns:
        coefficients, factor = nearest(each, seconds)
        errors = np.maximum(each @ coefficients / seconds, np.finfo(float).tiny)
        tight |= set(np.flatnonzero(np.maximum(errors, 1.0 / errors) >= factor * (1.0 - TIGHT)).tolist())
    return sorted(tight)


def contradiction(points: Points, suspects: Sequence[int]) -> FitError:
    """The error that names the contradicting points."""
    named = "; ".join(
        f"{counted(int(points.machines[each]), 'machine')}, {input_share(points.scale[each])} of the input, "
        f"{seconds_in_words(points.seconds[each])}"
        for each in suspects
    )
    return FitError(
        "The runs contradict each other: no sum of the model's terms comes near all of them. Wrong is one of "
        f"these, as far as can be told: {named}.",
        remedy="Look at them: a run that ended early or was held up says nothing of the job. Leave it out, "
        "or observe it again; more runs tell a wrong one more surely.",
    )
