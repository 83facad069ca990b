"""What the machines' resources need at least, and what other machines would make of the run."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from airflow_provider_ernest.model.run_profile import Capacity, RunProfile, WhatIf
from airflow_provider_ernest.report.clarity.bars import Bar, Part, bars_figure
from airflow_provider_ernest.report.clarity.resources import short, style, title, within
from airflow_provider_ernest.report.tables import table
from airflow_provider_ernest.report.wording import data_amount, duration, number

SOURCES = {
    "measured": "measured by the cluster's probe",
    "stated": "as stated",
    "achieved": "the most that this run's own tasks got, so it may be more",
}
"""How a capacity is known."""


def ideal_chart(profile: RunProfile) -> Element:
    """The least that each resource needs for what the run did, against what it took."""
    ideal = sorted(profile.ideal_seconds.items(), key=lambda item: -item[1])
    return bars_figure(
        [
            Bar(
                name=title(name),
                told=duration(seconds),
                parts=(
                    Part(length=seconds, style=style(name), says=f"{duration(seconds)} of {within(name)}"),
                ),
            )
            for name, seconds in ideal
        ],
        description=(
            f"What each resource needs at least: "
            f"{', '.join(f'{within(name)} {duration(seconds)}' for name, seconds in ideal)}; "
            f"the run took {duration(profile.seconds)}."
        ),
        legend=[("now", f"the run: {duration(profile.seconds)}")],
        caption=(
            "Were a resource used all the time by all machines, it would need so long for what the run "
            f"asked of it. {capacity_in_words(profile.capacity)}"
        ),
        numbers=table(
            ["resource", "seconds"],
            ([short(name), number(seconds)] for name, seconds in ideal),
            words=[0],
        ),
        mark=profile.seconds,
    )


def what_if_chart(profile: RunProfile) -> Element:
    """The run on machines that are others, against what it took."""
    return bars_figure(
        [Bar(name=each.change, told=told(each), parts=(_predicted(each),)) for each in profile.what_ifs],
        description=(
            f"The run on other machines: "
            f"{'; '.join(f'{each.change}: {told(each)}' for each in profile.what_ifs)}."
        ),
        legend=[("predicted", "predicted"), ("now", f"the run as it was: {duration(profile.seconds)}")],
        caption=(
            "Predicted from what each stage asks of the machines' resources, and what its tasks waited for. "
            "Ousterhout's thesis found such predictions within 28 % for most jobs."
        ),
        numbers=table(
            ["machines with", "seconds", "change"],
            ([each.change, number(each.seconds), _change(each)] for each in profile.what_ifs),
            words=[0],
        ),
        mark=profile.seconds,
    )


def told(each: WhatIf) -> str:
    """Its seconds and by how much that is more or less."""
    return f"{duration(each.seconds)} ({_change(each)})"


def capacity_in_words(capacity: Capacity | None) -> str:
    """What a machine is taken to do, as a sentence; empty where nothing is known."""
    if capacity is None:
        return ""
    cores = "1 core" if capacity.cores == 1 else f"{capacity.cores} cores"
    rates = list(_rates(capacity))
    if not rates:
        return f"A machine has {cores}; what its network and its disks can do is not known."
    return f"A machine has {cores}, {' and '.join(rates)}: {SOURCES.get(capacity.source, capacity.source)}."


def _rates(capacity: Capacity) -> Iterator[str]:
    if capacity.network_gigabytes_per_second is not None:
        yield f"{_rate(capacity.network_gigabytes_per_second)} of network in each direction"
    if capacity.disk_gigabytes_per_second is not None:
        yield f"{_rate(capacity.disk_gigabytes_per_second)} of disk"


def _rate(gigabytes_per_second: float) -> str:
    return f"{data_amount(1e9 * gigabytes_per_second)}/s"


def _predicted(each: WhatIf) -> Part:
    return Part(length=each.seconds, style="predicted", says=f"{each.change}: {told(each)}")


def _change(each: WhatIf) -> str:
    return "no change" if abs(each.change_percent) < 0.5 else f"{each.change_percent:+.0f} %"
