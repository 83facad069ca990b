"""Ending machines, making sure that they have ended, and reaping those that nobody ends."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, as_ours, code_of, meaning_of
from airflow_provider_ernest.clusters.ec2.identity import DEPLOYMENT_TAG
from airflow_provider_ernest.clusters.ec2.instances import (
    PAGE_SIZE,
    TO_BE_ENDED,
    Attempt,
    Instance,
    of_all_clusters,
    of_cluster,
    workers,
)
from airflow_provider_ernest.clusters.ec2.spec import MAX_TIME_TO_LIVE_SECONDS
from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterStartError,
    ErnestError,
    InvalidParameterError,
    MissingResourceError,
)
from airflow_provider_ernest.processes import runtime_folder, sweep
from airflow_provider_ernest.words import UNKNOWN, duration

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
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 10.0
_POLL_SECONDS = 2.0

# Airflow kills a task some five seconds after it asked it to end.
_ABANDON_SECONDS = 4.0
_SLICE_SECONDS = 0.25
_UNSEEN_POLL_SECONDS = 2.0


def terminate_cluster(
    ec2: Any, cluster_name: str, *, awaited: Collection[str] = (), patience_seconds: float = PATIENCE_SECONDS
) -> str:
    """End all machines of a cluster; see `end_until_gone`. Repeatable. Returns what was done, for the log."""
    began = time.monotonic()
    ended = end_until_gone(ec2, cluster_name, awaited=awaited, patience_seconds=patience_seconds)
    if not ended:
        return "nothing to do, no machine of it is left"
    listed = ", ".join(instance.id for instance in ended)
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


# The last resort against machines that nobody ends: found by tag, ended when they are overdue.

GRACE_SECONDS = 300.0
"""How long after its expiry a machine may take to end itself before it is called overdue."""

UNREADABLE_LIMIT = timedelta(seconds=MAX_TIME_TO_LIVE_SECONDS)
"""A machine whose expiry tag was removed or spoilt is overdue so long after its launch: no cluster may live
longer, and one that lives for less is not told from it."""


class TaggedCluster(Document):
    """A cluster as its machines' tags tell of it, and the task that started it. Times are in ISO 8601."""

    name: str
    deployment: str
    dag_id: str  # as far as a tag can hold it, as are the next two
    run_id: str
    task_id: str
    states: Mapping[str, int]  # how many of its machines are in each
    instance_ids: tuple[str, ...]  # of its machines that have not ended
    overdue: tuple[str, ...]  # ids of those that are past their expiry by more than the grace
    unreadable: tuple[str, ...]  # ids of those whose expiry tag cannot be read
    earliest_expiry: str | None  # None where no tag can be read
    launched_at: str  # of the oldest machine
    told_at: str  # what time it was by AWS's clock when it told all this
    instance_types: tuple[str, ...]  # of its workers


def find_clusters(
    ec2: Any, *, deployment: str | None, grace_seconds: float = GRACE_SECONDS
) -> list[TaggedCluster]:
    """All clusters of this package in the client's account and region that have not ended, the oldest first.

    Those of one deployment, or of all for None. A machine is overdue `grace_seconds` after its expiry, by
    AWS's clock. Needs the permission ec2:DescribeInstances.
    """
    by_name: dict[str, list[Instance]] = {}
    for instance in of_all_clusters(ec2, deployment=deployment):
        by_name.setdefault(instance.cluster_name, []).append(instance)
    grace = timedelta(seconds=grace_seconds)
    return [_summary(name, instances, grace) for name, instances in by_name.items()]


def _summary(name: str, instances: Sequence[Instance], grace: timedelta) -> TaggedCluster:
    tags = instances[0].tags
    expiries = [instance.expires_at for instance in instances if instance.expires_at is not None]
    due = {
        i.id: i.expires_at + grace if i.expires_at else i.launched_at + UNREADABLE_LIMIT for i in instances
    }
    return TaggedCluster(
        name=name,
        deployment=tags.get(DEPLOYMENT_TAG, ""),
        dag_id=tags.get("ernest:dag", ""),
        run_id=tags.get("ernest:run", ""),
        task_id=tags.get("ernest:task", ""),
        states=dict(Counter(instance.state for instance in instances)),
        instance_ids=tuple(instance.id for instance in instances),
        overdue=tuple(instance.id for instance in instances if due[instance.id] < instance.told_at),
        unreadable=tuple(instance.id for instance in instances if instance.expires_at is None),
        earliest_expiry=min(expiries).isoformat(timespec="seconds") if expiries else None,
        launched_at=instances[0].launched_at.isoformat(timespec="seconds"),
        told_at=instances[0].told_at.isoformat(timespec="seconds"),
        instance_types=tuple(sorted({w.instance_type for w in workers(instances) if w.instance_type})),
    )


def reap(
    ec2: Any, *, deployment: str | None, grace_seconds: float = GRACE_SECONDS, dry_run: bool = False
) -> list[TaggedCluster]:
    """End the machines that are overdue. Each counts for itself: a grown cluster has several expiries.

    A machine whose expiry tag cannot be read is reported at once, and ended only after `UNREADABLE_LIMIT`:
    before, its cluster may be in use. Its own timer does not depend on the tag.

    Needs the permissions ec2:DescribeInstances, ec2:TerminateInstances and, for protected machines,
    ec2:ModifyInstanceAttribute. Arguments and errors are those of `find_clusters`; a `dry_run` only says what
    would be ended. Returns the clusters that had overdue machines.
    """
    clusters = find_clusters(ec2, deployment=deployment, grace_seconds=grace_seconds)
    for cluster in clusters:
        if cluster.unreadable:
            ids = ", ".join(cluster.unreadable)
            log.warning("Cluster %s has machines with an unreadable expiry tag: %s", cluster.name, ids)
    overdue = [cluster for cluster in clusters if cluster.overdue]
    verb = "Would end" if dry_run else "Ending"
    for cluster in overdue:
        ids = ", ".join(cluster.overdue)
        log.info("%s %d overdue machines of cluster %s: %s", verb, len(cluster.overdue), cluster.name, ids)
    if not dry_run:
        end_machines(ec2, [instance_id for cluster in overdue for instance_id in cluster.overdue])
    return overdue


@dataclass(kw_only=True)
class ReapReport:
    """Clusters with overdue machines, and why regions could not be reaped; both by region."""

    dry_run: bool
    clusters: dict[str, list[TaggedCluster]] = field(default_factory=dict)
    failures: dict[str, ErnestError] = field(default_factory=dict)

    @property
    def machines(self) -> int:
        """How many machines were overdue."""
        return sum(len(cluster.overdue) for found in self.clusters.values() for cluster in found)

    def summary(self) -> dict[str, Any]:
        """The report as JSON-compatible builtins."""
        return {
            "dry_run": self.dry_run,
            "machines": self.machines,
            "clusters": {region: [c.to_dict() for c in found] for region, found in self.clusters.items()},
            "failures": {region: str(error) for region, error in self.failures.items()},
        }

    def lines(self) -> list[str]:
        """The report for people."""
        if not self.clusters:
            return []
        verb = "Would end" if self.dry_run else "Ended"
        told = f"{verb} {self.machines} overdue machines on EC2 in {', '.join(self.clusters)}."
        return [told, *(cluster_table(self.clusters) if self.machines else ())]

    def raise_failures(self) -> None:
        """Raise a ClusterError where a region could not be reaped: machines in it may live on."""
        if self.failures:
            joined = "; ".join(f"{region}: {error}" for region, error in self.failures.items())
            raise ClusterError(f"Overdue machines may live on. {joined}")


def reap_regions(
    clients: Mapping[str, Callable[[str], Any]],
    *,
    deployment: str | None,
    grace_seconds: float,
    dry_run: bool,
) -> ReapReport:
    """End what is overdue, region by region; and remove secrets that killed tasks have left on this host.

    A region that fails does not protect the others. `clients` are what makes boto3's client of a service, by
    region; the other arguments are those of `reap`.
    """
    # A host without such a folder has none.
    with contextlib.suppress(MissingResourceError):
        sweep(runtime_folder(), dry_run=dry_run)
    report = ReapReport(dry_run=dry_run)
    for region, client in clients.items():
        try:
            report.clusters[region] = reap(
                _client_of(region, client),
                deployment=deployment,
                grace_seconds=grace_seconds,
                dry_run=dry_run,
            )
        except ErnestError as error:
            report.failures[region] = error
    return report


def _client_of(region: str, client: Callable[[str], Any]) -> Any:
    try:
        return client("ec2")
    except ErnestError:
        raise
    # Beside botocore's errors and ValueError: those of Airflow's hooks, which nothing here may import.
    except Exception as error:
        problem = f"{type(error).__name__}: {error}".rstrip(".")
        raise ClusterError(
            f"No client of ec2 could be made for region {region!r}: {problem}.",
            remedy="Name a region as AWS does, such as eu-west-1, and check connection and credentials.",
        ) from error


def cluster_table(found: Mapping[str, Sequence[TaggedCluster]]) -> list[str]:
    """One line for each cluster, in task logs and on the command line: its machines, and whose it is."""
    rows: list[tuple[str, ...]] = [("cluster", "region", "machines", "type", "age", "expires", "owner")]
    for region, clusters in found.items():
        for cluster in clusters:
            told_at = datetime.fromisoformat(cluster.told_at)
            rows.append(
                (
                    cluster.name,
                    region,
                    _machines(cluster),
                    " ".join(cluster.instance_types) or UNKNOWN,
                    _span(told_at - datetime.fromisoformat(cluster.launched_at)),
                    _expiry(cluster, told_at),
                    " ".join(each or UNKNOWN for each in (cluster.dag_id, cluster.task_id, cluster.run_id)),
                )
            )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _machines(cluster: TaggedCluster) -> str:
    others = sorted((state, count) for state, count in cluster.states.items() if state != "running")
    return f"{cluster.states.get('running', 0)} running" + "".join(f", {n} {state}" for state, n in others)


def _expiry(cluster: TaggedCluster, told_at: datetime) -> str:
    if cluster.earliest_expiry is None:
        return "its tag cannot be read"
    left = datetime.fromisoformat(cluster.earliest_expiry) - told_at
    return f"in {_span(left)}" if left > timedelta() else f"{_span(-left)} ago"


def _span(span: timedelta) -> str:
    return duration(round(span.total_seconds()))
