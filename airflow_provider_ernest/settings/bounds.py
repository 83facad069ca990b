"""What sample runs may be, and how a model is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.values import (
    NOTHING,
    Count,
    Number,
    OptionalCount,
    OptionalNumber,
    Reader,
    checked,
    count,
    is_template,
    listed_texts,
    mapping,
    not_negative,
    number,
    one_of,
    positive,
    price,
    refuse_unknown,
    setting,
    settings,
    truth,
)

AVERAGING, RELATIVE, CLASSIC = METHODS = ("averaging", "relative", "classic")
"""How a model is fitted: by the average over all sets of terms (`prediction.averaging`), the most accurate,
also from few runs; by non-negative least squares of relative errors on given terms; or, as in the paper, of
errors in seconds."""

BAYESIAN = "bayesian "

CRITERIA = ("A", "D", "I", f"{BAYESIAN}A", f"{BAYESIAN}D", f"{BAYESIAN}I")
"""What makes one design better than another; see `design.problem`."""

IN_ROUNDS = "decision"
"""The criterion of runs that are chosen in rounds; see `design.rounds`."""

MOST_ROUNDS = 3
"""Each is a task of the DAG file's, and while it begins the cluster is billed."""

PAPERS_COST, MACHINE_SECONDS, DOLLARS = "relative_time", "machine_seconds", "dollars"

COST_UNITS = {PAPERS_COST: "cheapest runs", MACHINE_SECONDS: "machine seconds", DOLLARS: "dollars"}
"""What a sample run costs, by name, with the unit; see `design.costs`."""

COST_OPTIONS = {
    "full_seconds_on_one_machine": "a rough guess of the whole input's seconds on one machine, which all "
    "costs but relative_time need",
    "run_overhead_seconds": "what every run takes besides, for those costs",
    "price_per_hour": "dollars for one machine and hour, which the cost dollars needs",
}
"""What the costs may need to know."""


def _share(parameter: str, value: Any) -> float:
    """A share of the input, above 0 and at most all of it."""
    if positive(parameter, value) > 1:
        raise InvalidParameterError(
            parameter, value, "is more than the whole input", remedy="Use at most 1.0."
        )
    return number(parameter, value)


def _cost_options(parameter: str, value: Any) -> dict[str, float]:
    refuse_unknown(parameter, mapping(parameter, value), COST_OPTIONS)
    readers: dict[str, Reader] = dict.fromkeys(COST_OPTIONS, not_negative)
    readers |= {"full_seconds_on_one_machine": positive, "price_per_hour": price}
    return {name: readers[name](name, each) for name, each in value.items() if not is_template(each)}


def _rounds(parameter: str, value: Any) -> int:
    if count(parameter, value) > MOST_ROUNDS:
        raise InvalidParameterError(parameter, value, f"is not a number of 1 to {MOST_ROUNDS}")
    return count(parameter, value)


@settings
class DesignBounds:
    """What the sample runs may be."""

    max_executors: Count = setting(
        count, "the most executors (or machines) of a sample run", formerly="max_machines"
    )
    min_executors: Count = setting(count, "the fewest", default=1, formerly="min_machines")
    max_scale: Number = setting(_share, "the largest share of the input that a sample run reads", default=0.1)
    min_scale: OptionalNumber = setting(
        _share,
        "the smallest; default: 0.01, or 0.001 where the runs may cost only a share of production",
        default=None,
    )
    budget: OptionalNumber = setting(
        positive,
        "what all runs may cost together, in the unit of the cost; default: as much as they need, or 5 % of "
        "production where its deadline is 20 minutes or more and that is enough",
        default=None,
    )
    budget_share: OptionalNumber = setting(
        positive,
        "the same as a share of what one production run is predicted to cost, such as 0.05, by "
        "machine_seconds, dollars or its deadline; instead of a budget",
        default=None,
    )
    cost: str = setting(
        one_of(tuple(COST_UNITS)),
        "what a run costs: relative_time is scale/executors in cheapest runs, as in the paper",
        default=PAPERS_COST,
    )
    cost_options: Mapping[str, Number] = setting(
        _cost_options,
        "what the cost needs to know, such as full_seconds_on_one_machine; see `settings.COST_OPTIONS`",
        default_factory=dict,
    )
    criterion: str | None = setting(
        one_of(CRITERIA),
        "what makes a design good: A is the paper's; default: the one that suits the method, bayesian I "
        "where the predictions are known that it is for, else bayesian D",
        default=None,
    )
    min_runs: OptionalCount = setting(
        count, "the fewest runs; default: what the terms need to be told apart", default=None
    )
    max_runs: OptionalCount = setting(count, "the most; default: two more", default=None)
    rounds: Count = setting(
        _rounds,
        "1 designs all runs at once; with 2 or 3 the first are few, and further ones are made only where "
        "they are worth to the decision what they cost",
        default=1,
    )

    def __post_init__(self) -> None:
        """Refuse bounds that leave nothing between them, and a cost that lacks what it is computed from."""
        read = checked(self)
        kept = [
            name for name in ("criterion", "budget", "budget_share") if getattr(self, name) not in NOTHING
        ]
        if read.get("rounds", 1) > 1 and kept:
            raise InvalidParameterError(
                kept[0],
                getattr(self, kept[0]),
                f"cannot be combined with rounds={self.rounds}",
                remedy="Leave it out: a run is made where the decision gains more by it than it costs.",
            )
        for name in ("executors", "scale", "runs"):
            least, most = f"min_{name}", f"max_{name}"
            low, high = read.get(least), read.get(most)
            if low is not None and high is not None and low > high:
                raise InvalidParameterError(
                    least, getattr(self, least), f"is more than {most}={getattr(self, most)}"
                )
        if read.get("budget") is not None and read.get("budget_share") is not None:
            raise InvalidParameterError(
                "(budget, budget_share)",
                (self.budget, self.budget_share),
                "is two budgets",
                remedy="Give one of them.",
            )
        self._check_cost_options(read.get("cost", PAPERS_COST))

    def _check_cost_options(self, cost: str) -> None:
        needed = ["full_seconds_on_one_machine"] if cost != PAPERS_COST else []
        needed += ["price_per_hour"] if cost == DOLLARS else []
        for name in needed:
            if not is_template(self.cost_options) and name not in self.cost_options:
                raise InvalidParameterError(
                    name,
                    None,
                    f'is missing, and cost="{cost}" needs it',
                    remedy=f"Give it among the cost_options, or use cost={PAPERS_COST!r}.",
                )


def _terms(parameter: str, value: Any) -> tuple[Any, ...]:
    if not value:
        raise InvalidParameterError(parameter, value, "is empty", remedy="Leave it out, or name some terms.")
    return listed_texts(parameter, value)


@settings
class ModelSettings:
    """How the model is made of the observations. The defaults are the most accurate known."""

    method: str = setting(
        one_of(METHODS),
        "averaging over all sets of terms (the most accurate), relative (least squares of relative errors) "
        "or classic (the original: least squares of seconds)",
        default=AVERAGING,
    )
    terms: Sequence[str] | None = setting(
        _terms,
        "terms that a model may have, such as 1, scale/executors and log(executors), or formulas of your own "
        "in executors and scale; default: those that suit the method",
        default=None,
    )
    extension_terms: Sequence[str] = setting(
        listed_texts,
        "terms added one by one as long as the leave-one-out error is above `extend_above_percent`, as in "
        "the paper; for relative and classic",
        default=(),
    )
    extend_above_percent: Number = setting(positive, "see there", default=10.0)
    learn_from_other_jobs: bool = setting(
        truth,
        "let the stored models of other jobs on the same type of machine tell which terms jobs have there; "
        "for averaging",
        default=True,
    )

    def __post_init__(self) -> None:
        """Refuse contradictions. Whether formulas are terms is checked by the design of the runs."""
        read = checked(self)
        if self.extension_terms and read.get("method") == AVERAGING:
            raise InvalidParameterError(
                "extension_terms",
                self.extension_terms,
                'cannot be combined with method="averaging", which weighs all its terms by itself',
                remedy="Name them among its terms.",
            )
