import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from airflow_provider_ernest.processes import (
    ProcessIdentity,
    die_with_parent,
    end_process_tree,
    end_processes,
    find_by_environment,
)

# A process that ignores SIGTERM, with a child that does so too; prints both pids when they do.
STUBBORN_PAIR = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    print(os.getpid(), child, flush=True)
time.sleep(600)
"""


def wait_until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.02)


@pytest.fixture
def sleeper():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def test_a_pid_without_process_has_no_identity(sleeper):
    sleeper.kill()
    sleeper.wait()
    with pytest.raises(ProcessLookupError, match=str(sleeper.pid)):
        ProcessIdentity.of(sleeper.pid)
    assert end_process_tree(sleeper.pid, grace_seconds=0.1) == []


def test_a_zombie_counts_as_dead(sleeper):
    identity = ProcessIdentity.of(sleeper.pid)
    os.kill(sleeper.pid, signal.SIGKILL)
    wait_until(lambda: not identity.is_alive())
    assert sleeper.returncode is None  # nobody has waited for it: its entry is still there
    os.kill(sleeper.pid, 0)
    assert identity.signal(signal.SIGTERM) is False


def test_a_reused_pid_is_never_signalled(sleeper):
    earlier = replace(ProcessIdentity.of(sleeper.pid), created_at=time.time() - 3600)
    assert not earlier.is_alive()
    assert earlier.signal(signal.SIGKILL) is False
    assert end_processes([earlier], grace_seconds=0.1) == []
    assert sleeper.poll() is None


def test_an_identity_holds_for_another_reader_whose_clock_was_corrected(sleeper):
    identity = ProcessIdentity.of(sleeper.pid)
    assert replace(identity, created_at=identity.created_at + 1.0).is_alive()


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: prctl")
def test_a_child_dies_with_its_killed_parent():
    code = (
        "import subprocess, sys, time;"
        "from airflow_provider_ernest.processes import die_with_parent;"
        "child = subprocess.Popen(['sleep', '600'], preexec_fn=die_with_parent());"
        "print(child.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        child = ProcessIdentity.of(int(parent.stdout.readline()))
        assert child.is_alive()
        parent.kill()
    wait_until(lambda: not child.is_alive())


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: prctl")
def test_a_child_whose_parent_has_died_before_does_not_start():
    # The function is made here and used by a grandchild, which so has another parent than expected.
    tie_to_parent = die_with_parent()
    child = os.fork()
    if child == 0:
        grandchild = os.fork()
        if grandchild == 0:
            tie_to_parent()
            os._exit(42)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_a_tree_that_ignores_sigterm_is_ended_and_reported():
    with subprocess.Popen([sys.executable, "-c", STUBBORN_PAIR], stdout=subprocess.PIPE, text=True) as root:
        pids = [int(pid) for pid in root.stdout.readline().split()]
        tree = [ProcessIdentity.of(pid) for pid in pids]
        assert sorted(end_process_tree(root.pid, grace_seconds=0.2)) == sorted(pids)
        assert not any(process.is_alive() for process in tree)
        assert root.wait(timeout=20) == -signal.SIGKILL  # its exit code is still there for its parent


def test_processes_are_found_by_their_environment(tmp_path):
    command = ["sleep", "600"]
    with subprocess.Popen(command, env={**os.environ, "ERNEST_TEST_MARK": str(tmp_path)}) as marked:
        try:
            wait_until(lambda: find_by_environment("ERNEST_TEST_MARK", str(tmp_path)))
            found = find_by_environment("ERNEST_TEST_MARK", str(tmp_path))
            assert [process.pid for process in found] == [marked.pid]
            assert find_by_environment("ERNEST_TEST_MARK", str(tmp_path / "other")) == []
        finally:
            marked.kill()
