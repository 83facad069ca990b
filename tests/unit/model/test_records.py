"""What production runs say of the predictions that they ran by."""

import math

import pytest

from airflow_provider_ernest.documents import ProductionRun
from airflow_provider_ernest.exceptions import InvalidDocumentError

from .sample_records import a_production_run

RUN = a_production_run()


@pytest.mark.parametrize(("predicted", "error"), [(66.0, 20.0), (55.0, 0.0), (44.0, -20.0)])
def test_the_error_is_positive_where_the_prediction_was_too_high(predicted, error):
    assert a_production_run(predicted_seconds=predicted).error_percent == pytest.approx(error)


def test_without_a_prediction_there_is_no_error_and_nothing_is_unusual():
    run = a_production_run(predicted_seconds=None, likely_seconds=None, nearly_certain_seconds=None)

    assert run.error_percent is None
    assert not run.is_unusual


@pytest.mark.parametrize(
    ("seconds", "is_unusual"), [(43.9, True), (44.0, False), (55.0, False), (56.0, False), (56.1, True)]
)
def test_a_run_is_unusual_outside_what_was_nearly_certain(seconds, is_unusual):
    assert a_production_run(seconds=seconds).is_unusual is is_unusual


@pytest.mark.parametrize(
    ("field", "value"),
    [("seconds", 0.0), ("seconds", math.nan), ("machines", 0), ("scale", -1.0), ("startup_seconds", -0.1)],
)
def test_what_cannot_have_been_measured_is_refused_by_name(field, value):
    with pytest.raises(InvalidDocumentError, match=f"{field}="):
        ProductionRun.from_dict({**RUN.to_dict(), field: value})
