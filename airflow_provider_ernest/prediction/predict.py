"""What a model says of a configuration: seconds, what they are spent on, and whether to trust it.

First the methods of prediction by name, behind one interface.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

import airflow_provider_ernest.words as words
from airflow_provider_ernest.documents.models import AveragingPrior, Model
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import ErnestError, FitError, InvalidParameterError
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.calibration import LIKELY, factor_on
from airflow_provider_ernest.prediction.numbers import (
    FloatArray,
    executors_and_scale,
    positive_number,
    whole_number,
)
from airflow_provider_ernest.prediction.regimes import (
    WHOLE_CACHE,
    RegimeForecast,
    again_seconds,
    effective_executors,
    foresee,
)
from airflow_provider_ernest.prediction.regression import ErnestRegression, Widening
from airflow_provider_ernest.prediction.terms import DICTIONARY, ERNEST, ObservedColumns, RunColumns, quoted
from airflow_provider_ernest.settings.bounds import AVERAGING, METHODS, RELATIVE
from airflow_provider_ernest.words import as_percent, count, input_share

Predictor: TypeAlias = TermAveraging | ErnestRegression


def observed_columns(
    runs: Sequence[Observation], *, told_by: Sequence[Observation] | None = None
) -> ObservedColumns:
    """Runs as columns, each with the executors that its tasks could keep busy, as `told_by` or they tell.

    Their seconds are without those of making again what caches could not hold (`regimes.again_seconds`):
    to a prediction those of its own configuration are added.
    """
    executors, scale = [run.executors for run in runs], [run.scale for run in runs]
    return ObservedColumns(
        executors=executors,
        scale=scale,
        row_width=[run.row_width for run in runs],
        seconds=np.array([run.seconds for run in runs]) - again_seconds(runs, told_by=told_by),
        workers=effective_executors(told_by or runs, executors=executors, scale=scale),
        replay_errors=[run.replay_error for run in runs],
    )


def check_method(method: str) -> str:
    """The name; refused with an InvalidParameterError if it is not one of `METHODS`."""
    if method not in METHODS:
        raise InvalidParameterError("method", method, "is unknown", remedy=f"Use one of {quoted(METHODS)}.")
    return method


def default_terms(method: str) -> tuple[str, ...]:
    """The terms that a method takes unless told otherwise."""
    return DICTIONARY if check_method(method) == AVERAGING else ERNEST


def new_predictor(
    method: str, *, terms: Sequence[str] | None = None, prior: AveragingPrior | None = None
) -> Predictor:
    """A predictor that has seen no runs yet; `prior` is for "averaging" alone."""
    usual = default_terms(method)
    chosen = usual if terms is None else tuple(terms)
    if method == AVERAGING:
        return TermAveraging(terms=chosen, prior=prior)
    return ErnestRegression(terms=chosen, weighting="relative" if method == RELATIVE else "absolute")


MOST_KEPT = 16
"""An average over terms holds some 800 bytes for each pair of configurations: 8 MB for a hundred of them."""


@lru_cache(maxsize=MOST_KEPT)
def fitted(model: Model) -> Predictor:
    """The predictor of a model.

    It is not stored but fitted anew, which takes some hundredths of a second for the usual number of runs:
    so a stored model holds nothing that cannot be traced to its observations.
    """
    predictor = new_predictor(model.method, terms=[term.name for term in model.terms], prior=model.prior)
    return predictor.fit_undetermined(**observed_columns(model.observations))


FURTHEST_SCALE = 20.0
"""How many times the largest observed sample an input may be before a prediction is marked."""

UNCACHED = "not in memory"
"""Names the seconds of making or reading again what the cache cannot hold, beside those of the terms."""


@contextmanager
def _naming(model: Model) -> Iterator[None]:
    """Let errors of the libraries that compute it name the model: its numbers contradict each other."""
    try:
        yield
    except ErnestError:
        raise
    except (ArithmeticError, ValueError, LookupError) as error:
        raise no_prediction(model, f"the computation failed ({error})") from error


CHECK_NUMBERS = "Check its numbers, above all the times of its runs, or train it again."


def no_prediction(model: Model, why: str, *, remedy: str = CHECK_NUMBERS) -> FitError:
    """The error that says so of the model."""
    about = f"Model {model.id} of {model.job!r} on {model.instance_type}"
    return FitError(f"{about} cannot predict: {why}.", remedy=remedy)


LEAST_SECONDS = 1e-9
"""A run that is predicted to take less has no model: numbers could not hold its interval either."""


def require_time(seconds: FloatArray, executors: Sequence[int], *, scale: float, instance_type: str) -> None:
    """Refuse predicted seconds, (n,), that are infinite or next to nothing by an InvalidParameterError."""
    wrong = np.flatnonzero(~(np.isfinite(seconds) & (seconds > LEAST_SECONDS)))
    if wrong.size:
        at = int(wrong[0])
        raise InvalidParameterError(
            "scale",
            scale,
            f"is predicted to take {seconds[at]:g} s at size {executors[at]} of {instance_type}",
            remedy="A run takes some time: check the scale, or give the model a term for fixed work.",
        )


class ModelForecast:
    """What a model says of n runs, from the moment that all executors are there, start-up excluded.

    Executors and scale are n numbers or one. The iterations are of the run that is predicted, for iterative
    jobs; by default those trained with. For more of them all terms but the fixed one are multiplied by the
    ratio.

    Each part is computed when it is first asked for. Then an InvalidParameterError refuses values that cannot
    be, and `iterations` of a model that was trained without.
    """

    def __init__(
        self, model: Model, *, executors: ArrayLike, scale: ArrayLike = 1.0, iterations: int | None = None
    ) -> None:
        self.model = model
        self._asked = executors, scale, iterations

    @cached_property
    def seconds(self) -> FloatArray:
        """Of the runs, shape (n,)."""
        with _naming(self.model):
            return self._without_again + self._again

    def interval(self, level: float, *, is_calibrated: bool = True) -> tuple[FloatArray, FloatArray]:
        """The bounds that the runs' seconds lie between with probability `level`, shape (n,) each.

        They are calibrated by production runs, and wider where Spark's metrics foresee another regime.
        """
        with _naming(self.model):
            low, high = self._predictor.interval(**self._runs, level=level)
            bounds = low * self._times_as_long, high * self._times_as_long
            return self._widening(is_calibrated).interval(self.seconds, bounds, level=level)

    def probability_within(self, seconds: ArrayLike) -> FloatArray:
        """The probability that the runs take no longer than n limits, or one, of at least 0, shape (n,).

        It agrees with `interval`: a run stays below the upper bound of its 80 % interval with 90 %.
        """

        def narrow(within: FloatArray) -> FloatArray:
            return self._predictor.probability_within(**self._runs, limits=within / self._times_as_long)

        with _naming(self.model):
            limits = np.broadcast_to(np.asarray(seconds, dtype=np.float64), self._without_again.shape)
            return self._widening(True).probability_within(self.seconds, limits, narrow)

    def contributions(self) -> list[dict[str, float]]:
        """For each run the seconds of each term, and of what is `UNCACHED`; their sum is the prediction."""
        with _naming(self.model):
            seconds = self._predictor.contributions(**self._runs)
            names = [term.name for term in self.model.terms]
            if self._again.any():
                names, seconds = [*names, UNCACHED], np.column_stack([seconds, self._again])
            return [dict(zip(names, parts, strict=True)) for parts in seconds.tolist()]

    @cached_property
    def regimes(self) -> list[RegimeForecast]:
        """What Spark's figures foresee of each run."""
        asked = executors_and_scale(executors=self._asked[0], scale=self._asked[1])
        return [_forecast(self.model, int(count), float(scale)) for count, scale in zip(*asked, strict=True)]

    @cached_property
    def _runs(self) -> RunColumns:
        """As all methods of prediction take them."""
        executors, scale, iterations = self._asked
        executor_column, scale_column = executors_and_scale(executors=executors, scale=scale)
        ratio, trained = 1.0, self.model.trained_iterations
        if iterations is not None:
            wanted = whole_number("iterations", iterations)
            if trained is None:
                raise InvalidParameterError(
                    "iterations",
                    iterations,
                    f"is asked of a model of {self.model.job!r} that was trained without",
                    remedy="Give the sample runs a number of iterations, or leave it out here.",
                )
            ratio = wanted / trained
        return RunColumns(
            executors=executor_column,
            scale=scale_column,
            workers=effective_executors(
                self.model.observations, executors=executor_column, scale=scale_column
            ),
            iteration_ratio=ratio,
        )

    @cached_property
    def _predictor(self) -> Predictor:
        return fitted(self.model)

    @cached_property
    def _without_again(self) -> FloatArray:
        return self._predictor.predict(**self._runs)

    @cached_property
    def _again(self) -> FloatArray:
        """Seconds that the runs spend on what their caches cannot hold, shape (n,)."""
        seconds = np.array([each.again_seconds for each in self.regimes])
        return np.asarray(seconds * self._runs.get("iteration_ratio", 1.0), dtype=np.float64)

    @cached_property
    def _times_as_long(self) -> FloatArray:
        """By how much runs take longer that spend `_again` seconds, shape (n,).

        What slows a run down slows all of it down: its bounds stay as far apart in relation to the whole.
        """
        seconds = self._without_again
        return 1.0 + np.divide(self._again, seconds, out=np.zeros_like(seconds), where=seconds > 0)

    def _widening(self, is_calibrated: bool) -> Widening:
        """By what Spark's figures, and production runs, widen intervals.

        What was taken out of the observed runs is as uncertain as what is added: where they missed much and
        the run that is asked about misses nothing, that is what is not known of it.
        """
        executors, factors = np.asarray(self._runs["executors"]).tolist(), np.array(1.0)
        if is_calibrated:
            factors = np.array([factor_on(self.model, count) for count in executors])
        counted = np.maximum(self._again, _again_of_observed(self.model) * self._without_again)
        uncertain = counted * [each.again_spread for each in self.regimes] / self.seconds
        return Widening(
            factors=factors * [each.widening for each in self.regimes],
            least_log_spreads=np.maximum([each.least_log_spread for each in self.regimes], uncertain),
        )


def predict_seconds(
    model: Model, *, executors: ArrayLike, scale: ArrayLike = 1.0, iterations: int | None = None
) -> FloatArray:
    """`ModelForecast.seconds` of some runs."""
    return ModelForecast(model, executors=executors, scale=scale, iterations=iterations).seconds


def predict_interval(
    model: Model, *, executors: ArrayLike, level: float, scale: ArrayLike = 1.0, iterations: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """`ModelForecast.interval` of some runs."""
    return ModelForecast(model, executors=executors, scale=scale, iterations=iterations).interval(level)


def standardised_errors(
    model: Model, *, executors: ArrayLike, seconds: ArrayLike, scale: ArrayLike = 1.0
) -> FloatArray:
    """How far n runs lie from their predictions, in standard deviations by the intervals of 80 %, shape (n,).

    On the logarithm, above 0 where they took longer, without `calibration`. The seconds exclude start-up.
    """
    forecast = ModelForecast(model, executors=executors, scale=scale)
    with _naming(model):
        low, high = forecast.interval(0.8, is_calibrated=False)
        errors = np.log(np.asarray(seconds) / forecast.seconds)
        bounds = np.where(errors > 0, np.log(high / forecast.seconds), np.log(forecast.seconds / low))
        return np.asarray(LIKELY * errors / bounds, dtype=np.float64)


def memory_shortage(model: Model, *, executors: int, scale: float = 1.0) -> str:
    """Why so many executors cannot hold the data in memory; empty if they can or nothing is known."""
    forecast = _forecast(model, whole_number("executors", executors), positive_number("scale", scale))
    reasons = []
    if forecast.cache_share is not None and forecast.cache_share < WHOLE_CACHE:
        reasons.append(f"{as_percent(forecast.cache_share)} of the data to be cached finds room in memory")
    if forecast.spills:
        reasons.append("tasks spill to disk")
    return "; ".join(reasons)


@lru_cache(maxsize=MOST_KEPT)
def _again_of_observed(model: Model) -> float:
    """What the observed runs spent as `_again` says, as a share of the seconds that a model is fitted to."""
    rest = np.asarray(observed_columns(model.observations)["seconds"], dtype=np.float64)
    return float(np.median([run.seconds for run in model.observations] / rest - 1.0))


def extrapolation(model: Model, *, executors: int, scale: float = 1.0) -> str:
    """Why the observations do not support a prediction, in words; empty where they do.

    Samples are for extrapolating to more data, so larger inputs are mentioned only from far outside, smaller
    ones always: who asks for less than any sample may mean another unit. Executor counts are mentioned as
    soon as they leave what was observed: what happens on more executors may have been invisible on fewer.
    """
    executors = whole_number("executors", executors)
    scale = positive_number("scale", scale)
    counts = [run.executors for run in model.observations]
    scales = [run.scale for run in model.observations]
    tried, least, most = [], min(counts), max(counts)
    if not least <= executors <= most:
        of_most = words.executors(most, executors_per_machine=model.executors_per_machine)
        tried.append(("" if least == most else f"{count(least)} to ") + of_most)
    if scale > FURTHEST_SCALE * max(scales) or scale < min(scales):
        shares = dict.fromkeys(map(input_share, (min(scales), max(scales))))
        tried.append(f"{' to '.join(shares)} of the input")
    reasons = []
    if tried:
        is_one = len(tried) == 1 and (least <= executors <= most or most == 1)
        reasons.append(f"Extrapolated: only {' and '.join(tried)} {'was' if is_one else 'were'} tried")
    reasons += _forecast(model, executors, scale).warnings
    return "; ".join(reason.rstrip(".") for reason in reasons)


@lru_cache(maxsize=4096)
def _forecast(model: Model, executors: int, scale: float) -> RegimeForecast:
    """Kept, since each interval of a run and its warnings ask for it, and it goes through all runs."""
    return foresee(model.observations, executors=executors, scale=scale)
