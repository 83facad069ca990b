"""A model is judged by what came after it."""

from dataclasses import replace

import pytest

from airflow_provider_ernest.documents.models import AGE, CLUSTER, CODE, DATA, SETTINGS, UNEXPLAINED
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, STALE, Lineage, State
from airflow_provider_ernest.store.catalogue import DECISION, MARK, PRODUCTION_RUN
from tests.examples import catalogue_entry

OLD, NEW = "aa" * 32, "bb" * 32
MODEL_ENTRY = catalogue_entry("m1", model_id="m1", at="2026-01-05T12:00:00+00:00", artifact_sha256=OLD)


def run(day, *, name=None, artifact_sha256=OLD, model_id="m1", is_unusual=False, **fields):
    return catalogue_entry(
        name or f"p{day}",
        kind=PRODUCTION_RUN,
        at=f"2026-01-{day:02d}T12:00:00+00:00",
        model_id=model_id,
        artifact_sha256=artifact_sha256,
        predicted_seconds=50.0,
        is_unusual=is_unusual,
        **fields,
    )


def newer_model(day, **fields):
    return catalogue_entry(f"m{day}", at=f"2026-01-{day:02d}T12:00:00+00:00", **fields)


@pytest.mark.parametrize("artifact_sha256", [NEW, OLD, None])
@pytest.mark.parametrize("instance_type", ["m5.large", "m5.xlarge"])
@pytest.mark.parametrize("seen", [run, newer_model])
def test_a_model_of_an_application_that_was_since_changed_is_stale(seen, instance_type, artifact_sha256):
    newer = seen(6, artifact_sha256=artifact_sha256, instance_type=instance_type)
    state = Lineage(MODEL_ENTRY, [MODEL_ENTRY, newer]).state()

    if artifact_sha256 != NEW:
        assert state == State(FRESH)
        return
    assert (state.name, state.cause) == (STALE, CODE)
    for told in (OLD[:12], NEW[:12], "Retrain"):
        assert told in state.reason
    of_unknown = replace(MODEL_ENTRY, artifact_sha256=None)
    assert Lineage(of_unknown, [newer]).state() == State(FRESH), "whose own application is unknown"


@pytest.mark.parametrize(
    "other",
    [
        run(4, artifact_sha256=NEW),
        newer_model(4, artifact_sha256=NEW),
        run(6, artifact_sha256=NEW, job="sort"),
        catalogue_entry("d", kind=DECISION, at="2026-01-06T12:00:00+00:00", artifact_sha256=NEW),
        catalogue_entry("x", at="2026-01-05T18:00:00+09:00", artifact_sha256=NEW),
    ],
    ids=["older run", "older model", "another job", "a decision", "older elsewhere"],
)
def test_what_is_older_or_of_another_job_makes_nothing_stale(other):
    assert Lineage(MODEL_ENTRY, [other]).state() == State(FRESH)


def test_an_application_that_was_changed_back_is_the_models_again_by_the_time_of_the_runs():
    assert Lineage(MODEL_ENTRY, [run(6, artifact_sha256=NEW), run(7)]).state().name == FRESH
    assert Lineage(MODEL_ENTRY, [run(7, artifact_sha256=NEW), run(6)]).state().name == STALE
    later = catalogue_entry("x", at="2026-01-05T11:00:00-05:00", artifact_sha256=NEW)
    assert Lineage(MODEL_ENTRY, [later]).state().name == STALE


@pytest.mark.parametrize(
    ("unusual", "name"),
    [
        ([], FRESH),
        ([True, True, True], DRIFTING),
        ([True, False, True, False, True, False], FRESH),
        ([False] * 200 + [True] * 3, DRIFTING),
    ],
)
def test_a_model_drifts_where_its_runs_say_so_however_old_it_is(unusual, name):
    runs = [run(6, name=f"p{index:03d}", is_unusual=value) for index, value in enumerate(unusual)]

    state = Lineage(MODEL_ENTRY, reversed(runs)).state()

    assert state.name == name
    assert ("Retrain" in state.reason) == (name == DRIFTING)
    assert state.cause == (UNEXPLAINED if name == DRIFTING else "")


@pytest.mark.parametrize("fields", [{"model_id": "m2"}, {"instance_type": "m5.xlarge"}, {"job": "sort"}])
def test_runs_and_marks_of_others_do_not_count(fields):
    runs = [run(6 + day, is_unusual=True, **fields) for day in range(5)]

    assert Lineage(MODEL_ENTRY, runs).state() == State(FRESH)
    assert Lineage(MODEL_ENTRY, [mark("k1", **fields)]).state() == State(FRESH)


def test_runs_of_all_models_of_a_lineage_count_together():
    learned = [newer_model(7, base_model_id="m1"), newer_model(8, base_model_id="m1")]
    runs = [run(6 + day, is_unusual=True, model_id=name) for day, name in enumerate(("m1", "m7", "m8"))]

    for model in (MODEL_ENTRY, *learned):
        assert Lineage(model, [MODEL_ENTRY, *learned, *runs]).state().name == DRIFTING
    assert Lineage(MODEL_ENTRY, [*learned, *runs]).evidence.unusual == 3


def mark(name, *, model_id="m1", day=6, **fields):
    when = f"2026-01-{day:02d}T12:00:00+00:00"
    return catalogue_entry(name, **{"kind": MARK, "model_id": model_id, "at": when, "cause": AGE, **fields})


def test_a_mark_tells_the_whole_lineage_its_cause_also_of_a_drift():
    learned = newer_model(7, base_model_id="m1", artifact_sha256=OLD)
    sign = mark("k1", model_id="m7", day=9, cause=SETTINGS, reason="Spark is 4 and was 3.")
    drifting = [run(6 + day, is_unusual=True) for day in range(3)]

    for model in (MODEL_ENTRY, learned):
        of_model = [MODEL_ENTRY, learned, sign]
        assert Lineage(model, of_model).state() == State(STALE, sign.reason, SETTINGS)
        assert Lineage(model, [*of_model, *drifting]).state() == State(DRIFTING, sign.reason, SETTINGS)


def test_a_mark_of_changed_code_is_lifted_by_a_run_of_the_models_own():
    changed = mark("k1", day=6, cause=CODE, artifact_sha256=NEW)

    assert Lineage(MODEL_ENTRY, [changed]).state().name == STALE
    assert Lineage(MODEL_ENTRY, [changed, run(7)]).state().name == FRESH
    assert Lineage(MODEL_ENTRY, [changed, run(5)]).state().name == STALE


@pytest.mark.parametrize(
    ("day", "model_id", "cause", "name"),
    [
        (8, "m1", DATA, FRESH),
        (8, "m1", SETTINGS, FRESH),
        (8, "m7", DATA, FRESH),
        (6, "m1", DATA, STALE),
        (8, "m2", DATA, STALE),
        (8, "m1", UNEXPLAINED, STALE),
    ],
    ids=["data", "settings", "lineage", "before", "another", "unexplained"],
)
def test_a_mark_of_what_was_changed_back_is_lifted_by_a_decision(day, model_id, cause, name):
    learned = newer_model(7, base_model_id="m1")
    decision = catalogue_entry(
        "d", kind=DECISION, model_id=model_id, at=f"2026-01-{day:02d}T12:00:00+00:00", artifact_sha256=OLD
    )
    others = [learned, mark("k1", day=7, cause=cause, reason="It changed."), decision]

    assert Lineage(MODEL_ENTRY, others).state().name == name


def test_who_looks_at_causes_himself_learns_of_the_others_and_of_every_drift():
    slower = mark("k1", day=6, cause=CLUSTER, reason="The machines are slower.")
    newer = mark("k2", day=8, cause=SETTINGS, reason="Spark is 4 and was 3.")
    lineage = Lineage(MODEL_ENTRY, [run(7, artifact_sha256=NEW), slower, newer])

    assert lineage.state(passed_over={CODE, SETTINGS}) == State(STALE, slower.reason, CLUSTER)
    assert lineage.state(passed_over={CODE, SETTINGS, CLUSTER}) == State(FRESH)
    drifting = Lineage(MODEL_ENTRY, [*(run(6 + day, is_unusual=True) for day in range(3)), newer])
    assert drifting.state(passed_over={SETTINGS}) == State(DRIFTING, newer.reason, SETTINGS)


def test_runs_of_other_code_say_nothing_of_the_model():
    """They make it stale; once the code is changed back, they are no sign of drift either."""
    runs = [run(6 + day, is_unusual=True, artifact_sha256=NEW) for day in range(5)]

    assert Lineage(MODEL_ENTRY, [*runs, run(12)]).state().name == FRESH
