"""What a model is asked on its page, checked before anything is computed. Loads no mathematics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from airflow_provider_ernest.documents.decisions import DecisionRecord
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings import Billing, SizingGoal
from airflow_provider_ernest.settings.billing import BESIDE_THE_PRICE
from airflow_provider_ernest.settings.goal import CHEAPEST, CONFIDENCE, OBJECTIVES, check_confidence
from airflow_provider_ernest.settings.values import checked, count, one_of, positive, setting, settings
from airflow_provider_ernest.words import count as whole

MOST_EXECUTORS = 1_000_000
MOST_RUNS = 1_000_000_000
"""Number of runs that may share the training."""

MOST_COMPUTED = 200
"""Number of sizes that a chart can tell apart."""

LARGEST = 1e9
"""Nobody means a price, deadline, budget or scale above it, or below its inverse."""


def measured(parameter: str, value: Any) -> float:
    """A number above 0 that people can mean."""
    result = positive(parameter, value)
    if not 1 / LARGEST <= result <= LARGEST:
        raise InvalidParameterError(
            parameter, value, "is out of range", remedy=f"Give {1 / LARGEST:g} to {LARGEST:g}."
        )
    return result


def _billing(_parameter: str, value: Billing) -> Billing:
    """Billing with numbers that people can mean."""
    for name in BESIDE_THE_PRICE:
        if name != "expected_runs" and getattr(value, name):
            measured(name, getattr(value, name))
    return value


@settings
class PredictionRequest:
    """What a model is asked; refuses numbers that are impossible, or far beyond what people mean."""

    scale: float = setting(measured, "the production input relative to the one that was sampled", default=1.0)
    iterations: int | None = setting(
        count, "of the production run, for iterative jobs; default: those trained with", default=None
    )
    deadline_seconds: float | None = setting(
        measured, "that the run may take, from the launch of its machines to its end", default=None
    )
    budget_dollars: float | None = setting(measured, "that the run may cost", default=None)
    confidence: float = setting(
        check_confidence, "the share of runs that must meet deadline and budget", default=CONFIDENCE
    )
    # A function's path is never taken from an address.
    objective: str | None = setting(
        one_of(OBJECTIVES), "what is best of what is sure enough, by default the best value", default=None
    )
    price_per_hour: float | None = setting(
        measured, "dollars for one machine of the model's type and hour", default=None
    )
    billing: Billing = setting(
        _billing, "what is billed besides, for machines of any type", default_factory=Billing
    )
    min_executors: int = setting(count, "the fewest executors", default=1)
    max_executors: int = setting(count, "the most executors", default=16)

    def __post_init__(self) -> None:
        """Check all fields."""
        checked(self)

    @property
    def has_goal(self) -> bool:
        """Whether there is a deadline, a budget or an objective."""
        return (self.deadline_seconds, self.budget_dollars, self.objective) != (None, None, None)

    def goal(self) -> SizingGoal:
        """The goal; without one, the cheapest size without limits. Raises InvalidParameterError."""
        return SizingGoal(
            deadline_seconds=self.deadline_seconds,
            budget_dollars=self.budget_dollars,
            confidence=self.confidence,
            objective=self.objective if self.has_goal else CHEAPEST,
            scale=self.scale,
            allowed_executors=self.counts(),
        )

    def billing_at(self, price_per_hour: float | None) -> Billing:
        """The billing at a price; without the training if it is not stated how many runs share it."""
        training = None if self.billing.expected_runs is None else self.billing.training_dollars
        asked = replace(self.billing, training_dollars=training)
        return asked.completed(price_per_hour=price_per_hour, training_dollars=0.0)

    def counts(self) -> list[int]:
        """The numbers of machines to compute: all, or `MOST_COMPUTED` of them, spread evenly by ratio.

        A run changes as much from 12 to 16 machines as from 120 to 160. Raises InvalidParameterError.
        """
        least, most = self.min_executors, self.max_executors
        if most > MOST_EXECUTORS:
            raise InvalidParameterError(
                "max_executors",
                most,
                "is no size of a cluster",
                remedy=f"Ask for {whole(MOST_EXECUTORS)} at most.",
            )
        if most < least:
            raise InvalidParameterError(
                "max_executors", most, f"is less than min_executors={least}", remedy="Exchange the two."
            )
        if most - least < MOST_COMPUTED:
            return list(range(least, most + 1))
        steps = MOST_COMPUTED - 1
        return sorted({round(least * (most / least) ** (step / steps)) for step in range(steps + 1)})


def in_bounds(value: float | None) -> float | None:
    """The scale, price, deadline or budget; None if it cannot be asked for. NaN is in no bounds."""
    return value if value is not None and 1 / LARGEST <= value <= LARGEST else None


def request_of(
    newest: DecisionRecord | None,
    *,
    model: Model | None = None,
    price: float | None = None,
    training_dollars: float | None = None,
) -> PredictionRequest:
    """What a decision asked; without one, a request derived from the runs of the model.

    Values that a page cannot ask are left out or brought into bounds.
    """
    trained = model.observations if model else ()
    least = min(max(1, newest.min_executors), MOST_EXECUTORS) if newest else 1
    most = newest.max_executors if newest else 2 * max((run.executors for run in trained), default=1)
    iterations = newest.iterations if newest else model.trained_iterations if model else None
    return PredictionRequest(
        scale=(in_bounds(newest.scale) if newest else None) or 1.0,
        iterations=iterations if iterations is not None and iterations >= 1 else None,
        **(_goal(newest) if newest else {}),
        price_per_hour=in_bounds(price),
        billing=_billed((newest.decision.billing if newest else None) or Billing(), training_dollars),
        min_executors=least,
        max_executors=min(max(least, most), MOST_EXECUTORS),
    )


def _goal(newest: DecisionRecord) -> dict[str, Any]:
    deadline, budget = in_bounds(newest.deadline_seconds), in_bounds(newest.budget_dollars)
    objective = newest.objective if newest.objective in OBJECTIVES else None
    confidence = newest.confidence
    return {
        "deadline_seconds": deadline,
        # Both at once need an objective, which earlier versions took as a function, too.
        "budget_dollars": budget if deadline is None or objective else None,
        "objective": objective,
        "confidence": confidence if confidence is not None and 0 < confidence < 1 else CONFIDENCE,
    }


def _billed(known: Billing, training_dollars: float | None) -> Billing:
    """Billing besides the machines' hours; runs share the training only if that was stated."""
    shared, estimated = in_bounds(known.training_dollars), in_bounds(training_dollars)
    numbers: dict[str, Any] = {
        **{name: in_bounds(getattr(known, name)) or 0.0 for name in BESIDE_THE_PRICE},
        "increment_seconds": in_bounds(known.increment_seconds) or 1.0,
        "training_dollars": shared or (float(f"{estimated:.4g}") if estimated else None),
        "expected_runs": min(known.expected_runs or 1, MOST_RUNS) if shared else None,
    }
    return Billing(**numbers)
