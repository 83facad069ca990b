"""The share of the machine that a host gets: control groups, of version 1 or 2, for CPU and memory."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_IS_VERSION_2 = (_ROOT / "cgroup.controllers").exists()
_CPU = _ROOT if _IS_VERSION_2 else _ROOT / "cpu"
_MEMORY = _ROOT if _IS_VERSION_2 else _ROOT / "memory"
_PERIOD_MICROSECONDS = 100_000
# The kernel takes a moment to let go of the processes that have just ended in a group.
_REMOVE_SECONDS = 5.0


def what_is_missing() -> str | None:
    """Why no groups can be made here; None when they can."""
    try:
        if _IS_VERSION_2:
            (_ROOT / "cgroup.subtree_control").write_text("+cpu +memory")
        probe = HostGroups(f"ernest-probe-{os.getpid()}")
        probe.limit_cpu(1)
        probe.remove()
    except OSError as error:
        return f"no CPU quota can be set: {error}"
    return None


@dataclass(frozen=True)
class HostGroups:
    """The control groups of a host, made on creation; `memory_megabytes` limits it, None does not."""

    name: str
    memory_megabytes: int | None = None

    def __post_init__(self) -> None:
        for directory in self._directories:
            directory.mkdir(exist_ok=True)
        if self.memory_megabytes:
            file = "memory.max" if _IS_VERSION_2 else "memory.limit_in_bytes"
            (_MEMORY / self.name / file).write_text(str(self.memory_megabytes << 20))

    @property
    def _directories(self) -> set[Path]:
        return {_CPU / self.name, *([_MEMORY / self.name] if self.memory_megabytes else [])}

    @property
    def process_files(self) -> list[Path]:
        """What a process writes its id to, to join."""
        return sorted(directory / "cgroup.procs" for directory in self._directories)

    def limit_cpu(self, cores: float | None) -> None:
        """Set the quota in cores; None for no limit."""
        quota = None if cores is None else round(cores * _PERIOD_MICROSECONDS)
        if _IS_VERSION_2:
            (_CPU / self.name / "cpu.max").write_text(f"{quota or 'max'} {_PERIOD_MICROSECONDS}")
        else:
            (_CPU / self.name / "cpu.cfs_quota_us").write_text(str(quota or -1))

    def remove(self) -> None:
        """Remove the groups when all processes have ended."""
        for directory in self._directories:
            _remove(directory)


def groups(prefix: str) -> Iterator[Path]:
    """The directories of groups whose names begin so."""
    for parent in {_CPU, _MEMORY}:
        yield from parent.glob(f"{prefix}*")


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
