"""One small document of each kind that a store keeps, and how each is written and read."""

import os
import time

from airflow_provider_ernest.documents import (
    CODE,
    BottleneckReport,
    ModelMark,
    Observation,
    ObservationRecord,
    ProfileRecord,
    RunConditions,
)
from airflow_provider_ernest.store.catalogue import DECISION, MARK, MODEL, PRODUCTION_RUN
from airflow_provider_ernest.store.records import FORMS

from .profile_samples import a_bottleneck_report, a_profile
from .sample_records import WHEN, a_decision, a_model, a_production_run


def an_observation(number=0, **fields):
    """A sample run of 5 s."""
    return ObservationRecord(
        **{
            "id": f"20251231T{number:06d}.000000Z-0b",
            "at": WHEN,
            "job": "pca",
            "instance_type": "m5.large",
            "observation": Observation(index=number, machines=2, scale=0.1, seconds=5.0),
            "conditions": RunConditions(spark="4.0.1"),
            **fields,
        }
    )


def a_mark(number=0, **fields):
    """A mark beside the model of number 0."""
    return ModelMark(
        **{
            "id": f"20260104T{number:06d}.000000Z-12",
            "at": WHEN,
            "job": "pca",
            "instance_type": "m5.large",
            "model_id": a_model().id,
            "cause": CODE,
            "reason": "The application changed. Train again.",
            **fields,
        }
    )


MADE = {
    MODEL: a_model,
    DECISION: a_decision,
    PRODUCTION_RUN: a_production_run,
    MARK: a_mark,
    ObservationRecord.kind: an_observation,
    ProfileRecord.kind: a_profile,
    BottleneckReport.kind: a_bottleneck_report,
}
"""How a document of each kind is made, by a number that names it."""

LISTED = [MODEL, DECISION, PRODUCTION_RUN, MARK]
KINDS = [*LISTED, ObservationRecord.kind, ProfileRecord.kind, BottleneckReport.kind]


def id_of(kind, document):
    return document.id


def all_of(store, kind, job="pca", instance_type="m5.large"):
    """All documents of a kind that are read without the catalogue, oldest first."""
    return store.newest(FORMS[kind], job, instance_type)


def remove(store, kind, document):
    return store.remove(
        kind, job=document.job, instance_type=document.instance_type, document_id=id_of(kind, document)
    )


def age(path, seconds=3600.0):
    """Let a local file be as old as one that nobody is writing any more."""
    then = time.time() - seconds
    os.utime(path, (then, then))
