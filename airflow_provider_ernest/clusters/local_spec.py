"""What a local cluster shall be, as data. A DAG file may import this: it costs nothing."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ernest.clusters.spec_values import (
    MIN_MEMORY_MEGABYTES,
    is_line,
    is_number,
    require_whole,
)
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.documents import Document

# Each worker has its own address 127.0.1.i.
MAX_MACHINES = 254
# The kernel's smallest quota is 1 ms in each 100 ms.
MIN_CPU_SHARE = 0.01


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
        start_timeout_seconds: how long all workers may take to be there.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

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
        require_whole("machines", self.machines, minimum=1, maximum=MAX_MACHINES)
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
            if not is_number(value) or value <= 0:
                raise InvalidParameterError(field, value, "is not a number of seconds above 0")
        if self.cpu_share is not None and not (
            is_number(self.cpu_share) and MIN_CPU_SHARE <= self.cpu_share <= self.cores_per_machine
        ):
            raise InvalidParameterError(
                "cpu_share",
                self.cpu_share,
                f"is not a number from {MIN_CPU_SHARE} to cores_per_machine={self.cores_per_machine}",
                remedy="Use None for no limit.",
            )
