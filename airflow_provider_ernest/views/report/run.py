"""The report on a run: what binds it, what to do and what could be won; its stages; other machines."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from airflow_provider_ernest.documents.profiles import Advice, RunProfile, StageProfile
from airflow_provider_ernest.views.profile_words import (
    PHASES,
    amounts,
    capacity_in_words,
    category_name,
    cautions,
    change_in_words,
    counts,
    most_to_be_won,
    quantile,
    share_without,
    short,
    stage_number,
    unmeasured_in_words,
    waiting,
    within,
)
from airflow_provider_ernest.views.report.page import (
    chart,
    facts,
    footer,
    header,
    key_figures,
    section,
    table,
    tag,
    warnings_section,
    whole_page,
)
from airflow_provider_ernest.words import (
    as_percent,
    count,
    counted,
    duration,
    input_share,
    machines,
    number,
    percentage,
    shortened,
    signed_percentage,
)

LONGEST_NAME = 36
"""Of a stage in the table of what the stages did; their table over time has it in full."""

NO_BREAK = "\N{NO-BREAK SPACE}"

ABOUT_STAGES = (
    "Fetched is shuffle data from other machines, read locally that of the machine itself. The median and "
    "the longest task are without the warm-up of executors' first tasks."
)
ABOUT_STRAGGLERS = (
    "Tasks that took over 1.5 times the median of their stage, here with the warm-up of first tasks in both. "
    "They were too long by what they took over it; the run without is replayed with each of them taking the "
    "median."
)
WORDS: dict[str, str | None] = {
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


def render(profile: RunProfile) -> str:
    """The profile as an HTML page that needs nothing else. The same profile gives the same page."""
    name = profile.name or profile.application_id
    return whole_page(
        _header(name, profile),
        *_sections(profile),
        footer(
            " from Spark's event log. Blocked time and monotasks follow Ousterhout (UCB/EECS-2017-158), the "
            "replay Sparklens, the phases OptEx."
        ),
        title=f"{name}: why it takes this long",
        data={"kind": "run", "name": name, "shown": profile},
    )


def _sections(profile: RunProfile) -> Iterator[Element | None]:
    told = cautions(profile)
    warnings = warnings_section((*told, *profile.warnings))
    yield from (warnings, _key_figures(profile)) if told else (_key_figures(profile), warnings)
    if profile.advice:
        yield section("What to change", _advice(profile))
    if profile.limits:
        unmeasured = _explained(unmeasured_in_words(profile))
        yield chart("limits", "What could be won at most", _limits(profile), unmeasured)
    if profile.stages:
        yield chart("stages", "The stages over time", _stages_over_time(profile))
        yield section("What the stages did", _explained(ABOUT_STAGES), _stages(profile))
    if profile.straggler_causes or profile.stragglers:
        yield section("Stragglers", *_stragglers(profile))
    if profile.ideal_seconds:
        yield chart("ideal", "What each resource needs at least", _ideal(profile))
        yield _explained(capacity_in_words(profile.capacity))
    if profile.what_ifs:
        yield chart("what-ifs", "On other machines", _what_ifs(profile))
    if profile.sizes:
        yield chart("sizes", "On other numbers of machines", _sizes(profile))
    yield chart("phases", "Phases", _phases(profile))
    yield section("How to read this", facts(WORDS))
    yield section("Where this comes from", facts(_origin(profile)))


def _header(name: str, profile: RunProfile) -> Element:
    read = f", {input_share(profile.scale)} of the input" if profile.scale != 1 else ""
    asked = f"{duration(profile.seconds)} on {machines(profile.machines)}, {_at_once(profile)}{read}"
    headline = tag("p", profile.headline, class_="headline") if profile.headline else None
    return header("Why it takes this long", name, asked, headline)


def _at_once(profile: RunProfile) -> str:
    return f"{counted(profile.slots, 'task')} at once"


def _explained(words: str) -> Element | None:
    return tag("p", words, class_="muted") if words else None


def _key_figures(profile: RunProfile) -> Element:
    besides = [f"a start-up of {duration(profile.startup_seconds)} comes on top"]
    if profile.driver_seconds:
        besides.append(f"in {duration(profile.driver_seconds)} no task ran")
    figures = [("Clean time", duration(profile.seconds), "; ".join(besides))]
    most = most_to_be_won(profile)
    if most is not None:
        figures.append(("Most to be won", as_percent(most.share), f"at most, without {most.without}"))
    if profile.straggler_causes:
        stragglers = sum(each.tasks for each in profile.straggler_causes)
        excess = sum(each.excess_seconds for each in profile.straggler_causes)
        value = f"{count(stragglers)} of {count(profile.tasks)} tasks"
        figures.append(("Stragglers", value, f"{duration(excess)} too long"))
    error = signed_percentage(profile.replay_error_percent)
    figures.append(("Error of the replay", error, "where the very same run is replayed"))
    return key_figures(*figures, best=1 if most else None)


def _advice(profile: RunProfile) -> Element:
    return tag("ul", *(tag("li", each.text, " ", *_because(each)) for each in profile.advice))


def _because(advice: Advice) -> Iterator[Element | str]:
    yield tag("span", f"Because: {advice.figure}.", class_="muted")
    if advice.documentation:
        yield " "
        yield tag("a", "Spark's documentation", href=advice.documentation, rel="noopener")


def _limits(profile: RunProfile) -> Element:
    limits = profile.limits
    return table(
        {
            "waiting for": (short(limit.resource) for limit in limits),
            "seconds of tasks": (number(limit.blocked_seconds) for limit in limits),
            "of their time": (percentage(limit.share_percent) for limit in limits),
            "seconds without": (number(limit.seconds_without) for limit in limits),
            "won at most": (percentage(limit.improvement_percent) for limit in limits),
        },
        words=["waiting for"],
    )


def _stages_over_time(profile: RunProfile) -> Element:
    stages = profile.stages
    return table(
        {
            "stage": map(stage_number, stages),
            "name": (stage.name for stage in stages),
            "from, s": (number(stage.began_seconds) for stage in stages),
            "to, s": (number(stage.ended_seconds) for stage in stages),
            "seconds": (number(stage.seconds) for stage in stages),
            "after stages": (", ".join(map(str, stage.parents)) for stage in stages),
        },
        words=["name", "after stages"],
    )


def _stages(profile: RunProfile) -> Element:
    stages = profile.stages
    return table(
        {
            "stage": map(stage_number, stages),
            "name": (shortened(stage.name, LONGEST_NAME) for stage in stages),
            "seconds": (number(stage.seconds) for stage in stages),
            "bound by": (short(stage.bottleneck) for stage in stages),
            "waits for": map(_waits, stages),
            "tasks": map(_tasks, stages),
            "median task, s": (quantile(stage, 0.5) for stage in stages),
            "longest task, s": (quantile(stage, 1.0) for stage in stages),
            "stragglers": counts(stage.stragglers for stage in stages),
            "input": amounts(stage.input_bytes for stage in stages),
            "fetched": amounts(stage.shuffle_remote_bytes for stage in stages),
            "read locally": amounts(stage.shuffle_local_bytes for stage in stages),
            "shuffle written": amounts(stage.shuffle_written_bytes for stage in stages),
            "spilled": amounts(stage.spilled_bytes for stage in stages),
            "output": amounts(stage.output_bytes for stage in stages),
        },
        words=["name", "bound by", "waits for"],
    )


def _waits(stage: StageProfile) -> str:
    told = (f"{within(short(name))} {as_percent(share)}" for name, share in waiting(stage)[:2])
    return ", ".join(each.replace(" %", NO_BREAK + "%") for each in told)


def _tasks(stage: StageProfile) -> str:
    return (
        f"{count(stage.tasks)} + {count(stage.failed_tasks)} failed"
        if stage.failed_tasks
        else f"{count(stage.tasks)}"
    )


def _stragglers(profile: RunProfile) -> Iterator[Element | None]:
    yield _explained(ABOUT_STRAGGLERS)
    causes, worst = profile.straggler_causes, profile.stragglers
    if causes:
        yield table(
            {
                "cause": (each.cause for each in causes),
                "tasks": (count(each.tasks) for each in causes),
                "too long by": (duration(each.excess_seconds) for each in causes),
                "the run without": (duration(each.seconds_without) for each in causes),
                "won at most": (as_percent(share_without(profile, each.seconds_without)) for each in causes),
            },
            words=["cause"],
        )
    if worst:
        listed = table(
            {
                "stage": (str(each.stage_id) for each in worst),
                "task": (str(each.task_id) for each in worst),
                "host": (each.host for each in worst),
                "seconds": (number(each.seconds) for each in worst),
                "median of the stage": (number(each.median_seconds) for each in worst),
                "cause": (each.cause for each in worst),
                "because": (each.evidence for each in worst),
            },
            words=["host", "cause", "because"],
        )
        yield tag("details", tag("summary", "The worst, one by one"), listed)


def _ideal(profile: RunProfile) -> Element:
    ideal = sorted(profile.ideal_seconds.items(), key=lambda item: -item[1])
    columns = {
        "resource": (short(name) for name, _ in ideal),
        "seconds": (number(seconds) for _, seconds in ideal),
    }
    return table(columns, words=["resource"])


def _what_ifs(profile: RunProfile) -> Element:
    return table(
        {
            "machines with": (each.change for each in profile.what_ifs),
            "seconds": (number(each.seconds) for each in profile.what_ifs),
            "change": map(change_in_words, profile.what_ifs),
        },
        words=["machines with"],
    )


def _sizes(profile: RunProfile) -> Element:
    sizes = profile.sizes
    return table(
        {
            "machines": (count(size.machines) for size in sizes),
            "seconds": (number(size.seconds) for size in sizes),
            "remark": ("the run itself" if size.machines == profile.machines else "" for size in sizes),
        },
        words=["remark"],
    )


def _phases(profile: RunProfile) -> Element:
    total = profile.phases.total_seconds or 1.0
    phases = [(name, getattr(profile.phases, field)) for name, field in PHASES]
    return table(
        {
            "phase": (name for name, _ in phases),
            "seconds": (number(seconds) for _, seconds in phases),
            "share": (as_percent(seconds / total) for _, seconds in phases),
        },
        words=["phase"],
    )


def _origin(profile: RunProfile) -> dict[str, str | None]:
    failed = f", and {count(profile.failed_tasks)} that failed or were killed" if profile.failed_tasks else ""
    return {
        "application": profile.application_id,
        "name": profile.name,
        "event log": profile.event_log,
        "Spark": profile.spark,
        "category": category_name(profile.category),
        "machines": f"{count(profile.machines)}, {_at_once(profile)}",
        "share of the input": input_share(profile.scale),
        "iterations": None if profile.iterations is None else str(profile.iterations),
        "tasks": f"{count(profile.tasks)}{failed}",
    }
