"""Records are written beside the work, and the work does not wait long for them."""

from __future__ import annotations

from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.documents import ClusterBandwidth
from airflow_provider_ernest.operators.task_context import in_time
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.run_profile import Capacity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from airflow_provider_ernest.clusters.base import ClusterHandle, Machine
    from airflow_provider_ernest.documents import Origin
    from airflow_provider_ernest.eventlog.tables import EventLog

MOST_SECONDS = 30.0
"""So long a task waits for its record to be written. Storage that does not answer must not hold it up."""

MOST_TASKS = 500_000
"""Of a run with more, no profile is made: a worker of Airflow has other tasks' memory to think of. Twice as
many took 700 MB."""

PROFILE_SECONDS = 180.0
"""So long a task waits for the profile of its run: thrice what `MOST_TASKS` take on a slow core."""


def record_in_time(write: Callable[[], object], *, what: str, log: Any) -> None:
    """Write a record. What hinders that is a warning in the log; after `MOST_SECONDS` the task goes on.

    The writing goes on, too, for as long as the task's process lives.

    Args:
        write: writes it.
        what: is recorded, for the warnings.
        log: the logger that they go to.
    """

    def run() -> None:
        try:
            write()
        # The libraries behind object stores raise errors of their own.
        except Exception as error:
            log.warning("%s is not recorded: %s: %s", what, type(error).__name__, error)

    try:
        in_time(run, most_seconds=MOST_SECONDS)
    except TimeoutError:
        log.warning(
            "%s is not recorded yet: the model store has not answered for %g s. The task goes on without it.",
            what,
            MOST_SECONDS,
        )


def keep_profile(
    event_log: Any,
    *,
    read: EventLog | None = None,
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
        read: its tables, where the caller has read them already; None to read them.
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
    if read is not None and len(read.task_columns) > MOST_TASKS:
        log.warning("Why the run took this long is not known: it has more than %d tasks.", MOST_TASKS)
        return
    from airflow_provider_ernest.clarity.profile import profile_run
    from airflow_provider_ernest.documents import ProfileRecord, new_id
    from airflow_provider_ernest.store.store import ModelStore
    from airflow_provider_ernest.store_location import store_root

    def keep() -> None:
        profile = profile_run(
            _tables(event_log) if read is None else read,
            scale=scale,
            iterations=iterations,
            capacity=capacity,
            event_log=str(event_log),
        )
        now = datetime.now(UTC)
        record = ProfileRecord(
            id=new_id(now),
            at=now.isoformat(),
            profile=profile,
            job=job,
            instance_type=instance_type,
            purpose=purpose,
            artifact_sha256=artifact_sha256,
            origin=origin,
        )
        ModelStore(store_root(store)).save_profile(record)
        log.info("%s", profile.headline)

    try:
        in_time(keep, most_seconds=PROFILE_SECONDS)
    except TimeoutError:
        log.warning(
            "Why the run took this long is not known: its event log %s is not read after %g s. The task goes "
            "on without it; see `ernest analyze`.",
            without_credentials(str(event_log)),
            PROFILE_SECONDS,
        )
    # A log is whatever the application wrote, and the run is done and paid for.
    except Exception as error:
        told = without_credentials(str(error))
        log.warning("Why the run took this long is not known: %s: %s", type(error).__name__, told)


def _tables(event_log: Any) -> EventLog:
    from airflow_provider_ernest.eventlog.reading import read_event_log

    # Nobody waits for what takes longer, so it shall not go on either.
    return read_event_log(event_log, most_tasks=MOST_TASKS, most_seconds=PROFILE_SECONDS)


def capacity_of(handle: ClusterHandle | None) -> Capacity | None:
    """What a machine of a cluster was measured to do; None where it was not probed."""
    bandwidth = median_bandwidth(handle.machines) if handle is not None else None
    if handle is None or bandwidth is None or bandwidth.network_gigabytes_per_second is None:
        return None
    return Capacity(
        cores=handle.cores_per_machine,
        network_gigabytes_per_second=bandwidth.network_gigabytes_per_second,
        source="measured",
    )


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
