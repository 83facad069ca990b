"""The first step: which sample runs to make."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.task_context import no_vain_retries
from airflow_provider_ernest.settings import COST_OPTIONS
from airflow_provider_ernest.stated import (
    NOTHING,
    machine_counts,
    number,
    optional_number,
    optional_text,
    optional_whole_number,
    refuse_unknown,
    whole_number,
)
from airflow_provider_ernest.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.design.costs import Allowance, Spending
    from airflow_provider_ernest.design.criteria import Targets
    from airflow_provider_ernest.documents import Design
    from airflow_provider_ernest.settings import Number

WEIGHTINGS = {"relative": "relative", "classic": "absolute"}
"""Which errors the methods that fit given terms minimise; designs are to be for the same."""


class ExperimentDesignOperator(BaseOperator):
    """Choose a few cheap sample runs by optimal experiment design (Ernest, section 3.2).

    Returns the list of experiments, to map `SampleRunOperator` over, and pushes the whole `Design`
    document under the key ``design``.

    Args:
        max_machines, min_machines: machines of a sample run.
        max_scale, min_scale: share of the input that a sample run reads. By default at least 0.01, or 0.001
            where the runs may cost only a share of production.
        partitions: partitions of the whole input; a run has at least one for each of its cores. None for the
            number of files of `input_path`.
        input_path: the production input; that it is there is checked now, before a cluster is paid for.
        cores_per_machine: cores of a machine that the runs will have: each gets a partition at least.
        available_machines: machines of the cluster that the runs will have; None where it sets no limit.
        target_max_machines, target_min_machines: machines that production may have: the predictions that the
            model will be asked for; None for the maximum where they are not known.
        target_allowed_machines: the only numbers of machines among these that production may have.
        target_scale: the production input relative to the one that is sampled.
        target_deadline_seconds: within which production is to end: about so long it will run.
        billed_machines: machines that are paid for while a sample run is on, however few it uses, such as
            all of the training cluster; None for the run's own.
        budget: bound on the summed cost of the runs, in units of `cost`; None for a sensible one.
        budget_share: the same as a share of what one production run is predicted to cost (0.05 is 5 %), for
            "machine_seconds", "dollars", or with a deadline; instead of `budget`. Without either the runs
            cost 5 % of production where that is known to take 20 minutes or more, see
            `model.design.spending`; where they cannot cost so little, more, with a warning.
        cost: "relative_time" (scale/machines relative to the cheapest, the paper's), "seconds",
            "machine_seconds" or "dollars".
        cost_options: what the cost needs to know, see `choices.COST_OPTIONS`.
        min_runs, max_runs: how many runs; None for defaults that suit the number of terms.
        method: how the model will be fitted: "averaging", "relative" or "classic".
        criterion: what makes a design good, see `model.design.criteria`. None for what suits the method:
            for averaging "bayesian I" with targets, else "bayesian D"; for the others "I" with targets, else
            "A", since these determine all terms.
        terms: names of the terms that the model may have; None for those that suit criterion and method.
        extension_terms: further terms that the model may be extended by, to be determined too.
        observed: `Observation` documents of runs already made: they count, at no cost.
        iterations: iterations to train with, for iterative jobs.

    Raises:
        InvalidParameterError, DesignError: the bounds or the budget cannot work (fails without retry).
        MissingResourceError: there is no such input.
    """

    template_fields: Sequence[str] = (
        "max_machines",
        "min_machines",
        "max_scale",
        "min_scale",
        "partitions",
        "input_path",
        "cores_per_machine",
        "available_machines",
        "target_max_machines",
        "target_min_machines",
        "target_allowed_machines",
        "target_scale",
        "target_deadline_seconds",
        "billed_machines",
        "budget",
        "budget_share",
        "cost",
        "cost_options",
        "method",
        "criterion",
        "min_runs",
        "max_runs",
        "observed",
        "iterations",
    )
    ui_color = "#cfe8e4"

    def __init__(
        self,
        *,
        max_machines: Number,
        cores_per_machine: Number,
        partitions: Number | None = None,
        input_path: str | None = None,
        min_machines: Number = 1,
        max_scale: Number = 0.1,
        min_scale: Number | None = None,
        available_machines: Number | None = None,
        target_max_machines: Number | None = None,
        target_min_machines: Number = 1,
        target_allowed_machines: Sequence[int] | str | None = None,
        target_scale: Number = 1.0,
        target_deadline_seconds: Number | None = None,
        billed_machines: Number | None = None,
        budget: Number | None = None,
        budget_share: Number | None = None,
        cost: str = "relative_time",
        cost_options: Mapping[str, Number] | None = None,
        min_runs: Number | None = None,
        max_runs: Number | None = None,
        method: str = "averaging",
        criterion: str | None = None,
        terms: Sequence[str] | None = None,
        extension_terms: Sequence[str] = (),
        observed: Any = None,
        iterations: Number | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.max_machines = max_machines
        self.min_machines = min_machines
        self.max_scale = max_scale
        self.min_scale = min_scale
        self.partitions = partitions
        self.input_path = input_path
        self.cores_per_machine = cores_per_machine
        self.available_machines = available_machines
        self.target_max_machines = target_max_machines
        self.target_min_machines = target_min_machines
        self.target_allowed_machines = target_allowed_machines
        self.target_scale = target_scale
        self.target_deadline_seconds = target_deadline_seconds
        self.billed_machines = billed_machines
        self.budget = budget
        self.budget_share = budget_share
        self.cost = cost
        self.cost_options = cost_options
        self.min_runs = min_runs
        self.max_runs = max_runs
        self.method = method
        self.criterion = criterion
        self.terms = terms
        self.extension_terms = extension_terms
        self.observed = observed
        self.iterations = iterations

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Solve for the design, log it as a table, and hand it on."""
        from airflow_provider_ernest.views.tables import design_table

        with no_vain_retries():
            design, spending = self._solved()
        for line in design_table(design):
            self.log.info("%s", line)
        for level, text in remarks(
            design, spending, max_machines=self.max_machines, max_scale=self.max_scale
        ):
            self.log.log(level, "%s", text)
        context["ti"].xcom_push(key="design", value=design.to_dict())
        return [experiment.to_dict() for experiment in design.experiments]

    def design(self) -> Design:
        """The design as `execute` makes it, without a run of a DAG.

        Raises:
            InvalidParameterError, DesignError: the bounds or the budget cannot work.
            MissingResourceError: there is no such input.
        """
        return self._solved()[0]

    def _solved(self) -> tuple[Design, Spending]:

        targets = targets_of(
            min_machines=self.target_min_machines,
            max_machines=self.target_max_machines,
            allowed_machines=self.target_allowed_machines,
            scale=self.target_scale,
        )
        spending = spending_of(
            targets,
            budget=self.budget,
            share=self.budget_share,
            cost=self.cost,
            cost_options=self.cost_options,
            min_scale=self.min_scale,
            billed_machines=self.billed_machines,
            machines=self.target_min_machines,
            scale=self.target_scale,
            deadline_seconds=self.target_deadline_seconds,
        )
        return spending.planned(self._planner(targets)), spending

    def _planner(self, targets: Targets | None) -> Callable[[Allowance], Design]:
        """What makes a design within an allowance."""
        from airflow_provider_ernest.design.candidates import enumerate_candidates
        from airflow_provider_ernest.design.plan import plan_design
        from airflow_provider_ernest.documents import Observation
        from airflow_provider_ernest.prediction.predictors import check_method
        from airflow_provider_ernest.settings import AVERAGING

        method = check_method(self.method)
        criterion = optional_text(self.criterion)
        if criterion is None and method != AVERAGING:
            criterion = "A" if targets is None else "I"
        candidates_of = partial(
            enumerate_candidates,
            min_machines=whole_number("min_machines", self.min_machines),
            max_machines=machines_of_samples(self.max_machines, available=self.available_machines),
            max_scale=number("max_scale", self.max_scale),
            partitions=partitions_of_input(self.partitions, path=self.input_path),
            cores_per_machine=whole_number("cores_per_machine", self.cores_per_machine),
        )
        design_of = partial(
            plan_design,
            terms=self._terms(method),
            criterion=criterion,
            targets=targets,
            weighting=WEIGHTINGS.get(method),
            min_runs=optional_whole_number("min_runs", self.min_runs),
            max_runs=optional_whole_number("max_runs", self.max_runs),
            observed=[Observation.from_dict(document) for document in self.observed or ()],
            iterations=optional_whole_number("iterations", self.iterations),
        )

        def plan(allowance: Allowance) -> Design:
            candidates = candidates_of(min_scale=allowance.min_scale, by_ratio=allowance.by_ratio)
            return design_of(candidates=candidates, budget=allowance.budget, cost=allowance.cost)

        return plan

    def _terms(self, method: str) -> tuple[str, ...] | None:
        from airflow_provider_ernest.prediction.predictors import default_terms

        terms, extensions = tuple(self.terms or ()), tuple(self.extension_terms)
        if not terms and not extensions:
            return None
        terms = terms or default_terms(method)
        return (*terms, *(name for name in extensions if name not in terms))


# ---------------------------------------------------------------------------
# What the design of the sample runs is told of production and of costs, from template fields.


def targets_of(
    *,
    min_machines: Number,
    max_machines: Number | None,
    allowed_machines: Sequence[int] | str | None,
    scale: Number,
) -> Targets | None:
    """The configurations that predictions will be asked for; None where nothing tells the most machines.

    Raises:
        InvalidParameterError: a value cannot be.
    """
    from airflow_provider_ernest.design.criteria import Targets

    if max_machines in NOTHING and allowed_machines in NOTHING:
        return None
    machines = machine_counts(
        minimum=min_machines, maximum=max_machines, allowed=allowed_machines, prefix="target_"
    )
    return Targets(machines=machines, scale=number("target_scale", scale))


def spending_of(
    targets: Targets | None,
    *,
    budget: Number | None,
    share: Number | None,
    cost: str,
    cost_options: Mapping[str, Number] | None,
    min_scale: Number | None,
    billed_machines: Number | None,
    machines: Number,
    scale: Number,
    deadline_seconds: Number | None,
) -> Spending:
    """What the sample runs may cost.

    Args:
        targets: the machines that production may have.
        budget: of all runs, in the unit of the cost.
        share: the same as a share of the cost of a production run.
        cost: the name of the cost.
        cost_options: what the cost needs to know.
        min_scale: the smallest share of the input that a run reads.
        billed_machines: that are paid for while a run is on.
        machines: the fewest that production may have.
        scale: its input, relative to the one that is sampled.
        deadline_seconds: within which it is to end.

    Raises:
        InvalidParameterError: a value cannot be, or budget and share are given.
    """
    from airflow_provider_ernest.design.costs import Spending, expected_production

    given, part = optional_number("budget", budget), optional_number("budget_share", share)
    if part is not None and given is not None:
        raise InvalidParameterError(
            "(budget, budget_share)", (given, part), "is two budgets", remedy="Give one of them."
        )
    options = _cost_options(cost_options)
    production = expected_production(
        machines=None if targets is None else targets.machines,
        scale=number("target_scale", scale),
        deadline_seconds=optional_number("target_deadline_seconds", deadline_seconds),
        full_seconds_on_one_machine=options.get("full_seconds_on_one_machine"),
    )
    return Spending(
        cost=cost,
        options=options,
        budget=given,
        share=part,
        min_scale=optional_number("min_scale", min_scale),
        billed_machines=optional_number("billed_machines", billed_machines) or 0.0,
        production=production,
        fewest_machines=whole_number("target_min_machines", machines),
        scale=number("target_scale", scale),
    )


def _cost_options(given: Mapping[str, Number] | None) -> dict[str, float]:
    options = given or {}
    refuse_unknown("cost_options", options, COST_OPTIONS)
    return {name: number(name, value) for name, value in options.items()}


# ---------------------------------------------------------------------------
# What can be sampled at all, from template fields, and what is told of the samples that were chosen.


SMALL_SHARE = 0.1
"""Shares below it are told with a decimal."""


def machines_of_samples(most: Number, *, available: Number | None) -> int:
    """The most machines of a sample run.

    Args:
        most: as the bounds have it.
        available: machines of the cluster; None where it sets no limit.

    Raises:
        InvalidParameterError: the cluster will not have so many.
    """
    max_machines = whole_number("max_machines", most)
    limit = optional_whole_number("available_machines", available)
    if limit is not None and max_machines > limit:
        # Before the cluster is started, not after it has been paid for.
        raise InvalidParameterError(
            "max_machines",
            max_machines,
            f"is more than the cluster will have ({limit})",
            remedy="Lower max_machines of the bounds, or start a larger cluster.",
        )
    return max_machines


def partitions_of_input(stated: Number | None, *, path: str | None) -> int:
    """The partitions of the whole input: as stated, else its files.

    Raises:
        InvalidParameterError: nothing tells them.
        MissingResourceError: there is no such input.
    """
    from airflow_provider_ernest.spark.sampling import list_input

    files = len(list_input(path).files) if path else None
    partitions = optional_whole_number("partitions", stated) or files
    if partitions is None:
        raise InvalidParameterError(
            "partitions", partitions, "is missing", remedy="Give it, or an input_path whose files count."
        )
    return partitions


def remarks(
    design: Design, spending: Spending, *, max_machines: Number, max_scale: Number
) -> list[tuple[int, str]]:
    """What to log of a design, each with its level in `logging`.

    Args:
        design: the runs.
        spending: what they were to cost.
        max_machines: the most machines that they might have.
        max_scale: the largest share of the input that they might read.
    """
    told = [
        (logging.INFO, _training_beside_production(design, spending)),
        (logging.WARNING, _dear_training(design, spending)),
        (logging.WARNING, _fewer_machines(design, whole_number("max_machines", max_machines), max_scale)),
    ]
    return [(level, text) for level, text in told if text]


def _training_beside_production(design: Design, spending: Spending) -> str:
    """What the runs are expected to cost; nothing where nothing tells what production costs."""
    share = spending.share_of(design)
    if share is None:
        return ""
    billed = f", with {spending.billed_machines:g} machines billed" if spending.billed_machines else ""
    percent = f"{100 * share:.1f}" if share < SMALL_SHARE else f"{100 * share:.0f}"
    return f"The sample runs are expected to cost about {percent} % of one production run{billed}."


def _dear_training(design: Design, spending: Spending) -> str:
    """What to warn of where training costs more beside long production than it is to."""
    from airflow_provider_ernest.design.costs import SHARE

    share = spending.share_of(design)
    if share is None or round(share, 3) <= SHARE or not spending.is_frugal:
        return ""
    smaller = "" if spending.min_scale is None else f"Lower min_scale ({spending.min_scale:g}), "
    split = f"split the input into more partitions (now {_partitions(design)})"
    return (
        f"That is more than {100 * SHARE:g} %, and no cheaper runs tell enough: each needs a partition for "
        "each of its cores, and the whole training cluster is billed as long as it takes. "
        f"{smaller}{split if smaller else split.capitalize()}, or start a smaller training cluster."
    )


def _fewer_machines(design: Design, wanted: int, max_scale: Number) -> str:
    """What to warn of where no sample has as many machines as it might."""
    largest = max(of_machines.machines for of_machines in design.candidate_ranges)
    if largest >= wanted:
        return ""
    return (
        f"No sample run can have more than {counted(largest, 'machine')}: at max_scale={max_scale} the "
        f"input's {_partitions(design)} partitions do not give every core one. Raise max_scale or split "
        "the input "
        "into more partitions."
    )


def _partitions(design: Design) -> int:
    """Of the whole input."""
    run = design.experiments[0]
    return round(run.partitions / run.scale)
