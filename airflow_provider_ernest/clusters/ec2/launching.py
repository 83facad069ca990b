"""One attempt's launches: each takes effect once, and what it launched is known, whatever the answer was."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from airflow_provider_ernest.clusters.ec2 import ending
from airflow_provider_ernest.clusters.ec2.aws_errors import (
    ELSEWHERE,
    Meaning,
    as_ours,
    is_unanswered,
    meaning_of,
    remedy_for,
    said,
    time_of,
)
from airflow_provider_ernest.clusters.ec2.ending import end_machines
from airflow_provider_ernest.clusters.ec2.identity import MASTER, TRY_TAG, WORKER, specification_digest
from airflow_provider_ernest.clusters.ec2.instances import (
    COMING_OR_THERE,
    Instance,
    add_tags,
    of_cluster,
    parse,
)
from airflow_provider_ernest.clusters.ec2.preflight import executor_memory_megabytes
from airflow_provider_ernest.clusters.ec2.readiness import GIVEN_UP
from airflow_provider_ernest.clusters.ec2.requests import ON_DEMAND, SPOT, Place
from airflow_provider_ernest.clusters.ec2.user_data import master_user_data, worker_user_data
from airflow_provider_ernest.exceptions import ClusterError, ClusterStartError, ErnestError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.ending import AttemptGuard
    from airflow_provider_ernest.clusters.ec2.preflight import Plan
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


# ---------------------------------------------------------------------------
# Where machines are launched: which places are asked, in which order, and for how many.


LaunchAt = Callable[[Place, int, int], list[Instance]]
"""Launches from the first to the second number of machines in a place; raises `PlaceRefusedError`."""


def master_places(spec: EC2ClusterSpec) -> list[Place]:
    """Where the master may be launched, in the order of trying. It is always on demand."""
    types = (spec.master_instance_type,) if spec.master_instance_type else spec.instance_types
    return [place for instance_type in types for place in _places(spec, instance_type, ON_DEMAND)]


def worker_places(spec: EC2ClusterSpec, instance_type: str) -> list[list[Place]]:
    """Where workers of a type may be launched: for each market that may be used, in the order of trying."""
    if not spec.spot:
        return [_places(spec, instance_type, ON_DEMAND)]
    spot = _places(spec, instance_type, SPOT)
    return [spot, _places(spec, instance_type, ON_DEMAND)] if spec.on_demand_fallback else [spot]


def launch_one(launch_at: LaunchAt, places: Iterable[Place]) -> Instance:
    """Launch one machine in the first place that has one.

    Raises:
        ClusterStartError: none has; with what AWS said.
    """
    refusals = []
    for place in places:
        try:
            return launch_at(place, 1, 1)[0]
        except PlaceRefusedError as refusal:
            log.warning("AWS has no machine for the master: %s", refusal.message)
            refusals.append(refusal)
    raise exhausted("AWS has no machine for the master", refusals)


class WorkerPlacement:
    """Collects workers of one instance type.

    For each market first every subnet is asked for the whole set, since machines of one zone talk to each
    other faster and for free; then what there is of it is collected from all subnets.

    Args:
        launch_at: launches in one place.
        wanted: how many workers are to remain; once they are there, no more are asked for.
        total: with the additional ones, of which as many are taken as come with the others.
        have: how many there are already.
    """

    def __init__(self, launch_at: LaunchAt, *, wanted: int, total: int, have: int = 0) -> None:
        self.launched: list[Instance] = []
        self.refusals: list[PlaceRefusedError] = []
        self._launch_at = launch_at
        self._wanted = wanted
        self._total = total
        self._have = have

    @property
    def missing(self) -> int:
        """How many of the wanted workers are missing."""
        return max(0, self._wanted - self._have - len(self.launched))

    def collect(self, markets: Iterable[Sequence[Place]]) -> None:
        """Launch in the places of each market in turn, until enough are there or all have been asked."""
        for places in markets:
            fruitless = self._whole(places)
            self._parts([place for place in places if place not in fruitless])
            if not self.missing:
                return

    def _whole(self, places: Sequence[Place]) -> list[Place]:
        """All in one place; returns the places where asking for a part is vain."""
        fruitless = []
        for place in places:
            if not self.missing:
                break
            minimum, maximum = self.missing, self._room
            refusal = self._ask(place, minimum, maximum)
            if refusal and refusal.meaning is Meaning.TOO_MANY and maximum > minimum:
                refusal = self._ask(place, minimum, minimum)
            if refusal and (minimum == 1 or refusal.meaning is Meaning.NOT_HERE):
                fruitless.append(place)
        return fruitless

    def _parts(self, places: Sequence[Place]) -> None:
        """As many as each place has. A limit refuses the whole number: it is found by halving."""
        for place in places:
            size = self._room
            while self.missing and size:
                asked, before = min(size, self._room), len(self.launched)
                refusal = self._ask(place, 1, asked)
                if refusal and refusal.meaning is not Meaning.TOO_MANY:
                    break
                if not refusal and len(self.launched) - before < asked:
                    break
                size //= 2

    @property
    def _room(self) -> int:
        return self._total - self._have - len(self.launched)

    def _ask(self, place: Place, minimum: int, maximum: int) -> PlaceRefusedError | None:
        try:
            self.launched += self._launch_at(place, minimum, maximum)
        except PlaceRefusedError as refusal:
            log.warning("AWS has not %d x %s", minimum, refusal.message)
            self.refusals.append(refusal)
            return refusal
        return None


def exhausted(what: str, refusals: Sequence[PlaceRefusedError]) -> ClusterStartError:
    """The error that says what AWS said for each place, and what can be done about that.

    Args:
        what: is missing, as a sentence without its full stop.
        refusals: of all places.
    """
    said = list(dict.fromkeys(refusal.message for refusal in refusals))
    remedies = dict.fromkeys(remedy_for(refusal.meaning) for refusal in refusals)
    return ClusterStartError(f"{what}. {'; '.join(said)}.", remedy=" ".join(remedies))


def _places(spec: EC2ClusterSpec, instance_type: str, market: Literal["on-demand", "spot"]) -> list[Place]:
    return [
        Place(instance_type=instance_type, subnet=subnet, market=market) for subnet in spec.subnets or (None,)
    ]


# ---------------------------------------------------------------------------
# Launching what a cluster is missing: its master, then its workers.


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Launches the machines of one cluster.

    Attributes:
        spec: of the cluster.
        plan: of the checks before the launch.
        launcher: of the attempt.
        ec2: a boto3 client.
        secret: that the cluster's processes share.
    """

    spec: EC2ClusterSpec
    plan: Plan
    launcher: Launcher
    ec2: Any
    secret: str

    def launch_master(self) -> Instance:
        """Launch the machine of the master.

        Raises:
            ClusterStartError: AWS has none; with what it said.
        """
        user_data = master_user_data(self.spec, secret=self.secret, expires_at=self.launcher.expires_at)

        def launch_at(place: Place, minimum: int, maximum: int) -> list[Instance]:
            return self.launcher.launch(MASTER, place, minimum=minimum, maximum=maximum, user_data=user_data)

        return launch_one(launch_at, master_places(self.spec))

    def launch_workers(self, master: Instance, *, present: Sequence[Instance] = ()) -> None:
        """Launch the workers that are missing, all of one type.

        Args:
            master: that they shall join.
            present: workers that are there already.

        Raises:
            ClusterStartError: fewer than the smallest acceptable number can be had of each type; with what
                AWS said. Those that could be had are ended.
        """
        refusals: list[PlaceRefusedError] = []
        for instance_type in self._types(present):
            alike = [worker for worker in present if worker.instance_type == instance_type]
            placement = self._place(master, instance_type, have=len(alike))
            refusals += placement.refusals
            number = len(alike) + len(placement.launched)
            if number >= self.spec.smallest_machines:
                self._give_up([worker for worker in present if worker.instance_type != instance_type])
                if placement.missing:
                    log.warning("Going on with %d workers of %d.", number, self.spec.machines)
                return
            log.warning("AWS has %d x %s of the %d wanted.", number, instance_type, self.spec.machines)
            self._give_up(placement.launched)
        raise exhausted(
            f"AWS has not {self.spec.smallest_machines} workers of {' or '.join(self.spec.instance_types)}",
            refusals,
        )

    def _types(self, present: Sequence[Instance]) -> list[str]:
        """The workers' types in the order of trying: first that of which the most are there already."""
        of_type = [worker.instance_type for worker in present]
        return sorted(self.spec.instance_types, key=lambda name: -of_type.count(name))

    def _place(self, master: Instance, instance_type: str, *, have: int) -> WorkerPlacement:
        user_data = self._worker_user_data(master, instance_type)

        def launch_at(place: Place, minimum: int, maximum: int) -> list[Instance]:
            return self.launcher.launch(WORKER, place, minimum=minimum, maximum=maximum, user_data=user_data)

        wanted = self.spec.machines
        total = wanted + self.spec.additional_machines
        placement = WorkerPlacement(launch_at, wanted=wanted, total=total, have=have)
        if placement.missing:
            placement.collect(worker_places(self.spec, instance_type))
        return placement

    def _worker_user_data(self, master: Instance, instance_type: str) -> str:
        facts = self.plan.instance_types[instance_type]
        memory = self.spec.memory_megabytes_per_machine or executor_memory_megabytes(facts)
        return worker_user_data(
            self.spec,
            secret=self.secret,
            expires_at=self.launcher.expires_at,
            master_host=master.private_address,
            cores=self.spec.cores_per_machine or facts.cores,
            memory_megabytes=memory,
        )

    def _give_up(self, instances: Sequence[Instance]) -> None:
        """End machines so that those who look at the cluster later do not take it for a failure."""
        ids = [instance.id for instance in instances]
        # First, since this attempt no longer owns what it has tagged as given up.
        end_machines(self.ec2, ids)
        try:
            add_tags(self.ec2, ids, {TRY_TAG: GIVEN_UP})
        except ErnestError as error:
            log.warning("Machines that are ended on purpose will be called ended by themselves: %s", error)
