"""Ending machines so that they have really ended, whatever AWS says in between."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, as_ours, code_of, meaning_of
from airflow_provider_ernest.clusters.ec2.instances import (
    PAGE_SIZE,
    TO_BE_ENDED,
    Instance,
    of_cluster,
)
from airflow_provider_ernest.exceptions import ClusterError, InvalidParameterError

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 120.0
"""How long throttling and delays of AWS are endured before the user is told that machines live."""

SETTLE_SECONDS = 30.0
"""How long AWS may take to show, and to let end, what it launched (EC2 API reference, "Eventual
consistency")."""

_INSTANCE_ID = re.compile(r"\bi-[0-9a-f]+")
_LISTED = 10
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 10.0


def end_machines(ec2: Any, ids: Iterable[str], *, patience_seconds: float = PATIENCE_SECONDS) -> set[str]:
    """Tell AWS to terminate machines; does not wait until they have ended.

    Machines that AWS does not know, or not yet, are passed over. Termination protection is taken away:
    whoever asks for the end of a cluster means it. Throttling and lost answers are endured.

    Needs the permissions ec2:TerminateInstances and, for protected machines, ec2:ModifyInstanceAttribute.

    Args:
        ec2: a boto3 client.
        ids: of the machines; none is allowed.
        patience_seconds: how long to try again when AWS is busy; 0 to try but once.

    Returns:
        Ids of the machines that AWS does not know.

    Raises:
        ClusterError, MissingResourceError, InvalidParameterError: AWS did not take the request.
    """
    deadline = time.monotonic() + patience_seconds
    remaining = sorted(set(ids))
    failure: BaseException | None = None
    unknown: set[str] = set()
    for first in range(0, len(remaining), PAGE_SIZE):
        try:
            unknown |= _end_batch(ec2, remaining[first : first + PAGE_SIZE], deadline)
        except Exception as error:  # the other batches must be tried nevertheless
            failure = failure or error
    if failure is not None:
        raise failure
    return unknown


def end_until_gone(
    ec2: Any,
    cluster_name: str,
    *,
    belongs: Callable[[Instance], bool] = lambda instance: True,
    awaited: Collection[str] = (),
    patience_seconds: float = PATIENCE_SECONDS,
    poll_seconds: float = 2.0,
    settle_seconds: float | None = None,
) -> list[Instance]:
    """End the machines of a cluster and see that all of them are shutting down or gone.

    AWS shows new machines with a delay: it looks again until that is over, even if nothing is left to end.

    Args:
        ec2: a boto3 client.
        cluster_name: whose machines, by tag.
        belongs: which of them.
        awaited: ids of machines that the cluster had. Where AWS does not show them, it may only be late; they
            are not ended by these ids, but by the tag that they turn out to carry.
        patience_seconds: how long the end may take.
        poll_seconds: between two looks.
        settle_seconds: how long, from now on, machines may still appear; None to reckon with a launch right
            after that of the newest machine that AWS shows.

    Returns:
        The machines that were ended.

    Raises:
        ClusterError: some of them still live; names them and says when they end by themselves.
    """
    began = time.monotonic()
    ended: dict[str, Instance] = {}
    refused: list[str] = []
    while True:
        every = all_of_cluster(ec2, cluster_name, deadline=began + patience_seconds)
        left = [i for i in every if i.state in TO_BE_ENDED and belongs(i)]
        ids = [instance.id for instance in left]
        elapsed = time.monotonic() - began
        if settle_seconds is None:
            settle_seconds = _unsettled_seconds(every)
        late = not {*awaited} <= {instance.id for instance in every}
        if not left and elapsed >= (SETTLE_SECONDS if late else settle_seconds):
            return list(ended.values())
        if left and ended and elapsed > patience_seconds:
            raise still_alive(cluster_name, left)
        if not left or ended.keys() >= set(ids):
            time.sleep(poll_seconds)
        ended.update((i.id, i) for i in left)
        try:
            end_machines(ec2, ids, patience_seconds=patience_seconds - elapsed)
        except InvalidParameterError:
            if ids == refused:
                raise
            refused = ids  # some may have ended nevertheless: look again


def terminate_cluster(
    ec2: Any,
    cluster_name: str,
    *,
    awaited: Collection[str] = (),
    patience_seconds: float = PATIENCE_SECONDS,
) -> str:
    """End all machines of a cluster, found by its tag, and see that they end. Repeatable.

    Args:
        ec2: a boto3 client.
        cluster_name: value of the tag.
        awaited: ids of machines that it had; see `end_until_gone`.
        patience_seconds: how long that may take.

    Returns:
        What was done, for the log.

    Raises:
        ClusterError: some of them still live; names them and says when they end by themselves.
        MissingResourceError: a permission is missing.
    """
    began = time.monotonic()
    ended = end_until_gone(ec2, cluster_name, awaited=awaited, patience_seconds=patience_seconds)
    if not ended:
        return "nothing to do, no machine of it is left"
    listed = ", ".join(instance.id for instance in ended[:_LISTED])
    if len(ended) > _LISTED:
        listed += ", ..."
    return f"ended {len(ended)} machines ({listed}) in {time.monotonic() - began:.1f} s"


def still_alive(cluster_name: str, instances: Sequence[Instance]) -> ClusterError:
    """The error that says which machines could not be ended, and when they end by themselves."""
    listed = ", ".join(f"{i.id} ({i.state}, ends itself at {i.expires_at or '?'})" for i in instances)
    return ClusterError(
        f"{len(instances)} machines of cluster {cluster_name} still live and cost money: {listed}.",
        remedy="End them in the EC2 console, or by `ernest reap` after their time to live.",
    )


def all_of_cluster(ec2: Any, cluster_name: str, *, deadline: float) -> list[Instance]:
    """All machines of a cluster, ended ones included; a busy or silent AWS is asked again.

    Args:
        ec2: a boto3 client.
        cluster_name: value of the tag.
        deadline: of the clock `time.monotonic`; after it, the last question has been asked.

    Raises:
        ClusterError, MissingResourceError: AWS does not answer, or a permission is missing.
    """
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            return of_cluster(ec2, cluster_name, states=())
        except ClusterError as error:
            if time.monotonic() + pause > deadline:
                raise
            log.warning("Looking for the machines of %s again after: %s", cluster_name, error.message)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _unsettled_seconds(instances: Sequence[Instance]) -> float:
    """How long machines that AWS does not show yet may still appear, by its own clock."""
    ages = [(instance.told_at - instance.launched_at).total_seconds() for instance in instances]
    return SETTLE_SECONDS - max(0.0, min(ages, default=0.0))


def _end_batch(ec2: Any, ids: list[str], deadline: float) -> set[str]:
    from botocore.exceptions import BotoCoreError, ClientError

    pause = _FIRST_PAUSE_SECONDS
    unprotected: set[str] = set()
    unknown: set[str] = set()
    while ids:
        try:
            ec2.terminate_instances(InstanceIds=ids)
            break
        except (BotoCoreError, ClientError) as error:
            code = code_of(error)
            named = [i for i in ids if i in _INSTANCE_ID.findall(str(error))]
            protected = set(named or ids) - unprotected
            if code == "InvalidInstanceID.NotFound" and named:
                unknown |= set(named)
                ids = [i for i in ids if i not in named]
            elif code == "OperationNotPermitted" and protected:
                _unprotect(ec2, sorted(protected))
                unprotected |= protected
            elif _may_pass(error) and time.monotonic() + pause < deadline:
                log.warning("AWS did not end %d machines yet, trying again: %s", len(ids), error)
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            else:
                raise as_ours(error, f"terminate {', '.join(ids)}") from None
    return unknown


def _may_pass(error: BaseException) -> bool:
    """Whether to try again. Where AWS has not answered, always: giving up costs more than waiting."""
    return not code_of(error) or meaning_of(error) is Meaning.BUSY


def _unprotect(ec2: Any, ids: Sequence[str]) -> None:
    """Take the termination protection from machines; those that have vanished have none."""
    from botocore.exceptions import BotoCoreError, ClientError

    for instance_id in ids:
        log.warning("Taking the termination protection from %s, to end it.", instance_id)
        try:
            ec2.modify_instance_attribute(InstanceId=instance_id, DisableApiTermination={"Value": False})
        except (BotoCoreError, ClientError) as error:
            if code_of(error) != "InvalidInstanceID.NotFound":
                raise as_ours(error, f"take the termination protection from {instance_id}") from None
