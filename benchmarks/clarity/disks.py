"""Disks of a speed that can be set: files behind loop devices, throttled by control groups of version 1.

Writes to them are synchronous, so that a task waits for its disk as long as the disk takes; otherwise the
machine's memory would take what these short runs write, and the disk nothing. Reads come from that memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.ec2_testbed.bed_network import run

_THROTTLE = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Disk:
    """A disk.

    Args:
        folder: where it is mounted.
        number: of its device, major and minor.
    """

    folder: Path
    number: str

    def set_speed(self, megabytes_per_second: float | None) -> None:
        """Limit the speed of writing; None for no limit."""
        bytes_per_second = 0 if megabytes_per_second is None else round(megabytes_per_second * _MEGABYTE)
        _THROTTLE.write_text(f"{self.number} {bytes_per_second}")


def missing() -> str | None:
    """Why there can be no such disks on this machine; None when there can."""
    if os.geteuid() != 0:
        return "disks of a set speed need root"
    if not _THROTTLE.exists():
        return f"disks of a set speed need {_THROTTLE} (control groups, version 1)"
    if not Path("/dev/loop-control").exists():
        return "disks of a set speed need loop devices"
    return None


@contextmanager
def disks(folder: Path, count: int, *, megabytes: int = 1024) -> Iterator[list[Disk]]:
    """Disks that are there for as long as the context lasts.

    Args:
        folder: for their files and below it their mount points.
        count: how many.
        megabytes: that each holds.
    """
    with ExitStack() as stack:
        yield [stack.enter_context(_disk(folder / f"disk-{number}", megabytes)) for number in range(count)]


@contextmanager
def _disk(folder: Path, megabytes: int) -> Iterator[Disk]:
    folder.mkdir(parents=True)
    image = folder.with_suffix(".image")
    with image.open("wb") as file:
        file.truncate(megabytes << 20)
    run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", str(image))
    # By `mount`, so that the loop device ends with the mount, however that ends.
    run("mount", "-o", "loop,sync,noatime", str(image), str(folder))
    try:
        device = run("findmnt", "--noheadings", "--output", "MAJ:MIN", str(folder)).strip()
        disk = Disk(folder, device)
        disk.set_speed(None)  # a killed process may have left the throttle of a device of this number
        yield disk
    finally:
        disk.set_speed(None)
        run("umount", "--lazy", str(folder))
        image.unlink()
