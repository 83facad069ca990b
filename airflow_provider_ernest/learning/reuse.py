"""Whether a stored model speaks for the run at hand, so that no sample runs need to be made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from airflow_provider_ernest.documents import AGE, CODE, Model, RunConditions, moment_of
from airflow_provider_ernest.exceptions import InadequateModelError, InvalidParameterError
from airflow_provider_ernest.learning.conditions import (
    MOST_GROWTH,
    SHAPE_TOLERANCE,
    differences,
    growth,
    not_compared,
)
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, HASH_DIGITS, SEEN_DIRECTLY, State
from airflow_provider_ernest.prediction.terms import check_terms
from airflow_provider_ernest.prediction.training import check_adequacy

SAME_SIZE = 0.01
"""A growth of less is not worth a word."""


@dataclass(frozen=True, kw_only=True)
class ReusePolicy:
    """How long a model is good for.

    Attributes:
        max_age_days: days after its sample runs; None for no limit.
        shape_tolerance: by how much a partition of the input may have grown or shrunk; 0.25 is 25 %.
        max_growth: to how many times its size the input may have grown.
        accept_unknown_application: take an application whose hash cannot be taken for unchanged.
        max_error_percent: the median leave-one-out error above which it is inadequate; None to accept any.
    """

    max_age_days: float | None = None
    shape_tolerance: float = SHAPE_TOLERANCE
    max_growth: float = MOST_GROWTH
    accept_unknown_application: bool = False
    max_error_percent: float | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a model is reused, and why.

    Attributes:
        is_reused: whether it is.
        reason: a sentence.
        cause: of `records.ModelMark`, where the model no longer speaks for the job; empty where it is reused,
            or not for another reason.
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
    policy: ReusePolicy,
    now: datetime,
) -> Verdict:
    """Judge a model by what the run at hand will run, on what and under which conditions.

    Args:
        model: the model.
        artifact_sha256: of the application as it is now; None where it cannot be taken.
        conditions: of the run.
        state: of the model by what was recorded since, see `freshness.state_of`; those of
            `SEEN_DIRECTLY` may be passed over in it.
        policy: how long models are good for.
        now: with its time zone.
    """
    try:
        check_terms([term.name for term in model.terms])
    except InvalidParameterError as error:
        return _refused(model, str(error))
    code = _code_verdict(model, artifact_sha256, policy)
    if code is not None:
        return code
    changed = differences(
        model.conditions, conditions, shape_tolerance=policy.shape_tolerance, max_growth=policy.max_growth
    )
    if changed:
        reasons = "; ".join(each.reason for each in changed)
        return _refused(model, f"{reasons[0].upper()}{reasons[1:]}.", cause=changed[0].cause)
    if state.name == DRIFTING or (state.name != FRESH and state.cause not in SEEN_DIRECTLY):
        return _refused(model, state.reason, cause=state.cause)
    if policy.max_age_days is not None and now - _sampled_at(model) > timedelta(days=policy.max_age_days):
        return _refused(
            model, f"Its sample runs are older than the {policy.max_age_days:g} days allowed.", cause=AGE
        )
    try:
        if policy.max_error_percent is not None:
            check_adequacy(model, max_error_percent=policy.max_error_percent)
    except InadequateModelError as error:
        return _refused(model, error.message)
    return _reused(model, conditions)


def _code_verdict(model: Model, artifact_sha256: str | None, policy: ReusePolicy) -> Verdict | None:
    """Why the code speaks against the model; None where it does not."""
    if artifact_sha256 and model.artifact_sha256:
        if artifact_sha256 == model.artifact_sha256:
            return None
        return _refused(
            model,
            f"The application has changed: it is {artifact_sha256[:HASH_DIGITS]} and was "
            f"{model.artifact_sha256[:HASH_DIGITS]}.",
            cause=CODE,
        )
    if policy.accept_unknown_application:
        return None
    return _refused(
        model,
        "Whether the application has changed is not known, for its hash cannot be taken. Set "
        "accept_unknown_application of Reuse to take it for the same.",
    )


def _refused(model: Model, reason: str, *, cause: str = "") -> Verdict:
    return Verdict(is_reused=False, reason=f"{_named(model)} is not reused. {reason}", cause=cause)


def _reused(model: Model, conditions: RunConditions) -> Verdict:
    times = growth(model.conditions, conditions)
    sentences = [f"{_named(model)} is reused: nothing that it depends on has changed."]
    if abs(times - 1.0) > SAME_SIZE:
        sentences.append(f"The input is {times:.3g} times as large as then.")
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
    moment = datetime.fromisoformat(model.at)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
