"""What a DAG run had to choose from: the configurations beside each other, the question, or its refusal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_ernest.decision.candidates import chosen
from airflow_provider_ernest.documents.decisions import Alternative, Decision, Refusal
from airflow_provider_ernest.views.outcomes import is_kept
from airflow_provider_ernest.views.records import (
    AnswerRow,
    Question,
    Roles,
    beside_the_chosen,
    beside_the_nearest,
    compared_rows,
    out_of_reach,
    question_of,
)
from airflow_provider_ernest.views.run_documents import Documents

MOST_ROWS = 20
"""Of more configurations only those are shown that have a role."""


@dataclass(frozen=True, kw_only=True)
class ShownChoice:
    """What was asked, and what there was to choose from.

    Attributes:
        question: null where it is not kept.
        out_of_reach: that nothing keeps the goal, and the nearest that could be asked for; empty where
            something was chosen.
        rows: what to compare; all configurations, by type and number of machines, where they are few.
        considered: how many configurations there were.
        latest_seconds: the longest run, from submission to end, that keeps the deadline; null without one.
    """

    question: Question | None
    out_of_reach: str
    rows: tuple[AnswerRow, ...]
    considered: int
    latest_seconds: float | None


def choice_of(documents: Documents) -> ShownChoice | None:
    """What was to choose from; None where nothing was asked yet, or nothing is known of it."""
    refusal, record, decision = documents.refusal, documents.record, documents.decision
    if refusal is not None:
        return ShownChoice(
            question=question_of(refusal),
            out_of_reach=out_of_reach(
                deadline_seconds=refusal.deadline_seconds,
                budget_dollars=refusal.budget_dollars,
                confidence=refusal.confidence,
                earliest_deadline=refusal.earliest_deadline,
                least_budget=refusal.least_budget,
            )
            if refusal.nearest
            else refusal.reason,
            rows=_refused_rows(refusal),
            considered=len(refusal.alternatives),
            latest_seconds=None,
        )
    if decision is None:
        return None
    return ShownChoice(
        question=question_of(record) if record else None,
        out_of_reach="",
        rows=_chosen_rows(decision),
        considered=len(decision.alternatives),
        latest_seconds=record.latest_seconds if record else None,
    )


def deadline_kept(seconds: float | None, documents: Documents) -> bool | None:
    """Whether a production run that took so long kept its deadline; None without either."""
    return is_kept(seconds, documents.record.latest_seconds if documents.record else None)


def _refused_rows(refusal: Refusal) -> tuple[AnswerRow, ...]:
    nearest = refusal.nearest
    roles = beside_the_nearest(refusal.alternatives, nearest) if nearest else []
    return _rows(roles, refusal.alternatives, shown=nearest, has_limits=True)


def _chosen_rows(decision: Decision) -> tuple[AnswerRow, ...]:
    alternatives = decision.alternatives
    taken = chosen(alternatives, decision)
    has_limits = any(each.probability is not None for each in alternatives)
    roles: Roles = []
    if taken is not None and decision.fallback_reason is None:
        roles = beside_the_chosen(alternatives, taken, has_limits=has_limits)
    elif taken is not None:
        roles = [("Fallback", taken), *beside_the_nearest(alternatives, taken)[1:]]
    return _rows(roles, alternatives, shown=taken, has_limits=has_limits)


def _rows(
    roles: Roles, alternatives: Sequence[Alternative], *, shown: Alternative | None, has_limits: bool
) -> tuple[AnswerRow, ...]:
    if len(alternatives) > MOST_ROWS and roles:
        return compared_rows(roles, shown=shown, has_limits=has_limits)
    every: Roles = [*roles, *(("", each) for each in alternatives)]
    rows = compared_rows(every, shown=shown, has_limits=has_limits)
    return tuple(sorted(rows, key=lambda row: (row.instance_type, row.machines)))
