"""The profile of a run: made of its event log where that lies, as soon as the run is done, and kept."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.addresses import without_credentials
from airflow_provider_ernest.operators.in_time import in_time

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.base import ClusterHandle
    from airflow_provider_ernest.model.documents import Origin
    from airflow_provider_ernest.model.run_profile import Capacity, RunProfile

MOST_TASKS = 500_000
"""Of a run with more, no profile is made: a worker of Airflow has other tasks' memory to think of. Twice as
many took 700 MB."""

MOST_SECONDS = 180.0
"""So long a task waits for the profile of its run: thrice what `MOST_TASKS` take on a slow core."""


def keep_profile(
    event_log: Any,
    *,
    job: str | None,
    instance_type: str,
    purpose: str,
    scale: float,
    iterations: int | None = None,
    capacity: Capacity | None = None,
    artifact_sha256: str | None = None,
    store: str | None = None,
    origin: Origin | None = None,
    log: Any,
) -> None:
    """Profile a run by its event log and save that. What hinders it is a warning: the run itself is done.

    Args:
        event_log: of the run, a path or a URL; None where nobody knows it: nothing is done.
        job: the job's name in the store; None to keep it nowhere.
        instance_type: the machines' type.
        purpose: `bottlenecks.SAMPLE` or `bottlenecks.PRODUCTION`.
        scale: the share of the target input that it read.
        iterations: of an iterative job.
        capacity: of a machine, where it was measured.
        artifact_sha256: hash of the code that ran.
        store: root of the model store; None for the configured one.
        origin: the task instance that ran it.
        log: the logger that the warning goes to.
    """
    if event_log is None or job is None:
        return

    def keep() -> None:
        profile = _profile(event_log, scale=scale, iterations=iterations, capacity=capacity)
        about = {"job": job, "instance_type": instance_type, "purpose": purpose}
        _save(profile, store, artifact_sha256=artifact_sha256, origin=origin, **about)
        log.info("%s", profile.headline)

    try:
        in_time(keep, most_seconds=MOST_SECONDS)
    except TimeoutError:
        log.warning(
            "Why the run took this long is not known: its event log %s is not read after %g s. The task goes "
            "on without it; see `ernest analyze`.",
            without_credentials(str(event_log)),
            MOST_SECONDS,
        )
    # A log is whatever the application wrote, and the run is done and paid for.
    except Exception as error:
        told = without_credentials(str(error))
        log.warning("Why the run took this long is not known: %s: %s", type(error).__name__, told)


def capacity_of(handle: ClusterHandle | None) -> Capacity | None:
    """What a machine of a cluster was measured to do; None where it was not probed."""
    from airflow_provider_ernest.model.run_profile import Capacity
    from airflow_provider_ernest.operators.production_conditions import median_bandwidth

    bandwidth = median_bandwidth(handle.machines) if handle is not None else None
    if handle is None or bandwidth is None or bandwidth.network_gigabytes_per_second is None:
        return None
    return Capacity(
        cores=handle.cores_per_machine,
        network_gigabytes_per_second=bandwidth.network_gigabytes_per_second,
        source="measured",
    )


def _profile(
    event_log: Any, *, scale: float, iterations: int | None, capacity: Capacity | None
) -> RunProfile:
    from airflow_provider_ernest.spark.event_log import read_event_log
    from airflow_provider_ernest.spark.profiling.profile import profile_run

    return profile_run(
        # Nobody waits for what takes longer, so it shall not go on either.
        read_event_log(event_log, most_tasks=MOST_TASKS, most_seconds=MOST_SECONDS),
        scale=scale,
        iterations=iterations,
        capacity=capacity,
        event_log=str(event_log),
    )


def _save(profile: RunProfile, store: str | None, **fields: Any) -> None:
    from airflow_provider_ernest.model.bottlenecks import ProfileRecord
    from airflow_provider_ernest.model.identity import new_id
    from airflow_provider_ernest.model.store import ModelStore
    from airflow_provider_ernest.operators.locations import store_root

    now = datetime.now(UTC)
    record = ProfileRecord(profile_id=new_id(now), recorded_at=now.isoformat(), profile=profile, **fields)
    ModelStore(store_root(store)).save_profile(record)
