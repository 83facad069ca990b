"""Where machines are launched: which places are asked, in which order, and for how many."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, remedy_for
from airflow_provider_ernest.clusters.ec2.instances import Instance
from airflow_provider_ernest.clusters.ec2.launching import PlaceRefusedError
from airflow_provider_ernest.clusters.ec2.requests import ON_DEMAND, SPOT, Place
from airflow_provider_ernest.exceptions import ClusterStartError

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec

log = logging.getLogger(__name__)

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
