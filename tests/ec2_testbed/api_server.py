"""The process that serves the API: `python -m tests.ec2_testbed.api_server`; it ends with its parent."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import threading

# moto reads these on import: an unknown image or type is refused, as AWS does; its own images are not loaded.
os.environ.update(
    MOTO_EC2_LOAD_DEFAULT_AMIS="false",
    MOTO_ENABLE_AMI_VALIDATION="true",
    MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION="true",
)

from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import BaseWSGIServer, make_server

from tests.ec2_testbed.api_control import Control
from tests.ec2_testbed.api_layer import ApiLayer
from tests.ec2_testbed.api_state import EC2State
from tests.ec2_testbed.process_life import wait_for_end_of


def serve_api(state: EC2State, network: str, subnet_prefix: int, port: int) -> tuple[BaseWSGIServer, Control]:
    """Listen on loopback; returns the server, whose `serve_forever` answers."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    control = Control(state, network, subnet_prefix)
    layer = ApiLayer(state, control)
    server = make_server("127.0.0.1", port, layer, threaded=True, request_handler=MotoRequestHandler)
    return server, control


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--network", default="10.77.0.0/16")
    parser.add_argument("--subnet-prefix", type=int, default=20)
    parser.add_argument("--managed", action="store_true")
    arguments = parser.parse_args()
    state = EC2State(managed=arguments.managed)
    server, _ = serve_api(state, arguments.network, arguments.subnet_prefix, arguments.port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(json.dumps({"port": server.port}) + "\n")
    sys.stdout.flush()
    wait_for_end_of(arguments.parent)


if __name__ == "__main__":
    main()
