"""What could be won at most, were there no waiting for one thing or another."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from airflow_provider_ernest.model.run_profile import DISK, NETWORK, ResourceLimit, RunProfile
from airflow_provider_ernest.report.clarity.bars import Bar, Part, bars_figure
from airflow_provider_ernest.report.clarity.resources import style, title, within
from airflow_provider_ernest.report.tables import table
from airflow_provider_ernest.report.wording import duration, number, percent

LEAST_PERCENT = 0.05
"""What wins less has no bar, but for the network and the disks, which everyone asks about."""

LEAST_UNMEASURED = 0.1
"""Of the tasks' time; less that is unexplained is not told."""


def limits_chart(profile: RunProfile) -> Element:
    """A bar as long as the run for each thing that tasks waited for, with what could be won at its end."""
    shown = [
        limit
        for limit in profile.limits
        if limit.improvement_percent >= LEAST_PERCENT or limit.resource in (NETWORK, DISK)
    ]
    return bars_figure(
        [_bar(limit, profile.replayed_seconds) for limit in shown or profile.limits],
        description=f"What could be won at most: {'; '.join(map(_told, profile.limits))}.",
        legend=[
            ("rest", "what would remain"),
            *((style(limit.resource), "what could be won at most") for limit in shown[:1]),
        ],
        caption=(
            "The run is replayed on the same machines, task by task, without the time that its tasks spent "
            "waiting for one thing. No network, disk or setting, however good, can win more than that; "
            f"what is bought in practice wins less. {unmeasured_in_words(profile)}"
        ),
        numbers=_numbers(profile),
    )


def _bar(limit: ResourceLimit, replayed_seconds: float) -> Bar:
    won = max(0.0, replayed_seconds - limit.seconds_without)
    return Bar(
        name=title(limit.resource),
        told=f"{duration(limit.seconds_without)}, {percent(limit.improvement_percent / 100)} less at most",
        parts=(
            Part(
                length=limit.seconds_without,
                style="rest",
                says=f"{duration(limit.seconds_without)} without waiting for {within(limit.resource)}",
            ),
            Part(length=won, style=style(limit.resource), says=f"{duration(won)} could be won at most"),
        ),
    )


def _told(limit: ResourceLimit) -> str:
    return f"{percent(limit.improvement_percent / 100)} without waiting for {within(limit.resource)}"


def unmeasured_in_words(profile: RunProfile) -> str:
    """That part of the tasks' time is unexplained, as a sentence; empty where it is next to none."""
    total = sum(stage.task_seconds for stage in profile.stages) + profile.left_out_seconds
    share = profile.unmeasured_seconds / total if total > 0 else 0.0
    if share < LEAST_UNMEASURED:
        return ""
    return (
        f"For {percent(share)} of their time tasks neither computed nor waited for anything that Spark "
        "measures: they read input, called a service, or shared their cores with others."
    )


def _numbers(profile: RunProfile) -> Element:
    return table(
        ["waiting for", "seconds of tasks", "of their time", "seconds without", "won at most"],
        (
            [
                limit.resource,
                number(limit.blocked_seconds),
                percent(limit.share_percent / 100),
                number(limit.seconds_without),
                percent(limit.improvement_percent / 100),
            ]
            for limit in profile.limits
        ),
        words=[0],
    )
