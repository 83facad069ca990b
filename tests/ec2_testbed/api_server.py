"""The process that serves the API: `python -m tests.ec2_testbed.api_server`; it ends with its parent.

moto's server stands behind what moto lacks, with faults on order and all calls recorded.
"""

from __future__ import annotations

import argparse
import base64
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterable

# moto reads these on import: an unknown image or type is refused, as AWS does; its own images are not loaded.
os.environ.update(
    MOTO_EC2_LOAD_DEFAULT_AMIS="false",
    MOTO_ENABLE_AMI_VALIDATION="true",
    MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION="true",
)

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import BaseWSGIServer, make_server

from tests.ec2_testbed import api_describe, api_prices
from tests.ec2_testbed.api_control import Control
from tests.ec2_testbed.api_launch import run_instances
from tests.ec2_testbed.api_state import EC2State, Fault
from tests.ec2_testbed.api_wire import (
    Answer,
    ApiError,
    Environment,
    Request,
    StartResponse,
    break_connection,
    error_answer,
    numbered,
    pass_on,
    read_request,
    xml_answer,
)
from tests.ec2_testbed.process_life import wait_for_end_of

CONTROL_PATH = "/testbed/"


class ApiLayer:
    """What listens at the endpoint."""

    def __init__(self, state: EC2State, control: Control) -> None:
        self.state = state
        self.control = control
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._own = {
            ("ec2", "RunInstances"): self._run_instances,
            ("ec2", "TerminateInstances"): self._terminate_instances,
            ("ec2", "DescribeInstances"): self._describe_instances,
            ("ec2", "GetConsoleOutput"): self._get_console_output,
            ("ec2", "DescribeSpotPriceHistory"): api_prices.describe_spot_price_history,
            ("pricing", "GetProducts"): api_prices.get_products,
        }

    def __call__(self, environment: Environment, start_response: StartResponse) -> Iterable[bytes]:
        path = environment.get("PATH_INFO", "")
        if path.startswith(CONTROL_PATH):
            return self.control.answer(environment, path.removeprefix(CONTROL_PATH)).send(start_response)
        request = read_request(environment)
        call = self.control.record(request)
        fault = self.control.faults.take(request.action)
        if fault and fault.when == "before":
            call["outcome"] = fault.code
            return error_answer(request, _as_error(fault)).send(start_response)
        answer = self._answer(request)
        call["outcome"] = _outcome(answer)
        if fault:
            answer = _spoil(fault, request, answer)
        return answer.send(start_response)

    def _answer(self, request: Request) -> Answer:
        own = self._own.get((request.service, request.action))
        try:
            return own(request) if own else pass_on(self._moto, request)
        except ApiError as error:
            return error_answer(request, error)

    def _run_instances(self, request: Request) -> Answer:
        return run_instances(self.state, self._moto, request)

    def _describe_instances(self, request: Request) -> Answer:
        backend = self.state.backend(request.region)
        if request.form.get("DryRun") == "true":
            raise ApiError(
                "DryRunOperation", "Request would have succeeded, but DryRun flag is set.", status=412
            )
        with self.state.lock:
            found = api_describe.select(api_describe.documents(backend), request.form)
        found, token = api_describe.page(found, request.form)
        reservations = api_describe.as_reservations(found, backend.account_id)
        return xml_answer("DescribeInstances", {"reservationSet": reservations, "nextToken": token})

    def _terminate_instances(self, request: Request) -> Answer:
        """Let moto change the states, then put the passing ones where something manages the machines."""
        ids = numbered(request.form, "InstanceId")
        with self.state.lock:
            before = {one.id: one.state for one in self.state.instances(request.region) if one.id in ids}
            answer = pass_on(self._moto, request)
            if answer.status == 200:
                for instance_id, state in before.items():
                    is_passing = self.state.managed and state != "terminated"
                    self.state.set_state(instance_id, "shutting-down" if is_passing else "terminated")
        return answer

    def _get_console_output(self, request: Request) -> Answer:
        instance_id = request.form["InstanceId"]
        try:
            self.state.instance(instance_id)
        except KeyError:
            raise ApiError(
                "InvalidInstanceID.NotFound", f"The instance ID '{instance_id}' does not exist"
            ) from None
        console = self.state.console(instance_id).encode()[-65536:]
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        content = {
            "instanceId": instance_id,
            "timestamp": stamp,
            "output": base64.b64encode(console).decode(),
        }
        return xml_answer("GetConsoleOutput", content)


def _as_error(fault: Fault) -> ApiError:
    return ApiError(fault.code, fault.message, fault.status)


def _spoil(fault: Fault, request: Request, answer: Answer) -> Answer:
    if fault.when == "after":
        return error_answer(request, _as_error(fault))
    if fault.when == "drop":
        break_connection(request.environment)
    time.sleep(fault.seconds)
    return answer


def _outcome(answer: Answer) -> str:
    if answer.status < 400:
        return "ok"
    text = answer.body.decode(errors="replace")
    if "<Code>" in text:
        return text.split("<Code>")[1].split("<")[0]
    try:
        return str(json.loads(text).get("__type", answer.status))
    except (ValueError, AttributeError):
        return str(answer.status)


def serve_api(state: EC2State, network: str, subnet_prefix: int) -> tuple[BaseWSGIServer, Control]:
    """Listen on loopback; returns the server, whose `serve_forever` answers."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    control = Control(state, network, subnet_prefix)
    layer = ApiLayer(state, control)
    server = make_server("127.0.0.1", 0, layer, threaded=True, request_handler=MotoRequestHandler)
    return server, control


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parent", type=int, required=True)
    arguments = parser.parse_args()
    server, _ = serve_api(EC2State(), "10.77.0.0/16", 20)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(json.dumps({"port": server.port}) + "\n")
    sys.stdout.flush()
    wait_for_end_of(arguments.parent)


if __name__ == "__main__":
    main()
