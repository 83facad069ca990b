"""A limit on the CPU of a process and its children, by the kernel's control groups (version 1 or 2).

The groups outlive their processes: whoever makes one writes its directory down first, and removes it.
"""

from __future__ import annotations

import errno
import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_ernest.exceptions import ClusterStartError

log = logging.getLogger(__name__)

_PERIOD_MICROSECONDS = 100_000
# The kernel takes a moment to let go of the processes that have just ended in a group.
_REMOVE_SECONDS = 5.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class CpuGroup:
    """A control group with a CPU quota, in a hierarchy of version 1 or 2."""

    directory: Path
    version: int

    def add(self, pid: int) -> None:
        """Move a process into the group; those that it starts from then on belong to it too."""
        (self.directory / "cgroup.procs").write_text(str(pid))

    def pids(self) -> list[int]:
        """The processes in the group."""
        return [int(line) for line in (self.directory / "cgroup.procs").read_text().split()]

    def share(self) -> float | None:
        """The quota that is in force, in cores; None for no limit."""
        if self.version == 2:
            quota, period = (self.directory / "cpu.max").read_text().split()
        else:
            quota = (self.directory / "cpu.cfs_quota_us").read_text().strip()
            period = (self.directory / "cpu.cfs_period_us").read_text().strip()
        return None if quota in ("max", "-1") else int(quota) / int(period)


@dataclass(frozen=True)
class CpuController:
    """A group below which groups with CPU quotas can be made, in a hierarchy of version 1 or 2."""

    parent: Path
    version: int

    def create_group(self, name: str, *, share: float) -> CpuGroup:
        """Make a group with a quota in cores, or take over an empty one of that name."""
        group = CpuGroup(self.parent / name, self.version)
        quota = round(share * _PERIOD_MICROSECONDS)
        try:
            group.directory.mkdir(exist_ok=True)
            if self.version == 2:
                (group.directory / "cpu.max").write_text(f"{quota} {_PERIOD_MICROSECONDS}")
            else:
                (group.directory / "cpu.cfs_period_us").write_text(str(_PERIOD_MICROSECONDS))
                (group.directory / "cpu.cfs_quota_us").write_text(str(quota))
        except OSError as error:
            remove_group(group.directory)
            raise _not_possible(f"{group.directory} cannot be set up: {error}") from error
        return group


def remove_group(directory: Path) -> bool:
    """Remove a group whose processes have ended; returns whether it is gone."""
    deadline = time.monotonic() + _REMOVE_SECONDS
    while True:
        try:
            directory.rmdir()
            return True
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() >= deadline:
                log.warning("The control group %s cannot be removed: %s", directory, error)
                return False
        time.sleep(_POLL_SECONDS)


def find_cpu_controller(process: Path = Path("/proc/self")) -> CpuController:
    """Find a control group of this process below which groups with CPU quotas can be made.

    Version 1: the process's own group. Version 2, where a group with processes cannot pass the CPU controller
    on: the nearest writable group above that has it switched on for its children.

    Raises:
        ClusterStartError: there is none.
    """
    try:
        memberships = (process / "cgroup").read_text().splitlines()
        mounts = (process / "mountinfo").read_text().splitlines()
    except OSError as error:
        raise _not_possible(f"this system has no control groups: {error}") from error
    paths = {controllers: path for _, controllers, path in (line.split(":", 2) for line in memberships)}
    for controllers, path in paths.items():
        if "cpu" in controllers.split(","):
            _, own = _group_directory(mounts, "cgroup", path)
            if not os.access(own, os.W_OK | os.X_OK):
                raise _not_possible(f"{own} is not writable")
            return CpuController(own, version=1)
    return _find_version_2(*_group_directory(mounts, "cgroup2", paths.get("", "/")))


def _find_version_2(mount_point: Path, own: Path) -> CpuController:
    for group in [own, *(parent for parent in own.parents if parent.is_relative_to(mount_point))]:
        switch = group / "cgroup.subtree_control"
        if not (os.access(group, os.W_OK | os.X_OK) and os.access(switch, os.W_OK)):
            continue
        if "cpu" in switch.read_text().split() or (group == own and _switch_on(switch)):
            return CpuController(group, version=2)
    raise _not_possible(f"neither {own} nor a group above it is writable and passes the CPU controller on")


def _switch_on(switch: Path) -> bool:
    """Let a group pass the CPU controller on; the kernel allows it in the root group or an empty one."""
    try:
        switch.write_text("+cpu")
    except OSError as error:
        log.debug("%s cannot be changed: %s", switch, error)
        return False
    return True


def _group_directory(mounts: list[str], kind: str, path: str) -> tuple[Path, Path]:
    """Mount point of the hierarchy, and the directory of this group in it."""
    for line in mounts:
        mount, _, file_system = line.partition(" - ")
        _, _, _, root, mount_point, *_ = mount.split()
        file_system_type, _, options = file_system.split(maxsplit=2)
        if file_system_type == kind and (kind == "cgroup2" or "cpu" in options.split(",")):
            # A container sees its own group as the root of the mount, but may see the host's path.
            inside = path.removeprefix(root) if root != "/" else path
            return Path(mount_point), Path(mount_point) / inside.lstrip("/")
    raise _not_possible(f"no file system of type {kind} with the CPU controller is mounted")


def _not_possible(problem: str) -> ClusterStartError:
    return ClusterStartError(
        f"cpu_share needs control groups that can be written to, but {problem}.",
        remedy="Use cpu_share=None, or run as root or in a delegated group (systemd: Delegate=yes).",
    )
