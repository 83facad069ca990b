from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ernest.documents.base import new_id
from airflow_provider_ernest.documents.models import AGE, CLUSTER, CODE, DATA, SETTINGS, UNEXPLAINED
from airflow_provider_ernest.documents.runs import InputFingerprint, Observation, RunConditions
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, STALE, State
from airflow_provider_ernest.learning.reuse import Run, judge
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Reuse
from tests import examples

HASH, OTHER_HASH = "ab" * 32, "cd" * 32
CONDITIONS = RunConditions(
    spark="4.2.0",
    settings={"argument 0": "aa"},
    input=InputFingerprint(partitions=10, total_bytes=10**9, columns=3, format="csv"),
)
FRESH_STATE = State(FRESH)
RUNS = [(1, 0.05), (1, 0.1), (2, 0.05), (2, 0.1), (3, 0.1), (4, 0.05), (4, 0.1)]


@pytest.fixture(scope="module")
def model():
    observations = [
        Observation(
            index=index, executors=executors, scale=scale, seconds=2 + 120 * scale / executors + executors
        )
        for index, (executors, scale) in enumerate(RUNS)
    ]
    return train(observations, job="enrich", method="relative", artifact_sha256=HASH, conditions=CONDITIONS)


def verdict(
    model, *, sha=HASH, conditions=CONDITIONS, state=FRESH_STATE, days=0.0, max_error_percent=None, **reuse
):
    run = Run(
        job="enrich",
        artifact_sha256=sha,
        reuse=Reuse(**reuse),
        max_error_percent=max_error_percent,
        origin=examples.ORIGIN,
    )
    at = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    return judge(replace(model, at=at), run, conditions=conditions, state=state)


def test_a_model_with_a_term_that_nobody_knows_is_not_reused(model):
    misspelt = replace(model, terms=(replace(model.terms[0], name="machmnes"), *model.terms[1:]))
    found = verdict(misspelt)

    assert not found.is_reused
    assert "'machmnes'" in found.reason


def test_an_application_that_nobody_can_read_is_not_taken_for_the_same_unless_asked(model):
    found = verdict(model, sha=None)

    assert (found.is_reused, found.cause) == (False, ""), "nothing speaks against the model for good"
    assert "accept_unknown_application" in found.reason
    assert verdict(model, sha=None, accept_unknown_application=True).is_reused
    other = verdict(model, sha=OTHER_HASH, accept_unknown_application=True)
    assert (other.is_reused, other.cause) == (False, CODE)
    assert f"it is {OTHER_HASH[:12]} and was {HASH[:12]}" in other.reason


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        (State(DRIFTING, "Its last runs were too slow.", cause=UNEXPLAINED), UNEXPLAINED),
        (State(STALE, "The machines are slower.", cause=CLUSTER), CLUSTER),
    ],
)
def test_what_production_says_against_it_counts(model, state, cause):
    found = verdict(model, state=state)

    assert (found.is_reused, found.cause) == (False, cause)
    assert state.reason in found.reason


@pytest.mark.parametrize("cause", [CODE, DATA, SETTINGS])
def test_what_was_changed_and_changed_back_does_not_count(model, cause):
    assert verdict(model, state=State(STALE, "It had changed.", cause=cause)).is_reused


def test_models_grow_old_where_that_is_wanted(model):
    assert verdict(model, days=1000).is_reused
    assert verdict(model, days=29, max_age_days=30).is_reused
    found = verdict(model, days=31, max_age_days=30)
    assert (found.is_reused, found.cause) == (False, AGE)


def test_what_a_model_has_learned_does_not_make_it_younger(model):
    learned = replace(model, base_model_id=new_id(datetime.now(UTC) - timedelta(days=31)))

    found = verdict(learned, max_age_days=30)
    assert (found.is_reused, found.cause) == (False, AGE)
    assert verdict(learned, max_age_days=32).is_reused
    assert verdict(replace(model, base_model_id="imported"), max_age_days=30).is_reused


def test_an_inadequate_model_is_not_reused(model):
    doubtful = replace(model, validation=replace(model.validation, median_error_percent=40.0))

    found = verdict(doubtful, max_error_percent=25.0)
    assert not found.is_reused
    assert "40 %" in found.reason
    assert verdict(doubtful).is_reused, "where any error is accepted"
