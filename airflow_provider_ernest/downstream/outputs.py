"""All forms of a decision at once, for the task that decides to hand on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.downstream.databricks import databricks_cluster
from airflow_provider_ernest.downstream.emr import instance_groups, step_arguments
from airflow_provider_ernest.downstream.emr_serverless import emr_serverless
from airflow_provider_ernest.downstream.glue import glue_workers
from airflow_provider_ernest.downstream.spark_conf import kubernetes_conf, yarn_conf
from airflow_provider_ernest.exceptions import ErnestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from airflow_provider_ernest.downstream.machines import MachineShape
    from airflow_provider_ernest.model.results import Decision

UNAVAILABLE = "unavailable"


def outputs(
    decision: Decision,
    shapes: Mapping[str, MachineShape],
    *,
    conf: Mapping[str, str],
    dynamic_allocation: bool = False,
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
        conf: the job's Spark properties, without those that hold on one cluster only.
        dynamic_allocation: on, and bounded to the choice, where YARN, Kubernetes or EMR must have it on.
    """
    conf = {str(name): str(value) for name, value in conf.items()}
    sized: dict[str, Any] = {"shapes": shapes, "conf": conf, "dynamic_allocation": dynamic_allocation}
    makers: dict[str, Callable[[], Any]] = {
        "yarn_conf": partial(yarn_conf, decision, **sized),
        "kubernetes_conf": partial(kubernetes_conf, decision, **sized),
        "spark_arguments": partial(step_arguments, decision, **sized),
        "emr_instance_groups": partial(instance_groups, decision),
        "emr_serverless": partial(emr_serverless, decision, **sized),
        "glue": partial(glue_workers, decision, shapes, conf=conf),
        "databricks_cluster": partial(databricks_cluster, decision, conf=conf),
    }
    made: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for key, make in makers.items():
        try:
            made[key] = make()
        except ErnestError as error:
            reasons[key] = str(error)
    return {**made, UNAVAILABLE: reasons}
