"""Whether a stored model holds for the run at hand, so that no sample runs need to be made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from airflow_provider_ernest.documents.base import moment_of, time_of
from airflow_provider_ernest.documents.models import AGE, Model
from airflow_provider_ernest.documents.runs import RunConditions
from airflow_provider_ernest.exceptions import InadequateModelError, InvalidParameterError
from airflow_provider_ernest.learning.conditions import (
    code_differences,
    differences,
    growth,
    not_compared,
    sentence_of,
)
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, SEEN_DIRECTLY, State
from airflow_provider_ernest.prediction.terms import check_terms
from airflow_provider_ernest.prediction.training import check_adequacy
from airflow_provider_ernest.settings import Reuse
from airflow_provider_ernest.words import plain

SAME_SIZE = 0.01
"""A growth of less is not worth a word."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a model is reused, and why.

    Attributes:
        is_reused: whether it is.
        reason: a sentence.
        cause: of `documents.models.ModelMark`, where the model no longer holds for the job; empty where it is
            reused, or not for another reason.
        growth: how many times the input that it was trained for today's is.
    """

    is_reused: bool
    reason: str
    cause: str = ""
    growth: float = 1.0


def judge(
    model: Model,
    *,
    artifact_sha256: str | None,
    conditions: RunConditions,
    state: State,
    reuse: Reuse,
    max_error_percent: float | None,
    now: datetime,
) -> Verdict:
    """Judge a model by what the run at hand will run, on what and under which conditions.

    Args:
        model: the model.
        artifact_sha256: of the application as it is now; None where it cannot be taken.
        conditions: of the run.
        state: of the model by what was recorded since, see `freshness.Lineage`; those of `SEEN_DIRECTLY` may
            be passed over in it.
        reuse: how long models are good for.
        max_error_percent: the median leave-one-out error above which it is inadequate; None to accept any.
        now: with its time zone.
    """
    try:
        check_terms([term.name for term in model.terms])
    except InvalidParameterError as error:
        return _refused(model, str(error))
    if not (artifact_sha256 and model.artifact_sha256) and not reuse.accept_unknown_application:
        return _refused(
            model,
            "Whether the application has changed is not known, for its hash cannot be taken. Set "
            "accept_unknown_application of Reuse to take it for the same.",
        )
    changed = [
        *code_differences(model.artifact_sha256, artifact_sha256),
        *differences(
            model.conditions,
            conditions,
            shape_tolerance=reuse.shape_tolerance,
            max_growth=reuse.max_growth,
        ),
    ]
    if changed:
        return _refused(model, sentence_of(changed), cause=changed[0].cause)
    if state.name == DRIFTING or (state.name != FRESH and state.cause not in SEEN_DIRECTLY):
        return _refused(model, state.reason, cause=state.cause)
    if reuse.max_age_days is not None and now - _sampled_at(model) > timedelta(days=reuse.max_age_days):
        return _refused(
            model, f"Its sample runs are older than the {reuse.max_age_days:g} days allowed.", cause=AGE
        )
    try:
        if max_error_percent is not None:
            check_adequacy(model, max_error_percent=max_error_percent)
    except InadequateModelError as error:
        return _refused(model, error.message)
    return _reused(model, conditions)


def _refused(model: Model, reason: str, *, cause: str = "") -> Verdict:
    return Verdict(is_reused=False, reason=f"{_named(model)} is not reused. {reason}", cause=cause)


def _reused(model: Model, conditions: RunConditions) -> Verdict:
    times = growth(model.conditions, conditions)
    sentences = [f"{_named(model)} is reused: nothing that it depends on has changed."]
    if abs(times - 1.0) > SAME_SIZE:
        sentences.append(f"The input is {plain(times)} times as large as then.")
    unknown = not_compared(model.conditions, conditions)
    if unknown:
        sentences.append(f"Not known, and so not compared: {', '.join(unknown)}.")
    return Verdict(is_reused=True, reason=" ".join(sentences), growth=times)


def _named(model: Model) -> str:
    return f"The model of {_trained_at(model):%Y-%m-%d %H:%M} UTC ({model.id})"


def _sampled_at(model: Model) -> datetime:
    """When its sample runs were made: those of the model that it has learned on from."""
    return (moment_of(model.base_model_id) if model.base_model_id else None) or _trained_at(model)


def _trained_at(model: Model) -> datetime:
    at = time_of(model.at)
    return at.astimezone(UTC) if at else datetime.min.replace(tzinfo=UTC)
