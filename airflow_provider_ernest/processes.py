"""Processes by identity: no signal to a reused pid, no child that outlives its parent, and their folders."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from airflow_provider_ernest.exceptions import MissingResourceError

log = logging.getLogger(__name__)

# From <linux/prctl.h>.
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

# A start time is counted from the boot, and the kernel's idea of when that was moves with the clock's
# corrections: the same process can look up to a second or two younger or older to another reader.
_CLOCK_TOLERANCE_SECONDS = 2.0
_POLL_SECONDS = 0.05
# After SIGKILL only the kernel can hold a process back; longer than this means a broken device.
_KILL_WAIT_SECONDS = 5.0
# What ends may start something at the last moment.
_END_ROUNDS = 3


@dataclass(frozen=True, kw_only=True)
class ProcessIdentity:
    """A process, by pid and creation (seconds since the epoch), so that no later one of that pid is meant."""

    pid: int
    created_at: float

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity:
        """The identity of the process that has this pid now; a ProcessLookupError where there is none."""
        try:
            return cls(pid=pid, created_at=psutil.Process(pid).create_time())
        except psutil.NoSuchProcess as error:
            raise ProcessLookupError(f"No process has pid {pid}.") from error

    def is_alive(self) -> bool:
        """Whether it still runs. A zombie, ended but not yet waited for, does not."""
        return self._find() is not None

    def signal(self, signum: int) -> bool:
        """Send it a signal, never to another process that has got its pid; False where it has ended."""
        process = self._find()
        if process is None:
            return False
        try:
            process.send_signal(signum)
        except psutil.NoSuchProcess:
            return False
        return True

    def _find(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            if abs(process.create_time() - self.created_at) > _CLOCK_TOLERANCE_SECONDS:
                return None
            return None if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD) else process
        except psutil.NoSuchProcess:
            return None


def die_with_parent(signum: int = signal.SIGKILL) -> Callable[[], None]:
    """A ``preexec_fn`` for `subprocess.Popen` by which the kernel ends the new process with this one (Linux).

    The kernel sends the signal when the *thread* that created the process ends: start it from the main
    thread. The new process's own children get none.
    """
    if sys.platform != "linux":
        log.debug("%s cannot tie a process to its parent; it may outlive it.", sys.platform)
        return lambda: None
    # Between fork and exec other threads' locks may be held forever: load everything beforehand.
    libc = ctypes.CDLL(None, use_errno=True)
    expected_parent = os.getpid()

    def tie_to_parent() -> None:
        if libc.prctl(_PR_SET_PDEATHSIG, int(signum), 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
        if os.getppid() != expected_parent:  # it ended before the call above: no signal will come
            os._exit(1)

    return tie_to_parent


def adopt_orphans() -> None:
    """Make this process the parent of those of its descendants whose own parents end (Linux only).

    They stay visible to `descendants`. This process must then wait for them, or they stay zombies.
    """
    if sys.platform != "linux":
        log.debug("%s has no child sub-reapers; orphans are found by other means.", sys.platform)
        return
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def reap_adopted(own: Container[int]) -> int | None:
    """Wait for adopted orphans that have ended, so that nobody takes them for alive.

    Returns one of this process's `own` children that has ended and is still to be waited for, else None.
    """
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return None
        if ended is None:
            return None
        if ended.si_pid in own:
            return ended.si_pid
        os.waitpid(ended.si_pid, 0)


def descendants(pid: int) -> list[ProcessIdentity]:
    """The running children of a process, their children and so on; none if it has ended."""
    try:
        children = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    found = []
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            found.append(ProcessIdentity.of(child.pid))
    return [process for process in found if process.is_alive()]


def find_by_environment(variable: str, value: str) -> list[ProcessIdentity]:
    """The running processes of this user that were started with this environment variable."""
    user = os.getuid()
    found = []
    for process in psutil.process_iter():
        try:
            if process.uids().real == user and process.environ().get(variable) == value:
                found.append(ProcessIdentity.of(process.pid))
        except (psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError):
            continue  # it has ended meanwhile, or is protected and so none that we have started
    return [process for process in found if process.is_alive()]


def end_processes(processes: Iterable[ProcessIdentity], *, grace_seconds: float) -> list[int]:
    """End processes: SIGTERM, and after the grace SIGKILL for what is left, with its descendants.

    Returns the pids of those that this call ended. Their parents still get the exit codes (no ``waitpid``).
    """
    signalled = [process for process in processes if process.signal(signal.SIGTERM)]
    remaining = _wait_for_end(signalled, grace_seconds)
    if remaining:
        for process in list(remaining):
            remaining.extend(child for child in descendants(process.pid) if child not in remaining)
        for process in remaining:
            if process.signal(signal.SIGKILL) and process not in signalled:
                signalled.append(process)
        remaining = _wait_for_end(remaining, _KILL_WAIT_SECONDS)
    for process in remaining:
        log.warning("Process %d did not end within %g s of SIGKILL.", process.pid, _KILL_WAIT_SECONDS)
    return [process.pid for process in signalled if process not in remaining]


def end_process_tree(pid: int, *, grace_seconds: float) -> list[int]:
    """End a process and all of its descendants; see `end_processes`. Returns their pids, the root's first.

    The caller must be sure that the pid is still that of the process meant.
    """
    try:
        root = ProcessIdentity.of(pid)
    except ProcessLookupError:
        return []
    return end_processes([root, *descendants(pid)], grace_seconds=grace_seconds)


def end_descendants(*, grace_seconds: float) -> None:
    """End all that this process has started, and what that starts while it ends; see `end_processes`."""
    for _ in range(_END_ROUNDS):
        remaining = descendants(os.getpid())
        if not remaining:
            return
        end_processes(remaining, grace_seconds=grace_seconds)


def _wait_for_end(processes: list[ProcessIdentity], timeout_seconds: float) -> list[ProcessIdentity]:
    """Wait until all have ended; returns those that have not after the time."""
    deadline = time.monotonic() + timeout_seconds
    while True:
        alive = [process for process in processes if process.is_alive()]
        if not alive or time.monotonic() >= deadline:
            return alive
        time.sleep(_POLL_SECONDS)


# Folders that one process needs while it runs, such as for a secret or a sample of data. Only their user may
# enter them. After a SIGKILL whoever comes next removes them. The owner is part of a folder's name (host,
# process id and start time), so that it is known at any moment, and no folder in use is taken for left over.

FOREIGN_SECONDS = 7 * 86_400.0
"""A folder of another host counts as left over after this time: nothing tells whether its process runs."""


def runtime_folder() -> Path:
    """Where secrets lie while their processes run: below XDG_RUNTIME_DIR, else below the temporary folder."""
    given = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nowhere")
    # It may be that of the user who has started this user's processes.
    is_ours = given.is_dir() and given.stat().st_uid == os.geteuid()
    folder = given / "ernest" if is_ours else Path(tempfile.gettempdir(), f"ernest-{os.geteuid()}")
    remedy = "Set XDG_RUNTIME_DIR to a folder of the user that Airflow's tasks run as."
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if found.st_uid != os.geteuid() or not folder.is_dir() or folder.is_symlink():
            raise MissingResourceError(f"{folder} is not a folder of this user.", remedy=remedy)
        folder.chmod(0o700)
    except OSError as error:
        raise MissingResourceError(f"{folder} cannot be used: {error.strerror}.", remedy=remedy) from error
    return folder


def make_owned(parent: Path) -> Path:
    """A new folder in `parent` that belongs to this process; what is left over there is removed first."""
    parent.mkdir(parents=True, exist_ok=True)
    sweep(parent)
    me = ProcessIdentity.of(os.getpid())
    # mkdtemp makes it with mode 0700.
    return Path(
        tempfile.mkdtemp(prefix=f"{socket.gethostname()}.{me.pid}.{round(me.created_at * 1000)}.", dir=parent)
    )


def sweep(root: Path, *, pattern: str = "*", dry_run: bool = False) -> list[Path]:
    """Remove the folders below `root` whose processes have ended, and nothing else; returns them."""
    # Unlike Path.glob, this passes over folders that others remove meanwhile.
    found = [root / name for name in glob.glob(pattern, root_dir=root)]  # noqa: PTH207
    left_over = [path for path in found if path.is_dir() and _is_left_over(path)]
    for path in [] if dry_run else left_over:
        shutil.rmtree(path, ignore_errors=True)
    return left_over


def _is_left_over(path: Path) -> bool:
    host, *numbers = path.name.rsplit(".", 3)
    if len(numbers) != 3 or not (numbers[0] + numbers[1]).isdecimal():
        return False
    if host != socket.gethostname():
        with contextlib.suppress(FileNotFoundError):
            return time.time() - path.lstat().st_mtime > FOREIGN_SECONDS
        return False
    owner = ProcessIdentity(pid=int(numbers[0]), created_at=int(numbers[1]) / 1000)
    return not owner.is_alive()
