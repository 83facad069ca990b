"""Decisions of nights on which nothing could be chosen that kept to the goal."""

from __future__ import annotations

from airflow_provider_ernest.decision.choice import consider, decide_on, infeasible
from airflow_provider_ernest.decision.choice import most_probable as surest
from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents import Configuration, Decision

STATED_MACHINES = 12
NO_MODEL = "There is no model to choose by: its training failed or was skipped."


def stated(instance_type: str, *, goal: Goal) -> Decision:
    """The configuration that the user has stated for when training fails."""
    return Decision(
        config=Configuration(machines=STATED_MACHINES, instance_type=instance_type),
        goal=goal.describe(),
        confidence=goal.confidence,
        fallback_reason=NO_MODEL,
        warnings=(f"The stated fallback of {STATED_MACHINES} machines was taken: {NO_MODEL}",),
    )


def most_probable(offer: Offer, *, goal: Goal) -> Decision:
    """What keeps to a goal out of reach most probably."""
    alternatives = consider(offer, goal=goal)
    why = str(infeasible(goal, alternatives, boot_seconds=0.0))
    return decide_on(surest(alternatives, goal), alternatives, offer, goal=goal, fallback_reason=why)
