"""All that the decision hands on, by the XCom key under which it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.base import EMR, EXISTING
from airflow_provider_ernest.downstream.memory import HEAP
from airflow_provider_ernest.downstream.outputs import UNAVAILABLE, outputs
from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.operators.decided_conf import decided_conf, handle_for, shapes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.model.records import DecisionRecord
    from airflow_provider_ernest.operators.question import Question
    from airflow_provider_ernest.operators.trained_types import TrainedType

SPARK_CONF = "spark_conf"


def decided_outputs(
    record: DecisionRecord,
    *,
    question: Question,
    types: Sequence[TrainedType],
    conf: Mapping[str, str],
    stated: Collection[str],
    dynamic_allocation: bool,
    context: Context,
    log: Any,
) -> dict[str, Any]:
    """What is pushed; what cannot be said is absent, and ``unavailable`` says why.

    Args:
        record: of the decision.
        question: what was asked.
        types: what came of each training.
        conf: what the job's own Spark properties say of the sizes of executors and driver, see
            `downstream.memory.OWN_SIZES`. Of the others nothing is pushed, for anybody may read XComs.
        stated: names of all of the job's own, which win over what a cluster tells of them.
        dynamic_allocation: on, and bounded to the choice, in the outputs for others than a standalone master.
        context: of the task that decides.
        log: the logger that is warned of what ``spark_conf`` lacks.
    """
    decision = record.decision
    shapes, handle = shapes_of(decision, types, question), handle_for(decision, types)
    made = outputs(
        decision,
        shapes,
        conf=conf,
        dynamic_allocation=dynamic_allocation,
        conf_there=_conf_there(handle, stated),
    )
    try:
        made[SPARK_CONF] = decided_conf(
            decision, shapes=shapes, handle=handle, conf=conf, stated=stated, context=context
        )
        if HEAP not in made[SPARK_CONF]:
            log.warning(
                "%s is not set for production, since nothing tells the memory of its machines: unless the "
                "cluster that it runs on does, executors get Spark's default of 1 GB.",
                HEAP,
            )
    except ErnestError as error:
        made[UNAVAILABLE][SPARK_CONF] = str(error)
        log.warning("There is no %s for production: %s", SPARK_CONF, error)
    return {
        **made,
        "config": decision.config.to_dict(),
        "machines": decision.config.machines,
        "instance_type": decision.config.instance_type,
        "predicted_seconds": decision.predicted_seconds,
        "predicted_cost": decision.predicted_cost,
        "fallback_reason": decision.fallback_reason or "",
        "record": record.to_dict(),
    }


def _conf_there(handle: ClusterHandle | None, stated: Collection[str]) -> dict[str, dict[str, str]]:
    """What applications need where the sample runs were made, by the outputs for production there.

    Such as the Python of the machines. Not the memory of executors, which is reckoned for each output.
    """
    if handle is None:
        return {}
    if handle.kind == EMR:
        key = "spark_arguments"
    elif handle.kind == EXISTING and handle.master_url == "yarn":
        key = "yarn_conf"
    elif handle.kind == EXISTING and handle.master_url.startswith("k8s://"):
        key = "kubernetes_conf"
    else:
        return {}
    there = handle.spark_conf().items()
    return {key: {name: value for name, value in there if name != HEAP and name not in stated}}
