"""The page: what binds the run, what could be won, what to do; then stage by stage; then other machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from airflow_provider_ernest.run_profile import (
    CORE,
    CPU,
    DISK,
    FIRST_TASK,
    GARBAGE_COLLECTION,
    GRAPHX,
    MLLIB,
    NETWORK,
    PYTHON_WORKER,
    SCHEDULER,
    SERIALISATION,
    SQL,
    STREAMING,
    UNEXPLAINED,
    UNMEASURED,
    Capacity,
    ResourceLimit,
    RunProfile,
    StageProfile,
    Straggler,
    WhatIf,
)
from airflow_provider_ernest.views.report.charts import (
    CANVASES,
    LETTER_WIDTH,
    Axis,
    Canvas,
    Child,
    axis_around,
    figure,
    frame,
    line,
    logarithmic_axis,
    machines_axis,
    path,
    point,
    table,
    tag,
    text,
)
from airflow_provider_ernest.views.report.page import facts, key_figure, section, warnings_section, whole_page
from airflow_provider_ernest.words import data_amount, duration, machines, number, percent, shortened, tick

# ---------------------------------------------------------------------------
# What kind of job a run is of, as people write it.


_NAMES = {SQL: "SQL", STREAMING: "streaming", MLLIB: "MLlib", GRAPHX: "GraphX", CORE: "RDDs"}


def category_name(category: str) -> str:
    """SQL, streaming, MLlib, GraphX or RDDs."""
    return _NAMES.get(category, category)


# ---------------------------------------------------------------------------
# Bars that lie, each below its name and its figure.


NAME_HEIGHT, BAR_HEIGHT, ROW_HEIGHT = 18.0, 14.0, 46.0
"""In pixels."""

SMALL_LETTER_WIDTH = 6.9
"""Of those that charts are written in, on average; figures and capitals are wider."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A piece of a bar.

    Attributes:
        length: in the unit of all bars.
        style: class of the style sheet.
        says: what it is, when the mouse rests on it.
    """

    length: float
    style: str
    says: str


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar of one or more pieces.

    Attributes:
        name: above it, to the left.
        told: its figure, to the right.
        parts: from left to right.
    """

    name: str
    told: str
    parts: tuple[Part, ...]

    @property
    def length(self) -> float:
        """Of all pieces."""
        return sum(part.length for part in self.parts)


def bars_figure(
    bars: Sequence[Bar],
    *,
    description: str,
    legend: Sequence[tuple[str, str]],
    caption: str,
    numbers: Element,
    mark: float | None = None,
) -> Element:
    """Bars of one unit, as long as the longest or the mark allows.

    Args:
        bars: at least one.
        description: what they show, for those who do not see them.
        legend: classes of the style sheet, each with what it stands for.
        caption: how to read it.
        numbers: the table of the numbers.
        mark: a length that all bars are compared with, drawn as a line across them.
    """
    most = max([*(bar.length for bar in bars), mark or 0.0]) or 1.0
    height = ROW_HEIGHT * len(bars)
    return figure(
        lambda canvas: _draw_bars(bars, canvas, most=most, mark=mark),
        description=description,
        legend=legend,
        caption=caption,
        numbers=numbers,
        canvases={name: Canvas(width=canvas.width, height=height) for name, canvas in CANVASES.items()},
    )


def rectangle(x: float, y: float, width: float, height: float, *, style: str, says: str) -> Element:
    """An area that says what it is when the mouse rests on it."""
    return tag("rect", tag("title", says), x=x, y=y, width=width, height=height, class_=f"part {style}")


def letters(room: float) -> int:
    """As many stand in so many pixels, at least a few."""
    return max(3, int(room / SMALL_LETTER_WIDTH))


def _draw_bars(bars: Sequence[Bar], canvas: Canvas, *, most: float, mark: float | None) -> list[Element]:
    elements = []
    unit = canvas.width / most
    for row, bar in enumerate(bars):
        top = row * ROW_HEIGHT
        room = canvas.width - LETTER_WIDTH * (len(bar.told) + 2)
        elements.append(text(0, top + 13, shortened(bar.name, letters(room)), class_="note strong"))
        elements.append(text(canvas.width, top + 13, bar.told, class_="note end"))
        left = 0.0
        for part in bar.parts:
            width = unit * part.length
            if width > 0:
                elements.append(
                    rectangle(left, top + NAME_HEIGHT, width, BAR_HEIGHT, style=part.style, says=part.says)
                )
            left += width
        if mark is not None:
            x = min(unit * mark, canvas.width - 1)
            elements.append(line(x, top + NAME_HEIGHT, x, top + NAME_HEIGHT + BAR_HEIGHT + 3, class_="now"))
    return elements


# ---------------------------------------------------------------------------
# What tasks need and wait for: its colour, and its name in sentences.


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


# ---------------------------------------------------------------------------
# What could be won at most, were there no waiting for one thing or another.


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
        numbers=_limits_numbers(profile),
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


def _limits_numbers(profile: RunProfile) -> Element:
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


# ---------------------------------------------------------------------------
# What the machines' resources need at least, and what other machines would make of the run.


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


# ---------------------------------------------------------------------------
# The one thing of which most could be won: what a reader with no time should know.


@dataclass(frozen=True, kw_only=True)
class ToBeWon:
    """An upper bound of what could be won.

    Attributes:
        share: of the replayed run; 0 where nothing could.
        without: what had to be away, within a sentence: "waiting for the network".
        name: the same in a narrow column: "network".
    """

    share: float
    without: str
    name: str


def most_to_be_won(profile: RunProfile) -> ToBeWon | None:
    """The largest of what waiting and stragglers cost; None where nothing is known.

    First tasks do not count: whatever the cluster, each executor has one.
    """
    return max(_each(profile), key=lambda one: one.share, default=None)


def share_without(profile: RunProfile, seconds: float) -> float:
    """By what share a run of so many seconds is shorter than the replayed one."""
    return max(0.0, 1.0 - seconds / profile.replayed_seconds) if profile.replayed_seconds > 0 else 0.0


def _each(profile: RunProfile) -> Iterator[ToBeWon]:
    for limit in profile.limits:
        yield ToBeWon(
            share=max(0.0, limit.improvement_percent) / 100,
            without=f"waiting for {within(limit.resource)}",
            name=short(limit.resource),
        )
    for cause in profile.straggler_causes:
        if cause.cause != FIRST_TASK:
            yield ToBeWon(
                share=share_without(profile, cause.seconds_without),
                without=f"its stragglers ({cause.cause})",
                name="stragglers" if cause.cause == UNEXPLAINED else cause.cause,
            )


# ---------------------------------------------------------------------------
# The run from its submission to its end by OptEx's phases.


PHASES = (
    ("initialisation", "initialisation_seconds", "part-others"),
    ("preparation", "preparation_seconds", "part-3"),
    ("variable sharing", "variable_sharing_seconds", "part-4"),
    ("computation", "computation_seconds", "part-0"),
    ("communication", "communication_seconds", "part-1"),
)
"""In their order: the name, the field of `PhaseSeconds` and the colour."""


def phases_chart(profile: RunProfile) -> Element:
    """One bar of the phases, one after the other."""
    total = profile.phases.total_seconds or 1.0
    phases = [(name, getattr(profile.phases, field), style) for name, field, style in PHASES]
    words = [f"{name} {duration(seconds)} ({percent(seconds / total)})" for name, seconds, _ in phases]
    return bars_figure(
        [
            Bar(
                name="Start-up and run",
                told=duration(profile.phases.total_seconds),
                parts=tuple(
                    Part(length=seconds, style=style, says=said)
                    for (_, seconds, style), said in zip(phases, words, strict=True)
                ),
            )
        ],
        description=f"Phases of the run: {', '.join(words)}.",
        legend=[(style, said) for (_, _, style), said in zip(phases, words, strict=True)],
        caption=(
            "The phases of OptEx: starting the application; the driver's work before and between tasks; "
            "sending broadcast variables; running tasks; what tasks wait for when they exchange data. "
            "They do not overlap, and add up to start-up and run."
        ),
        numbers=table(
            ["phase", "seconds", "share"],
            ([name, number(seconds), percent(seconds / total)] for name, seconds, _ in phases),
            words=[0],
        ),
    )


# ---------------------------------------------------------------------------
# How to read the page: what its words mean.


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


# ---------------------------------------------------------------------------
# The run replayed on other numbers of machines.


def sizes_chart(profile: RunProfile) -> Element:
    """Seconds against machines as a line, with the run that it is replayed from."""
    sizes = profile.sizes
    fastest = min(sizes, key=lambda size: size.seconds)
    was = f"the run: {duration(profile.seconds)} on {machines(profile.machines)}"
    return figure(
        lambda canvas: _draw_sizes(profile, canvas),
        description=(
            f"The run replayed on {sizes[0].machines} to {machines(sizes[-1].machines)}: "
            f"{duration(sizes[0].seconds)} to {duration(sizes[-1].seconds)}; the fastest is "
            f"{duration(fastest.seconds)} on {machines(fastest.machines)}; {was}."
        ),
        legend=[("line", "replayed"), ("observed", was)],
        caption=(
            "The same tasks on other numbers of machines of the same kind, without start-up. They take as "
            "long as they did, but for the warm-up of first tasks and for fetching: fewer machines fetch "
            "less. A stage of fewer tasks than there is room for gains nothing from more machines, "
            "and the driver works alone. Both axes are logarithmic."
        ),
        numbers=table(
            ["machines", "seconds"], ([f"{size.machines:,}", number(size.seconds)] for size in sizes)
        ),
    )


def _draw_sizes(profile: RunProfile, canvas: Canvas) -> list[Element]:
    counts = sorted({size.machines for size in profile.sizes} | {profile.machines})
    across = machines_axis(counts, start=canvas.left, end=canvas.right)
    seconds = [size.seconds for size in profile.sizes]
    up = logarithmic_axis([*seconds, profile.seconds], start=canvas.bottom, end=canvas.top)
    elements = frame(canvas, across=across, up=up, across_name="machines", up_name="seconds")
    places = [(across.place(size.machines), up.place(size.seconds)) for size in profile.sizes]
    if len(places) > 1:
        elements.append(path(places, class_="line"))
    for size, (x, y) in zip(profile.sizes, places, strict=True):
        says = f"{machines(size.machines)}: {duration(size.seconds)} replayed"
        elements.append(point(x, y, class_="line-point", says=says, radius=3.5))
    says = f"the run: {duration(profile.seconds)} on {machines(profile.machines)}"
    x, y = across.place(profile.machines), up.place(profile.seconds)
    return [*elements, point(x, y, class_="observed", says=says, radius=6)]


# ---------------------------------------------------------------------------
# The stages and their stragglers in tables.


LEAST_SHARE = 0.05
"""Of a stage's task time; less waiting is not worth naming."""

NO_BREAK = "\N{NO-BREAK SPACE}"

LONGEST_NAME = 36
"""Of a stage, in letters; the numbers of the timeline have it in full."""


def stage_number(stage: StageProfile) -> str:
    """Spark's number, with that of the attempt where it is not the first."""
    return f"{stage.stage_id}.{stage.attempt}" if stage.attempt else str(stage.stage_id)


STAGES_IN_WORDS = (
    "Fetched is shuffle data from other machines, read locally that of the machine itself. The median and "
    "the longest task are without the warm-up of executors' first tasks."
)
"""How to read the table of the stages."""

STRAGGLERS_IN_WORDS = (
    "Tasks that took over 1.5 times the median of their stage, here with the warm-up of first tasks in both. "
    "They were too long by what they took over it; the run without is replayed with each of them taking the "
    "median."
)
"""How to read the tables of stragglers."""


def stage_table(profile: RunProfile) -> Element:
    """What each stage did; columns of which nothing is known are left out."""
    stages = profile.stages
    columns = {
        "stage": [stage_number(stage) for stage in stages],
        "name": [shortened(stage.name, LONGEST_NAME) for stage in stages],
        "seconds": [number(stage.seconds) for stage in stages],
        "bound by": [short(stage.bottleneck) for stage in stages],
        "waits for": [_waits(stage) for stage in stages],
        "tasks": [_tasks(stage) for stage in stages],
        "median task, s": [quantile(stage, 0.5) for stage in stages],
        "longest task, s": [quantile(stage, 1.0) for stage in stages],
        "stragglers": counts(stage.stragglers for stage in stages),
        "input": amounts(stage.input_bytes for stage in stages),
        "fetched": amounts(stage.shuffle_remote_bytes for stage in stages),
        "read locally": amounts(stage.shuffle_local_bytes for stage in stages),
        "shuffle written": amounts(stage.shuffle_written_bytes for stage in stages),
        "spilled": amounts(stage.spilled_bytes for stage in stages),
        "output": amounts(stage.output_bytes for stage in stages),
    }
    known = {name: cells for name, cells in columns.items() if any(cells)}
    return table(
        list(known),
        list(zip(*known.values(), strict=True)),
        words=[at for at, name in enumerate(known) if name in ("name", "bound by", "waits for")],
    )


def waiting(stage: StageProfile) -> list[tuple[str, float]]:
    """What its tasks waited for with the share of their time, the most first; without what is little."""
    if stage.task_seconds <= 0:
        return []
    waited = {**stage.blocked_seconds, UNMEASURED: stage.unmeasured_seconds}
    shares = ((name, seconds / stage.task_seconds) for name, seconds in waited.items())
    return sorted((each for each in shares if each[1] >= LEAST_SHARE), key=lambda each: -each[1])


def cause_table(profile: RunProfile) -> Element:
    """The stragglers by their cause."""
    return table(
        ["cause", "tasks", "too long by", "the run without", "won at most"],
        (
            [
                each.cause,
                f"{each.tasks:,}",
                duration(each.excess_seconds),
                duration(each.seconds_without),
                percent(share_without(profile, each.seconds_without)),
            ]
            for each in profile.straggler_causes
        ),
        words=[0],
    )


def straggler_table(stragglers: Sequence[Straggler]) -> Element:
    """The worst of them, one by one."""
    return table(
        ["stage", "task", "host", "seconds", "median of the stage", "cause", "because"],
        (
            [
                str(each.stage_id),
                str(each.task_id),
                each.host,
                number(each.seconds),
                number(each.median_seconds),
                each.cause,
                each.evidence,
            ]
            for each in stragglers
        ),
        words=[2, 5, 6],
    )


def _waits(stage: StageProfile) -> str:
    told = (f"{within(short(name))} {percent(share)}" for name, share in waiting(stage)[:2])
    return ", ".join(each.replace(" %", NO_BREAK + "%") for each in told)


def _tasks(stage: StageProfile) -> str:
    return f"{stage.tasks:,} + {stage.failed_tasks:,} failed" if stage.failed_tasks else f"{stage.tasks:,}"


def quantile(stage: StageProfile, share: float) -> str:
    """The seconds that such a share of its tasks did not exceed."""
    seconds = stage.quantiles_seconds
    return number(seconds[round(share * (len(seconds) - 1))]) if seconds else ""


def counts(values: Iterable[int]) -> list[str]:
    """Numbers, and nothing for none."""
    return [f"{value:,}" if value else "" for value in values]


def amounts(values: Iterable[int]) -> list[str]:
    """Bytes with their unit, and nothing for none."""
    return [data_amount(value) if value else "" for value in values]


# ---------------------------------------------------------------------------
# The stages of a run over time, each in the colour of what it is bound by.


MOST_STAGES = 30
"""So many have a bar: those that took longest."""

TIMELINE_ROW_HEIGHT, TIMELINE_BAR_HEIGHT = 22.0, 14.0
TOP, BOTTOM = 6.0, 44.0
NAMES_WIDTH = {"wide": 230.0, "narrow": 40.0}
"""For the names of the stages, in pixels; narrow screens show their numbers only."""

NARROWEST_BAR = 2.0


def timeline_chart(profile: RunProfile) -> Element:
    """A row for each of the longest stages, in the order in which they began."""
    shown = longest(profile.stages, MOST_STAGES)
    height = TOP + TIMELINE_ROW_HEIGHT * len(shown) + BOTTOM
    slowest = max(profile.stages, key=lambda stage: stage.seconds)
    return figure(
        lambda canvas: _draw_timeline(shown, canvas),
        description=(
            f"{len(shown)} stages over time; the longest is stage {stage_number(slowest)}, "
            f"{duration(slowest.seconds)}{_bound(slowest)}."
        ),
        legend=_legend(shown),
        caption=" ".join(_caption(profile, len(shown))),
        numbers=_timeline_numbers(profile.stages),
        canvases={name: Canvas(width=canvas.width, height=height) for name, canvas in CANVASES.items()},
    )


def longest(stages: Sequence[StageProfile], most: int) -> list[StageProfile]:
    """As many of the stages, those that took longest, in the order in which they began."""
    kept = sorted(stages, key=lambda stage: -stage.seconds)[:most]
    return sorted(kept, key=lambda stage: (stage.began_seconds, stage.stage_id, stage.attempt))


def _bound(stage: StageProfile) -> str:
    return f", bound by {within(stage.bottleneck)}" if stage.bottleneck else ""


def _legend(shown: Sequence[StageProfile]) -> list[tuple[str, str]]:
    found = dict.fromkeys(stage.bottleneck for stage in shown)
    return [
        (style(name), f"bound by {within(name)}" if name else "nothing is known of what it is bound by")
        for name in found
    ]


def _caption(profile: RunProfile, shown: int) -> list[str]:
    words = ["Seconds count from the moment that all machines were there. Where no bar is, no task ran:"]
    words.append("the driver worked or waited.")
    left_out = len(profile.stages) - shown + profile.stages_left_out
    if left_out:
        words.append(f"{left_out:,} shorter {'stage has' if left_out == 1 else 'stages have'} no bar.")
    return words


def _draw_timeline(shown: Sequence[StageProfile], canvas: Canvas) -> list[Element]:
    names = NAMES_WIDTH["narrow" if canvas.width == CANVASES["narrow"].width else "wide"]
    across = axis_around(
        min(stage.began_seconds for stage in shown),
        max(stage.ended_seconds for stage in shown),
        start=names,
        end=canvas.right,
    )
    elements = _frame(across, canvas)
    for row, stage in enumerate(shown):
        top = TOP + TIMELINE_ROW_HEIGHT * row
        left = across.place(stage.began_seconds)
        width = max(NARROWEST_BAR, across.place(stage.ended_seconds) - left)
        words = (
            f"{stage_number(stage)} {stage.name}" if names > NAMES_WIDTH["narrow"] else stage_number(stage)
        )
        elements.append(text(0, top + 12, shortened(words, letters(names - 8)), class_="note"))
        says = f"stage {stage_number(stage)}, {stage.name}: {duration(stage.seconds)}{_bound(stage)}"
        elements.append(
            rectangle(left, top + 1, width, TIMELINE_BAR_HEIGHT, style=style(stage.bottleneck), says=says)
        )
    return elements


def _frame(across: Axis, canvas: Canvas) -> list[Element]:
    elements = []
    for value in across.ticks:
        x = across.place(value)
        elements.append(line(x, TOP, x, canvas.bottom, class_="grid"))
        elements.append(text(x, canvas.bottom + 16, tick(value), class_="tick middle"))
    elements.append(line(across.start, canvas.bottom, across.end, canvas.bottom, class_="axis"))
    centre = (across.start + across.end) / 2
    elements.append(text(centre, canvas.height - 8, "seconds", class_="name middle"))
    return elements


def _timeline_numbers(stages: Sequence[StageProfile]) -> Element:
    rows: list[list[Child]] = [
        [
            stage_number(stage),
            stage.name,
            number(stage.began_seconds),
            number(stage.ended_seconds),
            number(stage.seconds),
            ", ".join(map(str, stage.parents)),
        ]
        for stage in stages
    ]
    return table(["stage", "name", "from, s", "to, s", "seconds", "after stages"], rows, words=[1, 5])


# ---------------------------------------------------------------------------


STYLE = "clarity.css"


def render(profile: RunProfile) -> str:
    """The profile as an HTML page that needs nothing else. The same profile gives the same page."""
    return whole_page(
        _header(profile),
        tag("main", *_sections(profile)),
        _footer(),
        title=f"{_name(profile)}: why it takes this long",
        styles=[STYLE],
    )


def _sections(profile: RunProfile) -> Iterator[Element | None]:
    yield _key_figures(profile)
    yield warnings_section(profile.warnings)
    if profile.advice:
        yield section("What to change", _advice(profile))
    if profile.limits:
        yield section("What could be won at most", limits_chart(profile))
    if profile.stages:
        yield section("The stages over time", timeline_chart(profile))
        yield section(
            "What the stages did", _note(STAGES_IN_WORDS), tag("div", stage_table(profile), class_="stages")
        )
    if profile.straggler_causes or profile.stragglers:
        yield section("Stragglers", *_stragglers(profile))
    if profile.ideal_seconds:
        yield section("What each resource needs at least", ideal_chart(profile))
    if profile.what_ifs:
        yield section("On other machines", what_if_chart(profile))
    if profile.sizes:
        yield section("On other numbers of machines", sizes_chart(profile))
    yield section("Phases", phases_chart(profile))
    yield section("How to read this", how_to_read())
    yield section("Where this comes from", _origin(profile))


def _name(profile: RunProfile) -> str:
    return profile.name or profile.application_id


def _header(profile: RunProfile) -> Element:
    ran_on = f"{machines(profile.machines)}, {_at_once(profile.slots)}"
    read = f", {percent(profile.scale)} of the input" if profile.scale != 1 else ""
    return tag(
        "header",
        tag("p", "Why it takes this long", class_="kicker"),
        tag("h1", _name(profile)),
        tag("p", f"{duration(profile.seconds)} on {ran_on}{read}"),
        tag("p", profile.headline, class_="headline") if profile.headline else None,
    )


def _at_once(slots: int) -> str:
    return "1 task at once" if slots == 1 else f"{slots:,} tasks at once"


def _key_figures(profile: RunProfile) -> Element:
    figures = [key_figure("Clean time", duration(profile.seconds), _besides(profile))]
    most = most_to_be_won(profile)
    if most is not None:
        figures.append(
            key_figure("Most to be won", percent(most.share), f"at most, without {most.without}", best=True)
        )
    if profile.straggler_causes:
        stragglers = sum(each.tasks for each in profile.straggler_causes)
        excess = sum(each.excess_seconds for each in profile.straggler_causes)
        figures.append(
            key_figure(
                "Stragglers", f"{stragglers:,} of {profile.tasks:,} tasks", f"{duration(excess)} too long"
            )
        )
    error = profile.replay_error_percent
    figures.append(
        key_figure("Error of the replay", f"{error:+z.1f} %", "where the very same run is replayed")
    )
    return tag("div", *figures, class_="figures")


def _besides(profile: RunProfile) -> str:
    parts = [f"a start-up of {duration(profile.startup_seconds)} comes on top"]
    if profile.driver_seconds:
        parts.append(f"in {duration(profile.driver_seconds)} no task ran")
    return "; ".join(parts)


def _advice(profile: RunProfile) -> Element:
    return tag(
        "ul",
        *(
            tag("li", each.text, " ", tag("span", f"Because: {each.figure}.", class_="because"))
            for each in profile.advice
        ),
        class_="advice",
    )


def _stragglers(profile: RunProfile) -> Iterator[Element]:
    yield _note(STRAGGLERS_IN_WORDS)
    if profile.straggler_causes:
        yield cause_table(profile)
    if profile.stragglers:
        yield tag("details", tag("summary", "The worst, one by one"), straggler_table(profile.stragglers))


def _note(words: str) -> Element:
    return tag("p", words, class_="explained")


def _origin(profile: RunProfile) -> Element:
    failed = f", and {profile.failed_tasks:,} that failed or were killed" if profile.failed_tasks else ""
    return facts(
        {
            "application": profile.application_id,
            "name": profile.name,
            "event log": profile.event_log,
            "Spark": profile.spark,
            "category": category_name(profile.category),
            "machines": f"{profile.machines:,}, {_at_once(profile.slots)}",
            "share of the input": percent(profile.scale),
            "iterations": None if profile.iterations is None else str(profile.iterations),
            "tasks": f"{profile.tasks:,}{failed}",
        }
    )


def _footer() -> Element:
    return tag(
        "footer",
        tag(
            "p",
            "Written by airflow-provider-ernest from Spark's event log. Blocked time and monotasks follow "
            "Ousterhout (UCB/EECS-2017-158), the replay Sparklens, the phases OptEx.",
        ),
    )
