"""The share of the CPU that a host gets: control groups of version 1 or 2."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_IS_VERSION_2 = (_ROOT / "cgroup.controllers").exists()
_CPU = _ROOT if _IS_VERSION_2 else _ROOT / "cpu"
_PERIOD_MICROSECONDS = 100_000
# The kernel takes a moment to let go of the processes that have just ended in a group.
_REMOVE_SECONDS = 5.0


def what_is_missing() -> str | None:
    """Why no groups can be made here; None when they can."""
    try:
        if _IS_VERSION_2:
            (_ROOT / "cgroup.subtree_control").write_text("+cpu")
        probe = CpuLimit(f"ernest-probe-{os.getpid()}")
        probe.set(1)
        probe.remove()
    except OSError as error:
        return f"no CPU quota can be set: {error}"
    return None


@dataclass(frozen=True)
class CpuLimit:
    """The control group of a host, made on creation."""

    name: str

    def __post_init__(self) -> None:
        (_CPU / self.name).mkdir(exist_ok=True)

    @property
    def process_file(self) -> Path:
        """What a process writes its id to, to join."""
        return _CPU / self.name / "cgroup.procs"

    def set(self, cores: float | None) -> None:
        """Set the quota in cores; None for no limit."""
        quota = None if cores is None else round(cores * _PERIOD_MICROSECONDS)
        if _IS_VERSION_2:
            (_CPU / self.name / "cpu.max").write_text(f"{quota or 'max'} {_PERIOD_MICROSECONDS}")
        else:
            (_CPU / self.name / "cpu.cfs_quota_us").write_text(str(quota or -1))

    def remove(self) -> None:
        """Remove the group when all processes have ended."""
        _remove(_CPU / self.name)


def groups(prefix: str) -> list[Path]:
    """The directories of groups whose names begin so."""
    return list(_CPU.glob(f"{prefix}*"))


def remove_groups(prefix: str) -> None:
    """Kill what is in groups whose names begin so, and remove them."""
    for directory in groups(prefix):
        with contextlib.suppress(FileNotFoundError):
            for line in (directory / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(line), signal.SIGKILL)
        _remove(directory)


def _remove(directory: Path) -> None:
    deadline = time.monotonic() + _REMOVE_SECONDS
    while directory.exists():
        try:
            directory.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() >= deadline:
                return  # the next bed that takes the slot tries again
            time.sleep(0.05)
