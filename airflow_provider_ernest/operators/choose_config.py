"""The decision: how many machines, and the Spark properties that ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from airflow.sdk import BaseOperator

from airflow_provider_ernest.links.model_fit import ModelFitLink
from airflow_provider_ernest.operators.failures import no_vain_retries
from airflow_provider_ernest.operators.origins import origin_of
from airflow_provider_ernest.operators.rendered import (
    number,
    optional_document,
    optional_number,
    optional_text,
    optional_whole_number,
    whole_number,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.exceptions import ErnestError
    from airflow_provider_ernest.model.choice import Goal
    from airflow_provider_ernest.model.records import DecisionRecord
    from airflow_provider_ernest.model.results import Decision, Model
    from airflow_provider_ernest.specification import Number

Value = TypeVar("Value")


class ChooseConfigOperator(BaseOperator):
    """Choose the cheapest configuration within a deadline, or the fastest within a budget.

    Returns the `Decision` document, and pushes for the tasks behind it: ``config``, ``machines``,
    ``spark_conf``, ``predicted_seconds``, ``predicted_cost`` and ``record``, the `DecisionRecord` document. A
    stock operator takes them by ``SparkSubmitOperator(conf=choose.output["spark_conf"])``. The record is kept
    in the model store, too; what hinders that is a warning, not a failure.

    Args:
        model: the `Model` document; None (training failed) takes the fallback.
        price_per_hour: dollars for one machine and hour; None for the mean price of the cluster's machines.
        max_machines, min_machines: machines that may be chosen.
        deadline_seconds: the production run must end within so long, its start-up included. Either this
        budget_dollars: or it must cost no more than this.
        scale: the production input relative to the one that was sampled.
        iterations: iterations of the production run, for iterative jobs.
        fallback_machines: taken, with a warning, where there is no model or the goal is out of reach; None
            to fail. With it, set ``trigger_rule="all_done"``.
        cluster: `ClusterHandle` document of the cluster that production runs on, if it is there already:
            no more machines than it has are chosen, unless machines can be added to it. As JSON text, too: a
            task with another trigger rule than ``all_success`` must not come directly after a setup task, and
            an XComArg would put it there.
        cores_per_machine: cores of a machine, where there is no `cluster` to tell.
        conf: further Spark properties for ``spark_conf``; what sizes the run wins over them.
        job: the job's name in the store; None for the model's. Needed to record a fallback without a model.
        store: root of the model store; None for ``[ernest] store``.

    Raises:
        InfeasibleGoalError: the goal is out of reach; says what is the best within reach.
        InvalidParameterError: a value that cannot work.
    """

    template_fields: Sequence[str] = (
        "model",
        "price_per_hour",
        "max_machines",
        "min_machines",
        "deadline_seconds",
        "budget_dollars",
        "scale",
        "iterations",
        "fallback_machines",
        "cluster",
        "cores_per_machine",
        "conf",
        "job",
        "store",
    )
    operator_extra_links = (ModelFitLink(),)
    ui_color = "#d9edc8"

    def __init__(
        self,
        *,
        model: Any,
        max_machines: Number,
        price_per_hour: Number | None = None,
        min_machines: Number = 1,
        deadline_seconds: Number | None = None,
        budget_dollars: Number | None = None,
        scale: Number = 1.0,
        iterations: Number | None = None,
        fallback_machines: Number | None = None,
        cluster: Any = None,
        cores_per_machine: Number = 1,
        conf: Mapping[str, str] | None = None,
        job: str | None = None,
        store: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.model = model
        self.price_per_hour = price_per_hour
        self.max_machines = max_machines
        self.min_machines = min_machines
        self.deadline_seconds = deadline_seconds
        self.budget_dollars = budget_dollars
        self.scale = scale
        self.iterations = iterations
        self.fallback_machines = fallback_machines
        self.cluster = cluster
        self.cores_per_machine = cores_per_machine
        self.conf = conf
        self.job = job
        self.store = store

    def execute(self, context: Context) -> dict[str, Any]:
        """Decide, and push the decision in the forms that downstream tasks need."""
        from airflow_provider_ernest.clusters.base import ClusterHandle
        from airflow_provider_ernest.model.results import Model
        from airflow_provider_ernest.model.tables import decision_table
        from airflow_provider_ernest.operators.decided_conf import decided_conf
        from airflow_provider_ernest.operators.decision_record import keep_decision

        with no_vain_retries():
            cluster = optional_document("cluster", self.cluster)
            handle = ClusterHandle.from_dict(cluster) if cluster else None
            model = Model.from_dict(self.model) if self.model else None
            record = self._decide(model, handle, context)
            decision = record.decision
            spark_conf = decided_conf(
                decision.config.machines,
                cores_per_machine=self._cores(handle),
                handle=handle,
                conf=self.conf or {},
                context=context,
            )
        for line in decision_table(decision):
            self.log.info("%s", line)
        for warning in decision.warnings:
            self.log.warning("%s", warning)
        push = context["ti"].xcom_push
        push(key="config", value=decision.config.to_dict())
        push(key="machines", value=decision.config.machines)
        push(key="spark_conf", value=spark_conf)
        push(key="predicted_seconds", value=decision.predicted_seconds)
        push(key="predicted_cost", value=decision.predicted_cost)
        push(key="record", value=record.to_dict())
        keep_decision(record, store=optional_text(self.store), log=self.log)
        return decision.to_dict()

    def _decide(self, model: Model | None, handle: ClusterHandle | None, context: Context) -> DecisionRecord:
        from airflow_provider_ernest.exceptions import InfeasibleGoalError, MissingResourceError
        from airflow_provider_ernest.operators.decision_record import fallback_decision, record_of

        goal, machines = self._goal(), self._allowed_machines(handle)
        fallback = optional_whole_number("fallback_machines", self.fallback_machines)
        if fallback is not None and fallback not in machines:
            raise self._outside("fallback_machines", fallback, machines)
        try:
            decision = self._chosen(model, handle, goal, machines)
        except (InfeasibleGoalError, MissingResourceError) as error:
            if fallback is None:
                raise
            self.log.warning("FALLBACK to %d machines: %s", fallback, error)
            told_by = handle or model
            decision = fallback_decision(
                fallback,
                goal=goal,
                error=error,
                instance_type=told_by.instance_type if told_by else "unknown",
                price_per_hour=self._price(handle),
            )
        return record_of(
            decision,
            model=model,
            job=optional_text(self.job),
            goal=goal,
            machines=machines,
            scale=self._noted(number, "scale", 1.0),
            iterations=self._noted(optional_whole_number, "iterations", None),
            origin=origin_of(context),
        )

    def _chosen(
        self, model: Model | None, handle: ClusterHandle | None, goal: Goal, machines: range
    ) -> Decision:
        from airflow_provider_ernest.exceptions import MissingResourceError
        from airflow_provider_ernest.model.choice import choose

        if model is None:
            raise MissingResourceError(
                "There is no model to choose by: its training failed or was skipped.",
                remedy="Set fallback_machines to go on without one.",
            )
        return choose(
            model,
            goal=goal,
            machines=machines,
            price_per_hour=self._required_price(handle),
            scale=number("scale", self.scale),
            iterations=optional_whole_number("iterations", self.iterations),
        )

    def _noted(self, read: Callable[[str, Any], Value], parameter: str, otherwise: Value) -> Value:
        """A parameter for the record, without which a fallback could be taken all the same."""
        from airflow_provider_ernest.exceptions import InvalidParameterError

        try:
            return read(parameter, getattr(self, parameter))
        except InvalidParameterError as error:
            self.log.warning("%s It is recorded as %s.", error, otherwise)
            return otherwise

    def _goal(self) -> Goal:
        from airflow_provider_ernest.model.choice import Goal

        return Goal(
            deadline_seconds=optional_number("deadline_seconds", self.deadline_seconds),
            budget_dollars=optional_number("budget_dollars", self.budget_dollars),
        )

    def _price(self, handle: ClusterHandle | None) -> float | None:
        given = optional_number("price_per_hour", self.price_per_hour)
        return given if given is not None or handle is None else handle.price_per_hour

    def _required_price(self, handle: ClusterHandle | None) -> float:
        from airflow_provider_ernest.exceptions import MissingResourceError

        price = self._price(handle)
        if price is None:
            raise MissingResourceError(
                "price_per_hour=None leaves open what a machine costs, and no cluster tells it.",
                remedy="Give the dollars for one machine and hour.",
            )
        return price

    def _allowed_machines(self, handle: ClusterHandle | None) -> range:
        minimum = whole_number("min_machines", self.min_machines)
        maximum = whole_number("max_machines", self.max_machines)
        if handle is not None and handle.limits_production and maximum > len(handle.machines):
            raise self._outside("max_machines", maximum, range(1, len(handle.machines) + 1))
        return range(minimum, maximum + 1)

    @staticmethod
    def _outside(parameter: str, value: int, machines: range) -> ErnestError:
        from airflow_provider_ernest.exceptions import InvalidParameterError

        return InvalidParameterError(
            parameter,
            value,
            f"is outside the {machines.start} to {machines.stop - 1} machines that production may have",
            remedy="Correct it, or allow or start more machines.",
        )

    def _cores(self, handle: ClusterHandle | None) -> int:
        return (
            handle.cores_per_machine if handle else whole_number("cores_per_machine", self.cores_per_machine)
        )
