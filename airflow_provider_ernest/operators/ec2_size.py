"""How many workers a new cluster on EC2 shall have, where a decision says so."""

from __future__ import annotations

from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.operators.rendered import NOTHING, whole_number

NOT_GIVEN: Any = object()
"""What the cluster to resize is where the DAG file does not mention one."""


def size_of_new_cluster(size: Any, machines: Any) -> int:
    """The number of workers of a cluster that is to be started.

    Args:
        size: as the decision says.
        machines: of the specification, which then must not say another number.

    Raises:
        InvalidParameterError: the size is missing, or there are two, as in a resize that forgot its cluster.
    """
    count = whole_number("size", size)
    if machines not in NOTHING:
        raise InvalidParameterError(
            "(machines, size)",
            (machines, count),
            "is two sizes of a new cluster",
            remedy="Leave out machines; or give the cluster that is to have this size.",
        )
    return count
