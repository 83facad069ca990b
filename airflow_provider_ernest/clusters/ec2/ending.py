"""Ending machines, and making sure that they have ended."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import datetime
from typing import Any

from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, as_ours, code_of, meaning_of
from airflow_provider_ernest.clusters.ec2.instances import (
    PAGE_SIZE,
    TO_BE_ENDED,
    Attempt,
    Instance,
    of_cluster,
)
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterStartError,
    ErnestError,
    InvalidParameterError,
)
from airflow_provider_ernest.words import duration

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 120.0
"""How long AWS's throttling and delays are endured before the user is warned that machines live."""
SETTLE_SECONDS = 30.0
"""How long AWS may take to show, and to let end, what it launched (EC2 API reference, "Eventual
consistency")."""


def settle_deadline() -> float:
    """Until when AWS may still show what was launched just now, by `time.monotonic`."""
    return time.monotonic() + SETTLE_SECONDS


_INSTANCE_ID = re.compile(r"\bi-[0-9a-f]+")
_LISTED = 10
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 10.0
_POLL_SECONDS = 2.0

# Airflow kills a task some five seconds after it asked it to end.
_ABANDON_SECONDS = 4.0
_SLICE_SECONDS = 0.25
_UNSEEN_POLL_SECONDS = 2.0


def terminate_cluster(
    ec2: Any,
    cluster_name: str,
    *,
    awaited: Collection[str] = (),
    patience_seconds: float = PATIENCE_SECONDS,
) -> str:
    """End all machines of a cluster; see `end_until_gone`. Repeatable. Returns what was done, for the log."""
    began = time.monotonic()
    ended = end_until_gone(ec2, cluster_name, awaited=awaited, patience_seconds=patience_seconds)
    if not ended:
        return "nothing to do, no machine of it is left"
    listed = ", ".join(instance.id for instance in ended[:_LISTED])
    if len(ended) > _LISTED:
        listed += ", ..."
    return f"ended {len(ended)} machines ({listed}) in {duration(time.monotonic() - began)}"


def end_until_gone(
    ec2: Any,
    cluster_name: str,
    *,
    belongs: Callable[[Instance], bool] = lambda instance: True,
    awaited: Collection[str] = (),
    patience_seconds: float = PATIENCE_SECONDS,
    settle_seconds: float | None = None,
) -> list[Instance]:
    """End the machines of a cluster and wait until all of them are shutting down or gone.

    AWS shows new machines with a delay: it looks again until that is over, even if nothing is left to end.

    Args:
        ec2: a boto3 client.
        cluster_name: whose machines, by tag.
        belongs: which of them.
        awaited: ids of machines that the cluster had, which AWS may show late. They came through XCom and are
            not trusted: machines are ended by their tag.
        patience_seconds: how long the end may take.
        settle_seconds: how long, from now on, machines may still appear; None to allow for a launch right
            after that of the newest machine that AWS shows.

    Raises:
        ClusterError: some of them still live; names them and says when they end by themselves.
    """
    began = time.monotonic()
    ended: dict[str, Instance] = {}
    refused: list[str] = []
    while True:
        every = _all_of_cluster(ec2, cluster_name, deadline=began + patience_seconds)
        left = [i for i in every if i.state in TO_BE_ENDED and belongs(i)]
        ids = [instance.id for instance in left]
        elapsed = time.monotonic() - began
        if settle_seconds is None:
            # By AWS's own clock.
            ages = [(instance.told_at - instance.launched_at).total_seconds() for instance in every]
            settle_seconds = SETTLE_SECONDS - max(0.0, min(ages, default=0.0))
        late = not {*awaited} <= {instance.id for instance in every}
        if not left and elapsed >= (SETTLE_SECONDS if late else settle_seconds):
            return list(ended.values())
        if left and ended and elapsed > patience_seconds:
            listed = ", ".join(f"{i.id} ({i.state}, ends itself at {i.expires_at or '?'})" for i in left)
            raise ClusterError(
                f"{len(left)} machines of cluster {cluster_name} still live and cost money: {listed}.",
                remedy="End them in the EC2 console, or by `ernest reap` after their time to live.",
            )
        if ended.keys() >= set(ids):
            time.sleep(_POLL_SECONDS)
        ended.update((i.id, i) for i in left)
        try:
            end_machines(ec2, ids, patience_seconds=patience_seconds - elapsed)
        except InvalidParameterError:
            if ids == refused:
                raise
            refused = ids  # some may have ended nevertheless: look again


def _all_of_cluster(ec2: Any, cluster_name: str, *, deadline: float) -> list[Instance]:
    """All machines, ended ones included; a busy or silent AWS is asked again until the monotonic deadline."""
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


def end_machines(ec2: Any, ids: Iterable[str], *, patience_seconds: float = PATIENCE_SECONDS) -> set[str]:
    """Tell AWS to terminate machines, without waiting for their end; returns the ids that AWS does not know.

    Termination protection is removed: whoever asks for the end of a cluster means it. Throttling and lost
    answers are endured for `patience_seconds`; 0 tries only once.

    Needs the permissions ec2:TerminateInstances and, for protected machines, ec2:ModifyInstanceAttribute.
    Raises as `aws_errors.as_ours` says.
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
                for instance_id in sorted(protected):
                    _unprotect(ec2, instance_id)
                unprotected |= protected
            # Without an answer, too: giving up costs more than waiting.
            elif (not code or meaning_of(error) is Meaning.BUSY) and time.monotonic() + pause < deadline:
                log.warning("AWS did not end %d machines yet, trying again: %s", len(ids), error)
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            else:
                raise as_ours(error, f"terminate {', '.join(ids)}") from None
    return unknown


def _unprotect(ec2: Any, instance_id: str) -> None:
    from botocore.exceptions import BotoCoreError, ClientError

    log.warning("Taking the termination protection from %s, to end it.", instance_id)
    try:
        ec2.modify_instance_attribute(InstanceId=instance_id, DisableApiTermination={"Value": False})
    except (BotoCoreError, ClientError) as error:
        # A vanished machine has none.
        if code_of(error) != "InvalidInstanceID.NotFound":
            raise as_ours(error, f"take the termination protection from {instance_id}") from None


class AttemptGuard:
    """Guards one try to launch machines: if it fails or is killed, ends what it launched."""

    def __init__(self, attempt: Attempt, client: Callable[[str], Any]) -> None:
        self.attempt = attempt
        self.known: set[str] = set()
        """Ids of the machines that the attempt has launched."""
        self.shown: set[str] = set()
        """Those of them that AWS has shown by their tag: from then on it knows them."""
        self.uncertain = False
        """Whether machines may have been launched of which AWS did not tell."""
        self.expires_at: datetime | None = None
        """When the machines that it launches end themselves."""
        self._client = client
        self._ec2: Any = None
        self._depth = 0
        # A plain attribute: threading.Event takes a lock that the thread which a signal interrupts may hold.
        self._abandoned = False

    @property
    def ec2(self) -> Any:
        """The boto3 client with which machines are launched, looked for and ended."""
        if self._ec2 is None:
            self._ec2 = self._client("ec2")
        return self._ec2

    def abandon(self) -> None:
        """End the try from another thread or a signal handler. Quick: nothing is waited for.

        Machines that a later try has taken over are spared. A launch that is just being answered is ended by
        the try itself, when it next checks.
        """
        self._abandoned = True
        # In a thread of its own: the interrupted one may hold a lock of the connection pool or of logging.
        # A killed task has a few seconds left; the thread goes on meanwhile.
        thread = threading.Thread(target=self._end_quickly, name="ernest-abandon", daemon=True)
        thread.start()
        thread.join(_ABANDON_SECONDS)

    def check(self) -> None:
        """Raise a ClusterStartError, to go no further, once the attempt has been abandoned."""
        if self._abandoned:
            raise ClusterStartError(
                f"Launching for cluster {self.attempt.cluster_name} was abandoned, since its task was ended."
            )

    def sleep(self, seconds: float) -> None:
        """Wait, but no longer than until the attempt is abandoned; raises as `check`."""
        deadline = time.monotonic() + seconds
        self.check()
        while (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, _SLICE_SECONDS))
            self.check()

    @contextlib.contextmanager
    def ending_on_failure(self) -> Iterator[None]:
        """On any exception, kills included, end the try's machines and re-raise.

        Instead of an error that no retry can help, raises a ClusterError if ending has failed: the next try
        finds the machines that may live on, while no teardown runs after a failed setup.
        """
        _ = self.ec2  # a signal handler has no time to make it
        self._depth += 1
        ended = True
        try:
            self.check()
            yield
            self.check()
        except BaseException as error:
            if self._depth == 1:
                ended = self._end_all(error)
            if isinstance(error, ErnestError):
                self.check()  # what fails because its machines were ended on purpose fails for that reason
                if not ended and not error.retryable:
                    raise ClusterError(
                        f"Machines of cluster {self.attempt.cluster_name} may live on: they could not all be "
                        f"ended. Known of this attempt: {self._known_ids}; they end themselves at "
                        f"{self._expiry}. What had failed before: {error.message}",
                        remedy=f"{error.remedy} If no further attempt comes, end them in the EC2 "
                        "console.".lstrip(),
                    ) from error
            raise
        finally:
            self._depth -= 1

    def _end_all(self, error: BaseException) -> bool:
        """Whether it is certain that none of the try's machines lives on."""
        name = self.attempt.cluster_name
        log.warning("Ending the machines of this attempt of cluster %s after %s.", name, type(error).__name__)
        try:
            ended = end_until_gone(
                self.ec2,
                name,
                belongs=self.attempt.owns,
                settle_seconds=SETTLE_SECONDS if self.uncertain else 0.0,
            )
            self._end_unseen(PATIENCE_SECONDS)
            log.info("Ended %d machines of cluster %s.", len(ended), name)
            return True
        except Exception as failure:
            log.error(
                "MACHINES MAY BE LEFT RUNNING: those of cluster %s could not all be ended. Known of this "
                "attempt: %s. They end themselves at %s. A further attempt of the task takes them over or "
                "ends them, and `ernest reap` ends them after that time; no teardown runs after a setup "
                "that failed. %s",
                name,
                self._known_ids,
                self._expiry,
                failure,
            )
            return False

    @property
    def _known_ids(self) -> str:
        return ", ".join(sorted(self.known)) or "none"

    @property
    def _expiry(self) -> datetime | str:
        return self.expires_at or "the time in their expiry tag"

    def _end_quickly(self) -> None:
        try:
            found = of_cluster(self.ec2, self.attempt.cluster_name, states=TO_BE_ENDED)
            own = {instance.id for instance in found if self.attempt.owns(instance)}
            end_machines(self.ec2, own, patience_seconds=_ABANDON_SECONDS)
            self._end_unseen(0.0)
        except Exception as failure:
            log.warning("The machines of the abandoned attempt could not be ended at once: %s", failure)

    def _end_unseen(self, patience_seconds: float) -> None:
        """End machines that AWS named at their launch but does not show yet; asks until it knows them."""
        deadline = time.monotonic() + patience_seconds
        unseen = self.known - self.shown
        while unseen:
            every = _all_of_cluster(self.ec2, self.attempt.cluster_name, deadline=deadline)
            unseen -= {instance.id for instance in every}
            own = {
                i.id for i in every if i.id in self.known and i.state in TO_BE_ENDED and self.attempt.owns(i)
            }
            left_seconds = max(_ABANDON_SECONDS, deadline - time.monotonic())
            # It may show a machine before it lets it end.
            unseen = end_machines(self.ec2, unseen | own, patience_seconds=left_seconds)
            if unseen and time.monotonic() >= deadline:
                raise ClusterError(f"AWS does not know yet what it launched: {', '.join(sorted(unseen))}.")
            if unseen:
                time.sleep(_UNSEEN_POLL_SECONDS)
