"""The extended Amdahl law (Verstraaten and Scholz): Tseq(scale) * (1 - alpha + alpha / machines)."""

from __future__ import annotations

import numpy as np

from airflow_provider_ernest.prediction.amdahl import AmdahlRegression, ExtendedAmdahl
from airflow_provider_ernest.prediction.numbers import FloatArray


class BatchForecast:
    """The law fitted to all runs at once; without intervals."""

    def __init__(self, regression: AmdahlRegression) -> None:
        self.regression = regression

    def predict(self, *, machines: FloatArray, scale: FloatArray) -> FloatArray:
        """Seconds, shape (n,)."""
        return self.regression.predict(machines=machines, scale=scale)

    def interval(self, *, machines: FloatArray, scale: FloatArray, level: float) -> None:
        """None."""


class BatchAmdahl:
    """The law with Tseq of degree 1, fitted to all runs at once with relative errors."""

    name = "Amdahl, batch"

    def fit(self, *, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> BatchForecast:
        """Refused with an `ErnestError` where the runs do not determine the law."""
        return BatchForecast(AmdahlRegression().fit(machines=machines, scale=scale, seconds=seconds))


class OnlineForecast:
    """The fitted online model; without intervals."""

    def __init__(self, model: ExtendedAmdahl) -> None:
        self.model = model

    def predict(self, *, machines: FloatArray, scale: FloatArray) -> FloatArray:
        """Seconds, shape (n,); refused with a `FitError` where the runs do not determine the law."""
        return self.model.predict(x=scale, processors=machines)

    def interval(self, *, machines: FloatArray, scale: FloatArray, level: float) -> None:
        """None."""


class OnlineAmdahl:
    """The package's own online form: the polynomial from the fewest machines, alpha from the most."""

    name = "Amdahl, online"

    def fit(self, *, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> OnlineForecast:
        """One run after the other; of degree 0 where the fewest machines saw a single scale."""
        scales = np.unique(scale[machines == machines.min()])
        model = ExtendedAmdahl(degree=min(1, len(scales) - 1))
        for count, share, time in zip(machines, scale, seconds, strict=True):
            model.add(x=float(share), processors=int(count), seconds=float(time))
        return OnlineForecast(model)
