"""The share of the machine that a host gets: control groups for CPU (as local clusters have) and memory."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_ernest.clusters.cpu_groups import (
    CpuController,
    CpuGroup,
    find_cpu_controller,
    remove_group,
)

# A share that every machine can give, until the limit is lifted.
_SMALL_SHARE = 0.05


@dataclass(frozen=True)
class HostGroups:
    """The control groups of a host.

    Args:
        cpu: with its CPU quota.
        memory: directory of the one with its memory limit; None for no limit.
    """

    cpu: CpuGroup
    memory: Path | None

    @property
    def process_files(self) -> list[Path]:
        """What a process writes its id to, to join."""
        directories = {self.cpu.directory, *([self.memory] if self.memory else [])}
        return sorted(directory / "cgroup.procs" for directory in directories)

    def set_cpu(self, controller: CpuController, cores: float | None) -> None:
        _cpu_group(controller, self.cpu.directory.name, cores)

    def remove(self) -> None:
        """Remove the groups when all processes have ended."""
        for directory in {file.parent for file in self.process_files}:
            remove_group(directory)


def create_groups(
    controller: CpuController, name: str, *, cores: float | None, memory_megabytes: int | None
) -> HostGroups:
    cpu = _cpu_group(controller, name, cores)
    memory = _limit_memory(cpu, name, memory_megabytes) if memory_megabytes else None
    return HostGroups(cpu, memory)


def remove_groups(prefix: str) -> None:
    """Kill what is in groups whose names begin so, and remove them."""
    for directory in _groups(prefix):
        with contextlib.suppress(FileNotFoundError):
            for line in (directory / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(line), signal.SIGKILL)
        remove_group(directory)


def _cpu_group(controller: CpuController, name: str, cores: float | None) -> CpuGroup:
    if cores is not None:
        return controller.create_group(name, share=cores)
    group = CpuGroup(controller.parent / name, controller.version)
    if not group.directory.exists():
        controller.create_group(name, share=_SMALL_SHARE)
    if group.version == 2:
        (group.directory / "cpu.max").write_text("max")
    else:
        (group.directory / "cpu.cfs_quota_us").write_text("-1")
    return group


def _groups(prefix: str) -> Iterator[Path]:
    parents = {find_cpu_controller().parent}
    if memory := _memory_parent():
        parents.add(memory)
    for parent in parents:
        yield from parent.glob(f"{prefix}*")


def _limit_memory(cpu: CpuGroup, name: str, megabytes: int) -> Path:
    if cpu.version == 2:
        (cpu.directory / "memory.max").write_text(str(megabytes << 20))
        return cpu.directory
    parent = _memory_parent()
    if parent is None:
        raise RuntimeError("memory_megabytes needs the memory controller, and it is not mounted")
    directory = parent / name
    directory.mkdir(exist_ok=True)
    (directory / "memory.limit_in_bytes").write_text(str(megabytes << 20))
    return directory


def _memory_parent() -> Path | None:
    """The machine's group of the memory controller, version 1."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, file_system = line.partition(" - ")
        if file_system.startswith("cgroup ") and "memory" in file_system.split()[2].split(","):
            return Path(mount.split()[4])
    return None
