"""Decisions of nights on which nothing could be chosen that kept to the goal."""

from __future__ import annotations

from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents.decisions import Configuration, Decision
from airflow_provider_ernest.settings import SizingGoal
from tests.choices import choice_of

STATED_MACHINES = 12
NO_MODEL = "There is no model to choose by: its training failed or was skipped."


def stated(instance_type: str, *, goal: SizingGoal) -> Decision:
    """The configuration that the user has stated for when training fails."""
    return Decision(
        config=Configuration(machines=STATED_MACHINES, instance_type=instance_type),
        goal=Goal(goal).in_words,
        confidence=goal.confidence,
        fallback_reason=NO_MODEL,
        warnings=(f"The stated fallback of {STATED_MACHINES} machines was taken: {NO_MODEL}",),
    )


def most_probable(offer: Offer, *, goal: SizingGoal) -> Decision:
    """What keeps to a goal out of reach most probably."""
    return choice_of(offer, goal=goal, on_failure="most_probable").required()
