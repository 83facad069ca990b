"""A model is judged by what came after it."""

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


@pytest.mark.parametrize(
    "newer",
    [
        run(6, artifact_sha256=NEW),
        run(6, artifact_sha256=NEW, model_id="another", instance_type="m5.xlarge"),
        newer_model(6, artifact_sha256=NEW),
        newer_model(6, artifact_sha256=NEW, instance_type="m5.xlarge"),
    ],
)
def test_a_model_of_an_application_that_was_since_changed_is_stale(newer):
    state = Lineage(MODEL_ENTRY, [MODEL_ENTRY, newer]).state()

    assert state.name == STALE
    assert OLD[:12] in state.reason
    assert NEW[:12] in state.reason
    assert "Retrain" in state.reason
    assert state.cause == CODE


@pytest.mark.parametrize(
    "other",
    [
        run(4, artifact_sha256=NEW),
        newer_model(4, artifact_sha256=NEW),
        run(6),
        run(6, artifact_sha256=None),
        newer_model(6),
        run(6, artifact_sha256=NEW, job="sort"),
        catalogue_entry("d", kind=DECISION, at="2026-01-06T12:00:00+00:00", artifact_sha256=NEW),
    ],
    ids=["older run", "older model", "same", "unknown", "unknown model", "another job", "a decision"],
)
def test_what_is_older_unknown_or_of_another_job_makes_nothing_stale(other):
    assert Lineage(MODEL_ENTRY, [other]).state() == State(FRESH)


def test_a_model_of_an_unknown_application_is_never_stale():
    model = catalogue_entry("m1", at="2026-01-05T12:00:00+00:00")

    assert Lineage(model, [run(6, artifact_sha256=NEW)]).state().name == FRESH


def test_an_application_that_was_changed_back_is_the_models_again():
    assert Lineage(MODEL_ENTRY, [run(6, artifact_sha256=NEW), run(7)]).state().name == FRESH
    assert Lineage(MODEL_ENTRY, [run(7, artifact_sha256=NEW), run(6)]).state().name == STALE


def test_times_are_compared_as_times():
    earlier = catalogue_entry("x", at="2026-01-05T18:00:00+09:00", artifact_sha256=NEW)
    later = catalogue_entry("x", at="2026-01-05T11:00:00-05:00", artifact_sha256=NEW)

    assert Lineage(MODEL_ENTRY, [earlier]).state().name == FRESH
    assert Lineage(MODEL_ENTRY, [later]).state().name == STALE


@pytest.mark.parametrize(
    ("unusual", "name"),
    [
        ([], FRESH),
        ([True, True], FRESH),
        ([True, True, True], DRIFTING),
        ([True, False, True, False, True, False], FRESH),
        ([False] * 200 + [True] * 3, DRIFTING),
        ([True] * 20 + [False] * 3, DRIFTING),
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


def test_a_mark_makes_the_whole_lineage_stale_for_its_reason():
    learned = newer_model(7, base_model_id="m1", artifact_sha256=OLD)
    sign = mark("k1", model_id="m7", cause=SETTINGS, reason="Spark is 4 and was 3.")

    for model in (MODEL_ENTRY, learned):
        state = Lineage(model, [MODEL_ENTRY, learned, sign]).state()
        assert state == State(STALE, "Spark is 4 and was 3.", SETTINGS)


def test_a_mark_of_drift_tells_its_cause():
    runs = [run(6 + day, is_unusual=True) for day in range(3)]
    sign = mark("k1", day=9, cause=CLUSTER, reason="The machines are slower.")

    assert Lineage(MODEL_ENTRY, [*runs, sign]).state() == State(DRIFTING, "The machines are slower.", CLUSTER)


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


def test_who_looks_at_causes_himself_learns_of_the_others():
    others = [
        run(7, artifact_sha256=NEW),
        mark("k1", day=6, cause=CLUSTER, reason="The machines are slower."),
        mark("k2", day=8, cause=SETTINGS, reason="Spark is 4 and was 3."),
    ]

    state = Lineage(MODEL_ENTRY, others).state(passed_over={CODE, SETTINGS})
    assert state == State(STALE, "The machines are slower.", CLUSTER)
    assert Lineage(MODEL_ENTRY, others).state(passed_over={CODE, SETTINGS, CLUSTER}) == State(FRESH)


def test_drift_is_never_passed_over():
    runs = [run(6 + day, is_unusual=True) for day in range(3)]
    sign = mark("k1", day=9, cause=SETTINGS, reason="Spark is 4 and was 3.")

    state = Lineage(MODEL_ENTRY, [*runs, sign]).state(passed_over={SETTINGS})
    assert state == State(DRIFTING, "Spark is 4 and was 3.", SETTINGS)


def test_runs_of_other_code_say_nothing_of_the_model():
    """They make it stale; once the code is changed back, they are no sign of drift either."""
    runs = [run(6 + day, is_unusual=True, artifact_sha256=NEW) for day in range(5)]

    assert Lineage(MODEL_ENTRY, [*runs, run(12)]).state().name == FRESH
