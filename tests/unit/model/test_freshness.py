"""A model is judged by what came after it."""

import pytest

from airflow_provider_ernest.model.catalogue import DECISION, PRODUCTION_RUN
from airflow_provider_ernest.model.freshness import DRIFTING, FRESH, STALE, State, state_of

from .sample_records import an_entry

OLD, NEW = "aa" * 32, "bb" * 32
MODEL_ENTRY = an_entry("m1", model_id="m1", at="2026-01-05T12:00:00+00:00", artifact_sha256=OLD)


def run(day, *, artifact_sha256=OLD, model_id="m1", is_unusual=False, **fields):
    return an_entry(
        f"p{day}",
        kind=PRODUCTION_RUN,
        at=f"2026-01-{day:02d}T12:00:00+00:00",
        model_id=model_id,
        artifact_sha256=artifact_sha256,
        is_unusual=is_unusual,
        **fields,
    )


def newer_model(day, **fields):
    return an_entry(f"m{day}", at=f"2026-01-{day:02d}T12:00:00+00:00", **fields)


def test_a_model_alone_is_fresh():
    assert state_of(MODEL_ENTRY, others=[MODEL_ENTRY]) == State(FRESH, "")


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
    state = state_of(MODEL_ENTRY, others=[MODEL_ENTRY, newer])

    assert state.name == STALE
    assert OLD[:12] in state.reason
    assert NEW[:12] in state.reason
    assert "Make the sample runs again" in state.reason


@pytest.mark.parametrize(
    "other",
    [
        run(4, artifact_sha256=NEW),
        newer_model(4, artifact_sha256=NEW),
        run(6),
        run(6, artifact_sha256=None),
        newer_model(6),
        run(6, artifact_sha256=NEW, job="sort"),
        an_entry("d", kind=DECISION, at="2026-01-06T12:00:00+00:00", artifact_sha256=NEW),
    ],
    ids=["older run", "older model", "same", "unknown", "unknown model", "another job", "a decision"],
)
def test_what_is_older_unknown_or_of_another_job_makes_nothing_stale(other):
    assert state_of(MODEL_ENTRY, others=[other]) == State(FRESH)


def test_a_model_of_an_unknown_application_is_never_stale():
    model = an_entry("m1", at="2026-01-05T12:00:00+00:00")

    assert state_of(model, others=[run(6, artifact_sha256=NEW)]).name == FRESH


def test_an_application_that_was_changed_back_is_the_models_again():
    assert state_of(MODEL_ENTRY, others=[run(6, artifact_sha256=NEW), run(7)]).name == FRESH
    assert state_of(MODEL_ENTRY, others=[run(7, artifact_sha256=NEW), run(6)]).name == STALE


def test_times_are_compared_as_times():
    """Six in the evening in Tokyo is before noon in London."""
    earlier = an_entry("x", at="2026-01-05T18:00:00+09:00", artifact_sha256=NEW)
    later = an_entry("x", at="2026-01-05T11:00:00-05:00", artifact_sha256=NEW)

    assert state_of(MODEL_ENTRY, others=[earlier]).name == FRESH
    assert state_of(MODEL_ENTRY, others=[later]).name == STALE


@pytest.mark.parametrize(("at", "name"), [("2026-01-06T12:00:00", STALE), ("yesterday", FRESH), ("", FRESH)])
def test_a_time_that_says_too_little_stops_nothing(at, name):
    other = an_entry("x", at=at, artifact_sha256=NEW)

    assert state_of(MODEL_ENTRY, others=[other, MODEL_ENTRY]).name == name


@pytest.mark.parametrize(
    ("unusual", "name"),
    [
        ([], FRESH),
        ([True, True], FRESH),
        ([True, True, True], DRIFTING),
        ([True, False, True, False, True], DRIFTING),
        ([True, True, True, False, False, False], FRESH),
        ([False] * 20 + [True] * 3, DRIFTING),
        ([True] * 20 + [False] * 3, FRESH),
    ],
)
def test_a_model_that_is_wrong_three_times_of_the_last_five_drifts(unusual, name):
    runs = [run(6 + day, is_unusual=value) for day, value in enumerate(unusual)]

    state = state_of(MODEL_ENTRY, others=reversed(runs))

    assert state.name == name
    assert ("sample runs again" in state.reason) == (name == DRIFTING)


def test_runs_by_other_models_do_not_count():
    runs = [run(6 + day, is_unusual=True, model_id="m2") for day in range(5)]

    assert state_of(MODEL_ENTRY, others=runs) == State(FRESH)


def test_stale_is_the_reason_where_it_drifts_too():
    runs = [run(6 + day, is_unusual=True, artifact_sha256=NEW) for day in range(5)]

    assert state_of(MODEL_ENTRY, others=runs).name == STALE
