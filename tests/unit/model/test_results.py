"""What the results reckon themselves."""

import pytest

from airflow_provider_ernest.documents import (
    Alternative,
    AveragingPrior,
    Decision,
    FittedTerm,
    Fold,
    Model,
    Validation,
)
from airflow_provider_ernest.exceptions import InvalidDocumentError

VALIDATION = Validation(
    folds=(), residual_sum_of_squares=0.0, median_error_percent=1.0, max_error_percent=2.0
)
MODEL = Model(
    id="20260101T000000.000000Z-ab",
    job="job",
    instance_type="m5.large",
    at="2026-01-01T00:00:00+00:00",
    terms=(FittedTerm(name="1", meaning="fixed work", coefficient=2.0),),
    validation=VALIDATION,
    observations=(),
)


@pytest.mark.parametrize(("predicted", "error"), [(12.0, 20.0), (10.0, 0.0), (7.5, -25.0)])
def test_the_error_of_a_fold_is_positive_where_the_prediction_is_too_high(predicted, error):
    fold = Fold(index=0, machines=4, scale=0.1, seconds=10.0, predicted_seconds=predicted)

    assert fold.error_percent == pytest.approx(error)


def test_a_model_stored_without_what_averaging_adds_is_one_of_given_terms():
    stored = MODEL.to_dict()
    for name in ("method", "prior", "driver_share", "noise"):
        del stored[name]

    read = Model.from_dict(stored)

    assert (read.method, read.prior, read.driver_share, read.noise) == ("relative", None, 0.0, 0.0)
    assert read.terms[0].probability == 1.0


def test_a_model_keeps_its_prior():
    model = Model(**{**vars(MODEL), "method": "averaging", "prior": AveragingPrior(driver_share=0.125)})

    assert Model.from_dict(model.to_dict()) == model
    assert hash(Model.from_dict(model.to_dict())) == hash(model)


def test_a_model_with_a_prior_that_cannot_be_is_refused():
    stored = {**MODEL.to_dict(), "prior": {**AveragingPrior().to_dict(), "driver_share": 2.0}}

    with pytest.raises(InvalidDocumentError, match="driver_share"):
        Model.from_dict(stored)


def test_a_fallback_has_neither_a_prediction_nor_an_interval():
    stored = {"config": {"machines": 4}, "goal": "cheapest", "price_per_hour": 0.1, "fallback_reason": "none"}

    decision = Decision.from_dict(stored)

    assert decision.predicted_seconds is decision.likely_seconds is decision.nearly_certain_seconds is None


@pytest.mark.parametrize("interval", [[1.0], [1.0, 2.0, 3.0], ["a", "b"], 5.0])
def test_an_interval_has_two_ends(interval):
    stored = Alternative(machines=1, instance_type="a", seconds=1.0, cost=1.0, feasible=True).to_dict()

    with pytest.raises(InvalidDocumentError, match="likely_seconds"):
        Alternative.from_dict({**stored, "likely_seconds": interval})
