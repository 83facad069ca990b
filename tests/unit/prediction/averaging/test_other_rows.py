"""Inputs whose rows hold more or less than those of the target: as much data need not be as much work."""

from __future__ import annotations

import numpy as np
import pytest

from airflow_provider_ernest.prediction.averaging import TermAveraging

MACHINES = np.array([2, 4, 6])
ROWS = np.array([0.25, 0.5, 0.75])
AT_TARGET = {"machines": [8, 12], "scale": [1.0, 1.0]}


def seconds(machines, rows, width, *, row_share):
    """Of a job whose work on a row of the target's width grows to this share with the data in it."""
    return 12.0 + 900.0 * rows * (1 - row_share + row_share * width) / np.asarray(machines, dtype=float)


def runs(widths, *, row_share, noise=0.02):
    machines, rows, width = (each.ravel() for each in np.meshgrid(MACHINES, ROWS, np.array(widths)))
    errors = np.random.default_rng(3).normal(0, noise, len(rows))
    times = seconds(machines, rows, width, row_share=row_share) * np.exp(errors)
    return {"machines": machines, "scale": rows * width, "seconds": times, "row_width": width}


@pytest.mark.parametrize("row_share", [0.25, 0.5, 0.9])
def test_how_work_grows_with_the_rows_is_learned_from_inputs_of_two_shapes(row_share: float):
    observed = runs([0.33, 0.66], row_share=row_share)
    truth = seconds(AT_TARGET["machines"], 1.0, 1.0, row_share=row_share)

    told = TermAveraging().fit(**observed)
    assert np.abs(told.predict(**AT_TARGET) / truth - 1).max() < 0.12
    low, high = told.interval(level=0.95, **AT_TARGET)
    assert np.all((low < truth) & (truth < high))


def test_inputs_of_two_shapes_are_not_averaged_as_if_they_were_one():
    observed = runs([0.25, 1.0], row_share=0.3)
    truth = seconds(AT_TARGET["machines"], 1.0, 1.0, row_share=0.3)

    told = TermAveraging().fit(**observed).predict(**AT_TARGET)
    del observed["row_width"]
    untold = TermAveraging().fit(**observed).predict(**AT_TARGET)
    assert np.abs(told / truth - 1).max() < 0.08
    assert np.abs(untold / truth - 1).max() > 0.12


def test_where_all_inputs_had_other_rows_nothing_is_claimed():
    observed = runs([0.33], row_share=1.0)
    low, high = TermAveraging().fit(**observed).interval(level=0.95, **AT_TARGET)
    for row_share in (0.4, 0.9):
        # Scaled so that the observed runs would have taken as long.
        factor = 0.33 / (1 - row_share + row_share * 0.33)
        truth = 12.0 + 900.0 * factor / np.array(AT_TARGET["machines"], dtype=float)
        assert np.all((low < truth) & (truth < high)), row_share
    assert np.all(high / low > 1.8)


def test_a_run_on_other_rows_is_predicted_at_its_own_width():
    observed = runs([0.5, 1.0], row_share=0.5)
    predictor = TermAveraging().fit(**observed)
    (narrow,) = predictor.predict(machines=4, scale=0.25, row_width=0.5)
    assert abs(narrow / seconds(4, 0.5, 0.5, row_share=0.5) - 1) < 0.06


def test_rows_of_one_width_change_nothing():
    observed = runs([1.0], row_share=0.5)
    told = TermAveraging().fit(**observed).predict(**AT_TARGET)
    del observed["row_width"]
    assert np.array_equal(told, TermAveraging().fit(**observed).predict(**AT_TARGET))


@pytest.mark.parametrize("row_width", [0.0, -1.0, np.nan, [1.0, 2.0]])
def test_a_width_that_is_none_is_refused(row_width):
    predictor = TermAveraging().fit(**runs([1.0], row_share=0.5))
    with pytest.raises(ValueError, match="row_width"):
        predictor.predict(machines=[4, 5, 6], scale=1.0, row_width=row_width)
