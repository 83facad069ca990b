"""One attempt's launches: each takes effect once, and what it launched is known, whatever the answer was."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2 import ending
from airflow_provider_ernest.clusters.ec2.attempt import specification_digest
from airflow_provider_ernest.clusters.ec2.aws_clock import time_of
from airflow_provider_ernest.clusters.ec2.aws_errors import (
    ELSEWHERE,
    Meaning,
    as_ours,
    is_unanswered,
    meaning_of,
    said,
)
from airflow_provider_ernest.clusters.ec2.instances import COMING_OR_THERE, Instance, of_cluster, parse
from airflow_provider_ernest.exceptions import ClusterError, ClusterStartError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.guarding import AttemptGuard
    from airflow_provider_ernest.clusters.ec2.preflight import Plan
    from airflow_provider_ernest.clusters.ec2.requests import Place
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

log = logging.getLogger(__name__)

_POLL_SECONDS = 1.0


class PlaceRefusedError(ClusterStartError):
    """AWS does not launch that many machines in that place.

    Args:
        place: where.
        meaning: what kind of refusal it is.
        reason: what AWS said.
    """

    def __init__(self, place: Place, meaning: Meaning, reason: str) -> None:
        where = f" in {place.subnet}" if place.subnet else ""
        super().__init__(f"{place.instance_type}, {place.market}{where}: {reason}")
        self.place = place
        self.meaning = meaning


class Launcher:
    """Launches machines of one attempt.

    Args:
        spec: of the cluster.
        ec2: a boto3 client.
        plan: of the checks before the launch.
        expires_at: when the machines end themselves.
        guard: of the attempt; told of every machine, and asked right after each launch whether to go on.
        present: ids of the cluster's machines that are there already. This attempt may have taken them over,
            so they must not be taken for those of a launch whose answer is lost.
    """

    def __init__(
        self,
        spec: EC2ClusterSpec,
        *,
        ec2: Any,
        plan: Plan,
        expires_at: datetime,
        guard: AttemptGuard,
        present: Collection[str] = (),
    ) -> None:
        self.spec = spec
        self.attempt = guard.attempt
        self.expires_at = expires_at
        self.guard = guard
        guard.expires_at = expires_at
        self._ec2 = ec2
        self._plan = plan
        self._present = frozenset(present)
        self._specification = specification_digest(spec)
        self._requests = 0

    def launch(
        self, role: str, place: Place, *, minimum: int, maximum: int, user_data: str
    ) -> list[Instance]:
        """Launch machines in one place, as many as AWS has of `maximum`, at least `minimum`.

        Raises:
            PlaceRefusedError: AWS does not launch so many there; another place or number may do.
            ClusterError: AWS is busy or silent, and shows no machines of this launch.
            MissingResourceError: a permission is missing.
            InvalidParameterError: AWS cannot accept the request.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        request, tags = self._request(role, place, minimum, maximum, user_data)
        self.guard.uncertain = True  # should anything interrupt the call: nobody knows what it has done
        try:
            launched = self._ask(request)
        except (BotoCoreError, ClientError) as error:
            launched = self._launched_nevertheless(error, request, role, place)
        self.guard.uncertain = False
        self.guard.known |= {instance.id for instance in launched}
        where = f" in {place.subnet}" if place.subnet else ""
        ids = ", ".join(instance.id for instance in launched)
        log.info("Launched %d x %s, %s%s: %s", len(launched), place.instance_type, place.market, where, ids)
        self.guard.check()
        return [replace(instance, role=role, tags=tags) for instance in launched]

    def wait_until_visible(self) -> None:
        """Wait, bounded, until AWS shows what was launched to those that look for it by tag."""
        deadline = time.monotonic() + ending.SETTLE_SECONDS
        while time.monotonic() < deadline:
            self.guard.check()
            self.guard.shown |= {instance.id for instance in self._look(states=())}
            if self.guard.known <= self.guard.shown:
                return
            self.guard.sleep(_POLL_SECONDS)
        log.warning("AWS does not show all machines after %.0f s; going on.", ending.SETTLE_SECONDS)

    def _request(
        self, role: str, place: Place, minimum: int, maximum: int, user_data: str
    ) -> tuple[dict[str, Any], Mapping[str, str]]:
        from airflow_provider_ernest.clusters.ec2.requests import run_instances_request

        self._requests += 1
        tags = self.attempt.tags(role=role, expires_at=self.expires_at, specification=self._specification)
        request = run_instances_request(
            self.spec,
            place=place,
            minimum=minimum,
            maximum=maximum,
            user_data=user_data,
            token="",
            tags=tags,
            image_id=self._plan.image.id if self.spec.image else None,
            root_device=self._plan.root_device,
            launch_template=self._plan.launch_template,
            network=self._plan.network,
            volumes=self._plan.volumes,
        )
        # Of all that is asked for, so that no two requests can differ and have the same token. The number
        # tells a repetition after the machines of the first have been ended: it shall launch new ones.
        content = json.dumps(request, sort_keys=True, default=str)
        request["ClientToken"] = self.attempt.identity.token(
            self.attempt.cluster_name, self.attempt.number, self._requests, content
        )
        return request, {**self.spec.tags, **tags}

    def _ask(self, request: Mapping[str, Any]) -> list[Instance]:
        answer = self._ec2.run_instances(**request)
        told_at = time_of(answer)
        return [parse(facts, told_at=told_at) for facts in answer["Instances"]]

    def _launched_nevertheless(
        self, error: Exception, request: Mapping[str, Any], role: str, place: Place
    ) -> list[Instance]:
        """What a launch has launched whose answer was an error; raises where that is nothing.

        The same request with the same token launches nothing anew, and tells of the machines before any
        description shows them. Where that is not answered either, they are looked for by their tag.
        """
        doing = f"launch {request['MinCount']} x {place.instance_type}"
        self._raise_refusal(error, place)
        if not is_unanswered(error):
            self.guard.uncertain = False
            raise as_ours(error, doing) from None
        log.warning("The answer to a launch is lost (%s); looking whether it took effect.", said(error))
        deadline = time.monotonic() + ending.SETTLE_SECONDS
        while True:
            if new := self._asked_again(request, place) or self._found(role, request["MinCount"]):
                return new
            if time.monotonic() > deadline:
                raise as_ours(error, doing) from None
            self.guard.sleep(_POLL_SECONDS)

    def _raise_refusal(self, error: Exception, place: Place) -> None:
        meaning = meaning_of(error)
        if meaning in ELSEWHERE:
            self.guard.uncertain = False
            raise PlaceRefusedError(place, meaning, said(error)) from None

    def _asked_again(self, request: Mapping[str, Any], place: Place) -> list[Instance]:
        """The answer to a request that is repeated with its token; nothing where it is lost again."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return self._ask(request)
        except (BotoCoreError, ClientError) as error:
            self._raise_refusal(error, place)
            log.warning("The answer to the repeated launch is lost, too: %s", said(error))
            return []

    def _found(self, role: str, minimum: int) -> list[Instance]:
        """What a launch has launched, by tag; nothing where AWS does not show all of it."""
        own = filter(self.attempt.made, self._look(states=COMING_OR_THERE))
        new = [i for i in own if i.role == role and i.id not in self.guard.known | self._present]
        return new if len(new) >= minimum else []

    def _look(self, *, states: Sequence[str]) -> list[Instance]:
        """The cluster's machines; none where AWS is busy: whoever waits for them looks again."""
        try:
            return of_cluster(self._ec2, self.attempt.cluster_name, states=states)
        except ClusterError as error:
            log.warning("Looking for the launched machines again after: %s", error.message)
            return []
