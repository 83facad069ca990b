"""What the extended Amdahl model remembers, as a document of models: pages read it, without mathematics."""

from __future__ import annotations

import math
from dataclasses import dataclass

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.document import Document


@dataclass(frozen=True, kw_only=True)
class AmdahlState(Document):
    """All that `ExtendedAmdahl` remembers; its size depends on the degree alone.

    Attributes:
        degree: k, of the polynomial.
        base_processors: the lowest processor count seen; the polynomial is of the times on it.
        unit_exponent: predictor values are kept in units of 2**unit_exponent, so that the largest is
            between 0.5 and 1 and no power of it grows.
        power_sums: the sums of u^j over the points on `base_processors`, j = 0..2k; X^T X has them.
        time_sums: the sums of u^j * seconds, j = 0..k; this is X^T y.
        distinct_x: up to k + 1 different predictor values of these points.
        highest_processors: p of the highest point, the one with the most processors and of those with
            the largest predictor value.
        highest_x: x of it.
        highest_points: how many points lay there.
        highest_mean_seconds: the mean of their times.
    """

    degree: int
    base_processors: int = 0
    unit_exponent: int = 0
    power_sums: tuple[float, ...]
    time_sums: tuple[float, ...]
    distinct_x: tuple[float, ...] = ()
    highest_processors: int = 0
    highest_x: float = 0.0
    highest_points: int = 0
    highest_mean_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Refuse sums of another degree, and NaN."""
        if self.degree < 0:
            raise InvalidParameterError("degree", self.degree, "is negative")
        degree = self.degree
        for name, length in (("power_sums", 2 * degree + 1), ("time_sums", degree + 1)):
            sums = getattr(self, name)
            if len(sums) != length:
                raise InvalidParameterError(name, sums, f"must have {length} values for degree {degree}")
            for index, value in enumerate(sums):
                _not_negative(f"{name}[{index}]", value)
        for name in ("highest_x", "highest_mean_seconds"):
            _not_negative(name, getattr(self, name))


def _not_negative(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise InvalidParameterError(name, value, "is not a finite number of at least 0")
