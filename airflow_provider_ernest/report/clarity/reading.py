"""How to read the page: what its words mean."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from airflow_provider_ernest.report.shell import facts

WORDS = {
    "clean time": "From the moment that all machines had registered to the end of the application.",
    "task seconds": "The time of tasks, from launch to end, added up: 8 at once do 8 of them in a second.",
    "waiting": "What the event log says that a task spent blocked: fetching shuffle data (network), writing "
    "and spilling (disk), garbage collection, the scheduler's delay, serialisation, Python workers.",
    "at most": "An upper bound. The run is replayed as if the waiting took no time at all; no hardware does "
    "that.",
    "bound by": "Of a stage: that which by itself would take longest. For network and disks it is what "
    "the stage moved over what they can do, where that is known; for all else what its tasks spent on it, "
    "shared among the slots.",
    "unmeasured": "Time of a task in which it neither computed nor waited for what the event log tells of.",
    "straggler": "A task that took over 1.5 times the median of its stage.",
    "replay": "The run's own tasks, put on the same or other machines anew, stages in their order, the "
    "driver's time kept. The error of replaying the very same run says how far to believe it.",
}


def how_to_read() -> Element:
    """The words, each with its meaning."""
    return facts(WORDS)
