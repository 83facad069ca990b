"""Amazon EMR on EC2: the instance groups of a job flow, and the properties of its steps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.downstream.machines import groups_of
from airflow_provider_ernest.downstream.memory import SLACK_MEGABYTES
from airflow_provider_ernest.downstream.spark_conf import sized_conf, spark_arguments
from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_provider_ernest.downstream.machines import MachineShape
    from airflow_provider_ernest.model.results import Decision

EC2_TYPE = re.compile(r"[a-z][a-z0-9-]*\.[a-z0-9-]+")
"""How Amazon names its types of machines: m5.large, u-6tb1.metal."""
SPOT = "spot"

_YARN_SHARE = 0.75


def instance_groups(decision: Decision) -> list[dict[str, Any]]:
    """The groups of the machines that work, for ``Instances.InstanceGroups`` of RunJobFlow.

    The type with the most machines becomes the CORE group, each further one a TASK group; EMR takes one of
    the first kind and 48 of the second ("Configure instance groups", Amazon EMR Management Guide). The MASTER
    group is yours. The market is that by which the decision counted the cost.

    Args:
        decision: what was decided.

    Raises:
        InvalidParameterError: a type that is none of Amazon's.
    """
    market = "SPOT" if decision.billing is not None and decision.billing.market == SPOT else "ON_DEMAND"
    groups = []
    for index, group in enumerate(groups_of(decision, {})):
        if not EC2_TYPE.fullmatch(group.instance_type):
            raise InvalidParameterError(
                "instance_type",
                group.instance_type,
                "is no type of machine that EMR could start",
                remedy="Train on such a type, or name it by instance_type of the cluster's specification.",
            )
        groups.append(
            {
                "Name": f"task {group.instance_type}" if index else "core",
                "InstanceRole": "TASK" if index else "CORE",
                "InstanceType": group.instance_type,
                "InstanceCount": group.machines,
                "Market": market,
            }
        )
    return groups


def step_arguments(
    decision: Decision,
    shapes: Mapping[str, MachineShape],
    *,
    conf: Mapping[str, str],
    dynamic_allocation: bool = False,
) -> list[str]:
    """Arguments of spark-submit in a step: one executor on each machine of one type.

    They are needed: EMR turns dynamic allocation on, and its own sizes of executors leave room for several
    on one machine ("Configure Spark", Amazon EMR Release Guide). Where the sample runs were made on EMR, the
    executors are as they were. A machine known from a standalone master has less to give here, since EMR
    leaves YARN three quarters of its memory ("Task configuration", there); 1 GB of it is kept for the
    application master. The driver belongs on the master (``--deploy-mode client``): on one of the machines
    it would take an executor's room.

    Args:
        decision: what was decided.
        shapes: of the types of machines, by name.
        conf: the job's properties.
        dynamic_allocation: on, and bounded to the choice.

    Raises:
        InvalidParameterError: executors would not come to lie on the machines as they should.
        MissingResourceError: nothing tells the machines' cores or memory.
    """
    groups = groups_of(decision, shapes)
    return spark_arguments(
        sized_conf(groups, conf=conf, dynamic_allocation=dynamic_allocation, room=_room_under_yarn)
    )


def _room_under_yarn(shape: MachineShape) -> int | None:
    whole = shape.whole_megabytes
    return None if whole is None else int(_YARN_SHARE * whole) - SLACK_MEGABYTES
