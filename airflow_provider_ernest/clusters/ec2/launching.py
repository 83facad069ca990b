"""One attempt's launches: each takes effect once, and what it launched is known, whatever the answer was."""

from __future__ import annotations

import itertools
import json
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Literal

from airflow_provider_ernest.clusters.ec2.aws_errors import (
    ELSEWHERE,
    REMEDIES,
    Meaning,
    as_ours,
    is_unanswered,
    meaning_of,
    said,
    time_of,
)
from airflow_provider_ernest.clusters.ec2.ending import AttemptGuard, end_machines, settle_deadline
from airflow_provider_ernest.clusters.ec2.identity import MASTER, TRY_TAG, WORKER, specification_digest
from airflow_provider_ernest.clusters.ec2.instances import (
    COMING_OR_THERE,
    Instance,
    add_tags,
    of_cluster,
    parse,
)
from airflow_provider_ernest.clusters.ec2.readiness import GIVEN_UP
from airflow_provider_ernest.clusters.ec2.requests import (
    ON_DEMAND,
    SPOT,
    Place,
    Plan,
    run_instances_request,
    user_data_of,
)
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.exceptions import ClusterError, ClusterStartError, ErnestError

log = logging.getLogger(__name__)

_POLL_SECONDS = 1.0


class PlaceRefusedError(ClusterStartError):
    """AWS does not launch that many machines in that place; `meaning` is what kind of refusal it is."""

    def __init__(self, place: Place, meaning: Meaning, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.meaning = meaning


class Launcher:
    """Launches what a cluster is missing: its master, then its workers.

    The guard learns of every machine, and is asked right after each launch whether to go on. `present` are
    ids of the cluster's machines that are there already. This attempt may have taken them over, so they must
    not be taken for those of a launch whose answer is lost.
    """

    def __init__(
        self,
        spec: EC2ClusterSpec,
        *,
        plan: Plan,
        guard: AttemptGuard,
        expires_at: datetime,
        secret: str,
        present: Collection[str] = (),
    ) -> None:
        self._spec = spec
        self._plan = plan
        self._guard = guard
        self._attempt = guard.attempt
        self._expires_at = guard.expires_at = expires_at
        self._secret = secret
        self._present = frozenset(present)
        self._requests = itertools.count()

    def launch_master(self) -> Instance:
        """Launch the master's machine in the first place that has one; a ClusterStartError if none has."""
        spec, refusals = self._spec, []
        user_data = user_data_of(spec, secret=self._secret, expires_at=self._expires_at)
        for instance_type in (
            (spec.master_instance_type,) if spec.master_instance_type else spec.instance_types
        ):
            for place in self._places(instance_type, ON_DEMAND):
                try:
                    return self._launch(MASTER, user_data, place, 1, 1)[0]
                except PlaceRefusedError as refusal:
                    log.warning("AWS has no machine for the master: %s", refusal.message)
                    refusals.append(refusal)
        raise _exhausted("AWS has no machine for the master", refusals)

    def launch_workers(self, master: Instance, *, present: Sequence[Instance] = ()) -> None:
        """Launch the workers that are missing beside those `present`, all of one type, to join this master.

        Raises a ClusterStartError with what AWS said if fewer than the smallest acceptable number can be had
        of each type. Those that could be had are ended.
        """
        spec, refusals = self._spec, []
        of_type = [worker.instance_type for worker in present]
        # First the type of which the most are there already.
        for instance_type in sorted(spec.instance_types, key=lambda name: -of_type.count(name)):
            have = of_type.count(instance_type)
            placement = self._place(master, instance_type, have=have)
            refusals += placement.refusals
            number = have + len(placement.launched)
            if number >= spec.smallest_machines:
                self._give_up([worker for worker in present if worker.instance_type != instance_type])
                if placement.missing:
                    log.warning("Going on with %d workers of %d.", number, spec.machines)
                return
            log.warning("AWS has %d x %s of the %d wanted.", number, instance_type, spec.machines)
            self._give_up(placement.launched)
        types = " or ".join(spec.instance_types)
        raise _exhausted(f"AWS does not have {spec.smallest_machines} workers of {types}", refusals)

    def wait_until_visible(self) -> None:
        """Wait, bounded, until AWS shows what was launched to those that look for it by tag."""
        guard, deadline = self._guard, settle_deadline()
        while time.monotonic() < deadline:
            guard.check()
            guard.shown |= {instance.id for instance in self._look(states=())}
            if guard.known <= guard.shown:
                return
            guard.sleep(_POLL_SECONDS)
        log.warning("AWS does not show all machines yet; going on.")

    def _place(self, master: Instance, instance_type: str, *, have: int) -> WorkerPlacement:
        spec = self._spec
        cores, memory_megabytes = self._plan.offered(spec, instance_type)
        user_data = user_data_of(
            spec,
            secret=self._secret,
            expires_at=self._expires_at,
            master_host=master.private_address,
            cores=cores,
            memory_megabytes=memory_megabytes,
        )
        placement = WorkerPlacement(
            partial(self._launch, WORKER, user_data),
            wanted=spec.machines,
            total=spec.launched_machines,
            have=have,
        )
        if placement.missing:
            on_demand = self._places(instance_type, ON_DEMAND)
            spot = [self._places(instance_type, SPOT)] if spec.spot else []
            placement.collect([*spot, on_demand] if spec.on_demand_fallback or not spec.spot else spot)
        return placement

    def _places(self, instance_type: str, market: Literal["on-demand", "spot"]) -> list[Place]:
        return [
            Place(instance_type=instance_type, subnet=subnet, market=market) for subnet in self._plan.subnets
        ]

    def _give_up(self, instances: Sequence[Instance]) -> None:
        """End machines so that those who look at the cluster later do not take it for a failure."""
        ids = [instance.id for instance in instances]
        # First, since this attempt no longer owns what it has tagged as given up.
        end_machines(self._guard.ec2, ids)
        try:
            add_tags(self._guard.ec2, ids, {TRY_TAG: GIVEN_UP})
        except ErnestError as error:
            log.warning("Machines that are ended on purpose will be called ended by themselves: %s", error)

    def _launch(self, role: str, user_data: str, place: Place, minimum: int, maximum: int) -> list[Instance]:
        """Launch machines in one place, as many as AWS has of `maximum`, at least `minimum`.

        Raises a PlaceRefusedError where another place or number may do; what it raises else is final.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        tags = self._attempt.tags(
            role=role, expires_at=self._expires_at, specification=specification_digest(self._spec)
        )
        request = run_instances_request(
            self._spec,
            self._plan,
            place=place,
            minimum=minimum,
            maximum=maximum,
            user_data=user_data,
            tags=tags,
        )
        # Of all that is asked for, so that no two requests can differ and have the same token. The number
        # tells a repetition after the machines of the first have been ended: it shall launch new ones.
        content = json.dumps(request, sort_keys=True, default=str)
        request["ClientToken"] = self._attempt.identity.token(
            self._attempt.cluster_name, self._attempt.number, next(self._requests), content
        )
        self._guard.uncertain = True  # should anything interrupt the call: nobody knows what it has done
        try:
            launched = self._ask(request)
        except (BotoCoreError, ClientError) as error:
            launched = self._launched_nevertheless(error, request, role, place)
        self._guard.uncertain = False
        self._guard.known |= {instance.id for instance in launched}
        log.info("Launched %d x %s: %s", len(launched), place, ", ".join(i.id for i in launched))
        self._guard.check()
        return [replace(instance, role=role, tags={**self._spec.tags, **tags}) for instance in launched]

    def _ask(self, request: Mapping[str, Any]) -> list[Instance]:
        answer = self._guard.ec2.run_instances(**request)
        told_at = time_of(answer)
        return [parse(facts, told_at=told_at) for facts in answer["Instances"]]

    def _launched_nevertheless(
        self, error: Exception, request: Mapping[str, Any], role: str, place: Place
    ) -> list[Instance]:
        """What a launch has launched whose answer was an error; raises where that is nothing.

        The same request with the same token launches nothing anew, and tells of the machines before any
        description shows them. Where that is not answered either, they are looked for by their tag.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        self._raise_refusal(error, place)
        failure = as_ours(error, f"launch {request['MinCount']} x {place.instance_type}")
        if not is_unanswered(error):
            self._guard.uncertain = False
            raise failure from None
        log.warning("The answer to a launch is lost (%s); looking whether it took effect.", said(error))
        deadline = settle_deadline()
        while True:
            try:
                return self._ask(request)
            except (BotoCoreError, ClientError) as again:
                self._raise_refusal(again, place)
                log.warning("The answer to the repeated launch is lost, too: %s", said(again))
            # By tag; AWS may not show all of it yet.
            known = self._guard.known | self._present
            own = filter(self._attempt.made, self._look(states=COMING_OR_THERE))
            new = [i for i in own if i.role == role and i.id not in known]
            if len(new) >= request["MinCount"]:
                return new
            if time.monotonic() > deadline:
                raise failure from None
            self._guard.sleep(_POLL_SECONDS)

    def _raise_refusal(self, error: Exception, place: Place) -> None:
        if (meaning := meaning_of(error)) in ELSEWHERE:
            self._guard.uncertain = False
            raise PlaceRefusedError(place, meaning, said(error)) from None

    def _look(self, *, states: Sequence[str]) -> list[Instance]:
        """The cluster's machines; none where AWS is busy: whoever waits for them looks again."""
        try:
            return of_cluster(self._guard.ec2, self._attempt.cluster_name, states=states)
        except ClusterError as error:
            log.warning("Looking for the launched machines again after: %s", error.message)
            return []


class WorkerPlacement:
    """Collects workers of one instance type.

    For each market first every subnet is asked for the whole set, since machines of one zone talk to each
    other faster and for free; then what there is of it is collected from all subnets.

    `launch_at` launches from the first to the second number of machines in a place, or raises a
    `PlaceRefusedError`. Once `wanted` workers are there, `have` included, no more are asked for; of the
    additional ones, up to `total`, as many are taken as come with the others.
    """

    def __init__(
        self,
        launch_at: Callable[[Place, int, int], list[Instance]],
        *,
        wanted: int,
        total: int,
        have: int = 0,
    ) -> None:
        self.launched: list[Instance] = []
        self.refusals: list[PlaceRefusedError] = []
        self._launch_at = launch_at
        self._wanted = wanted
        self._total = total
        self._have = have

    @property
    def missing(self) -> int:
        """Wanted workers that are not there yet."""
        return max(0, self._wanted - self._have - len(self.launched))

    def collect(self, markets: Iterable[Sequence[Place]]) -> None:
        """Launch in the places of each market in turn, until enough are there or all have been asked."""
        for places in markets:
            wanted = self.missing
            for place in places:
                if self.missing:
                    self._ask_for_all(place)
            for place in places if wanted > 1 else ():
                if self.missing:
                    self._ask(place, 1, self._room)

    def _ask_for_all(self, place: Place) -> None:
        minimum, maximum = self.missing, self._room
        refusal = self._ask(place, minimum, maximum)
        # A limit of the account may have room for those, and not for the additional ones.
        if refusal and refusal.meaning is Meaning.TOO_MANY and maximum > minimum:
            self._ask(place, minimum, minimum)

    @property
    def _room(self) -> int:
        return self._total - self._have - len(self.launched)

    def _ask(self, place: Place, minimum: int, maximum: int) -> PlaceRefusedError | None:
        try:
            self.launched += self._launch_at(place, minimum, maximum)
        except PlaceRefusedError as refusal:
            log.warning("AWS does not have %d x %s", minimum, refusal.message)
            self.refusals.append(refusal)
            return refusal
        return None


def _exhausted(what: str, refusals: Sequence[PlaceRefusedError]) -> ClusterStartError:
    """The error that says what AWS said for each place, and what can be done about that."""
    said_of_places = "; ".join(dict.fromkeys(refusal.message for refusal in refusals))
    remedies = dict.fromkeys(REMEDIES[refusal.meaning] for refusal in refusals)
    return ClusterStartError(f"{what}. {said_of_places}.", remedy=" ".join(remedies))
