"""The profile of a run as lines of text: what binds it first, then what could be won, then why."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from airflow_provider_ernest.cli.command import aligned
from airflow_provider_ernest.documents.profiles import RunProfile
from airflow_provider_ernest.views.profile_words import (
    PHASES,
    amounts,
    capacity_in_words,
    category_name,
    cautions,
    counts,
    longest,
    most_to_be_won,
    quantile,
    share_without,
    short,
    stage_number,
    unmeasured_in_words,
    waiting,
    what_if_in_words,
)
from airflow_provider_ernest.words import (
    as_percent,
    count,
    counted,
    duration,
    input_share,
    machines,
    percentage,
    shortened,
    signed_percentage,
    tenths,
)

SCREEN_WIDTH = 110


def titled_table(
    title: str, heading: Sequence[str], rows: Iterable[Sequence[str]], *, words: Sequence[str] = ()
) -> list[str]:
    """An empty line, a title, and a table; nothing if there are no rows.

    Columns that are not among `words` hold numbers, which stand to the right.
    """
    listed = list(rows)
    if not listed:
        return []
    numbers = ", ".join(name for name in heading if name not in words)
    lines = aligned(heading, listed, right=numbers)
    return ["", shortened(title, SCREEN_WIDTH), *(f"  {shortened(line, SCREEN_WIDTH - 2)}" for line in lines)]


def wrapped(words: str, *, indent: str = "", further: str = "  ") -> list[str]:
    """A sentence in lines, the first with `indent`, the others with `further` ahead."""
    return textwrap.wrap(
        words, SCREEN_WIDTH, initial_indent=indent, subsequent_indent=further, break_on_hyphens=False
    )


MOST_STAGES = 20
"""So many are listed: those that took longest."""

MOST_STRAGGLERS = 5

LONGEST_NAME = 26
"""Of a stage, in letters."""


def stage_lines(profile: RunProfile) -> list[str]:
    """What the longest stages did with their time, and what data they moved."""
    shown = longest(profile.stages, MOST_STAGES)
    every = len(profile.stages) + profile.stages_left_out
    title = "stages" if len(shown) == every else f"the {len(shown)} longest of {count(every)} stages"
    title += ", with their median and longest task in seconds, warm-up of first tasks left out"
    times = {
        "stage": [stage_number(stage) for stage in shown],
        "name": [shortened(stage.name, LONGEST_NAME) for stage in shown],
        "seconds": [tenths(stage.seconds) for stage in shown],
        "tasks": [count(stage.tasks) for stage in shown],
        "median": [quantile(stage, 0.5) for stage in shown],
        "longest": [quantile(stage, 1.0) for stage in shown],
        "bound by": [short(stage.bottleneck) for stage in shown],
        "waits for": [
            "".join(f"{short(name)} {as_percent(share)}" for name, share in waiting(stage)[:1])
            for stage in shown
        ],
    }
    figures = {
        "input": amounts(stage.input_bytes for stage in shown),
        "fetched": amounts(stage.shuffle_remote_bytes for stage in shown),
        "read locally": amounts(stage.shuffle_local_bytes for stage in shown),
        "shuffle written": amounts(stage.shuffle_written_bytes for stage in shown),
        "spilled": amounts(stage.spilled_bytes for stage in shown),
        "output": amounts(stage.output_bytes for stage in shown),
        "failed": counts(stage.failed_tasks for stage in shown),
        "stragglers": counts(stage.stragglers for stage in shown),
    }
    # Columns that say nothing are left out.
    times = {name: cells for name, cells in times.items() if any(cells)}
    figures = {name: cells for name, cells in figures.items() if any(cells)}
    moved = zip(times.get("stage", ()), *figures.values(), strict=False)
    return [
        *titled_table(
            title, tuple(times), zip(*times.values(), strict=True), words=("name", "bound by", "waits for")
        ),
        *titled_table(
            "what they moved, and how many of their tasks failed or took too long",
            ("stage", *figures),
            (row for row in moved if any(row[1:])),
        ),
    ]


def straggler_lines(profile: RunProfile) -> list[str]:
    """The stragglers by cause, and the worst of them."""
    lines = titled_table(
        "stragglers: tasks that took over 1.5 times their stage's median, warm-up of first tasks included",
        ("cause", "tasks", "too long by", "seconds without", "won at most"),
        (
            (
                each.cause,
                count(each.tasks),
                duration(each.excess_seconds),
                tenths(each.seconds_without),
                as_percent(share_without(profile, each.seconds_without)),
            )
            for each in profile.straggler_causes
        ),
        words=("cause",),
    )
    for each in profile.stragglers[:MOST_STRAGGLERS]:
        host = f" on {each.host}" if each.host else ""
        because = f": {each.evidence}" if each.evidence else ""
        told = (
            f"- stage {each.stage_id}, task {each.task_id}{host}: {duration(each.seconds)} (median "
            f"{duration(each.median_seconds)}), {each.cause}{because}"
        )
        lines += wrapped(told, indent="  ", further="    ")
    return lines


def profile_lines(profile: RunProfile) -> list[str]:
    """All that the profile says except its warnings; no line is wider than a screen."""
    return [
        *wrapped(f"{profile.name} ({profile.application_id})" if profile.name else profile.application_id),
        *(line for caution in cautions(profile) for line in wrapped(caution)),
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
    rows = []
    for profile in profiles:
        most = most_to_be_won(profile)
        rows.append(
            (
                profile.application_id,
                category_name(profile.category),
                count(profile.machines),
                input_share(profile.scale),
                tenths(profile.seconds),
                tenths(profile.startup_seconds),
                short(profile.bottleneck),
                "" if most is None else f"{as_percent(most.share)} ({most.name})",
            )
        )
    lines = titled_table(
        counted(len(profiles), "run"),
        ("application", "category", "machines", "scale", "seconds", "start-up", "bound by", "most to be won"),
        rows,
        words=("application", "category", "bound by", "most to be won"),
    )
    return lines[1:]


def _run_in_words(profile: RunProfile) -> Iterator[str]:
    at_once = counted(profile.slots, "task")
    yield f"{duration(profile.seconds)} on {machines(profile.machines)}, {at_once} at once"
    yield f"a start-up of {duration(profile.startup_seconds)} comes on top"
    yield f"in {duration(profile.driver_seconds)} no task ran"
    failed = f", {count(profile.failed_tasks)} failed or killed" if profile.failed_tasks else ""
    yield f"{counted(profile.tasks, 'task')}{failed}"
    category = category_name(profile.category)
    yield category if profile.spark is None else f"{category}, Spark {profile.spark}"


def _advice(profile: RunProfile) -> list[str]:
    if not profile.advice:
        return []
    lines = ["", "what to change"]
    for each in profile.advice:
        lines += wrapped(f"- {each.text} Because: {each.figure}.", indent="  ", further="    ")
        lines += [f"    {each.documentation}"] * bool(each.documentation)
    return lines


def _limits(profile: RunProfile) -> list[str]:
    title = (
        f"what could be won at most: the run replayed without waiting, against "
        f"{duration(profile.replayed_seconds)} with it ({signed_percentage(profile.replay_error_percent)} "
        "off the truth)"
    )
    lines = titled_table(
        title,
        ("waiting for", "seconds of tasks", "of their time", "seconds without", "won at most"),
        (
            (
                limit.resource,
                tenths(limit.blocked_seconds),
                percentage(limit.share_percent),
                tenths(limit.seconds_without),
                percentage(limit.improvement_percent),
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
        ((short(name), tenths(needed), as_percent(needed / profile.seconds)) for name, needed in ideal),
        words=("resource",),
    )
    told_of = capacity_in_words(profile.capacity)
    return [*lines, *wrapped(told_of, indent="  ", further="  ")] if lines and told_of else lines


def _what_ifs(profile: RunProfile) -> list[str]:
    return titled_table(
        "on other machines",
        ("with", "the run would take"),
        ((each.change, what_if_in_words(each)) for each in profile.what_ifs),
        words=("with", "the run would take"),
    )


def _sizes(profile: RunProfile) -> list[str]:
    return titled_table(
        "on other numbers of machines, replayed, without start-up",
        ("machines", "seconds", ""),
        (
            (
                count(size.machines),
                tenths(size.seconds),
                "the run itself" if size.machines == profile.machines else "",
            )
            for size in profile.sizes
        ),
        words=("",),
    )


def _phases(profile: RunProfile) -> list[str]:
    total = profile.phases.total_seconds or 1.0
    phases = [(name, getattr(profile.phases, field)) for name, field in PHASES]
    return titled_table(
        "phases (OptEx), start-up included",
        ("phase", "seconds", "share"),
        ((name, tenths(took), as_percent(took / total)) for name, took in phases),
        words=("phase",),
    )
