"""What tasks need and wait for: its colour, and its name in sentences."""

from __future__ import annotations

from airflow_provider_ernest.model.run_profile import (
    CPU,
    DISK,
    GARBAGE_COLLECTION,
    NETWORK,
    PYTHON_WORKER,
    SCHEDULER,
    SERIALISATION,
    UNMEASURED,
)

STYLES = {
    CPU: "part-0",
    NETWORK: "part-1",
    DISK: "part-2",
    GARBAGE_COLLECTION: "part-3",
    SCHEDULER: "part-4",
    SERIALISATION: "part-5",
    PYTHON_WORKER: "part-6",
}
"""Classes of the style sheet: a resource has the same colour in all charts."""

_WITH_ARTICLE = {
    CPU: "the CPU",
    NETWORK: "the network",
    DISK: "the disks",
    SCHEDULER: "the scheduler",
    PYTHON_WORKER: "Python workers",
}

_SHORT = {CPU: "CPU", UNMEASURED: "unmeasured"}


def style(resource: str) -> str:
    """The class of its colour; that of all others where it is none of ours."""
    return STYLES.get(resource, "part-others")


def short(resource: str) -> str:
    """Its name in the narrow column of a table."""
    return _SHORT.get(resource, resource)


def title(resource: str) -> str:
    """Its name where it stands alone: CPU, Network, Garbage collection."""
    name = short(resource)
    return name[:1].upper() + name[1:]


def within(resource: str) -> str:
    """Its name within a sentence: the network, garbage collection."""
    return _WITH_ARTICLE.get(resource, resource)
