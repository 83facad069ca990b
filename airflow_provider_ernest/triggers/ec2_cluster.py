"""Wait for the machines of a cluster on EC2 without holding a worker's slot."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.triggers import in_thread

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.readiness import Readiness

LAST_LOOK_SECONDS = 30.0
"""How long the look at the deadline may take, which decides whether enough machines are there."""


class EC2ClusterReadyTrigger(BaseTrigger):
    """Fires when the machines of a cluster are there, or when waiting longer cannot help.

    Never raises and never waits beyond its deadline, since Airflow would end the task without giving its
    operator the chance to end the machines. Its event is
    ``{"reason": ..., "cluster_name": ..., "spec": ...}``, with an empty reason where the cluster is ready.

    The machines are those of an attempt, `try_number`. `spec` is the `EC2ClusterSpec` as a document, which
    the event brings back to the operator, and `deadline` is in seconds since the epoch. Connection and region
    are as of `EC2ClusterOperator`.
    """

    def __init__(
        self,
        *,
        cluster_name: str,
        try_number: int,
        spec: dict[str, Any],
        deadline: float,
        poll_seconds: float,
        aws_conn_id: str | None,
        region_name: str | None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.cluster_name = cluster_name
        self.try_number = try_number
        self.spec = spec
        self.deadline = deadline
        self.poll_seconds = poll_seconds
        self.aws_conn_id = aws_conn_id
        self.region_name = region_name

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and its arguments, all plain values and none of them secret."""
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        return path, {name: getattr(self, name) for name in signature(EC2ClusterReadyTrigger).parameters}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look until there is something to tell."""
        try:
            failure = await self._wait()
        except Exception as error:  # whatever it is, the operator must get to end the machines
            self.log.exception("Waiting for cluster %s failed", self.cluster_name)
            failure = f"{type(error).__name__}: {error}"
        event = {
            "reason": failure or "",
            "cluster_name": self.cluster_name,
            "spec": self.spec,
        }
        yield TriggerEvent(event)  # type: ignore[no-untyped-call]

    async def on_kill(self) -> None:
        """End this attempt's machines. Airflow 3.3 and later call it when a user ends the deferred task."""
        await in_thread(self._end)

    async def _wait(self) -> str | None:
        """Returns why the start failed; None if it did not."""
        logged = ""
        while True:
            remaining = self.deadline - time.time()
            seen, state = await self._seen(timeout_seconds=max(remaining, LAST_LOOK_SECONDS))
            if state != logged:
                self.log.info("%s: %s", self.cluster_name, state)
                logged = state
            if seen is not None and (seen.failed or seen.ready):
                return seen.failed
            if remaining <= 0:
                return None if seen is not None and seen.enough else f"it was not ready in time: {state}"
            await asyncio.sleep(min(self.poll_seconds, remaining))

    async def _seen(self, *, timeout_seconds: float) -> tuple[Readiness | None, str]:
        """How far the cluster is, None if that is unknown now, and the same in words."""
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
        from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

        return look(self._ec2, self.cluster_name, EC2ClusterSpec.from_dict(self.spec))

    def _end(self) -> None:
        from airflow_provider_ernest.clusters.ec2.ending import end_until_gone

        ended = end_until_gone(
            self._ec2,
            self.cluster_name,
            # A clear starts another attempt, maybe before this one hears of it.
            belongs=lambda instance: instance.attempt == str(self.try_number),
        )
        self.log.info("%s: the task was ended, and with it %d machines", self.cluster_name, len(ended))

    @cached_property
    def _ec2(self) -> Any:
        from airflow_provider_ernest.hooks.aws import aws_clients

        return aws_clients(self.aws_conn_id, self.region_name)("ec2")
