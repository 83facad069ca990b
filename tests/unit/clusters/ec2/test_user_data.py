"""The rendered scripts are run by bash, as root would at boot, with all programs but bash's own replaced."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import time
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from itertools import cycle
from pathlib import Path

import pytest

from airflow_provider_ernest.clusters.ec2.requests import (
    GAVE_UP,
    MAX_BYTES,
    new_secret,
    secret_of,
    user_data_of,
)
from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.exceptions import ClusterError, InvalidParameterError

SECRET = "5e" * 32
EXPIRES_AT = datetime(2030, 1, 1, tzinfo=UTC)
ADDRESS = "10.0.0.9"
BASH = shutil.which("bash")

NASTY = [
    "$(touch marker)",
    "`touch marker`",
    "; touch marker;",
    "x' ; touch marker ; '",
    'x" ; touch marker ; "',
    "x' \"; touch marker; \"' $(touch marker)",
    "x\ntouch marker\n",
    "x\nEND\ntouch marker\n",
    "x\r\ntouch marker #",
    "${IFS}touch${IFS}marker",
    "&&touch${IFS}marker||",
    "|touch marker",
    ">marker",
    "a  b\tc",
    "*?[a-z]~!!",
    "\\'\\\\\"\\",
    "{{ 7 * 7 }}{% raw %}{# no #}",
    "%s%n",
    "Zürich ☃ 机器",
]

# Programs that do no harm: the real ones run, and leave a note of how they were called.
REAL = ["base64", "bash", "cat", "chmod", "find", "mkdir", "setsid", "tail"]

STUBS = {
    "shutdown": '[ ! -e "$HARNESS/shutdown-fails" ]',
    "poweroff": "",
    # The short pauses are skipped. A time to live passes when the test says so.
    "sleep": '[ "$1" -lt 60 ] || until [ -e "$HARNESS/time-is-over" ]; do {sleep} 0.05; done',
    "timeout": '[ ! -e "$HARNESS/master-is-gone" ]',
    "curl": """
        case "$*" in
          *latest/api/token) echo a-token ;;
          *latest/meta-data/local-ipv4) echo "$ADDRESS" ;;
        esac""",
    # The user is there as soon as it was created. Nobody becomes another.
    "id": '[ -e "$HARNESS/user" ] && cat "$HARNESS/user"',
    "useradd": 'echo 990 >"$HARNESS/user"; [ ! -e "$HARNESS/useradd-fails" ]',
    "chown": "",
    "setpriv": 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
    "nologin": "",
    "java": "echo 'openjdk version \"17.0.9\" 2023-10-17' >&2",
    "python3": "",
}

OF_TIMER = re.compile(r"setsid |bash -c sleep|sleep \d{2,}")

SPARK_CLASS = """#!/bin/bash
printf '%s\\0' "$@" >"$HARNESS/daemon-arguments"
for name in ${!JAVA_HOME@} ${!SPARK_@} ${!PYSPARK_@}; do
  printf '%s=%s\\0' "$name" "${!name}"
done >"$HARNESS/daemon-environment"
echo "$HOME $USER $PWD" >"$HARNESS/daemon-home"
export -p >"$HARNESS/daemon-exports"
"""


class Machine:
    """A host on which no program can do any harm, below a directory of the test."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.programs = directory / "programs"
        self.programs.mkdir()
        self.cwd = directory / "cwd"
        self.cwd.mkdir()
        self.calls_file = directory / "calls"
        for name in REAL:
            self.program(self.programs / name, f'exec {shutil.which(name)} "$@"')
        for name, body in STUBS.items():
            self.program(
                self.programs / name,
                body.replace("{sleep}", shutil.which("sleep")).replace("{cat}", shutil.which("cat")),
            )
        self.spark_home = directory / "spark"
        self.install_spark(self.spark_home)

    def program(self, path: Path, body: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        note = f'echo {shlex.quote(path.name)} "$*" >>{shlex.quote(str(self.calls_file))}'
        path.write_text(f"#!/bin/bash\n{note}\n{body}\n")
        path.chmod(0o755)

    def install_spark(self, home: Path) -> None:
        (home / "bin").mkdir(parents=True)
        (home / "bin/spark-class").write_text(SPARK_CLASS)
        (home / "bin/spark-class").chmod(0o755)

    def without(self, *names: str) -> Machine:
        for name in names:
            (self.programs / name).unlink()
        return self

    def let(self, what: str) -> Machine:
        (self.directory / what).touch()
        return self

    def boot(self, user_data: str) -> str:
        """Run it to the end, that of its daemon included; returns what the console shows."""
        script = self.directory / "user-data"
        root = self.directory / "root"
        for folder in ("/opt/ernest", "/var/lib/cloud"):
            user_data = user_data.replace(folder, f"{root}{folder}")
        script.write_text(user_data, encoding="utf-8")
        return self.run(script)

    def run(self, script: Path) -> str:
        environment = {
            "PATH": str(self.programs),
            "HARNESS": str(self.directory),
            "ADDRESS": ADDRESS,
            "LC_ALL": "C.UTF-8",
        }
        ran = subprocess.run(
            [BASH, str(script)],
            env=environment,
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        return ran.stdout.decode()

    def file(self, path: str) -> Path:
        return self.directory / "root" / path

    @property
    def calls(self) -> list[str]:
        """But those of root's timer, which runs beside the script."""
        return [call for call in self.all_calls if not OF_TIMER.match(call)]

    @property
    def all_calls(self) -> list[str]:
        return self.calls_file.read_text().splitlines()

    @property
    def arguments(self) -> list[str]:
        return (self.directory / "daemon-arguments").read_bytes().decode().split("\0")[:-1]

    @property
    def settings(self) -> dict[str, str]:
        entries = (self.directory / "daemon-environment").read_bytes().decode().split("\0")[:-1]
        return dict(entry.split("=", 1) for entry in entries)

    @property
    def started(self) -> bool:
        return (self.directory / "daemon-arguments").exists()

    def require_nothing_injected(self) -> None:
        assert not list(self.directory.rglob("marker"))


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    yield made
    made.let("time-is-over")  # nothing waits any longer


@pytest.fixture
def make_spec(machine):
    def make(**changes):
        values = {
            "machines": 2,
            "instance_type": "m5.large",
            "image": "ami-12345678",
            "subnets": ("subnet-12345678",),
            "security_groups": ("sg-12345678",),
            "spark_distribution": str(machine.spark_home),
        }
        spec = EC2ClusterSpec(**values)
        for field, value in changes.items():
            # Not by the constructor: it refuses some of what the script must withstand all the same.
            object.__setattr__(spec, field, value)
        return spec

    return make


def master(spec):
    return user_data_of(spec, secret=SECRET, expires_at=EXPIRES_AT)


def worker(spec, **changes):
    values = {"master_host": "10.0.0.1", "cores": 3, "memory_megabytes": 1500}
    return user_data_of(spec, secret=SECRET, expires_at=EXPIRES_AT, **{**values, **changes})


ROLES = pytest.mark.parametrize("render", [master, worker])


@ROLES
@pytest.mark.parametrize(("seconds", "minutes"), [(60, 1), (61, 2), (7199.5, 120), (7200, 120)])
def test_the_first_command_sets_the_time_to_live(machine, make_spec, render, seconds, minutes):
    script = render(make_spec(time_to_live_seconds=seconds))
    lines = script.splitlines()
    assert lines[0] == "#!/bin/bash"
    assert lines[1].startswith(f"shutdown -h +{minutes} ")
    machine.boot(script)
    assert machine.calls[0] == f"shutdown -h +{minutes}"


@pytest.mark.parametrize("is_scheduled", [True, False])
def test_a_timer_of_root_powers_off_whatever_becomes_of_the_shutdown(machine, make_spec, is_scheduled):
    """It cannot be scheduled, or a job has called it off, as any user may before systemd 251."""
    if not is_scheduled:
        machine.let("shutdown-fails")
    console = machine.boot(master(make_spec()))
    assert ("ernest: shutdown could not be scheduled" in console) is not is_scheduled
    assert machine.started
    wait_for_call(machine, "sleep 7290", count=1)
    before = machine.all_calls.count("poweroff -f")
    machine.let("time-is-over")
    wait_for_call(machine, "poweroff -f", count=before + 1)


def wait_for_call(machine, call, *, count):
    deadline = time.monotonic() + 30
    while machine.all_calls.count(call) < count:
        assert time.monotonic() < deadline, f"{call} never came"
        time.sleep(0.05)


def test_a_machine_without_a_time_to_live_ends_at_once(machine, make_spec):
    console = machine.let("shutdown-fails").without("setsid").boot(master(make_spec()))
    assert "ernest: no time to live can be set" in console
    assert console.splitlines().count(GAVE_UP) == 1
    assert not machine.started
    assert "poweroff -f" in machine.calls


PER_BOOT = "var/lib/cloud/scripts/per-boot/ernest-time-to-live"


@pytest.mark.parametrize(
    ("render", "can_shut_down", "ends"),
    [
        (master, True, ["shutdown -h now"]),
        (worker, True, ["shutdown -h now"]),
        (master, False, ["shutdown -h now", "poweroff -f"]),
    ],
)
def test_a_machine_that_was_rebooted_ends_at_once(machine, make_spec, render, can_shut_down, ends):
    """Spark does not come back: user-data runs but once."""
    machine.boot(render(make_spec()))
    if not can_shut_down:
        machine.let("shutdown-fails")
    script = machine.file(PER_BOOT)
    assert os.access(script, os.X_OK)
    machine.calls_file.write_text("")
    console = machine.run(script)
    assert console.startswith("ernest: this machine was rebooted")
    assert [call for call in machine.calls if call.startswith(("shutdown", "poweroff"))] == ends


def test_an_image_made_of_a_machine_does_not_inherit_its_end(machine, make_spec):
    instance_id = machine.file("var/lib/cloud/data/instance-id")
    instance_id.parent.mkdir(parents=True)
    instance_id.write_text("i-1\n")
    machine.boot(master(make_spec()))
    script = machine.file(PER_BOOT)
    for current, ends in (("i-2\n", False), ("i-1\n", True)):
        instance_id.write_text(current)
        machine.calls_file.write_text("")
        machine.run(script)
        assert ("shutdown -h now" in machine.calls) is ends


@pytest.mark.parametrize(
    ("render", "is_reachable", "starts", "last"),
    [
        (master, True, 1, []),
        (worker, True, 3, ["ernest: the Spark worker keeps ending"]),
        (worker, False, 0, ["ernest: no Spark master answers at 10.0.0.1"]),
    ],
)
def test_a_machine_ends_with_its_daemon(machine, make_spec, render, is_reachable, starts, last):
    if not is_reachable:
        machine.let("master-is-gone")
    console = machine.boot(render(make_spec(start_timeout_seconds=0 if not is_reachable else 600)))
    assert console.count("ernest: starting the Spark") == starts
    assert console.splitlines()[-1 - len(last) :] == [*last, GAVE_UP]
    assert machine.calls[-1] == "shutdown -h now"
    assert machine.started is is_reachable


@ROLES
def test_spark_runs_as_a_user_without_rights(machine, make_spec, render):
    console = machine.boot(render(make_spec()))
    assert f"ernest: starting the Spark {render.__name__} at {ADDRESS} as the user ernest" in console
    created = next(call for call in machine.calls if call.startswith("useradd"))
    assert "--system" in created
    assert created.endswith(f"--shell {machine.programs}/nologin ernest")
    daemon = f"-- {machine.spark_home}/bin/spark-class"
    rights = "setpriv --reuid 990 --regid 990 --init-groups --no-new-privs"
    assert any(call.startswith(f"{rights} {daemon}") for call in machine.calls)
    home = machine.file("opt/ernest/home")
    assert (machine.directory / "daemon-home").read_text() == f"{home} ernest {home}\n"
    given = [call for call in machine.calls if call.startswith("chown 990:990 ")]
    paths = {Path(path).name for call in given for path in call.split()[2:]}
    assert paths == {"home", "local", "work", "spark-defaults.conf"}


def test_a_user_that_is_there_is_not_created(machine, make_spec):
    # The setup script may create it with a number that the owners of shared files have.
    setup = f"echo 50000 >{machine.directory}/user"
    machine.boot(master(make_spec(spark_user="airflow", setup_script=setup)))
    assert machine.started
    assert not [call for call in machine.calls if call.startswith("useradd")]
    assert any(call.startswith("setpriv --reuid 50000 ") for call in machine.calls)


def refuse(machine, path):
    """The user cannot run that; root can."""
    machine.program(
        machine.programs / "setpriv",
        f'while [ "$1" != -- ]; do shift; done; shift\n'
        f'case "$*" in *{path}*) echo "Permission denied" >&2; exit 126 ;; esac; exec "$@"',
    )


def hide_a_jar(machine):
    """`find` tells what an unprivileged user cannot read."""
    jars = machine.spark_home / "jars"
    jars.mkdir()
    searched = f"{machine.spark_home}/bin {jars}"
    machine.program(machine.programs / "find", f'[ "$2 $3" != "{searched}" ] || echo {jars}/core.jar')


@ROLES
@pytest.mark.parametrize("encryption", [True, False])
def test_all_processes_must_know_the_secret(machine, make_spec, render, encryption):
    machine.boot(render(make_spec(network_encryption=encryption)))
    file = machine.file("opt/ernest/conf/spark-defaults.conf")
    assert machine.settings["SPARK_CONF_DIR"] == str(file.parent)
    assert file.stat().st_mode & 0o777 == 0o600
    conf = dict(line.split(" ", 1) for line in file.read_text().splitlines())
    assert conf["spark.authenticate"] == "true"
    assert conf["spark.authenticate.secret"] == SECRET
    assert conf.get("spark.network.crypto.enabled") == ("true" if encryption else None)
    assert conf["spark.master.rest.enabled"] == conf["spark.ui.killEnabled"] == "false"


@ROLES
def test_the_secret_is_shown_nowhere(machine, make_spec, render):
    # Whatever goes wrong: the setup script fails in one, all goes well in the other.
    for setup in ("", "false\n"):
        console = machine.boot(render(make_spec(setup_script=setup)))
        assert SECRET not in console
    assert SECRET not in machine.calls_file.read_text(), "the list of processes shows arguments"
    assert SECRET not in "".join(machine.arguments)
    assert SECRET not in (machine.directory / "daemon-exports").read_text()


def test_the_secret_can_be_read_back(make_spec):
    secret = new_secret()
    script = user_data_of(
        make_spec(setup_script=f"ernest_secret={SECRET}\n"),
        secret=secret,
        expires_at=EXPIRES_AT,
        master_host=f"x\nernest_secret={SECRET}\n",
        cores=1,
        memory_megabytes=512,
    )
    assert secret_of(script) == secret
    assert new_secret() != secret


@pytest.mark.parametrize("user_data", ["", "#!/bin/bash\n", "ernest_secret=\n", "ernest_secret=$(x)\n"])
def test_foreign_user_data_holds_no_secret(user_data):
    with pytest.raises(ClusterError, match=r"holds no secret"):
        secret_of(user_data)


@pytest.mark.parametrize(("render", "nasty"), list(zip(cycle([master, worker]), NASTY, strict=False)))
def test_paths_arrive_unchanged_and_run_nothing(machine, make_spec, render, nasty):
    folder = f"{machine.directory}/{nasty}"
    machine.install_spark(Path(folder))
    for program in ("bin/java", "bin/python"):
        machine.program(Path(folder, program), STUBS["java"])
    machine.boot(
        render(make_spec(spark_distribution=folder, java_home=folder, python=f"{folder}/bin/python"))
    )
    machine.require_nothing_injected()
    assert machine.settings["SPARK_HOME"] == folder
    assert machine.settings["JAVA_HOME"] == folder
    assert machine.settings["PYSPARK_PYTHON"] == f"{folder}/bin/python"


@pytest.mark.parametrize("nasty", NASTY)
def test_other_texts_arrive_unchanged_and_run_nothing(machine, make_spec, nasty):
    spec = make_spec(setup_script=f": <<'THE_END'\n{nasty}\nTHE_END\n")
    machine.boot(worker(spec, master_host=nasty))
    machine.require_nothing_injected()
    assert machine.arguments[-1] == f"spark://{nasty}:7077"
    assert machine.file("opt/ernest/setup.sh").read_bytes().decode() == spec.setup_script


@pytest.mark.parametrize(
    ("field", "nasty"),
    list(zip(cycle(["python", "java_home", "spark_distribution"]), NASTY, strict=False)),
)
def test_a_text_that_leads_nowhere_is_told_and_runs_nothing(machine, make_spec, field, nasty):
    console = machine.boot(master(make_spec(**{field: nasty})))
    machine.require_nothing_injected()
    assert console.splitlines()[-1] == GAVE_UP
    assert not machine.started


def assert_ended(machine, console, reason):
    """Fails fast: the reason, the last line, the end; and nothing that works on at a price."""
    assert [line for line in console.splitlines() if line.startswith("ernest: ")][-2:] == [reason, GAVE_UP]
    assert console.splitlines()[-1] == GAVE_UP
    assert machine.calls[-1] == "shutdown -h now"
    assert not machine.started


def old_java(version):
    return lambda machine: machine.program(
        machine.programs / "java", f"echo 'openjdk version \"{version}\"' >&2"
    )


NO_JAVA = "no Java 17 or newer found as java"


@pytest.mark.parametrize(
    ("prepare", "changes", "reason"),
    [
        (lambda machine: machine.without("java"), {}, NO_JAVA),
        (old_java("1.8.0_392"), {}, NO_JAVA),
        (old_java("11.0.21"), {}, NO_JAVA),
        (None, {"java_home": "/nowhere"}, "no Java 17 or newer found as /nowhere/bin/java"),
        (lambda machine: machine.without("python3"), {}, "no Python found as python3"),
        (lambda machine: machine.without("curl"), {}, "no curl found"),
        *(
            (partial(refuse, path=name), {}, f"the user ernest cannot run {{programs}}/{name}")
            for name in ("java", "python3")
        ),
        (hide_a_jar, {}, "the user ernest cannot read Spark: {spark}/jars/core.jar"),
        (None, {"setup_script": "exit 7\n"}, "the setup script failed with exit code 7"),
        (None, {"spark_distribution": "/nowhere/spark"}, "no Spark found in /nowhere/spark"),
        (
            lambda machine: machine.program(machine.programs / "curl", "echo '<html>'"),
            {},
            "the metadata service tells no address of this machine",
        ),
        (lambda machine: machine.let("useradd-fails"), {}, "the user ernest could not be created"),
        (
            lambda machine: (machine.directory / "user").write_text("0\n"),
            {"spark_user": "toor"},
            "the user toor is root or cannot be looked up",
        ),
        (
            lambda machine: machine.without("setpriv"),
            {},
            "no setpriv found, without which Spark would run as root",
        ),
    ],
)
def test_a_machine_that_cannot_run_spark_says_why_and_ends_at_once(
    machine, make_spec, prepare, changes, reason
):
    if prepare:
        prepare(machine)
    # What both roles have in common.
    console = machine.boot(worker(make_spec(**changes)))
    reason = reason.format(programs=machine.programs, spark=machine.spark_home)
    assert_ended(machine, console, f"ernest: {reason}")


def test_a_setup_script_that_is_too_long_is_refused_before_the_launch(make_spec):
    assert len(worker(make_spec()).encode()) < MAX_BYTES / 2
    longest = "ä" * 2000
    with pytest.raises(InvalidParameterError, match=r"setup_script=.*16384.*Bake"):
        worker(make_spec(setup_script=longest * 3))


def test_every_program_is_found_on_the_path(make_spec):
    # What is called by an absolute path would not be replaced in these tests, and does not exist everywhere.
    template = files("airflow_provider_ernest.clusters.ec2").joinpath("user_data.sh.j2").read_text()
    assert not re.search(r"/s?bin/(?!bash\b|java\n|spark-class)", template)
