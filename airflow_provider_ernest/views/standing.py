"""How a model stands today, by the catalogue alone: its state, error and production runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_ernest.documents.base import time_of
from airflow_provider_ernest.documents.models import UNEXPLAINED
from airflow_provider_ernest.learning.drift import Evidence
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, STALE, Lineage, State
from airflow_provider_ernest.settings.goal import MAX_ERROR_PERCENT
from airflow_provider_ernest.store.catalogue import PRODUCTION_RUN, CatalogueEntry
from airflow_provider_ernest.views.outcomes import (
    DeadlinesKept,
    deadlines_kept,
    decision_of,
    decisions_by_id,
    entries_by_place,
    is_kept,
)
from airflow_provider_ernest.words import count

ACCURATE_PERCENT = 10.0
"""Up to this median leave-one-out error a model is good, up to `MAX_ERROR_PERCENT` to be used with care."""

GOOD, WARNING, BAD, PLAIN = "good", "warning", "bad", ""

STATE_BADGES = {FRESH: ("up to date", GOOD), STALE: ("out of date", WARNING), DRIFTING: ("drifting", BAD)}


@dataclass(frozen=True, kw_only=True)
class Badge:
    """A word or two on a model.

    Attributes:
        tone: good, warning, bad, or empty where it is neither.
    """

    words: str
    tone: str
    says: str


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a model stands.

    Attributes:
        deadlines: kept by the job's production runs on the model's type, or by its models.
        last_kept: whether it kept its deadline; None if it had none.
    """

    state: State
    evidence: Evidence
    deadlines: DeadlinesKept
    last_run: CatalogueEntry | None = None
    last_kept: bool | None = None
    runs_per_month: float | None = None


def standing_of(model: CatalogueEntry, of_job: Sequence[CatalogueEntry]) -> Standing:
    """How a model stands, by what may be seen of its job."""
    lineage = Lineage(model, of_job)
    of_place = entries_by_place(of_job).get((model.job, model.instance_type), [])
    runs = sorted((each for each in of_place if each.kind == PRODUCTION_RUN), key=lambda each: each.id)
    decisions = decisions_by_id(of_job)
    last = runs[-1] if runs else None
    decision = decision_of(last, decisions) if last else None
    return Standing(
        state=lineage.state(),
        evidence=lineage.evidence,
        deadlines=deadlines_kept(runs, decisions),
        last_run=last,
        last_kept=is_kept(last.seconds, decision.latest_seconds) if last and decision else None,
        runs_per_month=runs_per_month(runs),
    )


def error_tone(median_error_percent: float | None) -> str:
    """Whether a model with such an error is good, to be used with care, or bad."""
    if median_error_percent is None or not median_error_percent <= MAX_ERROR_PERCENT:
        return BAD
    return GOOD if median_error_percent <= ACCURATE_PERCENT else WARNING


def badges_of(model: CatalogueEntry, state: State) -> tuple[Badge, Badge]:
    """Whether the model still holds, and how accurate it is."""
    words, tone = STATE_BADGES[state.name]
    cause = "" if state.cause in ("", UNEXPLAINED) else f": {state.cause}"
    median = model.median_error_percent
    accuracy = error_tone(median)
    is_known = median is not None and math.isfinite(median)
    accurate = "inaccurate" if accuracy == BAD else "accurate"
    return (
        Badge(
            words=words + cause,
            # What is far off is in no way good.
            tone=PLAIN if accuracy == BAD and tone == GOOD else tone,
            says=state.reason or "Nothing that it depends on has changed.",
        ),
        Badge(
            words=f"{accurate} ±{count(max(1.0, median or 0.0))} %" if is_known else "accuracy unknown",
            tone=accuracy,
            says="The median error of each sample run, predicted from the others.",
        ),
    )


def runs_per_month(runs: Sequence[CatalogueEntry]) -> float | None:
    """The runs' rate; None of fewer than two, or all of one day."""
    moments = [moment for moment in (time_of(run.at) for run in runs) if moment is not None]
    if not moments:
        return None
    days = (max(moments) - min(moments)).total_seconds() / 86400.0
    return (len(moments) - 1) / days * 365.25 / 12 if days >= 1.0 else None
