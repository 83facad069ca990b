"""Which kind of fallback a decision is, where no configuration kept to the goal or no model was there."""

from __future__ import annotations

from airflow_provider_ernest.model.results import Decision

STATED, MOST_PROBABLE = "stated", "most_probable"


def fallback_of(decision: Decision) -> str | None:
    """The stated configuration, or the most probable one by the models; None where it is no fallback."""
    if decision.fallback_reason is None:
        return None
    # What a model foresees has a probability; what a user states has none.
    return STATED if decision.probability is None else MOST_PROBABLE
