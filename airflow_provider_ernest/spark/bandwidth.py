"""What the bandwidth probe measured, and how the machines of a cluster compare."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_ernest.model.documents import Document


@dataclass(frozen=True, kw_only=True)
class Bandwidth(Document):
    """What the probe measured on one machine, in 10^9 bytes per second, and how that compares.

    Attributes:
        memory_gigabytes_per_second: copied within memory by all cores together, read and written.
        network_gigabytes_per_second: the worse of sending and receiving; None with a single machine.
        score: the worse of the two, each relative to the median machine of the cluster: 1.0 is ordinary.
    """

    memory_gigabytes_per_second: float
    network_gigabytes_per_second: float | None
    score: float
