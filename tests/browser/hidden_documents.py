"""What a DAG that not everybody may read has made of a job that all may read about."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from airflow_provider_ernest.documents.base import Origin, new_id, new_stamp
from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import CLUSTER, Model
from airflow_provider_ernest.documents.profiles import PRODUCTION
from airflow_provider_ernest.store.store import ModelStore
from tests.browser.explained_jobs import of_production, profiled, reported
from tests.browser.sample_store import SECRET_DAG_ID, SeededModels, marked
from tests.unit.run_profiles import network_bound

HIDDEN_TYPE = "x1.hidden"
HIDDEN_HEADLINE = "Network-bound, as a DAG found out that not everybody may read"
HIDDEN_REASON = "The machines of the last run had 61 % of the memory bandwidth that they had in training."


def add_hidden_documents(store: ModelStore, seeded: SeededModels) -> None:
    """Add to the job "nightly_join" an old version, a type of machine, a decision and a production run.

    And a mark to the model that has learned, and to the stale one why its job takes as long as it does.
    """
    origin = Origin(dag_id=SECRET_DAG_ID, run_id="scheduled__1", task_id="sizing.fit_model")
    when = datetime.now(UTC) - timedelta(days=45)
    named = {**new_stamp(when), "origin": origin}
    newest = seeded.nightly_join
    store.save(replace(newest, **named))
    store.save(replace(seeded.third_type, instance_type=HIDDEN_TYPE, **named))
    run = store.newest(ProductionRun, newest.job, newest.instance_type)[-1]
    store.save(replace(run, id=new_id(when), origin=origin))
    decision = store.newest(DecisionRecord, newest.job, newest.instance_type)[-1]
    store.save(replace(decision, id=new_id(when), origin=origin))
    now = datetime.now(UTC)
    store.save(marked(seeded.learned, cause=CLUSTER, reason=HIDDEN_REASON, when=now, origin=origin))
    _add_hidden_report(store, seeded.stale, origin, when=now)


def _add_hidden_report(store: ModelStore, model: Model, origin: Origin, *, when: datetime) -> None:
    """The only one of its job, and a production run, too."""
    profile = network_bound(headline=HIDDEN_HEADLINE)
    sample = profiled(model, profile, when=when, origin=origin)
    store.save(sample)
    store.save(profiled(model, of_production(profile), when=when, purpose=PRODUCTION, origin=origin))
    store.save(reported(sample, model, when=when))
