"""Which runs may not belong to the others, before it is reckoned whether they do."""

import numpy as np
import pytest

from airflow_provider_ernest.documents import AveragingPrior
from airflow_provider_ernest.prediction.evidence import POINTS_LEFT, merge_repetitions, suspicions
from airflow_provider_ernest.prediction.terms import basis

from .jobs import MACHINES, PLAIN, SCALE, runs_of

TERMS = ("1", "scale/machines")


def suspected(runs, prior=None):
    """The sets in the order of the points, with their probabilities, and the points."""
    columns = {name: np.asarray(column, dtype=float) for name, column in runs.items()}
    points = merge_repetitions(**columns, workers=columns["machines"])
    rows = basis(TERMS, machines=points.machines, scale=points.scale)
    sets, probabilities = suspicions(points, rows, prior or AveragingPrior())
    return sets, probabilities, points


def test_that_all_runs_belong_together_is_the_most_probable():
    sets, probabilities, _ = suspected(runs_of(PLAIN, noise=0.02))

    assert not sets[0].any()
    assert probabilities.sum() == pytest.approx(1.0)
    assert probabilities[0] > 0.5
    assert probabilities.min() > 0


def test_the_runs_with_the_most_data_for_each_machine_may_be_short_of_memory():
    sets, _, points = suspected(runs_of(PLAIN), AveragingPrior(disturbed_run=0.0))

    load = points.scale / points.machines
    heaviest = np.argsort(-load)
    assert [set(np.flatnonzero(mask)) for mask in sets[1:]] == [set(heaviest[:1]), set(heaviest[:2])]


@pytest.mark.parametrize("position", range(7))
def test_the_run_that_the_others_predict_worst_is_suspected(position):
    runs = runs_of(PLAIN)
    runs["seconds"][position] *= 1.7

    sets, _, points = suspected(runs, AveragingPrior(memory_cut=()))

    (bad,) = np.flatnonzero((points.machines == MACHINES[position]) & (points.scale == SCALE[position]))
    assert any(mask.sum() == 1 and mask[bad] for mask in sets)


@pytest.mark.parametrize("count", [3, 4, 5, 6, 7])
def test_of_few_runs_enough_are_left(count):
    sets, _, _ = suspected({name: column[:count] for name, column in runs_of(PLAIN).items()})

    assert min((~mask).sum() for mask in sets) >= min(count, POINTS_LEFT)
