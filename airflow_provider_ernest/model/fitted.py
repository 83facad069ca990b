"""The predictors of models: fitted anew from their observations, and kept while they are asked."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from airflow_provider_ernest.model.predictors import Predictor, new_predictor, observed_columns
from airflow_provider_ernest.model.results import Model

MOST_KEPT = 32
"""About 2 MB each, for the few configurations that most models are fitted to."""
MOST_SQUARED_CONFIGURATIONS = 400**2
"""Kept in all, about 130 MB: an average over terms holds some 800 bytes for each pair of configurations."""


class FittedPredictors:
    """The predictor of each model, fitted once, however many threads ask for it at the same time.

    It is not stored but fitted anew, which takes some hundredths of a second for the usual number of
    runs: so a stored model holds nothing that cannot be traced to its observations.
    """

    def __init__(self) -> None:
        self._fits: OrderedDict[Model, _Fit] = OrderedDict()
        self._lock = Lock()

    def __call__(self, model: Model) -> Predictor:
        """The predictor of a model."""
        with self._lock:
            fit = self._fits.get(model)
            if fit is None:
                fit = self._fits[model] = _Fit(model)
                self._forget()
            else:
                self._fits.move_to_end(model)
        # Outside that lock: other models need not wait for this one.
        return fit.predictor()

    def cache_clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._fits.clear()

    def _forget(self) -> None:
        """Those that were not asked for longest, until the others are small enough. The last one stays."""
        kept = sum(fit.squared_configurations for fit in self._fits.values())
        while len(self._fits) > 1 and (len(self._fits) > MOST_KEPT or kept > MOST_SQUARED_CONFIGURATIONS):
            _, forgotten = self._fits.popitem(last=False)
            kept -= forgotten.squared_configurations


class _Fit:
    """A predictor that is fitted when it is first asked for."""

    def __init__(self, model: Model) -> None:
        self.squared_configurations = len({(run.machines, run.scale) for run in model.observations}) ** 2
        self._model = model
        self._predictor: Predictor | None = None
        self._lock = Lock()

    def predictor(self) -> Predictor:
        with self._lock:
            if self._predictor is None:
                model = self._model
                terms = [term.name for term in model.terms]
                predictor = new_predictor(model.method, terms=terms, prior=model.prior)
                self._predictor = predictor.fit_undetermined(**observed_columns(model.observations))
            return self._predictor


fitted = FittedPredictors()
"""Those of this process."""
