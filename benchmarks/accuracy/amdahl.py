"""The extended Amdahl law (Verstraaten and Scholz): Tseq(scale) * (1 - alpha + alpha / machines)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar

from airflow_provider_ernest.model.amdahl.online import ExtendedAmdahl
from airflow_provider_ernest.model.parameters import FloatArray
from benchmarks.accuracy.forms import Columns, Form, LinearForecast, relative_nnls


class BatchAmdahl:
    """The law with Tseq of degree 1, fitted to all runs at once with relative errors.

    For every alpha the polynomial is a least-squares problem, so alpha is found by a search in one
    dimension.
    """

    name = "Amdahl, batch"

    def fit(self, *, machines: FloatArray, scale: FloatArray, seconds: FloatArray) -> LinearForecast:
        """Coefficients of the polynomial are not negative."""

        def columns_at(alpha: float) -> Columns:
            return lambda m, s: np.column_stack([np.ones_like(s), s]) * (1 - alpha + alpha / m)[:, None]

        def misfit(alpha: float) -> float:
            return relative_nnls(columns_at(alpha)(machines, scale), seconds)[1]

        # The misfit may have several valleys: the best of a grid, then the valley around it.
        grid = np.linspace(0.0, 1.0, 21)
        best = float(min(grid, key=misfit))
        bounds = (max(0.0, best - 0.05), min(1.0, best + 0.05))
        alpha = float(minimize_scalar(misfit, bounds=bounds, method="bounded").x)
        form = Form(self.name, columns=columns_at(alpha))
        return replace(form.fit(machines=machines, scale=scale, seconds=seconds), searched=1)


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
