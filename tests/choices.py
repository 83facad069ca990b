"""Decisions made for tests. Apart from `tests.examples`, which loads no mathematics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from airflow_provider_ernest.decision.deciding import Choice, Offered, decide
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.settings import SizingGoal


def choice_of(
    offers: Offer | Sequence[Offer], *, goal: SizingGoal, iterations: int | None = None, **changes: Any
) -> Choice:
    """What comes of a goal with some changes, where these are offered."""
    listed = [offers] if isinstance(offers, Offer) else offers
    return decide(replace(goal, **changes), Offered(offers=listed), iterations=iterations)
