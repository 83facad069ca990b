"""Stores with documents of given ages."""

from datetime import UTC, datetime, timedelta

from airflow_provider_ernest.documents import ModelMark, ObservationRecord
from tests.unit.model.profile_samples import a_bottleneck_report, a_profile
from tests.unit.model.sample_records import a_decision, a_model, a_production_run

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def ago(days, *, since=NOW):
    """That many days before, as documents say it."""
    return (since - timedelta(days=days)).isoformat()


def model(number, days, **fields):
    return a_model(number, at=ago(days), **fields)


def decision(number, days, **fields):
    return a_decision(number, at=ago(days), **fields)


def production(number, days, **fields):
    return a_production_run(number, at=ago(days), **fields)


def mark(name, days, *, model_id, **fields):
    return ModelMark(
        **{
            "id": name,
            "at": ago(days),
            "job": "pca",
            "instance_type": "m5.large",
            "model_id": model_id,
            "cause": "data",
            "reason": "The input has grown.",
            **fields,
        }
    )


def observation(name, days, **fields):
    return ObservationRecord(
        **{
            "id": name,
            "at": ago(days),
            "job": "pca",
            "instance_type": "m5.large",
            "observation": a_model().observations[0],
            **fields,
        }
    )


def profile(number, days, **fields):
    return a_profile(number, at=ago(days), **fields)


def report(number, days, **fields):
    return a_bottleneck_report(number, at=ago(days), **fields)


def save_all(store, *documents):
    for document in documents:
        store.save(document)
    return store
