"""What may be chosen: machines of one type, the model of that type, and how they are paid for.

A type that was not trained can be offered too, but only explicitly, by the model of another type and a
relative speed: work on data is taken to go faster by it, all else to stay. Such an alternative is marked,
and its interval allows for what nobody has measured.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.numbers import FloatArray, machines_and_scale, positive_number, whole_number
from airflow_provider_ernest.prediction.predict import (
    contributions_of_runs,
    extrapolation,
    memory_shortage,
    predict_interval,
    predict_seconds,
    probability_within,
    require_time,
)
from airflow_provider_ernest.prediction.regression import Widening
from airflow_provider_ernest.prediction.terms import term_named
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.billing import no_price

LIKELY = 0.8
NEARLY_CERTAIN = 0.95
"""The probabilities of the two intervals that are told of a run."""

UNTRAINED_LOG_SPREAD = 0.3
"""The standard deviation of log(seconds) to assume at least on a type that was not trained: its relative
speed is a guess. The same runs on two types of 8 cores differ by about as much in the traces of C3O."""

OTHER_AMOUNTS_OF_DATA = (0.5, 2.0, 10.0)
"""Times the data asked about, at which it shows whether a term follows them."""

CLOSE = 1e-4
"""So near on the logarithm are seconds that are looked for by their probability."""
WIDENED, MOST_WIDENINGS = 4.0, 12
"""From that distance on the search goes so many times as far each time, at most a thousand powers of e."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Machines of one type that production may have.

    Attributes:
        model: of the job on that type, or on the one that `relative_speed` is against.
        machines: the numbers of machines to choose from.
        billing: how they are paid for.
        instance_type: None for the model's. Another one was not trained: an explicit extrapolation.
        relative_speed: of that type against the model's for work on data, such as 2 where it has twice the
            cores; only with `instance_type`.
        input_growth: how many times the input that the model was trained for today's is. Scales are
            relative to today's.

    Raises:
        InvalidParameterError: there are no numbers of machines, or one that cannot be; there is no price; a
            speed is given of a type that was trained; or the growth is not above 0.
    """

    model: Model
    machines: Sequence[int]
    billing: Billing
    instance_type: str | None = None
    relative_speed: float = 1.0
    input_growth: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what cannot be offered."""
        if self.billing.price_per_hour is None:
            raise no_price(self.type_name)
        for index, count in enumerate(self.machines):
            whole_number(f"machines[{index}]", count)
        if not len(self.machines):
            raise InvalidParameterError(
                "machines", self.machines, "is empty", remedy="Allow at least one number of machines."
            )
        if not self.counts:
            raise InvalidParameterError(
                "machines",
                list(self.machines),
                "has too few slots: all tasks of a barrier stage of the job must run at once",
                remedy=f"Allow at least {self.least_machines} machines.",
            )
        positive_number("relative_speed", self.relative_speed)
        positive_number("input_growth", self.input_growth)
        if not self.is_extrapolated and self.relative_speed != 1.0:
            raise InvalidParameterError(
                "relative_speed",
                self.relative_speed,
                f"is given of {self.type_name}, which was trained",
                remedy="Leave it out, or name the type that was not trained.",
            )

    @property
    def type_name(self) -> str:
        """The name of the offered type."""
        return self.instance_type or self.model.instance_type

    @property
    def is_extrapolated(self) -> bool:
        """Whether the type was not trained."""
        return self.type_name != self.model.instance_type

    @property
    def counts(self) -> list[int]:
        """The numbers of machines that can run the job, each once, in ascending order."""
        return sorted({int(count) for count in self.machines if count >= self.least_machines})

    @cached_property
    def least_machines(self) -> int:
        """On fewer Spark refuses a stage whose tasks must all run at once; 1 where no run had one."""
        told = ((run.machines, run.metrics) for run in self.model.observations if run.metrics)
        needs = [
            math.ceil(each.barrier_tasks * count / each.slots) for count, each in told if each.barrier_tasks
        ]
        return min(needs, default=1)

    def forecast(self, *, scale: float, iterations: int | None = None) -> Forecast:
        """What its runs are predicted to take; see `OfferForecast`."""
        return OfferForecast(self, scale=scale, iterations=iterations)


class _Runs(TypedDict):
    """The runs that a model is asked about; see `predict_seconds`."""

    machines: list[int]
    scale: float
    iterations: int | None


class Forecast(ABC):
    """What runs on n numbers of machines, ascending, are predicted to take, start-up excluded.

    Attributes:
        seconds: of the runs, shape (n,).
    """

    seconds: FloatArray

    @abstractmethod
    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """What the runs lie between with probability `level`, shape (n,) each."""

    @abstractmethod
    def probability_within(self, limits: FloatArray) -> FloatArray:
        """The probability that the runs take no longer than so many seconds, shape (n,)."""

    @abstractmethod
    def extrapolates(self, machines: int) -> str:
        """Why the observations do not support the prediction; empty where they do."""

    @abstractmethod
    def memory_shortage(self, machines: int) -> str:
        """Why the machines cannot hold the data; empty where they can or nothing is known."""

    def seconds_kept_within(self, confidence: float) -> FloatArray:
        """The least seconds that the runs stay within with this probability, shape (n,), a little rounded up.

        Found by halving what `probability_within` says, so that a goal of just these seconds is kept.
        """
        # Above a half the upper bound of an interval is nearly all there is to find.
        return self._halved(
            confidence, self.interval(2 * confidence - 1)[1] if confidence > 0.5 else self.seconds
        )

    def _halved(self, confidence: float, start: FloatArray) -> FloatArray:
        """The same, looked for from so many seconds on."""
        low = high = np.log(start)
        width = np.full_like(low, CLOSE)
        for _ in range(MOST_WIDENINGS):
            is_low = self.probability_within(np.exp(low)) < confidence
            is_high = self.probability_within(np.exp(high)) >= confidence
            if is_low.all() and is_high.all():
                break
            low, high = np.where(is_low, low, low - width), np.where(is_high, high, high + width)
            width = WIDENED * width
        while (high - low).max() > 2 * CLOSE:
            middle = (low + high) / 2
            is_kept = self.probability_within(np.exp(middle)) >= confidence
            low, high = np.where(is_kept, low, middle), np.where(is_kept, middle, high)
        return np.asarray(np.exp(high), dtype=np.float64)


class OfferForecast(Forecast):
    """What an offer's runs are predicted to take, by ascending number of machines, start-up excluded.

    Args:
        offer: n numbers of machines of one type.
        scale: the production input relative to today's.
        iterations: of the production run; see `prediction.predict_seconds`.

    Attributes:
        seconds: of the runs, shape (n,).

    Raises:
        InvalidParameterError: a run would take no time, or more than numbers can hold.
    """

    def __init__(self, offer: Offer, *, scale: float, iterations: int | None) -> None:
        self.offer = offer
        self._counts = offer.counts
        self._scale = scale * offer.input_growth
        self._runs = _Runs(machines=self._counts, scale=self._scale, iterations=iterations)
        with np.errstate(over="ignore"):  # what no number holds is infinite, and refused below
            trained = predict_seconds(offer.model, **self._runs)
        self._ratio = self._at_speed() / trained if offer.is_extrapolated else np.ones_like(trained)
        self.seconds = trained * self._ratio
        require_time(self.seconds, self._counts, scale=self._scale, instance_type=offer.type_name)

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """What the runs lie between with probability `level`, shape (n,) each."""
        low, high = predict_interval(self.offer.model, level=level, **self._runs)
        bounds = (low * self._ratio, high * self._ratio)
        return self._widening().interval(self.seconds, bounds, level=level)

    def probability_within(self, limits: FloatArray) -> FloatArray:
        """The probability that the runs take no longer than so many seconds, shape (n,)."""

        def within(narrow: FloatArray) -> FloatArray:
            return probability_within(self.offer.model, seconds=narrow / self._ratio, **self._runs)

        return self._widening().probability_within(self.seconds, limits, within)

    def extrapolates(self, machines: int) -> str:
        """Why the observations do not support the prediction; empty where they do."""
        reason = extrapolation(self.offer.model, machines=machines, scale=self._scale)
        if not self.offer.is_extrapolated:
            return reason
        untrained = (
            f"{self.offer.type_name} was not trained: taken as {self.offer.model.instance_type} with "
            f"{self.offer.relative_speed:g} times the speed"
        )
        return "; ".join(part for part in (untrained, reason) if part)

    def memory_shortage(self, machines: int) -> str:
        """Why the machines cannot hold the data; of a type that was not trained nothing is known."""
        if self.offer.is_extrapolated:
            return ""
        return memory_shortage(self.offer.model, machines=machines, scale=self._scale)

    def _at_speed(self) -> FloatArray:
        """Seconds where the terms that follow the size of the data go faster by the relative speed."""
        speed = self.offer.relative_speed
        parts = contributions_of_runs(self.offer.model, **self._runs)
        speeds = {
            term.name: speed if _follows_data(term.name, machines=self._counts, scale=self._scale) else 1.0
            for term in self.offer.model.terms
        }
        return np.array(
            [sum(seconds / speeds.get(name, speed) for name, seconds in of_run.items()) for of_run in parts]
        )

    def _widening(self) -> Widening:
        ones = np.ones_like(self.seconds)
        least = UNTRAINED_LOG_SPREAD if self.offer.is_extrapolated else 0.0
        return Widening(factors=ones, least_log_spreads=ones * least)


def _follows_data(name: str, *, machines: ArrayLike, scale: ArrayLike) -> bool:
    """Whether a term becomes another with more or less data, whatever its name says."""
    column = term_named(name).column
    machine_column, scale_column = machines_and_scale(machines=machines, scale=scale)
    here = column(machines=machine_column, scale=scale_column)
    elsewhere = (
        column(machines=machine_column, scale=times * scale_column) for times in OTHER_AMOUNTS_OF_DATA
    )
    return not all(np.allclose(here, there, rtol=1e-9, atol=0.0, equal_nan=True) for there in elsewhere)
