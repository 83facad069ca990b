"""An attempt that fails or is killed ends what it has launched."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from airflow_provider_ernest.clusters.ec2 import ending
from airflow_provider_ernest.clusters.ec2.attempt import Attempt
from airflow_provider_ernest.clusters.ec2.ending import all_of_cluster, end_machines, end_until_gone
from airflow_provider_ernest.clusters.ec2.instances import TO_BE_ENDED, of_cluster
from airflow_provider_ernest.exceptions import ClusterError, ClusterStartError, ErnestError

log = logging.getLogger(__name__)

# Airflow kills a task some five seconds after it asked it to end.
_ABANDON_SECONDS = 4.0
_SLICE_SECONDS = 0.25
_UNSEEN_POLL_SECONDS = 2.0


def from_signal_handler(work: Callable[[], None]) -> None:
    """Do something as far as the few seconds go that a killed task has left; it goes on meanwhile.

    In a thread of its own: the interrupted one may hold a lock of the connection pool or of logging.
    """
    thread = threading.Thread(target=work, name="ernest-abandon", daemon=True)
    thread.start()
    thread.join(_ABANDON_SECONDS)


class AttemptGuard:
    """Watches over one attempt to launch machines.

    Args:
        attempt: whose machines it ends.
        client: makes a boto3 client of a service.
    """

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

    def prepare(self) -> None:
        """Make the client with which `abandon` ends machines: a signal handler has no time for that."""
        if self._ec2 is None:
            self._ec2 = self._client("ec2")

    def abandon(self) -> None:
        """End the attempt from another thread or a signal handler. Quick: nothing is waited for.

        Machines that a later attempt has taken over are spared. A launch that is just being answered is
        ended by the attempt itself, when it next checks.
        """
        self._abandoned = True
        from_signal_handler(self._end_quickly)

    def check(self) -> None:
        """Go no further once the attempt has been abandoned.

        Raises:
            ClusterStartError: it has been.
        """
        if self._abandoned:
            raise ClusterStartError(
                f"Launching for cluster {self.attempt.cluster_name} was abandoned, since its task was ended."
            )

    def sleep(self, seconds: float) -> None:
        """Wait, but no longer than until the attempt is abandoned.

        Raises:
            ClusterStartError: it has been.
        """
        deadline = time.monotonic() + seconds
        while True:
            self.check()
            left = deadline - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, _SLICE_SECONDS))

    @contextlib.contextmanager
    def ending_on_failure(self) -> Iterator[None]:
        """Whatever is raised within, kills included: end the attempt's machines, then let it pass on.

        Raises:
            ClusterError: instead of an error that another attempt cannot help, where ending has failed: the
                next attempt finds the machines that may live on. After a failed setup no teardown comes.
        """
        self.prepare()
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
                    raise self._may_live_on(error) from error
            raise
        finally:
            self._depth -= 1

    def _end_all(self, error: BaseException) -> bool:
        """Whether it is certain that none of the attempt's machines lives on."""
        name = self.attempt.cluster_name
        log.warning("Ending the machines of this attempt of cluster %s after %s.", name, type(error).__name__)
        try:
            ended = end_until_gone(
                self._ec2,
                name,
                belongs=self.attempt.owns,
                settle_seconds=ending.SETTLE_SECONDS if self.uncertain else 0.0,
            )
            self._end_unseen()
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

    def _may_live_on(self, error: ErnestError) -> ClusterError:
        return ClusterError(
            f"Machines of cluster {self.attempt.cluster_name} may live on: they could not all be ended. "
            f"Known of this attempt: {self._known_ids}; they end themselves at {self._expiry}. "
            f"What had failed before: {error.message}",
            remedy=f"{error.remedy} Where no further attempt comes, end them in the EC2 console.".lstrip(),
        )

    @property
    def _known_ids(self) -> str:
        return ", ".join(sorted(self.known)) or "none"

    @property
    def _expiry(self) -> datetime | str:
        return self.expires_at or "the time in their expiry tag"

    def _end_quickly(self) -> None:
        try:
            self.prepare()
            found = of_cluster(self._ec2, self.attempt.cluster_name, states=TO_BE_ENDED)
            own = {instance.id for instance in found if self.attempt.owns(instance)}
            end_machines(self._ec2, own, patience_seconds=_ABANDON_SECONDS)
            self._end_unseen(patience_seconds=0.0)
        except Exception as failure:
            log.warning("The machines of the abandoned attempt could not be ended at once: %s", failure)

    def _end_unseen(self, *, patience_seconds: float | None = None) -> None:
        """End machines that AWS has named when it launched them, but does not show yet.

        Nor may it know them yet where they are to be ended: they are asked for until it does.

        Args:
            patience_seconds: how long; 0 to ask once, None for `ending.PATIENCE_SECONDS`.

        Raises:
            ClusterError: AWS has not come to know them.
        """
        patience = ending.PATIENCE_SECONDS if patience_seconds is None else patience_seconds
        deadline = time.monotonic() + patience
        unseen = self.known - self.shown
        while unseen:
            every = all_of_cluster(self._ec2, self.attempt.cluster_name, deadline=deadline)
            unseen -= {instance.id for instance in every}
            own = {
                i.id for i in every if i.id in self.known and i.state in TO_BE_ENDED and self.attempt.owns(i)
            }
            left_seconds = max(_ABANDON_SECONDS, deadline - time.monotonic())
            # It may show a machine before it lets it end.
            unseen = end_machines(self._ec2, unseen | own, patience_seconds=left_seconds)
            if unseen and time.monotonic() >= deadline:
                raise ClusterError(f"AWS does not know yet what it launched: {', '.join(sorted(unseen))}.")
            if unseen:
                time.sleep(_UNSEEN_POLL_SECONDS)
