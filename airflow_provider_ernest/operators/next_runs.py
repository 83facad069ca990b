"""Further rounds: the sample runs that still improve the decision."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.operators.task_context import OfJob, in_time
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.settings import DesignBounds, ModelSettings, SizingGoal
from airflow_provider_ernest.settings.templates import as_template, settings_of
from airflow_provider_ernest.settings.values import (
    document,
    documents,
    optional_number,
    optional_text,
    optional_whole_number,
)
from airflow_provider_ernest.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.design.candidates import Candidates
    from airflow_provider_ernest.design.rounds import Proposal
    from airflow_provider_ernest.documents.runs import Design, Observation
    from airflow_provider_ernest.settings import SparkJob
    from airflow_provider_ernest.settings.templates import Number

MOST_OF_A_ROUND = 2
"""Runs. In a larger round, the last would better be chosen after the results of the first."""

MOST_SECONDS = 120.0
"""Limit for choosing, including reads of other jobs' models: the cluster is billed meanwhile."""


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
        store: root of the model store; None for ``[ernest] store``.
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
        "store",
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
        store: str | None = None,
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
        self.store = store

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Choose, say why, and hand on."""
        from airflow_provider_ernest.documents.runs import Design

        try:
            before = Design.from_dict(document("design", self.design))
            proposal = in_time(lambda: self._proposal(before), most_seconds=MOST_SECONDS)
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
        from airflow_provider_ernest.hooks.store_location import store_root
        from airflow_provider_ernest.operators.fit_model import prior_of
        from airflow_provider_ernest.prediction.predictors import default_terms
        from airflow_provider_ernest.prediction.terms import check_terms
        from airflow_provider_ernest.store.store import ModelStore

        settings = settings_of(ModelSettings, self.model, "model")
        terms = check_terms(settings.terms or default_terms(settings.method))
        prior = prior_of(
            ModelStore(store_root(optional_text(self.store))),
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
        failed = {(run.machines, run.partitions) for run in before.experiments if run.index not in observed}
        configurations = zip(every.machines.tolist(), every.partitions.tolist(), strict=True)
        left = [at for at, configuration in enumerate(configurations) if configuration not in failed]
        return Candidates(
            machines=every.machines[left], scale=every.scale[left], partitions=every.partitions[left]
        )
