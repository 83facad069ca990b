"""How fast a host of the test bed is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Performance:
    """The resources of a host.

    Args:
        cpu: cores of CPU time that it gets; None for no limit.
        megabits_per_second: of its network, each way; None for no limit.
        memory_megabytes: of all its processes; None for no limit. Read at boot.
        boot_delay_seconds: before it boots.
        boot_fails: AWS ends it instead of booting it.
    """

    cpu: float | None = None
    megabits_per_second: float | None = None
    memory_megabytes: int | None = None
    boot_delay_seconds: float = 0.0
    boot_fails: bool = False
