"""Decisions and marks as pages and report show them, each in one shape wherever it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_ernest.decision.goals import cheapest_that_meets, fastest, next_faster
from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.decisions import (
    Alternative,
    Configuration,
    Decision,
    DecisionRecord,
    Reachable,
)
from airflow_provider_ernest.documents.models import ModelMark
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.billing import BilledCost
from airflow_provider_ernest.settings.goal import OBJECTIVES
from airflow_provider_ernest.views.view import view_of
from airflow_provider_ernest.words import confidence as stated_confidence
from airflow_provider_ernest.words import dollars, duration, machines

STATED, MOST_PROBABLE = "stated", "most_probable"


@dataclass(frozen=True, kw_only=True)
class ShownDecision:
    """What was chosen, or would be.

    Attributes:
        composition: where machines of several types were chosen.
        confidence: the probability that was asked for.
        probability: that the goal is kept, as foreseen.
        fallback: "stated", "most_probable" or null where it is none.
        run_seconds: of predicted_seconds the part from the moment that all machines are there.
        startup_seconds: the part before.
        predicted_cost: in dollars, of all that is billed.
        cost_parts: predicted_cost by what it is paid for.
        error_percent: median leave-one-out error of the model.
        model_id: the model that decided; null where a fallback was taken without one.
        decision_id: null where nothing is kept of it.
        reuse: why the model was an earlier run's; empty where it was not.
        worth: what a best value costs more than the plainly cheapest or fastest, and what that buys.
    """

    machines: int
    instance_type: str
    composition: tuple[Configuration, ...]
    goal: str
    confidence: float | None
    probability: float | None
    fallback: str | None
    fallback_reason: str | None
    predicted_seconds: float | None
    run_seconds: float | None
    startup_seconds: float | None
    likely_seconds: tuple[float, float] | None
    nearly_certain_seconds: tuple[float, float] | None
    predicted_cost: float | None
    cost_parts: BilledCost | None
    price_per_hour: float | None
    error_percent: float | None
    max_error_percent: float | None
    model_id: str | None
    warnings: tuple[str, ...]
    decision_id: str | None
    decided_at: str | None
    reuse: str
    worth: str
    origin: Origin | None


def shown_decision(
    decision: Decision, record: DecisionRecord | None = None, *, warnings: Sequence[str] = ()
) -> ShownDecision:
    """A decision, with what its record says where there is one, and warnings ahead of its own."""
    asked = decision.confidence
    return view_of(
        ShownDecision,
        decision,
        machines=decision.config.machines,
        instance_type=decision.config.instance_type,
        confidence=record.confidence if asked is None and record else asked,
        fallback=fallback_of(decision),
        model_id=record.model_id if record else decision.model_id,
        warnings=(*warnings, *decision.warnings),
        decision_id=record.id if record else None,
        decided_at=record.at if record else None,
        reuse=record.reuse if record else "",
        origin=record.origin if record else None,
    )


def fallback_of(decision: Decision) -> str | None:
    """The stated configuration, or the most probable one by the models; None where it is no fallback."""
    if decision.fallback_reason is None:
        return None
    # What a model foresees has a probability; what a user states has none.
    return STATED if decision.probability is None else MOST_PROBABLE


@dataclass(frozen=True, kw_only=True)
class ShownMark:
    """What was noted against a model.

    Attributes:
        cause: code, data, settings, cluster, unexplained or age.
        artifact_sha256: of the application that was seen instead.
    """

    mark_id: str
    marked_at: str
    job: str
    instance_type: str
    model_id: str
    cause: str
    reason: str
    artifact_sha256: str | None
    origin: Origin | None


def shown_mark(mark: ModelMark) -> ShownMark:
    """A mark of the store."""
    return view_of(ShownMark, mark, mark_id=mark.id, marked_at=mark.at)


@dataclass(frozen=True, kw_only=True)
class AnswerRow:
    """A configuration beside the others.

    Attributes:
        roles: why it is among the rows: "Chosen", "Fastest", and so on.
        seconds: predicted, from submission to end; of the last run those that it took.
        cost: in dollars, likewise; null where no price is known.
        probability: that the goal is kept; of the last run null.
        is_actual: whether it is a run, and no prediction.
        extrapolates: why the observations do not support it; empty where they do.
    """

    roles: tuple[str, ...]
    machines: int
    instance_type: str
    seconds: float
    likely_seconds: tuple[float, float] | None
    cost: float | None
    probability: float | None
    is_chosen: bool = False
    is_actual: bool = False
    extrapolates: str = ""


Roles = list[tuple[str, Alternative | None]]
"""Configurations by their role, which may be empty; None where nothing has it."""


def beside_the_chosen(alternatives: Sequence[Alternative], chosen: Alternative, *, has_limits: bool) -> Roles:
    """What the chosen machines are to be compared with."""
    return [
        ("Cheapest that meets it" if has_limits else "Cheapest", cheapest_that_meets(alternatives)),
        ("Chosen", chosen),
        ("Next faster", next_faster(alternatives, chosen)),
        ("Fastest", fastest(alternatives)),
    ]


def beside_the_nearest(alternatives: Sequence[Alternative], nearest: Alternative) -> Roles:
    """What to compare where nothing keeps to the goal."""
    return [("Nearest", nearest), ("Fastest", fastest(alternatives))]


def compared_rows(
    compared: Roles,
    *,
    shown: Alternative | None,
    is_priced: bool = True,
    has_limits: bool = True,
) -> tuple[AnswerRow, ...]:
    """Configurations beside each other, each once.

    Args:
        compared: by their role.
        shown: the one that was chosen, or comes nearest.
        is_priced: whether what machines cost is known.
        has_limits: whether anything was to be kept.
    """
    roles: dict[tuple[object, ...], list[str]] = {}
    found: dict[tuple[object, ...], Alternative] = {}
    for role, each in compared:
        if each is not None:
            key = each.instance_type, each.machines, each.composition
            found[key] = each
            roles.setdefault(key, []).extend([role] if role else [])
    return tuple(
        AnswerRow(
            roles=tuple(roles[key]),
            machines=each.machines,
            instance_type=each.instance_type,
            seconds=each.seconds,
            likely_seconds=each.likely_seconds,
            cost=each.cost if is_priced else None,
            probability=each.probability if has_limits else None,
            is_chosen=each == shown,
            extrapolates=each.extrapolates,
        )
        for key, each in found.items()
    )


def limits_in_words(deadline_seconds: float | None, budget_dollars: float | None) -> str:
    """What is to be kept: "the deadline of 7 min"; empty where nothing is."""
    limits = [] if deadline_seconds is None else [f"the deadline of {duration(deadline_seconds)}"]
    limits += [] if budget_dollars is None else [f"the budget of {dollars(budget_dollars)}"]
    return " and ".join(limits)


def out_of_reach(
    *,
    deadline_seconds: float | None,
    budget_dollars: float | None,
    confidence: float,
    earliest_deadline: Reachable | None,
    least_budget: Reachable | None,
) -> str:
    """What cannot be kept, and the nearest that could be asked for."""
    instead = []
    if deadline_seconds is not None and earliest_deadline is not None:
        instead.append(f"a deadline of {duration(earliest_deadline.limit)} ({_on(earliest_deadline)})")
    if budget_dollars is not None and least_budget is not None:
        instead.append(f"a budget of {dollars(least_budget.limit)} ({_on(least_budget)})")
    met = f" Possible: {' or '.join(instead)}." if instead else ""
    return (
        f"Out of reach: nothing meets {limits_in_words(deadline_seconds, budget_dollars)} in "
        f"{stated_confidence(confidence)} of runs.{met} Or ask for less certainty, allow more machines, or "
        "train on another type."
    )


def _on(reachable: Reachable) -> str:
    return machines(reachable.machines, reachable.instance_type)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What was asked, by the names that the address of a model's page has for it.

    Attributes:
        objective: what was to be best; null for a function of the user's.
        billing: what was billed; null where no price was known.
    """

    scale: float
    iterations: int | None
    deadline_seconds: float | None
    budget_dollars: float | None
    objective: str | None
    confidence: float | None
    billing: Billing | None
    min_machines: int
    max_machines: int


def question_of(asked: DecisionRecord) -> Question:
    """What was asked of a decision."""
    objective = asked.objective if asked.objective in OBJECTIVES else None
    return view_of(Question, asked, objective=objective, billing=asked.decision.billing)
