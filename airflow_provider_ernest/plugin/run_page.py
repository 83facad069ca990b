"""What the page of a DAG run tells: the way from design to decision, and the production run behind it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from airflow_provider_ernest.model.records import ModelMark
from airflow_provider_ernest.plugin import run_groups
from airflow_provider_ernest.plugin.fallbacks import fallback_of
from airflow_provider_ernest.plugin.run_bottlenecks import told_bottlenecks
from airflow_provider_ernest.plugin.run_costs import (
    Training,
    price_per_hour,
    share_of_production,
    together,
    training_of,
)
from airflow_provider_ernest.plugin.run_documents import Documents
from airflow_provider_ernest.plugin.run_groups import Group, groups_of
from airflow_provider_ernest.plugin.run_kept import StoredOfRun
from airflow_provider_ernest.plugin.run_production import production_against_prediction
from airflow_provider_ernest.plugin.run_reading import documents_of
from airflow_provider_ernest.plugin.run_record import SUCCESS, RunRecord
from airflow_provider_ernest.plugin.run_steps import model_reference, moment, steps_of
from airflow_provider_ernest.plugin.sample_runs import ApplicationLink, application_link, sample_run

NO_STEPS = (
    "No task of this run is one of Ernest's. Put an ErnestTaskGroup ahead of the production task, or open a "
    "run of a DAG that has one."
)


def run_page(
    run: RunRecord, *, stored: StoredOfRun, now: datetime, history_server: str | None = None
) -> dict[str, Any]:
    """A run in the form of the API's answer.

    Args:
        run: as it was read.
        stored: what the model store holds of it.
        now: what running tasks are reckoned to.
        history_server: address of Spark's history server, for links to the applications.
    """
    groups = [
        (group, [documents_of(run, branch, stored) for branch in group.branches]) for group in groups_of(run)
    ]
    hints = [hint for group, documents in groups for hint in hints_of(group, documents)]
    link = application_link(history_server)
    return {
        "dag_id": run.dag_id,
        "run_id": run.run_id,
        "state": run.state,
        "started_at": moment(run.started_at),
        "ended_at": moment(run.ended_at),
        "run_url": f"dags/{quote(run.dag_id, safe='')}/runs/{quote(run.run_id, safe='')}",
        "groups": [_group(group, documents, now, link) for group, documents in groups],
        "marks": [_mark(mark) for mark in _marks(groups, stored)],
        "hints": hints if groups else [NO_STEPS],
    }


def _marks(groups: Sequence[tuple[Group, Sequence[Documents]]], stored: StoredOfRun) -> tuple[ModelMark, ...]:
    """What this run noted against models; the store is asked only where a task of the run may note any."""
    noting = (run_groups.FIND, run_groups.RECORD)
    may_note = any(group.tasks(kind) for group, _ in groups for kind in noting)
    return stored.marks if may_note else ()


def _mark(mark: ModelMark) -> dict[str, Any]:
    return {
        "job": mark.job,
        "instance_type": mark.instance_type,
        "model_id": mark.model_id,
        "cause": mark.cause,
        "reason": mark.reason,
        "marked_at": mark.marked_at,
        "task_id": mark.origin.task_id if mark.origin else None,
    }


def hints_of(group: Group, documents: Sequence[Documents]) -> list[str]:
    """What is missing or cannot be read, and what to do.

    Args:
        group: all steps.
        documents: of each of its branches.
    """
    hints = [problem for each in documents for problem in each.unreadable]
    missing = dict.fromkeys(task_id for each in documents for task_id in each.missing)
    if missing:
        hints.append(
            f"What these tasks returned is not kept any more: {', '.join(missing)}. Airflow "
            "deletes it when its database is cleaned. The page of all models has what was stored."
        )
    chosen = group.task(run_groups.CHOOSE)
    if chosen is not None and chosen.state == SUCCESS and group.task(run_groups.PRODUCTION) is None:
        hints.append(
            f"No task follows directly on {chosen.task_id}, so there is no production run to compare with. "
            "Put the production task directly behind it."
        )
    # The branches share the decision, and what is wrong with it.
    return list(dict.fromkeys(hints))


def _group(
    group: Group, documents: Sequence[Documents], now: datetime, link: ApplicationLink
) -> dict[str, Any]:
    trainings = [
        training_of(branch, its, now=now) for branch, its in zip(group.branches, documents, strict=True)
    ]
    training = together(trainings)
    return {
        "group_id": group.group_id,
        "steps": steps_of(group, documents, now=now),
        "branches": [
            _branch(its, its_training, link) for its, its_training in zip(documents, trainings, strict=True)
        ],
        "decision": _decision(documents[0]),
        "training": {
            **_training(training),
            "share_of_production_percent": share_of_production(group, documents, training),
        },
        "production": production_against_prediction(group.task(run_groups.PRODUCTION), documents),
    }


def _branch(documents: Documents, training: Training, link: ApplicationLink) -> dict[str, Any]:
    """The training for one type of machine."""
    price = price_per_hour(documents)
    return {
        "name": documents.branch.rpartition(".")[2],
        "instance_type": documents.instance_type,
        "design": _design(documents),
        "cluster": _cluster(documents),
        "observations": [
            sample_run(each, price_per_hour=price, link=link)
            for each in sorted(documents.observations.values(), key=lambda each: each.index)
        ],
        "reuse": _reuse(documents),
        "model": _model(documents),
        "bottlenecks": told_bottlenecks(documents.bottlenecks),
        "is_decided_by": documents.is_decided_by,
        "training": _training(training),
    }


def _training(training: Training) -> dict[str, Any]:
    return {"seconds": training.seconds, "cost": training.cost, "machines": training.machines}


def _design(documents: Documents) -> dict[str, Any] | None:
    design = documents.design
    if design is None:
        return None
    return {
        "experiments": len(design.experiments),
        "candidates": design.candidates,
        "efficiency": design.efficiency,
        "criterion": design.criterion,
        "cost": design.cost,
        "cost_unit": design.cost_unit,
    }


def _cluster(documents: Documents) -> dict[str, Any] | None:
    cluster = documents.cluster
    if cluster is None:
        return None
    return {
        "kind": cluster.kind,
        "name": cluster.name,
        "instance_type": cluster.instance_type,
        "machines": len(cluster.machines),
        "culled": len(cluster.culled),
        "price_per_hour": cluster.price_per_hour,
    }


def _model(documents: Documents) -> dict[str, Any] | None:
    name = model_reference(documents.model_name)
    if name is None:
        return None
    # Where the XComs are gone, the decision by a model that is reused tells its errors.
    decision = documents.decision if documents.is_reused and documents.is_decided_by else None
    validation = documents.model.validation if documents.model else None
    median, most = (decision.error_percent, decision.max_error_percent) if decision else (None, None)
    return {
        **name,
        "median_error_percent": validation.median_error_percent if validation else median,
        "max_error_percent": validation.max_error_percent if validation else most,
    }


def _reuse(documents: Documents) -> dict[str, Any] | None:
    """Whether the training was needed."""
    reuse = documents.reuse
    if reuse is None:
        return None
    return {
        "is_reused": reuse.is_reused,
        "reason": reuse.reason,
        "growth": reuse.growth,
        "trained_at": documents.model.created_at if reuse.is_reused and documents.model else None,
    }


def _decision(documents: Documents) -> dict[str, Any] | None:
    decision = documents.decision
    if decision is None:
        return None
    copied = (
        "goal",
        "confidence",
        "probability",
        "composition",
        "predicted_seconds",
        "run_seconds",
        "likely_seconds",
        "nearly_certain_seconds",
        "predicted_cost",
        "cost_parts",
        "price_per_hour",
        "fallback_reason",
        "warnings",
    )
    return {
        "machines": decision.config.machines,
        "instance_type": decision.config.instance_type,
        "fallback": fallback_of(decision),
        "reuse": documents.record.reuse if documents.record else "",
        **{name: getattr(decision, name) for name in copied},
    }
