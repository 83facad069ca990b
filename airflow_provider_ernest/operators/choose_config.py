"""The decision: how many machines, and the Spark properties that ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_ernest.operators.failures import no_vain_retries
from airflow_provider_ernest.operators.locations import event_logs
from airflow_provider_ernest.operators.rendered import (
    number,
    optional_document,
    optional_number,
    optional_whole_number,
    whole_number,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.exceptions import ErnestError
    from airflow_provider_ernest.model.choice import Goal
    from airflow_provider_ernest.model.documents import Configuration
    from airflow_provider_ernest.model.results import Decision
    from airflow_provider_ernest.specification import Number


class ChooseConfigOperator(BaseOperator):
    """Choose the cheapest configuration within a deadline, or the fastest within a budget.

    Returns the `Decision` document, and pushes for the tasks behind it: ``config``, ``machines``,
    ``spark_conf``, ``predicted_seconds`` and ``predicted_cost``. A stock operator takes them by
    ``SparkSubmitOperator(conf=choose.output["spark_conf"])``.

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
    )
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

    def execute(self, context: Context) -> dict[str, Any]:
        """Decide, and push the decision in the forms that downstream tasks need."""
        from airflow_provider_ernest.clusters.base import ClusterHandle
        from airflow_provider_ernest.model.tables import decision_table

        with no_vain_retries():
            cluster = optional_document("cluster", self.cluster)
            handle = ClusterHandle.from_dict(cluster) if cluster else None
            decision = self._decide(handle)
            spark_conf = self._spark_conf(decision.config.machines, handle, context)
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
        return decision.to_dict()

    def _decide(self, handle: ClusterHandle | None) -> Decision:
        from airflow_provider_ernest.exceptions import InfeasibleGoalError, MissingResourceError
        from airflow_provider_ernest.model.choice import choose
        from airflow_provider_ernest.model.documents import Configuration
        from airflow_provider_ernest.model.results import Model

        goal = self._goal()
        machines = self._allowed_machines(handle)
        fallback = optional_whole_number("fallback_machines", self.fallback_machines)
        if fallback is not None and fallback not in machines:
            raise self._outside("fallback_machines", fallback, machines)
        try:
            if not self.model:
                raise MissingResourceError(
                    "There is no model to choose by: its training failed or was skipped.",
                    remedy="Set fallback_machines to go on without one.",
                )
            return choose(
                Model.from_dict(self.model),
                goal=goal,
                machines=machines,
                price_per_hour=self._required_price(handle),
                scale=number("scale", self.scale),
                iterations=optional_whole_number("iterations", self.iterations),
            )
        except (InfeasibleGoalError, MissingResourceError) as error:
            if fallback is None:
                raise
            instance_type = handle.instance_type if handle else "unknown"
            config = Configuration(machines=fallback, instance_type=instance_type)
            return self._fall_back(config, goal.describe(), error, price_per_hour=self._price(handle))

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

    def _fall_back(
        self, config: Configuration, goal: str, error: ErnestError, *, price_per_hour: float | None
    ) -> Decision:
        from airflow_provider_ernest.model.results import Decision

        self.log.warning("FALLBACK to %d machines: %s", config.machines, error)
        return Decision(
            config=config,
            goal=goal,
            price_per_hour=price_per_hour,
            fallback_reason=str(error),
            warnings=(f"The stated fallback of {config.machines} machines was taken: {error}",),
        )

    def _spark_conf(self, machines: int, handle: ClusterHandle | None, context: Context) -> dict[str, str]:
        from airflow_provider_ernest.clusters.base import LOCAL
        from airflow_provider_ernest.spark.sizing import event_log_conf, sizing_conf

        cores = (
            handle.cores_per_machine if handle else whole_number("cores_per_machine", self.cores_per_machine)
        )
        return {
            **(handle.spark_conf() if handle else {}),
            # Only a driver on this machine can write into a folder of it.
            **(event_log_conf(str(event_logs(context))) if handle and handle.kind == LOCAL else {}),
            **(self.conf or {}),
            **sizing_conf(machines=machines, cores_per_machine=cores),
        }
