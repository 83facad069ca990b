"""Predictors are used in one way, and fitted once."""

from dataclasses import replace

import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.predict import check_method, default_terms, fitted, new_predictor
from tests.examples import model


def test_a_model_is_fitted_once_however_often_it_is_loaded():
    assert fitted(model(7)) is fitted(replace(model(7)))
    assert fitted(model(7)) is not fitted(model(8))


@pytest.mark.parametrize("method", ["", "best", "Averaging", None])
def test_an_unknown_method_lists_the_known_ones(method):
    for ask in (check_method, default_terms, new_predictor):
        with pytest.raises(InvalidParameterError, match=r'is unknown.*"averaging", "relative", "classic"'):
            ask(method)
