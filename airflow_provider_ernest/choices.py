"""The words that a user chooses among, each list once: settings, mathematics and command line have them here.

Light, for DAG files and help texts read them.
"""

from __future__ import annotations

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

COST_UNITS = {
    "relative_time": "cheapest runs",
    "seconds": "seconds",
    "machine_seconds": "machine seconds",
    "dollars": "dollars",
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
