"""All forms of a decision at once, for the task that decides to hand on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.decision.forms.aws import (
    emr_serverless,
    glue_workers,
    instance_groups,
    step_arguments,
)
from airflow_provider_ernest.decision.forms.databricks import databricks_cluster
from airflow_provider_ernest.decision.forms.spark import kubernetes_conf, yarn_conf
from airflow_provider_ernest.exceptions import ErnestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from airflow_provider_ernest.decision.forms.machines import MachineShape
    from airflow_provider_ernest.documents.decisions import Decision

UNAVAILABLE = "unavailable"


def outputs(
    decision: Decision,
    shapes: Mapping[str, MachineShape],
    *,
    conf: Mapping[str, str],
    dynamic_allocation: bool = False,
    conf_there: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, Any]:
    """What others need to be told of a decision, by the XCom key that it is handed on under.

    - ``yarn_conf``, ``kubernetes_conf``: Spark properties.
    - ``spark_arguments``: arguments of spark-submit in a step of EMR.
    - ``emr_instance_groups``: the CORE group of a job flow, and TASK groups for further types.
    - ``emr_serverless``: ``sparkSubmitParameters`` and ``maximumCapacity``.
    - ``glue``: ``WorkerType`` and ``NumberOfWorkers``.
    - ``databricks_cluster``: ``num_workers``, ``node_type_id`` and ``spark_conf``.
    - ``unavailable``: why there is no other of these, by its key.

    A key for which there is nothing is absent, not None: an operator that gets None would leave the size out,
    and the job would run with its service's default. An XCom that was never pushed fails the task instead.

    Args:
        decision: what was decided.
        shapes: what an executor may take, by name of the type of machine.
        conf: what the job's Spark properties say of the sizes of executors and driver. All of it is in the
            outputs.
        dynamic_allocation: on, and bounded to the choice, where YARN, Kubernetes or EMR must have it on.
        conf_there: by the keys of single outputs, Spark properties of the cluster that they are for, over
            which the job's own win.
    """
    conf = {str(name): str(value) for name, value in conf.items()}

    def sized(make: Callable[..., Any], key: str) -> Callable[[], Any]:
        there = {**(conf_there or {}).get(key, {}), **conf}
        return partial(make, decision, shapes, conf=there, dynamic_allocation=dynamic_allocation)

    makers: dict[str, Callable[[], Any]] = {
        "yarn_conf": sized(yarn_conf, "yarn_conf"),
        "kubernetes_conf": sized(kubernetes_conf, "kubernetes_conf"),
        "spark_arguments": sized(step_arguments, "spark_arguments"),
        "emr_instance_groups": partial(instance_groups, decision),
        "emr_serverless": sized(emr_serverless, "emr_serverless"),
        "glue": partial(glue_workers, decision, shapes, conf=conf),
        "databricks_cluster": partial(databricks_cluster, decision),
    }
    made: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for key, make in makers.items():
        try:
            made[key] = make()
        except ErnestError as error:
            reasons[key] = str(error)
    return {**made, UNAVAILABLE: reasons}
