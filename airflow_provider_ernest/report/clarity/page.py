"""The page: what binds the run, what could be won, what to do; then stage by stage; then other machines."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from airflow_provider_ernest.model.run_profile import RunProfile
from airflow_provider_ernest.report.clarity.categories import category_name
from airflow_provider_ernest.report.clarity.limits_chart import limits_chart
from airflow_provider_ernest.report.clarity.machines_charts import ideal_chart, what_if_chart
from airflow_provider_ernest.report.clarity.most_to_be_won import most_to_be_won
from airflow_provider_ernest.report.clarity.phases_chart import phases_chart
from airflow_provider_ernest.report.clarity.reading import how_to_read
from airflow_provider_ernest.report.clarity.sizes_chart import sizes_chart
from airflow_provider_ernest.report.clarity.stage_tables import (
    STAGES_IN_WORDS,
    STRAGGLERS_IN_WORDS,
    cause_table,
    stage_table,
    straggler_table,
)
from airflow_provider_ernest.report.clarity.timeline_chart import timeline_chart
from airflow_provider_ernest.report.markup import tag
from airflow_provider_ernest.report.shell import facts, key_figure, section, warnings_section, whole_page
from airflow_provider_ernest.report.wording import duration, machines, percent

STYLE = "clarity/clarity.css"


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
