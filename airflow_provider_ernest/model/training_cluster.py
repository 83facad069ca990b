"""The document of the machines that sample runs were made on."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ernest.model.documents import Document


@dataclass(frozen=True, kw_only=True)
class TrainedMachine(Document):
    """A machine of the cluster that the sample runs were made on, or one that was tried and let go.

    Attributes:
        host: its address.
        instance_id: the cloud's name of it.
        memory_gigabytes_per_second: bandwidth of its memory; None where it was not measured.
        network_gigabytes_per_second: bandwidth between it and the others.
        score: by what it was ranked among them, higher is better.
        culled_because: why it was let go before the runs; empty where it was kept.
        price_per_hour: dollars; None where it is not known.
        is_master: whether it ran the master only, and so no part of any run.
    """

    host: str
    instance_id: str | None = None
    memory_gigabytes_per_second: float | None = None
    network_gigabytes_per_second: float | None = None
    score: float | None = None
    culled_because: str = ""
    price_per_hour: float | None = None
    is_master: bool = False


@dataclass(frozen=True, kw_only=True)
class TrainingCluster(Document):
    """The cluster that the sample runs were made on.

    Attributes:
        kind: what kind of cluster, such as "local" or "ec2".
        name: its name there.
        instance_type: the machines' type.
        cores_per_machine: the cores that each machine offers.
        price_per_hour: dollars for one worker and hour; None where it is not known.
        machines: those kept and those culled, and the master where it is a machine of its own.
        memory_megabytes_per_machine: that each offers to executors; None where it is not known.
    """

    kind: str
    name: str
    instance_type: str
    cores_per_machine: int
    price_per_hour: float | None = None
    machines: tuple[TrainedMachine, ...] = ()
    memory_megabytes_per_machine: int | None = None

    @property
    def kept_machines(self) -> list[TrainedMachine]:
        """The workers that the sample runs were made on."""
        return [machine for machine in self.machines if not machine.culled_because and not machine.is_master]
