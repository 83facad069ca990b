"""The task that looks for stored models, ahead of the trainings that they would make needless."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.choices import FAIL
from airflow_provider_ernest.cluster_tasks import spark_release
from airflow_provider_ernest.operators.find_model import FindModelOperator
from airflow_provider_ernest.specification import ConnectedCluster

if TYPE_CHECKING:
    from airflow_provider_ernest.setting_checks import Settings
    from airflow_provider_ernest.specification import Reuse
    from airflow_provider_ernest.training_branch import Training, TrainingBranch

MACHINE_SETTINGS = (
    "memory_megabytes_per_machine",
    "cpu_share",
    "type_of_master",
    "launch_template",
    "launch_template_version",
    "setup_script",
    "java_home",
    "python",
    "network_encryption",
    "volume_gigabytes",
    "volume_type",
    "ebs_gigabytes",
    "ebs_volume_type",
    "security_configuration",
    "configurations",
    "bootstrap_actions",
)
"""Of the specifications of all kinds of clusters: what may change how long a run takes on one machine."""


def find_task(
    training: Training,
    branches: Sequence[TrainingBranch],
    *,
    reuse: Reuse | None,
    settings: Settings,
    on_stale: Any,
) -> FindModelOperator:
    """Build it, ahead of all tasks of the task group that is open.

    Args:
        training: what the trainings have in common.
        branches: the trainings.
        reuse: how long a stored model is good for; None to train in each run.
        settings: all of the user's, to check once they are rendered.
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
        training_settings=_training_settings(training),
        input_path=sampled.path,
        partitions=sampled.partitions,
        header=sampled.header,
        reuse=reuse,
        max_error_percent=goal.max_error_percent if goal.on_inadequate == FAIL else None,
        settings=settings.as_fields(),
        store=training.store,
        on_stale=on_stale,
    )
    for branch in branches:
        find >> [task for task in (branch.check, branch.design) if task is not None]
        if branch.serves_production:
            find >> branch.create
    return find


def _training_settings(training: Training) -> Mapping[str, Any]:
    """What a change of makes other sample runs, or another model of them, and is not asked for in vain."""
    sampled, settings = training.input, training.model
    return {
        "sampling": sampled.sampling,
        "the input's header": sampled.header,
        "the sample runs' iterations": training.job.sample_iterations,
        "the model's method": settings.method,
        "the model's terms": settings.terms and list(settings.terms),
        "the model's further terms": list(settings.extension_terms) or None,
    }


def _type(branch: TrainingBranch) -> Mapping[str, Any]:
    cluster = branch.cluster
    return {
        "instance_type": branch.instance_type,
        "spark": spark_release(cluster),
        "cores_per_machine": cluster.cores_per_machine,
        "settings": {
            f"the cluster's {name}": getattr(cluster, name)
            for name in MACHINE_SETTINGS
            if getattr(cluster, name, None) not in (None, "", False, ())
        },
        "training_tasks": list(branch.training_tasks),
        "cluster_tasks": list(branch.cluster_tasks),
        "teardown": branch.terminate.task_id,
        # One that is there anyway costs nothing, and tells how large it is today.
        "keeps_cluster": branch.serves_production and isinstance(cluster, ConnectedCluster),
    }
