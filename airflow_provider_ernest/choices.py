"""The words that a user chooses among, each list once: settings, mathematics and command line have them here.

Light, for DAG files and help texts read them.
"""

from __future__ import annotations

from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError

AVERAGING = "averaging"
"""The average over all sets of terms, see `model.averaging`: the most accurate, above all from few runs."""

RELATIVE = "relative"
"""Non-negative least squares on given terms; errors count by their share of the run time."""

CLASSIC = "classic"
"""The original of the paper: non-negative least squares, errors count in seconds."""

METHODS = (AVERAGING, RELATIVE, CLASSIC)
"""How a model is fitted."""

BAYESIAN = "bayesian "

CRITERIA = ("A", "D", "I", f"{BAYESIAN}A", f"{BAYESIAN}D", f"{BAYESIAN}I")
"""What makes one design better than another; see `model.design.criteria`."""

PAPERS_COST, SECONDS, MACHINE_SECONDS, DOLLARS = ("relative_time", "seconds", "machine_seconds", "dollars")

COST_UNITS = {
    PAPERS_COST: "cheapest runs",
    SECONDS: "seconds",
    MACHINE_SECONDS: "machine seconds",
    DOLLARS: "dollars",
}
"""What a sample run costs, by name, with the unit; see `model.design.costs`."""

COST_OPTIONS = ("full_seconds_on_one_machine", "run_overhead_seconds", "run_overhead", "price_per_hour")
"""What the costs may need to know."""

CHEAPEST, FASTEST, BALANCED = OBJECTIVES = ("cheapest", "fastest", "balanced")
"""What is best among the configurations. Balanced is least seconds times dollars: where all keep to the
limits as surely, that is on the Pareto front, at the point where a per cent more of one buys a per cent less
of the other."""

CONFIDENCE = 0.8
"""The probability with which a goal is kept unless another is asked for."""

FILES, FIRST_ROWS, ARGUMENT = SAMPLINGS = ("files", "first_rows", "argument")
"""How a sample of the input is taken; see `spark.sampling`."""

FAIL, WARN = ON_INADEQUATE = ("fail", "warn")
"""What to do about a model whose error is above the threshold."""


def require_goal(*, deadline_seconds: Any, budget_dollars: Any, objective: Any) -> None:
    """Refuse what says nothing of what is best, or two things; None is what is not stated.

    Raises:
        InvalidParameterError: without an objective there is neither a deadline nor a budget, or both.
    """
    if objective is None and (deadline_seconds is None) == (budget_dollars is None):
        raise InvalidParameterError(
            "(deadline_seconds, budget_dollars)",
            (deadline_seconds, budget_dollars),
            "is no goal" if deadline_seconds is None else "is two goals",
            remedy='Give exactly one of them, or an objective such as "cheapest".',
        )


def check_confidence(parameter: str, value: Any) -> float:
    """A probability with which a goal can be kept.

    Raises:
        InvalidParameterError: it is not between 0 and 1.
    """
    if not isinstance(value, int | float) or not 0 < value < 1:
        raise InvalidParameterError(
            parameter, value, "is not between 0 and 1", remedy="Give 0.95, say: nothing is certain."
        )
    return float(value)
