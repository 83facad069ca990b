"""The profile of a run as lines of text: what binds it first, then what could be won, then why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_provider_ernest.log_cli.stage_text import stage_lines, straggler_lines
from airflow_provider_ernest.log_cli.text_table import titled_table, wrapped
from airflow_provider_ernest.model.run_profile import RunProfile
from airflow_provider_ernest.report.clarity.categories import category_name
from airflow_provider_ernest.report.clarity.limits_chart import unmeasured_in_words
from airflow_provider_ernest.report.clarity.machines_charts import capacity_in_words, told
from airflow_provider_ernest.report.clarity.most_to_be_won import most_to_be_won
from airflow_provider_ernest.report.clarity.phases_chart import PHASES
from airflow_provider_ernest.report.clarity.resources import short
from airflow_provider_ernest.report.wording import duration, machines, percent


def profile_lines(profile: RunProfile) -> list[str]:
    """All that the profile tells, but for its warnings; no line is wider than a screen."""
    return [
        *wrapped(_name(profile)),
        *(wrapped(profile.headline) if profile.headline else []),
        *wrapped("; ".join(_run_in_words(profile))),
        *_advice(profile),
        *_limits(profile),
        *stage_lines(profile),
        *straggler_lines(profile),
        *_ideal(profile),
        *_what_ifs(profile),
        *_sizes(profile),
        *_phases(profile),
    ]


def overview_lines(profiles: Sequence[RunProfile]) -> list[str]:
    """One line for each of several runs, without the empty line before it."""
    lines = titled_table(
        f"{len(profiles)} runs",
        ("application", "category", "machines", "scale", "seconds", "start-up", "bound by", "most to be won"),
        (
            (
                profile.application_id,
                category_name(profile.category),
                f"{profile.machines:,}",
                percent(profile.scale),
                f"{profile.seconds:,.1f}",
                f"{profile.startup_seconds:,.1f}",
                short(profile.bottleneck),
                _most_to_be_won(profile),
            )
            for profile in profiles
        ),
        words=("application", "category", "bound by", "most to be won"),
    )
    return lines[1:]


def _name(profile: RunProfile) -> str:
    return f"{profile.name} ({profile.application_id})" if profile.name else profile.application_id


def _run_in_words(profile: RunProfile) -> Iterator[str]:
    at_once = "1 task" if profile.slots == 1 else f"{profile.slots:,} tasks"
    yield f"{duration(profile.seconds)} on {machines(profile.machines)}, {at_once} at once"
    yield f"a start-up of {duration(profile.startup_seconds)} comes on top"
    yield f"in {duration(profile.driver_seconds)} no task ran"
    failed = f", {profile.failed_tasks:,} failed or killed" if profile.failed_tasks else ""
    yield f"{profile.tasks:,} tasks{failed}"
    category = category_name(profile.category)
    yield category if profile.spark is None else f"{category}, Spark {profile.spark}"


def _advice(profile: RunProfile) -> list[str]:
    if not profile.advice:
        return []
    lines = ["", "what to change"]
    for each in profile.advice:
        lines += wrapped(f"- {each.text} Because: {each.figure}.", indent="  ", further="    ")
    return lines


def _limits(profile: RunProfile) -> list[str]:
    title = (
        f"what could be won at most: the run replayed without waiting, against "
        f"{profile.replayed_seconds:,.1f} s with it ({profile.replay_error_percent:+z.1f} % off the truth)"
    )
    lines = titled_table(
        title,
        ("waiting for", "seconds of tasks", "of their time", "seconds without", "won at most"),
        (
            (
                limit.resource,
                f"{limit.blocked_seconds:,.1f}",
                percent(limit.share_percent / 100),
                f"{limit.seconds_without:,.1f}",
                percent(limit.improvement_percent / 100),
            )
            for limit in profile.limits
        ),
        words=("waiting for",),
    )
    return [*lines, *wrapped(unmeasured_in_words(profile), indent="  ", further="  ")] if lines else []


def _ideal(profile: RunProfile) -> list[str]:
    ideal = sorted(profile.ideal_seconds.items(), key=lambda item: -item[1])
    lines = titled_table(
        "what each resource needs at least, were it used all the time by all machines",
        ("resource", "seconds", "of the run"),
        ((short(name), f"{seconds:,.1f}", percent(seconds / profile.seconds)) for name, seconds in ideal),
        words=("resource",),
    )
    told_of = capacity_in_words(profile.capacity)
    return [*lines, *wrapped(told_of, indent="  ", further="  ")] if lines and told_of else lines


def _what_ifs(profile: RunProfile) -> list[str]:
    return titled_table(
        "on other machines",
        ("with", "the run would take"),
        ((each.change, told(each)) for each in profile.what_ifs),
        words=("with", "the run would take"),
    )


def _sizes(profile: RunProfile) -> list[str]:
    return titled_table(
        "on other numbers of machines, replayed, without start-up",
        ("machines", "seconds", ""),
        (
            (
                f"{size.machines:,}",
                f"{size.seconds:,.1f}",
                "the run itself" if size.machines == profile.machines else "",
            )
            for size in profile.sizes
        ),
        words=("",),
    )


def _phases(profile: RunProfile) -> list[str]:
    total = profile.phases.total_seconds or 1.0
    phases = [(name, getattr(profile.phases, field)) for name, field, _ in PHASES]
    return titled_table(
        "phases (OptEx), start-up included",
        ("phase", "seconds", "share"),
        ((name, f"{seconds:,.1f}", percent(seconds / total)) for name, seconds in phases),
        words=("phase",),
    )


def _most_to_be_won(profile: RunProfile) -> str:
    most = most_to_be_won(profile)
    return "" if most is None else f"{percent(most.share)} ({most.name})"
