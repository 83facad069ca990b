"""The trainings on several types of machines, side by side or one after the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import TaskGroup

from airflow_provider_ernest.cluster_tasks import type_name
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.training_branch import Training, TrainingBranch, design_task, training_branch

if TYPE_CHECKING:
    from airflow_provider_ernest.cluster_tasks import ClusterSpec
    from airflow_provider_ernest.operators.experiment_design import ExperimentDesignOperator

ONE_TYPE_ONLY = (
    "Start production's own cluster by EC2ClusterOperator(size=group.config['machines'], "
    "instance_type=group.config['instance_type'])."
)


def training_branches(
    clusters: Sequence[ClusterSpec],
    training: Training,
    *,
    options: Sequence[Mapping[str, Any]],
    in_parallel: bool | None,
) -> list[TrainingBranch]:
    """Build the tasks of several types, each type in a task group of its own within the one that is open.

    Args:
        clusters: to start, one for each type.
        training: what the trainings have in common.
        options: further arguments of the operator that starts each cluster.
        in_parallel: at the same time; None unless a cluster is local, whose runs would disturb the others.

    Raises:
        InvalidParameterError: such a cluster cannot be.
    """
    if in_parallel is None:
        in_parallel = not any(isinstance(cluster, LocalClusterSpec) for cluster in clusters)
    design = _shared_design(training, clusters)
    branches: list[TrainingBranch] = []
    for name, cluster, further in zip(_group_names(clusters), clusters, options, strict=True):
        with TaskGroup(group_id=name, tooltip=type_name(cluster)):
            branch = training_branch(cluster, training, options=further, design=design)
            if branches and not in_parallel:
                _follow(branch, branches[-1])
        branches.append(branch)
    return branches


def _follow(branch: TrainingBranch, before: TrainingBranch) -> None:
    """Start a cluster only when the one before is ended, however its training went."""
    from airflow.providers.standard.operators.empty import EmptyOperator

    # A task between them, for the rule is not one for a setup: it must not start after a failed design.
    ended = EmptyOperator(task_id="type_before_ended", trigger_rule="all_done")
    before.terminate >> ended >> branch.create


def _shared_design(training: Training, clusters: Sequence[ClusterSpec]) -> ExperimentDesignOperator | None:
    """One design for all types where it would be the same; None where cores differ or are not known."""
    cores = {cluster.cores_per_machine for cluster in clusters}
    (common,) = cores if len(cores) == 1 else (None,)
    return None if common is None else design_task(training, clusters, cores=common)


def options_of_each(given: Any, clusters: Sequence[ClusterSpec]) -> list[Mapping[str, Any]]:
    """Further arguments for each cluster, of a mapping for all, a list of them, or None.

    Raises:
        InvalidParameterError: there are fewer or more than clusters.
    """
    if given is None or isinstance(given, Mapping):
        return [given or {}] * len(clusters)
    if len(given) != len(clusters):
        raise InvalidParameterError(
            "cluster_options",
            given,
            f"is not one for each of the {len(clusters)} clusters",
            remedy="Give a mapping for all of them, or a list of as many.",
        )
    return list(given)


def refuse_for_several(clusters: Sequence[ClusterSpec], *, resize: bool, spark_conn_id: str | None) -> None:
    """Refuse what cannot be with several types.

    Args:
        clusters: one for each type.
        resize: production was to have the training's cluster in another size.
        spark_conn_id: production was to find the training's cluster by it.

    Raises:
        InvalidParameterError: it cannot be.
    """
    names = [type_name(cluster) for cluster in clusters]
    if len(set(names)) < len(names):
        raise InvalidParameterError(
            "cluster",
            names,
            "names a type of machine twice",
            remedy="Models are kept by type: name each one once, by its instance_type.",
        )
    if resize:
        raise InvalidParameterError(
            "resize_for_production", True, "is impossible with several types", remedy=ONE_TYPE_ONLY
        )
    if spark_conn_id is not None:
        raise InvalidParameterError(
            "spark_conn_id",
            spark_conn_id,
            "has no meaning with several types, whose clusters end before production",
            remedy="Leave it out.",
        )


def _group_names(clusters: Sequence[ClusterSpec]) -> list[str]:
    """Names for the task groups, each once: types may differ only in signs that Airflow does not allow."""
    names: list[str] = []
    for cluster in clusters:
        plain = name = re.sub(r"[^A-Za-z0-9_-]", "_", type_name(cluster)) or "type"
        number = 1
        while name in (*names, "design", "choose_config"):
            number += 1
            name = f"{plain}_{number}"
        names.append(name)
    return names
