"""What the extended Amdahl model says of a choice: another model, learned from the same runs."""

from __future__ import annotations

from typing import Any

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.model.results import Decision, Model


def second_opinion(
    model: Model, decision: Decision | None, *, scale: float, iterations: int | None
) -> dict[str, Any] | None:
    """The share of the work that spreads, and the seconds on the machines that were chosen.

    Args:
        model: with the other model's sums; nothing is said where it has none.
        decision: what was chosen; None where nothing was.
        scale: that was asked.
        iterations: likewise; it knows only those of the sample runs.

    Returns:
        None where there is no such model. ``problem`` says why it cannot tell.
    """
    state = model.amdahl
    if state is None:
        return None
    from airflow_provider_ernest.model.amdahl.online import ExtendedAmdahl

    machines = _machines(model, decision)
    told: dict[str, Any] = {"alpha": None, "machines": machines, "seconds": None, "problem": ""}
    try:
        other = ExtendedAmdahl(degree=state.degree, state=state)
        told["alpha"] = other.alpha
        if machines is not None and iterations in (None, model.trained_iterations):
            (seconds,) = other.predict(x=scale, processors=machines).tolist()
            told["seconds"] = seconds + model.startup_seconds
    except (ErnestError, ArithmeticError, ValueError) as error:
        told["problem"] = error.message if isinstance(error, ErnestError) else "It cannot be computed."
    return told


def _machines(model: Model, decision: Decision | None) -> int | None:
    """What was chosen of the model's own type, which is all that it knows."""
    if decision is None or decision.composition or decision.config.instance_type != model.instance_type:
        return None
    return decision.config.machines
