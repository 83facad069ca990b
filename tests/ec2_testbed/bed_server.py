"""The process of a bed: API and booter. `python -m tests.ec2_testbed.bed_server`; it ends with its parent."""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.ec2_testbed.api_control import Control
from tests.ec2_testbed.api_server import serve_api
from tests.ec2_testbed.api_state import EC2State
from tests.ec2_testbed.bed_booter import Booter
from tests.ec2_testbed.bed_host import HostSettings
from tests.ec2_testbed.bed_network import Switch
from tests.ec2_testbed.bed_slot import Slot, take_slot
from tests.ec2_testbed.testbed import Performance

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
_WARDEN_SECONDS = 20


def main() -> None:
    """Serve until the parent or the warden ends, or a SIGTERM comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--configuration", type=json.loads, required=True)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    slot = take_slot()
    warden = _start_warden(slot)
    switch = Switch(warden.pid, slot.network, f"ernest{slot.number:02d}")
    switch.build()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    state = EC2State(managed=True)
    server, control = serve_api(state, str(slot.network), 24)
    booter = _make_booter(state, slot, switch, arguments.configuration)
    _add_commands(control, booter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ready = {"port": server.port, "gateway": switch.gateway, "network": str(slot.network)}
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()
    try:
        while os.getppid() == arguments.parent and warden.poll() is None and not stop.wait(LOOK_SECONDS):
            _look(booter)
    finally:
        booter.end_all()
        switch.remove()


def _look(booter: Booter) -> None:
    try:
        booter.look()
    except Exception:  # a bed that stops looking would leave its machines running
        log.exception("the booter stumbled")


def _start_warden(slot: Slot) -> subprocess.Popen[bytes]:
    """Start the process that keeps the bridge; it holds the slot's lock and this process's output, too."""
    command = ["unshare", "--net", sys.executable, "-m", "tests.ec2_testbed.bed_warden"]
    warden = subprocess.Popen(
        [*command, "--parent", str(os.getpid()), "--name-prefix", slot.name],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=[slot.lock],
    )
    own = Path("/proc/self/ns/net").readlink()
    deadline = time.monotonic() + _WARDEN_SECONDS
    while Path(f"/proc/{warden.pid}/ns/net").readlink() == own:
        if warden.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the bed's warden did not get a network namespace")
        time.sleep(0.01)
    return warden


def _make_booter(state: EC2State, slot: Slot, switch: Switch, configuration: dict[str, Any]) -> Booter:
    settings = HostSettings(
        name_prefix=slot.name,
        folder=Path(configuration["work_directory"]) / "hosts",
        switch=switch,
        shared=tuple(configuration["shared"]),
        writable=tuple(configuration["writable"]),
        seconds_per_minute=configuration["seconds_per_minute"],
        disk_megabytes=configuration["disk_megabytes"],
    )
    return Booter(state, settings, Performance(**configuration["default_performance"]))


def _add_commands(control: Control, booter: Booter) -> None:
    del control.commands["reset"]  # would take the instances from below their hosts
    control.commands.update(
        hosts=booter.describe_hosts,
        set_performance=booter.set_performance,
        console=lambda instance_id: control.state.console(instance_id),
    )


if __name__ == "__main__":
    main()
