"""RunInstances as AWS does it: MinCount to MaxCount machines, once per client token, within capacity."""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import Any
from urllib.parse import urlencode

from moto.core.responses import ActionResult
from moto.ec2.responses.instances import InstanceResponse

from tests.ec2_testbed.api_describe import as_reservations, document
from tests.ec2_testbed.api_state import EC2State, Kind
from tests.ec2_testbed.api_wire import Answer, ApiError, Request, WsgiApplication, pass_on, xml_answer

USER_DATA_BYTES = 16384

_moto_run_instances = InstanceResponse.run_instances


def _run_without_rendering(response: InstanceResponse) -> ActionResult:
    """moto's launch; of its answer, which takes it 5 ms an instance to write, only the id is needed."""
    launched: Any = _moto_run_instances(response)
    return ActionResult({"ReservationId": launched.result.id})


InstanceResponse.run_instances = _run_without_rendering  # type: ignore[method-assign,assignment]


def run_instances(state: EC2State, moto: WsgiApplication, request: Request) -> Answer:
    """Launch what was asked for, or answer with what the same token has launched before."""
    form = dict(request.form)
    token = form.get("ClientToken")
    digest = hashlib.sha256(urlencode(sorted(form.items())).encode()).hexdigest()
    with state.lock:
        if token in state.tokens:
            known, reservation_id = state.tokens[token]
            if known != digest:
                raise ApiError(
                    "IdempotentParameterMismatch",
                    "The client token was used with other parameters.",
                )
            return _answer(state, request, reservation_id)
        _check_user_data(form)
        backend = state.backend(request.region)
        kind = _kind(backend, form)
        if form.get("DryRun") != "true":
            form["MinCount"] = str(_count(state, form, kind))  # moto launches MinCount
        _fill_volume_sizes(form)
        answer = pass_on(moto, request, form)
        if answer.status != 200:
            return answer
        reservation_id = answer.body.decode().split("<reservationId>")[1].split("<")[0]
        _settle(state, backend, backend.reservations[reservation_id].instances, kind, form)
        if token:
            state.tokens[token] = (digest, reservation_id)
        return _answer(state, request, reservation_id)


def _answer(state: EC2State, request: Request, reservation_id: str) -> Answer:
    backend = state.backend(request.region)
    found = [document(backend, one, reservation_id) for one in backend.reservations[reservation_id].instances]
    return xml_answer("RunInstances", as_reservations(found, backend.account_id)[0])


def _check_user_data(form: dict[str, str]) -> None:
    if len(base64.b64decode(form.get("UserData", ""))) > USER_DATA_BYTES:
        raise ApiError("InvalidParameterValue", f"User data is limited to {USER_DATA_BYTES} bytes")


def _kind(backend: Any, form: dict[str, str]) -> Kind:
    template = _template(backend, form)
    options = template.get("InstanceMarketOptions") or {}
    market = form.get("InstanceMarketOptions.MarketType") or options.get("MarketType") or "on-demand"
    subnet = form.get("SubnetId") or form.get("NetworkInterface.1.SubnetId") or template.get("SubnetId")
    zone = form.get("Placement.AvailabilityZone")
    if subnet in {known for zone_subnets in backend.subnets.values() for known in zone_subnets}:
        zone = backend.get_subnet(subnet).availability_zone
    instance_type = form.get("InstanceType") or template.get("InstanceType") or "m1.small"
    return Kind(instance_type, market, zone or f"{backend.region_name}a")


def _template(backend: Any, form: dict[str, str]) -> dict[str, Any]:
    prefix = "LaunchTemplate."
    named = {key.removeprefix(prefix): value for key, value in form.items() if key.startswith(prefix)}
    return backend._get_template_from_args(named).data if named else {}


def _count(state: EC2State, form: dict[str, str], kind: Kind) -> int:
    least, most = int(form["MinCount"]), int(form["MaxCount"])
    if not 1 <= least <= most:
        raise ApiError("InvalidParameterValue", f"MinCount {least} and MaxCount {most} do not fit")
    count = state.capacity.available(kind, most)
    if count >= least:
        return count
    problem = (
        "There is no Spot capacity available that matches your request."
        if kind.market == "spot"
        else f"We currently do not have sufficient {kind.instance_type} capacity in the Availability Zone "
        f"you requested ({kind.zone})."
    )
    raise ApiError("InsufficientInstanceCapacity", problem, 500)


def _fill_volume_sizes(form: dict[str, str]) -> None:
    """AWS takes the size from the image and deletes the root volume with its machine; moto asks for both."""
    number = 1
    while f"BlockDeviceMapping.{number}.DeviceName" in form:
        volume = f"BlockDeviceMapping.{number}.Ebs."
        if any(key.startswith(volume) for key in form):
            form.setdefault(f"{volume}VolumeSize", "8")
            form.setdefault(f"{volume}DeleteOnTermination", "true")
        number += 1


def _settle(state: EC2State, backend: Any, instances: list[Any], kind: Kind, form: dict[str, str]) -> None:
    profile = {
        "iam_instance_profile_name": form.get("IamInstanceProfile.Name"),
        "iam_instance_profile_arn": form.get("IamInstanceProfile.Arn"),
    }
    for instance in instances:
        state.capacity.occupy(instance.id, kind)
        instance.disable_api_termination = form.get("DisableApiTermination") == "true"
        if any(profile.values()) and not instance.iam_instance_profile:
            backend.associate_iam_instance_profile(instance.id, **profile)
        if kind.market == "spot":
            instance.lifecycle = "spot"
            instance.spot_instance_request_id = f"sir-{secrets.token_hex(4)}"
        if state.managed:
            instance._state.name, instance._state.code = "pending", 0
