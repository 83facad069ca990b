"""What a local cluster shall be, as data, and the checks that the specifications of all clusters share.

A DAG file may import this: it costs nothing. Templates pass every check: `settings.values.settings_of`
makes the specification again, and so checks it, when they are rendered.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, TypeGuard

from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.values import is_template

LOCAL = "local"
"""The kind of cluster that shares the Airflow worker's own machine; see `clusters.local`."""
MIN_MEMORY_MEGABYTES = 450
"""Spark refuses executors with less than 1.5 times the 300 MB that it reserves for itself."""


class OwnMachines:
    """What a specification of machines that Ernest starts tells of executors: each fills one.

    `ConnectedCluster` tells the same of its own.
    """

    machines: Any
    instance_type: Any
    cores_per_machine: Any
    memory_megabytes_per_machine: Any

    type_name = property(attrgetter("instance_type"))
    executor_cores = property(attrgetter("cores_per_machine"))
    executor_memory_megabytes = property(attrgetter("memory_megabytes_per_machine"))
    executors_per_machine = 1
    executor_price_per_hour: Any = property(lambda self: getattr(self, "price_per_hour", None))
    has_price = property(lambda self: self.executor_price_per_hour is not None)
    least = property(lambda self: ("machines", self.machines))
    """The fewest executors that there will be, behind the name of the field that tells it."""


class LocalClusterSpec(OwnMachines, Document):
    """A Spark standalone cluster on the own host: one process for each machine.

    Attributes:
        cores_per_machine: that each worker offers; they need not exist.
        memory_megabytes_per_machine: that each worker offers to executors.
        instance_type: what to call this type of machine: models are kept by it.
        time_to_live_seconds: the cluster ends itself so long after its start, whatever happens.
        idle_limit_seconds: it ends itself when no application has been active for so long.
        master_port: 0 takes a free one.
        start_timeout_seconds: how long the start may take.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    kind: ClassVar[str] = LOCAL

    machines: int
    cores_per_machine: int = 1
    memory_megabytes_per_machine: int = 1024
    instance_type: str = "local"
    time_to_live_seconds: float = 3600
    idle_limit_seconds: float = 900
    master_port: int = 0
    start_timeout_seconds: float = 300

    def __post_init__(self) -> None:
        """Refuse what cannot work before anything is started."""
        for each in fields(self):
            if not is_template(value := getattr(self, each.name)):
                _CHECKS[each.name](each.name, value)


UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""What no name, path or address may contain: control characters, line separators, halves of characters."""


def is_line(value: object) -> TypeGuard[str]:
    """Whether it is a text of one line, not empty, without space at its ends."""
    return isinstance(value, str) and value.strip() == value != "" and not UNPRINTABLE.search(value)


def require_whole(field: str, value: object, *, minimum: int, maximum: int | None = None) -> None:
    """Refuse what is not a whole number within the bounds."""
    if not isinstance(value, int) or not _is_within(value, minimum, maximum):
        bounds = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise InvalidParameterError(field, value, f"is not a whole number {bounds}")


def require_number(
    field: str, value: object, *, minimum: float, maximum: float | None = None, unit: str = ""
) -> None:
    """Refuse what is not a finite number within the bounds; `unit` says what it counts, such as "seconds"."""
    if not _is_within(value, minimum, maximum):
        what = f"a number of {unit}" if unit else "a number"
        bounds = f"of at least {minimum:g}" if maximum is None else f"from {minimum:g} to {maximum:g}"
        raise InvalidParameterError(field, value, f"is not {what} {bounds}")


def require_positive(field: str, value: object, *, unit: str, remedy: str = "") -> None:
    """Refuse what is not a finite number above 0."""
    if not _is_number(value) or value <= 0:
        raise InvalidParameterError(field, value, f"is not a number of {unit} above 0", remedy=remedy)


def require_match(field: str, value: object, form: re.Pattern[str], problem: str, remedy: str = "") -> None:
    """Refuse what is not a text of this form; `problem` follows its value in the error."""
    if not is_template(value) and not (isinstance(value, str) and form.fullmatch(value)):
        raise InvalidParameterError(field, value, problem, remedy=remedy)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_within(value: object, minimum: float, maximum: float | None) -> bool:
    return _is_number(value) and minimum <= value and (maximum is None or value <= maximum)


def _check_instance_type(name: str, value: object) -> None:
    if not is_line(value):
        raise InvalidParameterError(name, value, "is not a name of one line")


def _check_port(name: str, value: object) -> None:
    if value != 0:
        # Spark itself refuses the ports below, which only root may open.
        require_whole(name, value, minimum=1024, maximum=65535)


_seconds = partial(require_positive, unit="seconds")
_CHECKS: Mapping[str, Callable[[str, Any], None]] = {
    # Each worker has its own address 127.0.1.i.
    "machines": partial(require_whole, minimum=1, maximum=254),
    "cores_per_machine": partial(require_whole, minimum=1),
    "memory_megabytes_per_machine": partial(require_whole, minimum=MIN_MEMORY_MEGABYTES),
    "instance_type": _check_instance_type,
    "time_to_live_seconds": _seconds,
    "idle_limit_seconds": _seconds,
    "master_port": _check_port,
    "start_timeout_seconds": _seconds,
}
