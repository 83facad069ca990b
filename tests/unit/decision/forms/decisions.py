"""Decisions for tests, and what machines that were trained on offer to an executor."""

from __future__ import annotations

from airflow_provider_ernest.decision.forms.machines import MachineShape
from airflow_provider_ernest.documents.decisions import Configuration, Decision
from airflow_provider_ernest.settings import Billing

# Cores and gigabytes of machines of Amazon's, and of one under YARN.
WHOLE = {
    "m5.large": (2, 8),
    "m5.xlarge": (4, 16),
    "c5.xlarge": (4, 8),
    "r5.xlarge": (4, 32),
    "m5.4xlarge": (16, 64),
}
SHAPES = {
    name: MachineShape(cores=cores, memory_megabytes=int((gigabytes - 1) * 1024 / 1.1), is_standalone=True)
    for name, (cores, gigabytes) in WHOLE.items()
}
UNDER_YARN = MachineShape(cores=8, memory_megabytes=20_000)


def decision(instance_type: str = "m5.xlarge", machines: int = 5, *, market: str = "on-demand") -> Decision:
    return Decision(
        config=Configuration(machines=machines, instance_type=instance_type),
        goal="a test",
        billing=Billing(price_per_hour=0.2, market=market),
    )


def mix(**machines: int) -> Decision:
    """Machines of several types, their dots as underscores."""
    parts = tuple(
        Configuration(machines=count, instance_type=name.replace("_", "."))
        for name, count in machines.items()
    )
    words = " + ".join(f"{part.machines} {part.instance_type}" for part in parts)
    return Decision(
        config=Configuration(machines=sum(machines.values()), instance_type=words),
        composition=parts,
        goal="a test",
    )
