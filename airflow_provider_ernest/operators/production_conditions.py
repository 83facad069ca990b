"""What a production run ran: which code, under which conditions, on how fast machines."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.model.documents import RunConditions
from airflow_provider_ernest.model.records import ClusterBandwidth
from airflow_provider_ernest.operators.rendered import optional_document
from airflow_provider_ernest.operators.run_identity import artifact_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.base import Machine
    from airflow_provider_ernest.model.records import DecisionRecord

FIND_MODEL = "find_model"
"""The task that looks at code and conditions at the beginning of the run, in the group of the one that
decides."""


def code_of(
    application: str | None,
    submit_options: Mapping[str, Any],
    *,
    record: DecisionRecord,
    context: Context,
    log: Any,
) -> str | None:
    """The hash of what ran. Taken after the run, which it thus neither delays nor hinders.

    Args:
        application: that ran; None to take the hash that was found at the beginning of this DAG run.
        submit_options: py_files and jars in them belong to it.
        record: of the decision that it ran by.
        context: of the task that asks.
        log: the logger that tells what hinders it.
    """
    if not application:
        found = _found(record, "artifact_sha256", context, log)
        return str(found) if found else None
    try:
        return artifact_hash(application, submit_options, log=log)
    except MissingResourceError as error:
        log.warning("The hash of the application cannot be taken: %s", error)
        return None


def conditions_of(
    record: DecisionRecord, *, spark: str | None, context: Context, log: Any
) -> RunConditions | None:
    """What the run depended on beside its code; None where nothing is known.

    That is as it was found at the beginning of this DAG run, with Spark's version as the run itself tells it.

    Args:
        record: of the decision that it ran by.
        spark: the version that its event log tells.
        context: of the task that asks.
        log: the logger that tells what hinders it.
    """
    found = _found(record, "conditions", context, log)
    of_type = found.get(record.instance_type) if isinstance(found, dict) else None
    conditions = RunConditions.from_dict(of_type) if of_type else RunConditions()
    # Services have releases of their own, such as emr-7.5.0, which a version is not to be compared with.
    if spark and (conditions.spark is None or conditions.spark[0].isdigit()):
        conditions = replace(conditions, spark=spark)
    return None if conditions == RunConditions() else conditions


def bandwidth_of(cluster: Any, *, log: Any) -> ClusterBandwidth | None:
    """The median bandwidth of a cluster's machines.

    Args:
        cluster: `ClusterHandle` document, or JSON text of it.
        log: the logger that tells where it cannot be read.
    """
    from airflow_provider_ernest.clusters.base import ClusterHandle

    try:
        given = optional_document("cluster", cluster)
        return median_bandwidth(ClusterHandle.from_dict(given).machines) if given else None
    # The run is done, and its record is worth more than a figure in it.
    except Exception as error:
        log.warning("The bandwidth of the cluster's machines is not recorded: %s", error)
        return None


def median_bandwidth(machines: Sequence[Machine]) -> ClusterBandwidth | None:
    """The median bandwidth of machines; None where none was probed."""
    probed = [machine.bandwidth for machine in machines if machine.bandwidth is not None]
    memory = [each.memory_gigabytes_per_second for each in probed]
    network = [each.network_gigabytes_per_second for each in probed]
    known = [value for value in network if value is not None]
    return (
        ClusterBandwidth(
            memory_gigabytes_per_second=median(memory),
            network_gigabytes_per_second=median(known) if known else None,
        )
        if probed
        else None
    )


def _found(record: DecisionRecord, key: str, context: Context, log: Any) -> Any:
    """What was found at the beginning of the DAG run, if the decision was made in this one; else None."""
    origin, instance = record.origin, context["ti"]
    if origin is None or (origin.dag_id, origin.run_id) != (instance.dag_id, instance.run_id):
        return None
    group, _, _ = origin.task_id.rpartition(".")
    try:
        return instance.xcom_pull(task_ids=f"{group}.{FIND_MODEL}" if group else FIND_MODEL, key=key)
    # XComs are kept by any backend.
    except Exception as error:
        log.info("What was found at the beginning of the run cannot be read: %s", error)
        return None
