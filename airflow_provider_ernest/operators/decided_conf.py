"""The Spark properties that a decision comes to, and the machines that they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_provider_ernest.clusters.base import EC2, LOCAL
from airflow_provider_ernest.downstream.executors import layout_on
from airflow_provider_ernest.downstream.machines import MachineShape, groups_of
from airflow_provider_ernest.downstream.memory import HEAP
from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.operators.locations import event_logs
from airflow_provider_ernest.spark.sizing import event_log_conf, sizing_conf

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.downstream.executors import Layout
    from airflow_provider_ernest.downstream.machines import MachineGroup
    from airflow_provider_ernest.model.results import Decision, Model
    from airflow_provider_ernest.operators.question import Question
    from airflow_provider_ernest.operators.trained_types import TrainedType


def decided_conf(
    decision: Decision,
    *,
    shapes: Mapping[str, MachineShape],
    handle: ClusterHandle | None,
    conf: Mapping[str, str],
    stated: Collection[str],
    context: Context,
) -> dict[str, str]:
    """What a cluster needs and the job's own do not state, and the sizing, to win over the job's own.

    Args:
        decision: what was decided.
        shapes: of the types of machines that were decided on.
        handle: of a cluster of that type, where there is one.
        conf: what the job's own say of the sizes of executors and driver.
        stated: names of all of the job's own.
        context: of the task that decides.

    Raises:
        MissingResourceError: nothing tells the cores of a machine, or the memory of one of a mix.
    """
    groups = groups_of(decision, shapes)
    layout = layout_on(groups)
    cluster = {
        **(handle.spark_conf() if handle else {}),
        **({} if HEAP in conf else _memory(groups, layout)),
        # Only a driver on this machine can write into a folder of it.
        **(event_log_conf(str(event_logs(context))) if handle and handle.kind == LOCAL else {}),
    }
    return {
        **{name: value for name, value in cluster.items() if name not in stated},
        **conf,
        **sizing_conf(machines=layout.count, cores_per_machine=layout.cores),
    }


def shapes_of(
    decision: Decision, types: Sequence[TrainedType], question: Question
) -> dict[str, MachineShape]:
    """The machines of each type; absent where nobody tells.

    As the cluster that is there tells, else as the user does, else as those were that the model is of.

    Args:
        decision: what was decided.
        types: what came of each training.
        question: what was asked.
    """
    shapes: dict[str, MachineShape] = {}
    for each in types:
        if each.handle:
            shapes.setdefault(each.handle.instance_type, _shape(each.handle))
            # The model may be of machines that are not there any more, and production of those that are.
            shapes.setdefault(each.instance_type, _shape(each.handle))
    told = dict(question.cores)
    for each in types:
        trained_on = _trained_on(each.model)
        stated = told.get(each.instance_type, question.cores_per_machine)
        if trained_on and stated in (None, trained_on.cores):
            shapes.setdefault(each.instance_type, trained_on)
    _tell_untrained(told, shapes, question)
    if question.cores_per_machine is not None:
        for part in decision.composition or (decision.config,):
            told.setdefault(part.instance_type, question.cores_per_machine)
    for name, cores in told.items():
        shapes.setdefault(name, MachineShape(cores=cores))
    return shapes


def _tell_untrained(told: dict[str, int], shapes: Mapping[str, MachineShape], question: Question) -> None:
    """Add the cores of types that were not trained: as stated, else those of the type that each is like."""
    for one in question.untrained_types:
        like = shapes.get(one.like)
        cores = one.cores_per_machine or (like.cores if like else told.get(one.like))
        if cores:
            told.setdefault(one.instance_type, cores)


def _trained_on(model: Model | None) -> MachineShape | None:
    """The machines that a model's runs were made on; None where it does not know them."""
    if model is None:
        return None
    if model.cluster is not None:
        return MachineShape(
            cores=model.cluster.cores_per_machine,
            memory_megabytes=model.cluster.memory_megabytes_per_machine,
            is_standalone=model.cluster.kind in (LOCAL, EC2),
        )
    cores = model.conditions.cores_per_machine if model.conditions else None
    return MachineShape(cores=cores) if cores else None


def handle_for(decision: Decision, types: Sequence[TrainedType]) -> ClusterHandle | None:
    """The cluster whose properties production needs: of the type, or most machines of a mix, decided on."""
    parts = decision.composition or (decision.config,)
    main = max(parts, key=lambda part: part.machines).instance_type
    return next(
        (
            each.handle
            for each in types
            if each.handle and main in (each.instance_type, each.handle.instance_type)
        ),
        None,
    )


def _shape(handle: ClusterHandle) -> MachineShape:
    return MachineShape(
        cores=handle.cores_per_machine,
        memory_megabytes=min(machine.memory_megabytes for machine in handle.machines),
        is_standalone=handle.kind in (LOCAL, EC2) or handle.web_url is not None,
    )


def _memory(groups: Sequence[MachineGroup], layout: Layout) -> dict[str, str]:
    """The memory of each executor: all of its machine's, or its share of it in a mix; absent where unknown.

    Raises:
        MissingResourceError: nothing tells it of one type of a mix.
    """
    rooms: list[int] = []
    for group, share in zip(groups, layout.shares, strict=True):
        memory = group.known_shape.memory_megabytes
        if memory is None and len(groups) == 1:
            return {}
        if memory is None:
            raise MissingResourceError(
                f"Nothing tells the memory of a machine of type {group.instance_type!r}, which executors of "
                "the mix share.",
                remedy=f"Set {HEAP} in the job's conf.",
            )
        rooms.append(memory // share)
    return {HEAP: f"{min(rooms)}m"}
