"""How far a cluster's machines have come, and what a machine said that did not come."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.ec2.aws_errors import said
from airflow_provider_ernest.clusters.ec2.instances import Instance, master_of, masters, of_cluster, workers
from airflow_provider_ernest.clusters.ec2.prices import PriceBook
from airflow_provider_ernest.clusters.ec2.requests import WEB_PORT
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.spark.machines import Bandwidth, MasterState, read_state

GIVEN_UP = "given up"
"""Value of the tag `identity.TRY_TAG` of machines that were ended on purpose while the cluster starts."""
CONSOLE_LINES = 60
"""How much of a machine's console output is logged."""

# The form of `requests.new_secret`: a setup script that traces its steps could have written it there.
_LIKE_A_SECRET = re.compile(r"[0-9a-f]{64}")
_READ_SECONDS = 5.0

Probe = Callable[["ClusterHandle"], Mapping[str, "Bandwidth"]]
"""Measures the machines of a cluster; the keys are their addresses."""
ClientMaker = Callable[[str], Any]
"""Makes a boto3 client of a service by its name ("ec2", "ssm"), with retries in mode "standard"."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Means:
    """What it takes to start a cluster, or to change it."""

    client: ClientMaker
    aws_conn_id: str | None = None  # behind `client`, for the handle
    prices: PriceBook | None = None  # None where they are not to be known
    probe: Probe | None = None  # None to measure nothing
    log: Any = _log
    poll_seconds: float = 5.0


@dataclass(frozen=True, kw_only=True)
class Readiness:
    """How far a cluster has come."""

    alive: int  # workers that the Spark master counts on
    is_master_silent: bool  # its machine comes or is there, and Spark does not answer on it
    waited_for: tuple[str, ...]  # ids of machines that are not of use yet, the master's first
    ended: tuple[str, ...]  # machines that ended by themselves, each with AWS's reason
    enough: bool  # the smallest acceptable number is alive
    ready: bool  # nothing is left to be waited for
    failed: str | None  # why waiting is vain; None where it is not
    message: str  # all that in one line, for the log


def look(ec2: Any, cluster_name: str, spec: EC2ClusterSpec, *, overlooked: Collection[str] = ()) -> Readiness:
    """Look once at AWS and at the Spark master, in a number of calls that does not depend on the machines'.

    Blocks for some seconds at most: a trigger calls it in a thread. Machines whose ids are `overlooked` had
    ended before, and do not count as failures. Raises as `instances.of_cluster`.
    """
    instances = [i for i in of_cluster(ec2, cluster_name, states=()) if i.id not in overlooked]
    state, problem = ask_master(instances)
    wanted, smallest = spec.launched_machines, spec.smallest_machines
    return judge(instances, state, wanted=wanted, smallest=smallest, master_problem=problem)


def ask_master(instances: Sequence[Instance]) -> tuple[MasterState | None, str]:
    """The master's state, or None and why it cannot be had."""
    master = master_of(instances)
    if master is None:
        return None, "its machine is not there"
    if master.state != "running":
        return None, f"its machine is {master.state}"
    try:
        return read_state(web_url(master), timeout_seconds=_READ_SECONDS), ""
    except ClusterLostError as error:
        return None, error.message


def web_url(master: Instance) -> str:
    """The http address of a master's page."""
    return f"http://{master.private_address}:{WEB_PORT}"


def judge(
    instances: Sequence[Instance],
    state: MasterState | None,
    *,
    wanted: int,
    smallest: int,
    master_problem: str = "",
) -> Readiness:
    """What follows from all machines with the cluster's tag, ended ones included, and the master's state.

    `wanted` is the number of workers that were asked for; with fewer than `smallest` the start has failed.
    `master_problem` says why the master does not answer.
    """
    master = master_of(instances)
    launched = [worker for worker in workers(instances) if worker.usable]
    running = [worker for worker in launched if worker.state == "running"]
    alive_hosts = {machine.host for machine in state.machines} if state else set()
    alive = {worker.id for worker in running if worker.private_address in alive_hosts}
    waited_for = [worker.id for worker in launched if worker.id not in alive]
    ended = _ended_by_themselves(instances, [*launched, *([master] if master else [])])
    gone = [instance for instance in masters(instances) if not instance.usable]
    failed = None
    if master is None and gone:
        failed = f"the master's machine {gone[-1].id} has ended: {gone[-1].ended_because or gone[-1].state}"
    elif len(launched) < smallest and ended:
        failed = (
            f"{len(launched)} workers are left, and at least {smallest} are needed; "
            f"ended by themselves: {', '.join(ended)}"
        )
    is_master_silent = master is not None and state is None
    message = f"{len(launched)} of {wanted} workers launched, {len(running)} running, {len(alive)} alive"
    if state is None and master_problem:
        message += f"; the master does not answer yet: {master_problem}"
    if ended:
        message += f"; ended by themselves: {', '.join(ended)}"
    return Readiness(
        alive=len(alive),
        is_master_silent=is_master_silent,
        waited_for=(*([master.id] if master and state is None else []), *waited_for),
        ended=ended,
        enough=len(alive) >= smallest,
        ready=failed is None and len(alive) >= max(smallest, min(wanted, len(launched))),
        failed=failed,
        message=message,
    )


def _ended_by_themselves(instances: Sequence[Instance], living: Sequence[Instance]) -> tuple[str, ...]:
    # Machines of attempts that are over were ended on purpose, as were those that were given up.
    candidates = [instance for instance in instances if instance.attempt != GIVEN_UP]
    newest = sorted(candidates, key=lambda instance: instance.launched_at)[-1:]
    attempts = {instance.attempt for instance in living or newest}
    return tuple(
        f"{instance.id} ({instance.ended_because or instance.state})"
        for instance in candidates
        if not instance.usable and instance.attempt in attempts
    )


def console_lines(ec2: Any, instance_id: str) -> list[str]:
    """The last lines of a machine's console output, without what looks like a secret."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        answer = ec2.get_console_output(InstanceId=instance_id, Latest=True)
    except (BotoCoreError, ClientError) as error:
        return [f"(AWS does not give its console output: {said(error)})"]
    text = _LIKE_A_SECRET.sub("***", answer.get("Output") or "")
    return [line.rstrip() for line in text.splitlines()][-CONSOLE_LINES:]
