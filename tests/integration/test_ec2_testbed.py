"""The EC2 test bed itself: instances that are hosts on this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.ec2_testbed import Testbed
from tests.ec2_testbed.bed_limits import groups
from tests.ec2_testbed.process_life import REPOSITORY
from tests.integration.conftest import processes_mentioning, wait_until

pytestmark = pytest.mark.skipif(Testbed.missing() is not None, reason=str(Testbed.missing()))

TOKEN = """
H=http://169.254.169.254/latest
T=$(curl -sf -X PUT $H/api/token -H 'X-aws-ec2-metadata-token-ttl-seconds: 300')
get() { curl -sf -H "X-aws-ec2-metadata-token: $T" $H/$1; }
"""


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    folder = tmp_path_factory.mktemp("bed")
    results = folder / "results"
    results.mkdir()
    with Testbed(folder / "work", writable=[results], seconds_per_minute=1) as bed:
        yield bed


@pytest.fixture
def launch(bed: Testbed) -> Iterator[Callable[..., list[str]]]:
    """Launches hosts with a user-data script and waits until they run; ends them after the test."""
    ec2 = bed.client()
    launched: list[str] = []

    def launch(script: str, count: int = 1, *, until: str = "running", **request: Any) -> list[str]:
        found = ec2.run_instances(**launch_request(bed, script, count, **request))["Instances"]
        ids = [one["InstanceId"] for one in found]
        launched.extend(ids)
        for instance_id in ids:
            wait_for_state(bed, instance_id, until)
        return ids

    yield launch
    if launched:
        ec2.terminate_instances(InstanceIds=launched)
        for instance_id in launched:
            wait_for_state(bed, instance_id, "terminated")
    assert bed.hosts() == []


def launch_request(bed: Testbed, script: str, count: int, **request: Any) -> dict[str, Any]:
    return {
        "ImageId": bed.image_id,
        "InstanceType": "m5.large",
        "SubnetId": bed.subnet_ids[0],
        "MinCount": count,
        "MaxCount": count,
        "UserData": f"#!/bin/bash\n{script}",
        "InstanceInitiatedShutdownBehavior": "terminate",
        **request,
    }


def wait_for_state(bed: Testbed, instance_id: str, state: str) -> None:
    def reached() -> bool:
        return any(one.instance_id == instance_id and one.state == state for one in bed.instances())

    wait_until(reached, seconds=30, what=f"{state} of {instance_id}")


def wait_for_console(bed: Testbed, instance_id: str, text: str = "user-data ended with") -> str:
    wait_until(lambda: text in bed.console(instance_id), seconds=30, what=f"{text!r} on the console")
    return str(bed.client().get_console_output(InstanceId=instance_id)["Output"])


def address_of(bed: Testbed, instance_id: str) -> str:
    [address] = [one.private_address for one in bed.instances() if one.instance_id == instance_id]
    assert address
    return address


def test_metadata_needs_a_token(bed: Testbed, launch: Callable[..., list[str]]) -> None:
    [machine] = launch(
        TOKEN + "curl -s -o /dev/null -w '%{http_code}\\n' $H/meta-data/instance-id\n"
        "for page in instance-id local-ipv4; do echo $(get meta-data/$page); done\n"
        "get user-data | head -n 1"
    )
    found = wait_for_console(bed, machine).splitlines()
    assert found[:4] == ["401", machine, address_of(bed, machine), "#!/bin/bash"]


def test_a_machine_ends_itself_at_its_time(bed: Testbed, launch: Callable[..., list[str]]) -> None:
    [machine] = launch("shutdown -h +1; echo armed")
    wait_for_console(bed, machine, "armed")
    wait_for_state(bed, machine, "terminated")
    [found] = [one for one in bed.instances() if one.instance_id == machine]
    assert "Client.InstanceInitiatedShutdown" in found.reason
    assert machine not in [host.instance_id for host in bed.hosts()]


def test_shared_files_cannot_be_written(bed: Testbed, launch: Callable[..., list[str]]) -> None:
    [machine] = launch(f"ls {REPOSITORY}/README.md; touch {REPOSITORY}/written-by-a-host; ls /tmp | wc -l")
    found = wait_for_console(bed, machine)
    assert "Read-only file system" in found
    assert f"{REPOSITORY}/README.md" in found
    assert not (REPOSITORY / "written-by-a-host").exists()


def test_a_machine_may_be_ended_before_it_has_begun_to_boot(bed: Testbed) -> None:
    ids = [one["InstanceId"] for one in bed.client().run_instances(**launch_request(bed, "", 4))["Instances"]]
    bed.client().terminate_instances(InstanceIds=ids)
    for instance_id in ids:
        wait_for_state(bed, instance_id, "terminated")
    wait_until(lambda: bed.hosts() == [], seconds=20, what="the end of their processes")


OWNER = """
import sys, time
from pathlib import Path
from tests.ec2_testbed import Testbed
bed = Testbed(Path(sys.argv[1])).start()
what = dict(ImageId=bed.image_id, SubnetId=bed.subnet_ids[0], InstanceType="m5.large", MinCount=2, MaxCount=2)
bed.client().run_instances(UserData="#!/bin/bash\\nsleep 1000 & echo up", **what)
while len([host for host in bed.hosts() if "up" in bed.console(host.instance_id)]) < 2:
    time.sleep(0.1)
print(bed.process_id, bed.network, flush=True)
time.sleep(1000)
"""


@pytest.fixture
def owned_bed(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], psutil.Process, int]]:
    """A bed with two hosts whose owner is another process: the owner, the bed's process, its link's index."""
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    try:
        assert owner.stdout
        process_id, network = owner.stdout.readline().split()
        [uplink] = [one["dev"] for one in routes() if one["dst"] == network]
        # The next bed has the same network and a link of the same name, but no link of the same index.
        link = int(Path(f"/sys/class/net/{uplink}/ifindex").read_text())
        yield owner, psutil.Process(int(process_id)), link
    finally:
        owner.kill()
        owner.communicate()


def routes() -> list[dict[str, Any]]:
    return json.loads(subprocess.run(["ip", "-json", "route"], capture_output=True, check=True).stdout)


def what_is_left(work_directory: Path, link: int, instance_ids: set[str]) -> list[str]:
    left = [f"process {process.pid}" for process in processes_mentioning(str(work_directory))]
    for file in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            if str(work_directory / "hosts") in file.read_text():
                left.append(f"mounts in {file}")
        except OSError:
            continue
    left += [name for index, name in socket.if_nameindex() if index == link]
    return left + [str(group) for group in groups_of(instance_ids)]


def groups_of(instance_ids: set[str]) -> list[Path]:
    found = groups("ernest-testbed-")
    return [group for group in found if any(instance_id in group.name for instance_id in instance_ids)]


def warden_of(bed_process: psutil.Process) -> psutil.Process:
    [warden] = [one for one in bed_process.children() if any("bed_warden" in word for word in one.cmdline())]
    return warden


@pytest.mark.parametrize("victim", ["owner", "bed", "warden"])
def test_whoever_is_killed_nothing_is_left(
    owned_bed: tuple[subprocess.Popen[str], psutil.Process, int], tmp_path: Path, victim: str
) -> None:
    owner, bed_process, link = owned_bed
    ids = {folder.name for folder in (tmp_path / "hosts").iterdir()}
    assert len(groups_of(ids)) == 2
    killed = {"owner": owner.pid, "bed": bed_process.pid, "warden": warden_of(bed_process).pid}[victim]
    os.kill(killed, signal.SIGKILL)
    if victim != "owner":
        wait_until(lambda: groups_of(ids) == [], seconds=30, what="the hosts' end")
        owner.kill()
    owner.wait()
    wait_until(lambda: what_is_left(tmp_path, link, ids) == [], seconds=30, what="the end of all")


def test_the_next_bed_clears_away_what_could_not_be(
    owned_bed: tuple[subprocess.Popen[str], psutil.Process, int], tmp_path: Path
) -> None:
    owner, bed_process, link = owned_bed
    ids = {folder.name for folder in (tmp_path / "hosts").iterdir()}
    warden = warden_of(bed_process)
    for process in (bed_process, warden):
        process.suspend()
    # Once both are killed, the bed of any other test may be the next.
    assert len(groups_of(ids)) == 2
    for process in (warden, bed_process):
        process.kill()
    wait_until(lambda: not processes_mentioning(str(tmp_path / "hosts")), seconds=30, what="the hosts' end")
    owner.kill()
    owner.wait()
    with Testbed(tmp_path / "next"):
        wait_until(lambda: groups_of(ids) == [], seconds=30, what="the end of what was left")
    wait_until(lambda: what_is_left(tmp_path, link, ids) == [], seconds=30, what="the end of all")
