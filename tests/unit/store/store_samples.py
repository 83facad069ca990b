"""One small document of each kind that a store keeps, and how each is written and read."""

from airflow_provider_ernest.documents.profiles import BottleneckReport, ProfileRecord
from airflow_provider_ernest.store.catalogue import DECISION, FORMS, MARK, MODEL, PRODUCTION_RUN
from airflow_provider_ernest.store.store import ModelStore
from tests import examples

MADE = {
    MODEL: examples.model,
    DECISION: examples.decision_record,
    PRODUCTION_RUN: examples.production_run,
    MARK: examples.mark,
    ProfileRecord.kind: examples.profile_record,
    BottleneckReport.kind: examples.bottleneck_report,
}
"""How a document of each kind is made, by a number that names it."""

LISTED = [MODEL, DECISION, PRODUCTION_RUN, MARK]
KINDS = [*LISTED, ProfileRecord.kind, BottleneckReport.kind]


def save_all(store, *documents):
    for document in documents:
        store.save(document)
    return store


def save_elsewhere(root, document, remembered):
    """Save as another process does: this one still remembers what it listed before."""
    before = dict(remembered)
    ModelStore(root).save(document)
    remembered.clear()
    remembered.update(before)


def all_of(store, kind, job="pca", instance_type="m5.large"):
    """All documents of a kind that are read without the catalogue, oldest first."""
    return store.newest(FORMS[kind], job, instance_type)


def remove(store, kind, document):
    return store.remove(kind, job=document.job, instance_type=document.instance_type, document_id=document.id)
