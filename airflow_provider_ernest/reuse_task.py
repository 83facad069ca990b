"""The task that looks for stored models, ahead of the trainings that they would make needless."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cluster_tasks import spark_release
from airflow_provider_ernest.operators.find_model import FindModelOperator
from airflow_provider_ernest.specification import ConnectedCluster

if TYPE_CHECKING:
    from airflow_provider_ernest.specification import Reuse
    from airflow_provider_ernest.training_branch import Training, TrainingBranch


def find_task(
    training: Training,
    branches: Sequence[TrainingBranch],
    *,
    reuse: Reuse | None,
    on_stale: Any,
) -> FindModelOperator:
    """Build it, ahead of all tasks of the task group that is open.

    Args:
        training: what the trainings have in common.
        branches: the trainings.
        reuse: how long a stored model is good for; None to train in each run.
        on_stale: called where a model no longer speaks for the job.
    """
    job, sampled, goal = training.job, training.input, training.goal
    shared = {branch.design.task_id for branch in branches}
    find = FindModelOperator(
        task_id="find_model",
        job=job.name,
        types=[_type(branch) for branch in branches],
        # The design of several types is needless where all of them have a model.
        shared_tasks=sorted(shared) if len(shared) < len(branches) else (),
        application=job.application,
        application_args=list(job.application_args),
        conf=dict(job.conf),
        submit_options=dict(job.submit_options),
        input_path=sampled.path,
        partitions=sampled.partitions,
        header=sampled.header,
        reuse=reuse,
        max_error_percent=goal.max_error_percent if goal.on_inadequate == "fail" else None,
        store=training.store,
        on_stale=on_stale,
    )
    for branch in branches:
        find >> [task for task in (branch.check, branch.design) if task is not None]
        if branch.serves_production:
            find >> branch.create
    return find


def _type(branch: TrainingBranch) -> Mapping[str, Any]:
    cluster = branch.cluster
    return {
        "instance_type": branch.instance_type,
        "spark": spark_release(cluster),
        "cores_per_machine": cluster.cores_per_machine,
        "training_tasks": list(branch.training_tasks),
        "cluster_tasks": list(branch.cluster_tasks),
        "teardown": branch.terminate.task_id,
        # One that is there anyway costs nothing, and tells how large it is today.
        "keeps_cluster": branch.serves_production and isinstance(cluster, ConnectedCluster),
    }
