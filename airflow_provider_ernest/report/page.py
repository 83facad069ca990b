"""The page: what was asked first, then why, then how far to believe it, then where it comes from."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from airflow_provider_ernest.model.results import Decision, Model
from airflow_provider_ernest.report.contents import Contents, Prediction
from airflow_provider_ernest.report.cost_chart import cost_chart
from airflow_provider_ernest.report.life import learned_from, trained_under
from airflow_provider_ernest.report.markup import tag
from airflow_provider_ernest.report.shares_chart import shares_chart
from airflow_provider_ernest.report.shell import facts, key_figure, section, warnings_section, whole_page
from airflow_provider_ernest.report.tables import table
from airflow_provider_ernest.report.time_chart import time_chart
from airflow_provider_ernest.report.validation_chart import validation_chart
from airflow_provider_ernest.report.wording import dollars, duration, machines, number, percent, probability

NEARLY_AS_FAST = 1.1
"""So many times the shortest time is still about as fast."""


def render(contents: Contents) -> str:
    """The report as an HTML page that needs nothing else. The same contents give the same page."""
    return whole_page(
        _header(contents),
        tag("main", *_sections(contents)),
        _footer(),
        title=f"{contents.model.job}: how many machines?",
    )


def _sections(contents: Contents) -> list[Element | None]:
    model = contents.model
    sections: list[Element | None] = [
        _key_figures(contents),
        warnings_section(_warnings(contents)),
        section("Time against machines", time_chart(contents)),
        section("Where the time goes, and why it does not get faster", shares_chart(contents)),
    ]
    if contents.alternatives:
        sections.append(section("Cost against time", cost_chart(contents)))
    sections += [
        section("How well the runs predict each other", validation_chart(contents)),
        section("The model", _about_terms(model), _terms(model)),
        section("The observed runs", _observations(model)),
        section("Where this comes from", _origin(contents)),
    ]
    return sections


def _header(contents: Contents) -> Element:
    model = contents.model
    counts = [each.machines for each in contents.predictions]
    span = machines(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]} machines"
    asked = f"{span} of type {model.instance_type}, {percent(contents.scale)} of the input"
    if contents.iterations is not None:
        asked += f", {contents.iterations} iterations"
    return tag(
        "header", tag("p", "How many machines?", class_="kicker"), tag("h1", model.job), tag("p", asked)
    )


def _key_figures(contents: Contents) -> Element:
    validation = contents.model.validation
    error = key_figure(
        "Error to expect",
        f"{validation.median_error_percent:.1f} %",
        f"median where each run is predicted from the others, {validation.max_error_percent:.1f} % at most",
    )
    figures = _answer(contents) if contents.decision else _what_is_possible(contents)
    return tag("div", *figures, error, class_="figures")


def _answer(contents: Contents) -> list[Element]:
    decision, chosen = contents.decision, contents.chosen
    assert decision is not None
    assert chosen is not None
    return [
        key_figure("Chosen", machines(chosen.machines), f"{decision.goal}, of those considered", best=True),
        _time_figure("Predicted time", chosen),
        key_figure("Predicted cost", dollars(decision.predicted_cost or 0.0), _what_it_is_paid_for(decision)),
        *_probability(contents),
    ]


def _what_it_is_paid_for(decision: Decision) -> str:
    price = f"at {dollars(decision.price_per_hour or 0.0)} for a machine and hour"
    parts = decision.cost_parts
    if parts is None:
        return price
    besides = {"the master": parts.master, "volumes": parts.volumes, "training": parts.training}
    told = [f"{dollars(cost)} for {name}" for name, cost in besides.items() if cost > 0]
    return f"{price}; of it {', '.join(told)}" if told else price


def _probability(contents: Contents) -> list[Element]:
    """How surely the limits are kept, where there are any."""
    decision, goal = contents.decision, contents.goal
    if goal is None or not goal.has_limits or decision is None or decision.probability is None:
        return []
    asked = f"asked for: {probability(goal.confidence)}"
    return [key_figure("Probability to keep the goal", probability(decision.probability), asked)]


def _what_is_possible(contents: Contents) -> list[Element]:
    fastest = min(contents.predictions, key=lambda each: each.seconds)
    near = next(each for each in contents.predictions if each.seconds <= NEARLY_AS_FAST * fastest.seconds)
    figures = [_time_figure(f"Fastest: {machines(fastest.machines)}", fastest)]
    if near.machines != fastest.machines:
        figures.append(_time_figure(f"Nearly as fast: {machines(near.machines)}", near))
    return figures


def _time_figure(name: str, each: Prediction) -> Element:
    low, high = each.likely_seconds
    return key_figure(name, duration(each.seconds), f"80 % of runs take {duration(low)} to {duration(high)}")


def _warnings(contents: Contents) -> list[str]:
    decision = contents.decision
    warnings = list(contents.model.warnings if decision is None else decision.warnings)
    return [contents.out_of_reach, *warnings] if contents.out_of_reach else warnings


def _about_terms(model: Model) -> Element:
    explanation = (
        "The time of a run is a sum of terms, each the seconds of something. "
        + (
            "Which terms the job has is not certain, so the prediction averages over all sets of them: "
            "the coefficient is the mean, the probability that of the job having the term at all. "
            if model.method == "averaging"
            else "Its coefficients are found by non-negative least squares. "
        )
        + "Machines count as numbers, scale as the share of the input."
    )
    return tag("p", explanation)


def _terms(model: Model) -> Element:
    return table(
        ["term", "what it is", "seconds per unit", "probability"],
        (
            [tag("code", term.name), term.meaning, number(term.coefficient), percent(term.probability)]
            for term in model.terms
        ),
        words=[0, 1],
    )


def _observations(model: Model) -> Element:
    """All runs; what is known of none of them has no column."""
    runs = sorted(model.observations, key=lambda run: run.index)
    columns: dict[str, list[str]] = {
        "run": [str(run.index) for run in runs],
        "machines": [str(run.machines) for run in runs],
        "scale": [percent(run.scale) for run in runs],
        "seconds": [number(run.seconds) for run in runs],
        "start-up, s": [number(run.startup_seconds) if run.startup_seconds else "" for run in runs],
        "iterations": [str(run.iterations or "") for run in runs],
        "application": [run.application_id or "" for run in runs],
        "event log": [run.event_log or "" for run in runs],
    }
    known = {name: cells for name, cells in columns.items() if any(cells)}
    return table(
        list(known),
        list(zip(*known.values(), strict=True)),
        words=[at for at, name in enumerate(known) if name in ("application", "event log")],
    )


def _origin(contents: Contents) -> Element:
    model = contents.model
    known = {
        "model": model.model_id,
        "fitted": model.created_at,
        "method": model.method,
        "job": model.job,
        "instance type": model.instance_type,
        "runs": str(len(model.observations)),
        "learned from": learned_from(model),
        "trained under": trained_under(model.conditions),
        "artifact": model.artifact,
        "artifact's SHA-256": model.artifact_sha256,
        "input at scale 1": model.input_path,
        "trained iterations": None if model.trained_iterations is None else str(model.trained_iterations),
    }
    return facts(known)


def _footer() -> Element:
    return tag(
        "footer",
        tag(
            "p",
            "Written by airflow-provider-ernest. Predictions follow Ernest (Venkataraman et al., NSDI 2016).",
        ),
    )
