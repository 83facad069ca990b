"""The events of Spark SQL, as Jackson writes them; only what the tables keep is decoded."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from airflow_provider_ernest.spark.log_reading.event_numbers import Moment, Whole


class Metric(msgspec.Struct):
    """A metric of an operator, and the accumulator that it is told by."""

    name: str = ""
    accumulator_id: Whole = msgspec.field(name="accumulatorId", default=-1)


class PlanNode(msgspec.Struct):
    """An operator of a physical plan, and those that it reads from."""

    node_name: str = msgspec.field(name="nodeName", default="")
    children: list[PlanNode] = msgspec.field(default_factory=list)
    metrics: list[Metric] = msgspec.field(default_factory=list)


class ExecutionPlan(msgspec.Struct):
    """SparkListenerSQLExecutionStart, and SparkListenerSQLAdaptiveExecutionUpdate, which has no time."""

    execution_id: Whole = msgspec.field(name="executionId")
    time: Moment = 0
    plan: PlanNode | None = msgspec.field(name="sparkPlanInfo", default=None)


class ExecutionEnd(msgspec.Struct):
    """SparkListenerSQLExecutionEnd; versions before 3.4 tell no error."""

    execution_id: Whole = msgspec.field(name="executionId")
    time: Moment = 0
    error: str | msgspec.UnsetType | None = msgspec.field(name="errorMessage", default=msgspec.UNSET)


class DriverUpdates(msgspec.Struct):
    """SparkListenerDriverAccumUpdates: pairs of accumulator and what was added to it."""

    execution_id: Whole = msgspec.field(name="executionId")
    updates: list[tuple[Whole, Whole]] = msgspec.field(name="accumUpdates", default_factory=list)


def nodes_of(plan: PlanNode) -> Iterator[PlanNode]:
    """All operators of a plan."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)
