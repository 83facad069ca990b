"""All methods are used in one way."""

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.predictors import check_method, default_terms, new_predictor
from airflow_provider_ernest.prediction.regression import ErnestRegression
from airflow_provider_ernest.prediction.terms import DICTIONARY, ERNEST
from airflow_provider_ernest.settings import METHODS

MACHINES = np.array([2, 4, 8, 16, 2, 16, 6])
SCALE = np.array([0.1, 0.1, 0.1, 0.1, 0.02, 0.05, 0.05])
RUNS = {"machines": MACHINES, "scale": SCALE, "seconds": 10.0 + 200.0 * SCALE / MACHINES}


def test_the_methods_are_what_their_names_say():
    averaging, relative, classic = (new_predictor(method) for method in METHODS)

    assert isinstance(averaging, TermAveraging)
    assert averaging.terms == DICTIONARY
    assert isinstance(relative, ErnestRegression)
    assert (relative.terms, relative.weighting) == (ERNEST, "relative")
    assert isinstance(classic, ErnestRegression)
    assert (classic.terms, classic.weighting) == (ERNEST, "absolute")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_makes_something_of_too_few_runs_for_cross_validation(method):
    few = {name: column[:2] for name, column in RUNS.items()}

    predictor = new_predictor(method).fit_undetermined(**few)

    np.testing.assert_allclose(predictor.predict(machines=[2, 4], scale=0.1), few["seconds"], rtol=0.1)


@pytest.mark.parametrize("method", ["", "best", "Averaging", None])
def test_an_unknown_method_lists_the_known_ones(method):
    for ask in (check_method, default_terms, new_predictor):
        with pytest.raises(InvalidParameterError, match=r'is unknown.*"averaging", "relative", "classic"'):
            ask(method)
