"""Waiting for the machines of a cluster on EC2 without holding a worker's slot."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Self

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.triggers import in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from airflow_provider_ernest.clusters.ec2.cluster import EC2Cluster
    from airflow_provider_ernest.clusters.ec2.readiness import Readiness

READY = "ready"
FAILED = "failed"

LAST_LOOK_SECONDS = 30.0
"""How long the look at the deadline may take, which decides whether enough machines are there."""


class EC2ClusterReadyTrigger(BaseTrigger):
    """Fires when the machines of a cluster are there, or when waiting for them is vain.

    It never raises and never waits beyond its deadline, since Airflow would end the task without giving
    its operator the chance to end the machines. Its event is
    ``{"status": "ready" or "failed", "reason": ..., "cluster_name": ..., "spec": ...}``.

    Args:
        cluster_name: value of the machines' tag.
        try_number: the attempt whose machines they are.
        wanted: workers that were asked for, additional ones included.
        smallest: the number of workers below which the start has failed.
        deadline: seconds since the epoch.
        poll_seconds: between two looks.
        aws_conn_id: Airflow connection of AWS.
        region_name: AWS region; None for that of the connection.
        spec: the cluster's specification, which the event brings back to the operator.
    """

    def __init__(
        self,
        *,
        cluster_name: str,
        try_number: int,
        wanted: int,
        smallest: int,
        deadline: float,
        poll_seconds: float,
        aws_conn_id: str | None,
        region_name: str | None,
        spec: dict[str, Any],
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.cluster_name = cluster_name
        self.try_number = try_number
        self.wanted = wanted
        self.smallest = smallest
        self.deadline = deadline
        self.poll_seconds = poll_seconds
        self.aws_conn_id = aws_conn_id
        self.region_name = region_name
        self.spec = spec
        self._clients: Callable[[str], Any] | None = None

    @classmethod
    def of(
        cls,
        cluster: EC2Cluster,
        *,
        try_number: int,
        poll_seconds: float,
        aws_conn_id: str | None,
        region_name: str | None,
    ) -> Self:
        """The trigger for a cluster that is about to be launched: its time to start begins now."""
        return cls(
            cluster_name=cluster.name,
            try_number=try_number,
            wanted=cluster.workers_launched_at_most,
            smallest=cluster.spec.smallest_machines,
            deadline=time.time() + cluster.spec.start_timeout_seconds,
            poll_seconds=poll_seconds,
            aws_conn_id=aws_conn_id,
            region_name=region_name,
            spec=cluster.spec.to_dict(),
        )

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments, all plain values and none of them secret."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "cluster_name": self.cluster_name,
                "try_number": self.try_number,
                "wanted": self.wanted,
                "smallest": self.smallest,
                "deadline": self.deadline,
                "poll_seconds": self.poll_seconds,
                "aws_conn_id": self.aws_conn_id,
                "region_name": self.region_name,
                "spec": self.spec,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look again and again until there is something to tell."""
        try:
            failure = await self._wait()
        except Exception as error:  # whatever it is, the operator must get to end the machines
            self.log.exception("Waiting for cluster %s failed", self.cluster_name)
            failure = f"{type(error).__name__}: {error}"
        status = READY if failure is None else FAILED
        event = {
            "status": status,
            "reason": failure or "",
            "cluster_name": self.cluster_name,
            "spec": self.spec,
        }
        yield TriggerEvent(event)  # type: ignore[no-untyped-call]

    async def on_kill(self) -> None:
        """End this attempt's machines. Airflow 3.3 and later call it when a user ends the deferred task."""
        await in_thread(self._end)

    async def _wait(self) -> str | None:
        """Returns why the start has failed, None where it has not."""
        told = ""
        while True:
            remaining = self.deadline - time.time()
            seen, state = await self._seen(timeout_seconds=max(remaining, LAST_LOOK_SECONDS))
            if state != told:
                self.log.info("%s: %s", self.cluster_name, state)
                told = state
            if seen is not None and (seen.failed or seen.ready):
                return seen.failed
            if remaining <= 0:
                enough = seen is not None and seen.alive >= self.smallest
                return None if enough else f"it was not ready in time: {state}"
            await asyncio.sleep(min(self.poll_seconds, remaining))

    async def _seen(self, *, timeout_seconds: float) -> tuple[Readiness | None, str]:
        """How far the cluster is, None where that cannot be told now, and the same in words."""
        try:
            seen: Readiness = await asyncio.wait_for(in_thread(self._look), timeout_seconds)
        except TimeoutError:
            return None, "AWS does not answer"
        except ErnestError as error:
            if not error.retryable:
                raise
            return None, str(error)
        return seen, seen.failed or seen.message

    def _look(self) -> Readiness:
        from airflow_provider_ernest.clusters.ec2.readiness import look

        return look(self._client("ec2"), self.cluster_name, wanted=self.wanted, smallest=self.smallest)

    def _end(self) -> None:
        from airflow_provider_ernest.clusters.ec2.ending import end_until_gone

        ended = end_until_gone(
            self._client("ec2"),
            self.cluster_name,
            # A clear starts another attempt, maybe before this one hears of it.
            belongs=lambda instance: instance.attempt == str(self.try_number),
        )
        self.log.info("%s: the task was ended, and with it %d machines", self.cluster_name, len(ended))

    def _client(self, service: str) -> Any:
        from airflow_provider_ernest.hooks.aws import aws_clients

        if self._clients is None:
            self._clients = aws_clients(self.aws_conn_id, self.region_name)
        return self._clients(service)
