"""What a local cluster shall be, as data, and the checks that the specifications of all clusters share.

A DAG file may import this: it costs nothing. Templates pass every check: `settings.templates.settings_of`
makes the specification again, and so checks it, when they are rendered.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeGuard

from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.values import is_template

LOCAL = "local"
"""The kind of cluster that shares the Airflow worker's own machine; see `clusters.local`."""
MIN_MEMORY_MEGABYTES = 450
"""Spark refuses executors with less than 1.5 times the 300 MB that it reserves for itself."""

# Each worker has its own address 127.0.1.i.
_MAX_MACHINES = 254
# The kernel's smallest quota is 1 ms in each 100 ms.
_MIN_CPU_SHARE = 0.01


@dataclass(frozen=True, kw_only=True)
class LocalClusterSpec(Document):
    """A Spark standalone cluster on the own host: one process for each machine.

    Attributes:
        machines: how many workers.
        cores_per_machine: cores that each of them offers; they need not exist.
        memory_megabytes_per_machine: memory that each of them offers to executors.
        instance_type: what to call this type of machine: models are kept by it.
        cpu_share: CPU that each worker with its executors may use, in cores: 0.5 is half of the time
            of one core. Enforced by the kernel's control groups; None is no limit.
        time_to_live_seconds: the cluster ends itself so long after its start, whatever happens.
        idle_limit_seconds: it ends itself when no application has been active for so long.
        master_port: port of the master's address; 0 takes a free one.
        start_timeout_seconds: how long the start may stand still. One that goes on, as on a busy host, may
            take five times as long.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    kind: ClassVar[str] = LOCAL

    machines: int
    cores_per_machine: int = 1
    memory_megabytes_per_machine: int = 1024
    instance_type: str = "local"
    cpu_share: float | None = None
    time_to_live_seconds: float = 3600
    idle_limit_seconds: float = 900
    master_port: int = 0
    start_timeout_seconds: float = 120

    def __post_init__(self) -> None:
        """Refuse what cannot work before anything is started."""
        require_whole("machines", self.machines, minimum=1, maximum=_MAX_MACHINES)
        require_whole("cores_per_machine", self.cores_per_machine, minimum=1)
        require_whole(
            "memory_megabytes_per_machine", self.memory_megabytes_per_machine, minimum=MIN_MEMORY_MEGABYTES
        )
        if not is_line(self.instance_type):
            raise InvalidParameterError("instance_type", self.instance_type, "is not a name of one line")
        if self.master_port != 0:
            # Spark itself refuses the ports below, which only root may open.
            require_whole("master_port", self.master_port, minimum=1024, maximum=65535)
        for field in ("time_to_live_seconds", "idle_limit_seconds", "start_timeout_seconds"):
            value = getattr(self, field)
            if not is_template(value) and not (_is_number(value) and value > 0):
                raise InvalidParameterError(field, value, "is not a number of seconds above 0")
        self._check_cpu_share()

    def _check_cpu_share(self) -> None:
        share, cores = self.cpu_share, self.cores_per_machine
        if share is None or is_template(share) or is_template(cores):
            return
        if not _is_number(share) or not _MIN_CPU_SHARE <= share <= cores:
            raise InvalidParameterError(
                "cpu_share",
                share,
                f"is not a number from {_MIN_CPU_SHARE} to cores_per_machine={cores}",
                remedy="Use None for no limit.",
            )


UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""What no name, path or address may contain: control characters, line separators, halves of characters."""


def is_line(value: object) -> TypeGuard[str]:
    """Whether it is a text of one line, not empty, without space at its ends; or a template."""
    if is_template(value):
        return True
    return isinstance(value, str) and value.strip() == value != "" and not UNPRINTABLE.search(value)


def require_whole(field: str, value: object, *, minimum: int, maximum: int | None = None) -> None:
    """Refuse what is no whole number within the bounds, by the parameter's name."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if is_template(value) or (is_whole and _is_within(value, minimum, maximum)):
        return
    bounds = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    raise InvalidParameterError(field, value, f"is not a whole number {bounds}")


def require_number(
    field: str, value: object, *, minimum: float, maximum: float | None = None, unit: str = ""
) -> None:
    """Refuse what is no finite number within the bounds; `unit` says what it counts, such as "seconds"."""
    if is_template(value) or _is_within(value, minimum, maximum):
        return
    what = f"a number of {unit}" if unit else "a number"
    bounds = f"of at least {minimum:g}" if maximum is None else f"from {minimum:g} to {maximum:g}"
    raise InvalidParameterError(field, value, f"is not {what} {bounds}")


def require_price(field: str, value: object) -> None:
    """Refuse what is no price: by one of 0 nothing could be decided."""
    if not is_template(value) and not (_is_number(value) and value > 0):
        raise InvalidParameterError(
            field,
            value,
            "is not a number of dollars above 0",
            remedy="Give the dollars for one machine and hour.",
        )


def require_flags(values: Mapping[str, object]) -> None:
    """Refuse what is neither True nor False, such as the text "False", which would count as true."""
    for field, value in values.items():
        if not isinstance(value, bool) and not is_template(value):
            raise InvalidParameterError(field, value, "is neither True nor False")


def require_match(field: str, value: object, form: re.Pattern[str], problem: str, remedy: str = "") -> None:
    """Refuse what is no text that has this form as a whole; `problem` is told of it, after its value."""
    if is_template(value):
        return
    if not isinstance(value, str) or not form.fullmatch(value):
        raise InvalidParameterError(field, value, problem, remedy=remedy)


def _is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a finite number; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_within(value: object, minimum: float, maximum: float | None) -> bool:
    return _is_number(value) and minimum <= value and (maximum is None or value <= maximum)
