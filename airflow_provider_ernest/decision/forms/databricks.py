"""Databricks: the new cluster of a job run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.decision.forms.aws import EC2_TYPE
from airflow_provider_ernest.decision.forms.machines import only_group
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.spark.sizing import sizing_conf

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.decisions import Decision

_AZURE_TYPE = re.compile(r"Standard_\w+")
_GOOGLE_TYPE = re.compile(r"[a-z]\w*-[a-z]+-\d+\w*(-\w+)*")
# So that the work spreads as in the sample runs.
_KEPT = ("spark.locality.wait",)


def databricks_cluster(decision: Decision) -> dict[str, Any]:
    """``num_workers``, ``node_type_id`` and ``spark_conf`` for ``new_cluster`` of the Jobs API.

    A cluster has one driver and ``num_workers`` executors, which are ``num_workers`` + 1 machines, and each
    executor takes all of its machine (Clusters API, Databricks REST API reference). So nothing is said of the
    executors' cores and memory. Add ``spark_version`` and what else you need, also to ``spark_conf``, but no
    ``autoscale``, over which ``num_workers`` would count for nothing.

    Args:
        decision: what was decided.

    Raises:
        InvalidParameterError: a type that is none of a cloud's, or a mix of types was decided on.
    """
    group = only_group(decision, {}, target="Databricks")
    if not any(known.fullmatch(group.instance_type) for known in (EC2_TYPE, _AZURE_TYPE, _GOOGLE_TYPE)):
        raise InvalidParameterError(
            "instance_type",
            group.instance_type,
            "is no type of machine that Databricks could start",
            remedy="Train on such a type, or name it by instance_type of the cluster's specification.",
        )
    sizing = sizing_conf(machines=group.machines, cores_per_machine=1)
    return {
        "num_workers": group.machines,
        "node_type_id": group.instance_type,
        "spark_conf": {name: sizing[name] for name in _KEPT},
    }
