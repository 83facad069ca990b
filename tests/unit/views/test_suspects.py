"""The short cut of the list of models never hides a model that drifts."""

from random import Random

import pytest

from airflow_provider_ernest.learning.drift import THRESHOLD, evidence_of
from airflow_provider_ernest.views.models import could_be_drift
from tests.unit.views.stored import entry


def runs(outcomes: list[int]) -> list:
    return [
        entry("production", predicted_seconds=1.0, is_unlikely=each > 0, is_unusual=each > 1)
        for each in outcomes
    ]


@pytest.mark.parametrize("seed", range(10))
def test_whatever_drifts_is_looked_at(seed: int):
    random = Random(seed)
    weights = random.choice([(80, 15, 5), (60, 30, 10), (50, 20, 30), (20, 60, 20), (5, 90, 5)])
    outcomes = random.choices((0, 1, 2), weights=weights, k=random.randrange(1, 40))
    for length in range(1, len(outcomes) + 1):
        seen = outcomes[:length]
        if evidence_of(runs(seen)).value >= THRESHOLD:
            assert could_be_drift(unlikely=seen.count(1), unusual=seen.count(2))


def test_three_nights_in_a_row_are_looked_at():
    assert could_be_drift(unlikely=0, unusual=3)


def test_what_nearly_every_model_has_is_not():
    assert not could_be_drift(unlikely=0, unusual=0)
    assert not could_be_drift(unlikely=4, unusual=1)
