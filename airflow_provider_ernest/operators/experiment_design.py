"""Which sample runs to make: those of the design, and those of further rounds."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import SkipMixin
from airflow.sdk import BaseOperator, Context

from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.operators.task_context import OfJob, failure_pushed, in_time, no_vain_retries
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.settings import DesignBounds, ModelSettings, SampledInput, SizingGoal, SparkJob
from airflow_provider_ernest.settings.bounds import AVERAGING, CLASSIC, RELATIVE
from airflow_provider_ernest.settings.values import (
    Number,
    as_template,
    document,
    documents,
    optional_document,
    optional_number,
    optional_whole_number,
    settings_of,
    whole_number,
)
from airflow_provider_ernest.words import as_percent, count, counted, plain

if TYPE_CHECKING:
    from airflow_provider_ernest.design.candidates import Candidates
    from airflow_provider_ernest.design.costs import Allowance, Spending
    from airflow_provider_ernest.design.rounds import Proposal
    from airflow_provider_ernest.documents.runs import Design, Observation

CANDIDATES = "candidates"
"""XCom key of the arguments of `enumerate_candidates`, from which the runs of all rounds are chosen."""

WEIGHTINGS = {RELATIVE: "relative", CLASSIC: "absolute"}
"""Errors that the methods minimise, and so the designs for them."""

MOST_OF_A_ROUND = 2
"""Runs. In a larger round, the last would better be chosen after the results of the first."""

MOST_CHOOSING_SECONDS = 120.0
"""Limit for choosing, including reads of other jobs' models: the cluster is billed meanwhile."""


class ExperimentDesignOperator(BaseOperator, SkipMixin):
    """Choose a few cheap sample runs by optimal experiment design (Ernest, section 3.2).

    Returns the list of experiments, to map `SampleRunOperator` over, and pushes the `Design` document as
    ``design``. With ``DesignBounds(rounds=2)`` or 3 these are the experiments of the first round, and
    ``candidates`` is pushed for the `NextRunsOperator`.

    Settings may be objects or mappings of their fields; any value in them may be a template.

    Args:
        bounds: limits and costs of the runs.
        input: the production input; its files are counted if it does not state its partitions. A run has at
            least one partition per core.
        goal: of production: the executors and scale to predict for, and the deadline, which tells what a
            production run costs and so the budget (`DesignBounds.budget_share`); None if unknown.
        model: how the model will be fitted; None for the most accurate way known.
        iterations: to train with, for iterative jobs (`SparkJob.sample_iterations`).
        available_executors: executors of the sample runs' cluster; None for no limit.
        billed_machines: machines billed during a sample run however few it uses, such as the whole training
            cluster; None for the run's own.
        history: past runs of one type, from a `ReadHistoryOperator`, also as JSON text: they count, at no
            cost. If they suffice for the decision (see `design.known`), or in rounds no run is worth its
            cost, no runs are designed.
        type_tasks: the type's entry of `FindModelOperator.types`. Without sample runs, its ``sample_tasks``
            are skipped and, unless production needs the cluster, its ``run_cluster_tasks``; None to skip
            none.

    Raises:
        InvalidParameterError, DesignError: the bounds or the budget cannot work (no retry).
        MissingResourceError: there is no such input.
    """

    template_fields: Sequence[str] = (
        "bounds",
        "input",
        "executor_cores",
        "goal",
        "model",
        "iterations",
        "available_executors",
        "billed_machines",
        "history",
    )
    ui_color = "#cfe8e4"

    def __init__(
        self,
        *,
        bounds: DesignBounds | Mapping[str, Any] | str,
        input: SampledInput | Mapping[str, Any] | str,  # noqa: A002 - the word that fits
        executor_cores: Number,
        goal: SizingGoal | Mapping[str, Any] | str,
        model: ModelSettings | Mapping[str, Any] | str | None = None,
        iterations: Number | None = None,
        available_executors: Number | None = None,
        billed_machines: Number | None = None,
        history: Any = None,
        type_tasks: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.bounds: Any = as_template(DesignBounds, bounds, "bounds")
        self.input: Any = as_template(SampledInput, input, "input")
        self.executor_cores = executor_cores
        self.goal: Any = as_template(SizingGoal, goal, "goal")
        self.model: Any = as_template(ModelSettings, model or ModelSettings(), "model")
        self.iterations = iterations
        self.available_executors = available_executors
        self.billed_machines = billed_machines
        self.history = history
        self.type_tasks = type_tasks

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Solve for the design, log it as a table, and hand it on."""
        from airflow_provider_ernest.operators.find_model import keeps_cluster
        from airflow_provider_ernest.views.tables import design_table

        with no_vain_retries(), failure_pushed(context):
            spending, design = self._planned()
            if spending.bounds.rounds > 1 and design.experiments:
                run, allowance = design.experiments[0], spending.allowances()[0]
                chosen_from = self._chosen_from(spending.bounds, allowance, round(run.partitions / run.scale))
                context["ti"].xcom_push(key=CANDIDATES, value=chosen_from)
        for line in design_table(design):
            self.log.info("%s", line)
        for level, text in remarks(design, spending):
            self.log.log(level, "%s", text)
        context["ti"].xcom_push(key="design", value=design.to_dict())
        experiments = [experiment.to_dict() for experiment in design.experiments]
        if not experiments and self.type_tasks is not None:
            # Skipping ends the task by an exception, so that a returned value would not be pushed.
            context["ti"].xcom_push(key="return_value", value=experiments)
            needless = [*self.type_tasks["sample_tasks"]]
            if not keeps_cluster(self.dag, self.type_tasks):
                needless += self.type_tasks["run_cluster_tasks"]
            self.skip(context["ti"], [self.dag.get_task(task_id) for task_id in needless])
        return experiments

    def design(self) -> Design:
        """Return the design as `execute` makes it, outside a DAG run; raises what the operator does."""
        return self._planned()[1]

    def _planned(self) -> tuple[Spending, Design]:
        from airflow_provider_ernest.design.costs import Spending

        spending = Spending(
            bounds=settings_of(DesignBounds, self.bounds, "bounds"),
            goal=settings_of(SizingGoal, self.goal, "goal"),
            billed_machines=optional_number("billed_machines", self.billed_machines) or 0.0,
        )
        return spending, self._design(spending)

    def _design(self, spending: Spending) -> Design:
        from airflow_provider_ernest.design.candidates import enumerate_candidates
        from airflow_provider_ernest.design.known import distinct, no_runs, sufficiency
        from airflow_provider_ernest.design.plan import plan_design
        from airflow_provider_ernest.design.problem import Targets
        from airflow_provider_ernest.documents.runs import Observation
        from airflow_provider_ernest.operators.setting_checks import require_available
        from airflow_provider_ernest.prediction.predict import default_terms
        from airflow_provider_ernest.spark.input import list_input

        bounds = spending.bounds
        goal = settings_of(SizingGoal, self.goal, "goal")
        settings = settings_of(ModelSettings, self.model, "model")
        available = optional_whole_number("available_executors", self.available_executors)
        if available is not None:  # before the cluster is started, not after it has been paid for
            require_available(bounds, available)
        sampled = settings_of(SampledInput, self.input, "input")
        files = len(list_input(sampled.path).files)  # which must exist in any case
        partitions = sampled.partitions or files
        known = optional_document("history", self.history) or {}
        past = [Observation.from_dict(document) for document in known.get("observations") or ()]
        criterion = bounds.criterion
        if criterion is None and settings.method != AVERAGING:
            # It determines all terms, which Bayesian designs need not.
            criterion = "I"
        reason = ""
        if past:
            known_enough = sufficiency(past, goal, method=settings.method, terms=_terms(settings))
            reason = known_enough.reason
            if known_enough.is_enough:
                terms = _terms(settings) or default_terms(settings.method)
                return no_runs(len(past), terms=terms, criterion=criterion or "bayesian I", reason=reason)
        if bounds.rounds > 1:
            return self._first_round(spending, goal, settings, partitions, past, reason)
        design = spending.planned(
            lambda allowance: plan_design(
                candidates=enumerate_candidates(**self._chosen_from(bounds, allowance, partitions)),
                budget=allowance.budget,
                cost=allowance.cost,
                terms=_terms(settings),
                criterion=criterion,
                targets=Targets(executors=goal.executors, scale=goal.scale),
                weighting=WEIGHTINGS.get(settings.method),
                min_runs=bounds.min_runs,
                max_runs=bounds.max_runs,
                observed=distinct(past),
                iterations=optional_whole_number("iterations", self.iterations),
            )
        )
        return replace(design, past_runs=len(past), reason=reason) if past else design

    def _first_round(
        self,
        spending: Spending,
        goal: SizingGoal,
        settings: ModelSettings,
        partitions: int,
        past: Sequence[Observation],
        reason: str,
    ) -> Design:
        """The runs that make the model identifiable; if past runs do, those worth their cost, or none."""
        from airflow_provider_ernest.design.candidates import enumerate_candidates
        from airflow_provider_ernest.design.rounds import FEWEST_RUNS, MOST_RUNS, next_runs
        from airflow_provider_ernest.operators.setting_checks import require_averaging
        from airflow_provider_ernest.prediction.predict import default_terms

        bounds = spending.bounds
        require_averaging(bounds, settings)
        candidates = enumerate_candidates(**self._chosen_from(bounds, spending.allowances()[0], partitions))
        terms = _terms(settings) or default_terms(settings.method)
        proposal = next_runs(
            candidates=candidates,
            goal=goal,
            # With a budget, runs are weighed by the price, which may be unknown until the cluster starts.
            observed=() if goal.budget_dollars is not None else past,
            billed_machines=spending.billed_machines,
            terms=terms,
            min_runs=FEWEST_RUNS if bounds.min_runs is None else len(past) + bounds.min_runs,
            max_runs=len(past) + (bounds.max_runs or MOST_RUNS),
            max_error_percent=goal.max_error_percent,
            iterations=optional_whole_number("iterations", self.iterations),
            first_index=0,
        )
        why = reason if proposal.experiments else ""
        return proposal.as_design(candidates=candidates, terms=terms, past_runs=len(past), why=why)

    def _chosen_from(self, bounds: DesignBounds, allowance: Allowance, partitions: int) -> dict[str, Any]:
        """Arguments of `enumerate_candidates`."""
        return {
            "min_executors": bounds.min_executors,
            "max_executors": bounds.max_executors,
            "min_scale": allowance.min_scale,
            "max_scale": bounds.max_scale,
            "partitions": partitions,
            "executor_cores": whole_number("executor_cores", self.executor_cores),
            "by_ratio": allowance.by_ratio,
        }


def _terms(settings: ModelSettings) -> tuple[str, ...] | None:
    """All terms that the model may have; None for the defaults of criterion and method."""
    from airflow_provider_ernest.prediction.predict import default_terms

    if not settings.terms and not settings.extension_terms:
        return None
    terms = tuple(settings.terms or default_terms(settings.method))
    return (*terms, *(name for name in settings.extension_terms if name not in terms))


def remarks(design: Design, spending: Spending) -> Iterator[tuple[int, str]]:
    """What to log of a design, each with its level in `logging`."""
    if not design.experiments:
        return
    bounds = spending.bounds
    partitions = round(design.experiments[0].partitions / design.experiments[0].scale)
    share, which = spending.share_of(design), "The first" if bounds.rounds > 1 else "The"
    if share is not None:
        billed = (
            f", with {plain(spending.billed_machines)} machines billed" if spending.billed_machines else ""
        )
        yield (
            logging.INFO,
            f"{which} sample runs are expected to cost about {as_percent(share)} of one production run"
            f"{billed}.",
        )
    largest = max(of_machines.executors for of_machines in design.candidate_ranges)
    if largest < bounds.max_executors:
        yield (
            logging.WARNING,
            f"No sample run can be of a size over {count(largest)}: at "
            f"max_scale={bounds.max_scale} the input's {partitions} partitions do not give every core one. "
            "Raise max_scale or split the input into more partitions.",
        )


class NextRunsOperator(OfJob, BaseOperator):
    """Choose the sample runs of the next round; none if the decision is clear.

    A run is made if production is expected to save more by the better decision, over its expected runs, than
    the run costs (see `design.rounds`), or if the model would otherwise be refused as too inaccurate. Failed
    runs are not tried again.

    Give it ``trigger_rule="all_done_min_one_success"``, the mapped runs of the round before as its only
    upstream, and map a `SampleRunOperator` over its output: if that is empty, Airflow skips this round and
    those after it. If all runs of a round failed, no other begins. Never fails the task.

    Returns the list of experiments, and pushes the `Design` document of all rounds as ``design``.

    Args:
        observations: the `Observation` documents of all rounds before, also as JSON text.
        design: the `Design` document of the round before, also as JSON text.
        candidates: as `ExperimentDesignOperator` pushes them; also as JSON text.
        bounds: limits of the runs.
        cluster: `ClusterHandle` document of the runs' cluster, as JSON text: type and prices of the machines.
        model: how the model will be fitted; None for the most accurate way known.
        history: past runs of one type, from a `ReadHistoryOperator`, also as JSON text.
        billed_machines: machines billed during a sample run however few it uses; None for the run's own.
    """

    template_fields: Sequence[str] = (
        "observations",
        "design",
        "candidates",
        "bounds",
        "job",
        "goal",
        "cluster",
        "model",
        "history",
        "billed_machines",
    )
    ui_color = "#cfe8e4"

    def __init__(
        self,
        *,
        observations: Any,
        design: Any,
        candidates: Any,
        bounds: DesignBounds | Mapping[str, Any] | str,
        job: SparkJob | Mapping[str, Any],
        goal: SizingGoal | Mapping[str, Any] | str,
        cluster: Any,
        model: ModelSettings | Mapping[str, Any] | str | None = None,
        history: Any = None,
        billed_machines: Number | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.observations = observations
        self.design = design
        self.candidates = candidates
        self.bounds: Any = as_template(DesignBounds, bounds, "bounds")
        self._keep_job(job)
        self.goal: Any = as_template(SizingGoal, goal, "goal")
        self.cluster = cluster
        self.model: Any = as_template(ModelSettings, model or ModelSettings(), "model")
        self.history = history
        self.billed_machines = billed_machines

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Choose, say why, and hand on."""
        from airflow_provider_ernest.documents.runs import Design

        try:
            before = Design.from_dict(document("design", self.design))
            proposal = in_time(lambda: self._proposal(before), most_seconds=MOST_CHOOSING_SECONDS)
            context["ti"].xcom_push(key="design", value=proposal.added_to(before).to_dict())
        # Runs and cluster are paid for: fit what there is, and end the cluster.
        except Exception as error:
            why = without_credentials(str(error))
            self.log.warning("No further sample runs are made: %s: %s", type(error).__name__, why)
            return []
        self.log.info("%s", proposal.reason)
        return [experiment.to_dict() for experiment in proposal.experiments]

    def _proposal(self, before: Design) -> Proposal:
        from airflow_provider_ernest.clusters.base import ClusterHandle
        from airflow_provider_ernest.design.rounds import FEWEST_RUNS, MOST_RUNS, Proposal, next_runs
        from airflow_provider_ernest.documents.runs import Observation
        from airflow_provider_ernest.operators.fit_model import past_observations

        bounds = settings_of(DesignBounds, self.bounds, "bounds")
        goal = settings_of(SizingGoal, self.goal, "goal")
        cluster = ClusterHandle.from_dict(document("cluster", self.cluster))
        samples = [
            Observation.from_dict(each) for each in documents("observations", self.observations) if each
        ]
        past = past_observations(self.history, before, samples)
        observed = [*samples, *past]
        # Those that failed were paid for, too.
        attempts, most_runs = len(before.experiments), bounds.max_runs or MOST_RUNS
        if attempts >= most_runs:
            made = f"Stop: {counted(attempts, 'sample run')} were made, and max_runs is {most_runs}."
            return Proposal(experiments=(), reason=made, unit=before.cost_unit)
        # Prices are the cluster's unless the user states them.
        price, billing = goal.price_of(cluster.instance_type), goal.billing
        if billing.master_price_per_hour is None:
            billing = replace(billing, master_price_per_hour=cluster.master_price_per_hour)
        return next_runs(
            candidates=self._untried(before, samples),
            goal=replace(goal, billing=billing),
            observed=observed,
            price_per_hour=cluster.price_per_hour if price is None else price,
            billed_machines=optional_number("billed_machines", self.billed_machines) or 0.0,
            **self._believed(cluster.instance_type, observed),
            most=MOST_OF_A_ROUND,
            min_runs=FEWEST_RUNS if bounds.min_runs is None else bounds.min_runs + len(past),
            max_runs=len(observed) + most_runs - attempts,
            max_error_percent=goal.max_error_percent,
            iterations=optional_whole_number("sample_iterations", self.job.get("sample_iterations")),
            production_iterations=optional_whole_number("iterations", self.job.get("iterations")),
            first_index=1 + max(run.index for run in before.experiments),
        )

    def _believed(self, instance_type: str, observed: Sequence[Observation]) -> dict[str, Any]:
        from airflow_provider_ernest.operators.fit_model import prior_of
        from airflow_provider_ernest.prediction.predict import default_terms
        from airflow_provider_ernest.prediction.terms import check_terms

        settings = settings_of(ModelSettings, self.model, "model")
        terms = check_terms(settings.terms or default_terms(settings.method))
        prior = prior_of(
            model_store(),
            settings,
            observed,
            job=self.job["name"],
            instance_type=instance_type,
            terms=terms,
            log=self.log,
        )
        return {"terms": terms, "prior": prior}

    def _untried(self, before: Design, samples: Sequence[Observation]) -> Candidates:
        """The candidates without the configurations of runs that failed."""
        from airflow_provider_ernest.design.candidates import Candidates, enumerate_candidates

        every = enumerate_candidates(**document("candidates", self.candidates))
        observed = {run.index for run in samples}
        failed = {(run.executors, run.partitions) for run in before.experiments if run.index not in observed}
        configurations = zip(every.executors.tolist(), every.partitions.tolist(), strict=True)
        left = [at for at, configuration in enumerate(configurations) if configuration not in failed]
        return Candidates(
            executors=every.executors[left], scale=every.scale[left], partitions=every.partitions[left]
        )
