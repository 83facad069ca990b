"""What is known of one training of a task group: the documents that its steps made."""

from __future__ import annotations

from dataclasses import dataclass, field

from airflow_provider_ernest.model.bottlenecks import BottleneckReport
from airflow_provider_ernest.model.documents import Design, Observation
from airflow_provider_ernest.model.records import DecisionRecord, ProductionRun
from airflow_provider_ernest.model.results import Decision, Model
from airflow_provider_ernest.plugin.paid_cluster import PaidCluster
from airflow_provider_ernest.plugin.run_record import TaskRow
from airflow_provider_ernest.plugin.run_reuse import Reuse

ModelName = tuple[str, str, str]
"""Job, instance type and id of a model."""


@dataclass(kw_only=True)
class Documents:
    """What is known of the training for one type of machine, and of the decision and production after it.

    Attributes:
        branch: id of the nested group that the training is in; empty where there is but one.
        observations: by the map index of their sample run.
        reuse: whether a stored model made the training needless; None where nobody looked for one.
        model: that was fitted, or that is reused.
        model_name: of that model, also where it was stored and then refused.
        bottlenecks: why the job takes as long as it does; None where that is not known.
        productions: the records of the production run's task instances by their map index, where their
            operator makes them.
        unreadable: what cannot be read and why, a sentence for each.
        missing: ids of tasks that succeeded and whose result is not there.
    """

    branch: str = ""
    design: Design | None = None
    cluster: PaidCluster | None = None
    observations: dict[int, Observation] = field(default_factory=dict)
    reuse: Reuse | None = None
    model: Model | None = None
    model_name: ModelName | None = None
    bottlenecks: BottleneckReport | None = None
    record: DecisionRecord | None = None
    decision: Decision | None = None
    productions: dict[int, ProductionRun] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def instance_type(self) -> str | None:
        """The type of machine that was trained on; None where nothing tells it yet."""
        if self.cluster is not None:
            return self.cluster.instance_type
        if self.model_name is not None:
            return self.model_name[1]
        told = [run.instance_type for run in self.observations.values()]
        return next(filter(None, [*told, self.reuse.instance_type if self.reuse else None]), None)

    @property
    def is_reused(self) -> bool:
        """Whether a stored model made the training needless."""
        return self.reuse is not None and self.reuse.is_reused

    @property
    def is_decided_by(self) -> bool:
        """Whether the decision comes of this training's model."""
        name, decision = self.model_name, self.decision
        return name is not None and decision is not None and decision.model_id == name[2]

    def production_of(self, task: TaskRow) -> ProductionRun | None:
        """The record of one instance of the production task."""
        return self.productions.get(task.map_index)

    def prediction_of(self, task: TaskRow) -> ProductionRun | Decision | None:
        """What tells the prediction for an instance of the production task.

        Its record where there is one: it ran on the machines that it had, and the decision may be for others.
        """
        return self.production_of(task) or self.decision
