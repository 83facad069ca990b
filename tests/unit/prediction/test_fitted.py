"""Predictors are used in one way, and fitted once and kept, but not at any price."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, Event

import pytest

from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction import predict
from airflow_provider_ernest.prediction.predict import fitted
from airflow_provider_ernest.prediction.predictors import check_method, default_terms, new_predictor
from tests.examples import model as a_model


@pytest.fixture(autouse=True)
def _nothing_kept():
    fitted.cache_clear()
    yield
    fitted.cache_clear()


@pytest.fixture
def fits(monkeypatch):
    """The fits that are made, each as its terms."""
    made = []

    def make(method, *, terms, prior):
        made.append(terms)
        return new_predictor(method, terms=terms, prior=prior)

    monkeypatch.setattr(predict, "new_predictor", make)
    return made


def of_runs(number, runs=4):
    observations = tuple(
        Observation(index=index, machines=index + 1, scale=0.1, seconds=5.0 + index) for index in range(runs)
    )
    return a_model(number, method="classic", observations=observations)


def test_threads_that_ask_at_the_same_time_cause_one_fit(fits, monkeypatch):
    model, all_ask, asked = of_runs(0), Barrier(6, timeout=60), Event()
    counting = predict.new_predictor

    def slowly(method, **options):
        asked.wait(0.2)  # long enough for the others to ask, too; the test holds without it
        return counting(method, **options)

    monkeypatch.setattr(predict, "new_predictor", slowly)

    def ask(_):
        all_ask.wait()
        return fitted(replace(model))

    with ThreadPoolExecutor(max_workers=6) as pool:
        predictors = list(pool.map(ask, range(6)))

    assert len(fits) == 1
    assert all(predictor is predictors[0] for predictor in predictors)


def test_one_model_does_not_wait_for_another(monkeypatch):
    slow, quick = of_runs(0), of_runs(1, runs=5)
    begun, go_on = Event(), Event()

    def make(method, *, terms, prior):
        if not begun.is_set():
            begun.set()
            assert go_on.wait(60)
        return new_predictor(method, terms=terms, prior=prior)

    monkeypatch.setattr(predict, "new_predictor", make)
    with ThreadPoolExecutor(max_workers=1) as pool:
        first = pool.submit(fitted, slow)
        assert begun.wait(60)
        fitted(quick)
        assert not first.done()
        go_on.set()
        assert first.result(60) is fitted(slow)


def test_large_models_crowd_out_others_and_stay_while_they_are_the_last(fits, monkeypatch):
    monkeypatch.setattr(predict, "MOST_SQUARED_CONFIGURATIONS", 100)
    small, large = of_runs(0, runs=4), of_runs(1, runs=20)
    for model in (small, large, large, large):
        fitted(model)
    assert len(fits) == 2
    fitted(small)
    assert len(fits) == 3


@pytest.mark.parametrize("method", ["", "best", "Averaging", None])
def test_an_unknown_method_lists_the_known_ones(method):
    for ask in (check_method, default_terms, new_predictor):
        with pytest.raises(InvalidParameterError, match=r'is unknown.*"averaging", "relative", "classic"'):
            ask(method)
