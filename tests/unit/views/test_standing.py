"""The badges of a model: whether it still holds, and how accurate it is."""

from __future__ import annotations

import pytest

from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, STALE, State
from airflow_provider_ernest.views.outcomes import badges_of, standing_of
from tests.unit.views.stored import entry


@pytest.mark.parametrize(
    ("median", "words", "tone"),
    [
        (6.2, "accurate ±6 %", "good"),
        (0.1, "accurate ±1 %", "good"),
        (18.0, "accurate ±18 %", "warning"),
        (40.0, "inaccurate ±40 %", "bad"),
        (float("nan"), "accuracy unknown", "bad"),
        (None, "accuracy unknown", "bad"),
    ],
)
def test_a_model_of_40_percent_error_is_never_green(median: float | None, words: str, tone: str):
    holds, accurate = badges_of(entry(median_error_percent=median), State(FRESH))
    assert (accurate.words, accurate.tone) == (words, tone)
    assert (holds.tone == "good") == (tone != "bad")


@pytest.mark.parametrize(
    ("name", "words", "tone"),
    [(FRESH, "up to date", "good"), (STALE, "out of date", "warning"), (DRIFTING, "drifting", "bad")],
)
def test_whether_it_still_holds(name: str, words: str, tone: str):
    holds, _ = badges_of(entry(median_error_percent=5.0), State(name, "Why. Retrain."))
    assert (holds.words, holds.tone, holds.says) == (words, tone, "Why. Retrain.")


def test_the_cause_stands_with_the_state():
    told = [badges_of(entry(), State(STALE, "Why.", cause))[0].words for cause in ("code", "unexplained")]
    assert told == ["out of date: code", "out of date"]


def test_the_last_run_is_of_the_models_own_type():
    trained = entry(days=30)
    own, other = entry("production", days=3), entry("production", days=1, instance_type="r5.large")
    assert standing_of(trained, [trained, own, other]).last_run == own
