"""How far a cluster's start has come: one look at AWS and at the Spark master, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_provider_ernest.clusters.ec2.instances import Instance, masters, of_cluster, workers
from airflow_provider_ernest.clusters.ec2.user_data import WEB_PORT
from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.spark.master import MasterState, read_state

_READ_SECONDS = 5.0

GIVEN_UP = "given up"
"""Value of the tag `identity.TRY_TAG` of machines that were ended on purpose while the cluster starts."""

ReadMaster = Callable[..., MasterState]
"""`spark.master.read_state`, or what stands for it in tests."""


@dataclass(frozen=True, kw_only=True)
class Readiness:
    """How far a cluster has come.

    Attributes:
        launched: workers whose machines come or are there.
        running: those of them whose machines run.
        alive: those of them that the Spark master counts on.
        waited_for: ids of the machines that come or are there without being of use yet, the master's first.
        ended: machines that ended by themselves, each with AWS's reason.
        ready: nothing is left to be waited for.
        failed: why waiting is vain; None where it is not.
        message: all that in one line, for the log.
    """

    launched: int
    running: int
    alive: int
    waited_for: tuple[str, ...]
    ended: tuple[str, ...]
    ready: bool
    failed: str | None
    message: str


def look(
    ec2: Any,
    cluster_name: str,
    *,
    wanted: int,
    smallest: int,
    read_master: ReadMaster = read_state,
    overlooked: Collection[str] = (),
) -> Readiness:
    """Look once. The number of AWS calls does not depend on that of the machines, but for pages.

    Blocks for some seconds at most: a trigger calls it in a thread.

    Args:
        ec2: a boto3 client.
        cluster_name: value of the machines' tag.
        wanted: workers that were asked for, additional ones included.
        smallest: the number of workers below which the start has failed.
        read_master: reads the state of a Spark master.
        overlooked: ids of machines that had ended before, and do not count as failures.

    Raises:
        ClusterError, MissingResourceError: AWS does not answer, or a permission is missing.
    """
    instances = [i for i in of_cluster(ec2, cluster_name, states=()) if i.id not in overlooked]
    state, problem = ask_master(instances, read_master)
    return judge(instances, state, wanted=wanted, smallest=smallest, master_problem=problem)


def ask_master(instances: Sequence[Instance], read_master: ReadMaster) -> tuple[MasterState | None, str]:
    """The master's state, or None and why it cannot be had."""
    master = master_of(instances)
    if master is None:
        return None, "its machine is not there"
    if master.state != "running":
        return None, f"its machine is {master.state}"
    try:
        return read_master(web_url(master), timeout_seconds=_READ_SECONDS), ""
    except ClusterLostError as error:
        return None, error.message


def judge(
    instances: Sequence[Instance],
    state: MasterState | None,
    *,
    wanted: int,
    smallest: int,
    master_problem: str = "",
) -> Readiness:
    """What follows from what AWS and the Spark master tell.

    Args:
        instances: all machines with the cluster's tag, ended ones included.
        state: of the Spark master; None where it does not answer (yet).
        wanted: workers that were asked for, additional ones included.
        smallest: the number of workers below which the start has failed.
        master_problem: why the master does not answer.
    """
    master = master_of(instances)
    launched = [worker for worker in workers(instances) if worker.usable]
    running = [worker for worker in launched if worker.state == "running"]
    alive_hosts = {worker.host for worker in state.workers_alive} if state else set()
    alive = [worker for worker in running if worker.private_address in alive_hosts]
    alive_ids = {worker.id for worker in alive}
    waited_for = [worker.id for worker in launched if worker.id not in alive_ids]
    ended = _ended(instances, master, launched)
    failed = _failure(instances, master, launched, ended, smallest)
    message = f"{len(launched)} of {wanted} workers launched, {len(running)} running, {len(alive)} alive"
    if state is None:
        message += f"; the master does not answer yet: {master_problem}" if master_problem else ""
    if ended:
        message += f"; ended by themselves: {', '.join(ended)}"
    return Readiness(
        launched=len(launched),
        running=len(running),
        alive=len(alive),
        waited_for=(*([master.id] if master and state is None else []), *waited_for),
        ended=ended,
        ready=failed is None and len(alive) >= max(smallest, min(wanted, len(launched))),
        failed=failed,
        message=message,
    )


def master_of(instances: Sequence[Instance]) -> Instance | None:
    """The machine that runs the Spark master; None where none comes or is there."""
    return next((instance for instance in masters(instances) if instance.usable), None)


def web_url(master: Instance) -> str:
    """The http address of a master's page."""
    return f"http://{master.private_address}:{WEB_PORT}"


def _ended(
    instances: Sequence[Instance], master: Instance | None, launched: Sequence[Instance]
) -> tuple[str, ...]:
    # Machines of attempts that are over were ended on purpose, as were those that were given up.
    living = [*launched, *([master] if master else [])]
    candidates = [instance for instance in instances if instance.attempt != GIVEN_UP]
    newest = sorted(candidates, key=lambda instance: instance.launched_at)[-1:]
    attempts = {instance.attempt for instance in living or newest}
    return tuple(
        f"{instance.id} ({instance.ended_because or instance.state})"
        for instance in candidates
        if not instance.usable and instance.attempt in attempts
    )


def _failure(
    instances: Sequence[Instance],
    master: Instance | None,
    launched: Sequence[Instance],
    ended: Sequence[str],
    smallest: int,
) -> str | None:
    gone = [instance for instance in masters(instances) if not instance.usable]
    if master is None and gone:
        return f"the master's machine {gone[-1].id} has ended: {gone[-1].ended_because or gone[-1].state}"
    if len(launched) < smallest and ended:
        return (
            f"{len(launched)} workers are left of the {smallest} that are needed at least; "
            f"ended by themselves: {', '.join(ended)}"
        )
    return None
