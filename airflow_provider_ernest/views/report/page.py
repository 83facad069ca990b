"""The page: what was asked first, then why, then how far to believe it, then where it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from xml.etree.ElementTree import Element

from airflow_provider_ernest.documents import Alternative, Decision, Fold, Model
from airflow_provider_ernest.views.report.charts import (
    Axis,
    Canvas,
    Child,
    axis_from_zero,
    bands,
    document,
    figure,
    frame,
    labels,
    line,
    logarithmic_axis,
    machines_axis,
    path,
    point,
    table,
    tag,
    text,
)
from airflow_provider_ernest.views.report.contents import Contents, CurvePoint, learned_from, trained_under
from airflow_provider_ernest.words import dollars, duration, machines, number, percent, probability

# ---------------------------------------------------------------------------
# What all pages have: their head, their style, sections, key figures and warnings.


POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What the page may load: nothing. Were any text of the user to become markup, it still could do nothing."""

STYLE = "page.css"


def whole_page(*body: Child, title: str, styles: Sequence[str] = ()) -> str:
    """The HTML of a page that needs nothing else.

    Args:
        body: what is on it.
        title: of the browser's window.
        styles: style sheets of this package beside that of all pages, by their paths in `report`.
    """
    folder = files(__package__)
    css = "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in (STYLE, *styles))
    return document(
        tag(
            "html",
            tag(
                "head",
                tag("meta", charset="utf-8"),
                tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
                tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
                tag("meta", name="color-scheme", content="light dark"),
                tag("title", title),
                tag("style", css),
            ),
            tag("body", *body),
            lang="en",
        )
    )


def section(title: str, *children: Child) -> Element:
    """A part of the page under its heading."""
    return tag("section", tag("h2", title), *children)


def key_figure(name: str, value: str, remark: str, *, best: bool = False) -> Element:
    """A figure that stands out, with what it is above and what to know of it below."""
    return tag(
        "div",
        tag("p", name, class_="label"),
        tag("p", value, class_="value"),
        tag("p", remark, class_="remark"),
        class_="figure best" if best else "figure",
    )


def warnings_section(warnings: Sequence[str]) -> Element | None:
    """What to know before trusting the rest; None where there is nothing."""
    if not warnings:
        return None
    listed = tag("ul", *(tag("li", warning) for warning in warnings))
    return tag("section", tag("h2", "Before you trust this"), listed, class_="warnings")


def facts(known: Mapping[str, str | None]) -> Element:
    """Names with what they stand for, in a column each; empty ones are left out."""
    shown = ((name, value) for name, value in known.items() if value)
    return tag("dl", *(part for name, value in shown for part in (tag("dt", name), tag("dd", value))))


# ---------------------------------------------------------------------------
# The predicted time against the number of machines.


FURTHEST = 20.0
"""Intervals are cut off at so many times the prediction, or nothing else could be told apart."""

HALF_COLUMN = 9.0
"""Half the width of an interval that is not a band, in pixels."""


def time_chart(contents: Contents) -> Element:
    """CurvePoint, intervals, observed runs, deadline and choice."""
    predictions = contents.predictions
    fastest = min(predictions, key=lambda each: each.seconds)
    first, last = predictions[0], predictions[-1]
    legend = [
        ("line", f"predicted at scale {contents.scale:g}"),
        ("likely", "80 % of runs"),
        ("certain", "95 % of runs"),
        ("observed", "observed runs, mostly on samples"),
    ]
    fewest, most = contents.observed_machines
    if first.machines < fewest or last.machines > most:
        legend.append(("line beyond", f"outside the {fewest} to {most} machines observed"))
    if contents.decision is not None:
        legend.append(("chosen", "chosen"))
    return figure(
        lambda canvas: _draw_time(contents, canvas),
        description=(
            f"Predicted time against machines: {duration(first.seconds)} on {machines(first.machines)}, "
            f"{duration(last.seconds)} on {machines(last.machines)}; the fastest is "
            f"{duration(fastest.seconds)} on {machines(fastest.machines)}."
        ),
        legend=legend,
        caption=(
            "From submission to end, start-up included. Samples read less of the input, so their runs lie "
            "below the line. Both axes are logarithmic: work that spreads perfectly falls along a straight "
            "line, and where the line flattens, more machines no longer help."
        ),
        numbers=_time_numbers(contents),
    )


def _draw_time(contents: Contents, canvas: Canvas) -> list[Element]:
    predictions, runs = contents.predictions, contents.model.observations
    counts = sorted({each.machines for each in predictions} | {run.machines for run in runs})
    deadline = contents.latest_seconds
    across = machines_axis(counts, start=canvas.left, end=canvas.right)
    shown = [run.seconds + run.startup_seconds for run in runs]
    shown += [
        min(max(bound, each.seconds / FURTHEST), each.seconds * FURTHEST)
        for each in predictions
        for bound in each.nearly_certain_seconds
    ]
    up = logarithmic_axis([*shown, *([deadline] if deadline else [])], start=canvas.bottom, end=canvas.top)

    elements = frame(canvas, across=across, up=up, across_name="machines", up_name="seconds")
    elements += [_band(contents, across, up, style) for style in ("certain", "likely")]
    elements += _curve(contents, across, up)
    if deadline:
        y = up.place(deadline)
        elements.append(line(canvas.left, y, canvas.right, y, class_="goal"))
        elements.append(text(canvas.right, y - 6, _deadline(contents), class_="note end"))
    elements += [
        point(
            across.place(run.machines),
            up.place(run.seconds + run.startup_seconds),
            class_="observed",
            says=f"run {run.index}: {machines(run.machines)}, {percent(run.scale)} of the input, "
            f"{duration(run.seconds + run.startup_seconds)}",
        )
        for run in runs
    ]
    if (chosen := contents.chosen) is not None:
        elements.append(_marked(across, up, chosen, class_="chosen"))
    return elements


def _deadline(contents: Contents) -> str:
    assert contents.goal is not None
    words = f"deadline {duration(contents.goal.deadline_seconds or 0.0)}"
    boot = contents.billing.boot_seconds if contents.billing else 0.0
    return f"{words} less {duration(boot)} to boot" if boot else words


def _band(contents: Contents, across: Axis, up: Axis, style: str) -> Element:
    """The area of one interval; a column where there is a single number of machines."""
    lower, upper = [], []
    for each in contents.predictions:
        x = across.place(each.machines)
        low, high = each.likely_seconds if style == "likely" else each.nearly_certain_seconds
        for place in (x,) if len(contents.predictions) > 1 else (x - HALF_COLUMN, x + HALF_COLUMN):
            lower.append((place, up.place(low)))
            upper.append((place, up.place(high)))
    return path([*upper, *lower[::-1]], class_=style, closed=True)


def _curve(contents: Contents, across: Axis, up: Axis) -> list[Element]:
    """The prediction as a line, dashed outside the numbers of machines that were observed."""
    predictions = contents.predictions
    if len(predictions) == 1:
        return [_marked(across, up, predictions[0], class_="line-point")]
    fewest, most = contents.observed_machines
    inside = [at for at, each in enumerate(predictions) if fewest <= each.machines <= most]
    if not inside:
        parts = [(predictions, "line beyond")]
    else:
        start, end = inside[0], inside[-1] + 1
        parts = [
            (predictions[: start + 1], "line beyond"),
            (predictions[start:end], "line"),
            (predictions[end - 1 :], "line beyond"),
        ]
    return [
        path([(across.place(each.machines), up.place(each.seconds)) for each in part], class_=style)
        for part, style in parts
        if len(part) > 1
    ]


def _marked(across: Axis, up: Axis, each: CurvePoint, *, class_: str) -> Element:
    says = f"{machines(each.machines)}: {duration(each.seconds)}"
    return point(across.place(each.machines), up.place(each.seconds), class_=class_, says=says, radius=7)


def _time_numbers(contents: Contents) -> Element:
    chosen = contents.chosen
    return table(
        ["machines", "seconds", "80 %, from", "to", "95 %, from", "to", "not supported by the runs"],
        (
            [
                str(each.machines),
                *(
                    number(value)
                    for value in (each.seconds, *each.likely_seconds, *each.nearly_certain_seconds)
                ),
                each.extrapolates,
            ]
            for each in contents.predictions
        ),
        words=[6],
        chosen=None if chosen is None else contents.predictions.index(chosen),
    )


# ---------------------------------------------------------------------------
# What a run costs against how long it takes.


def cost_chart(contents: Contents) -> Element:
    """Every number of machines as a point of seconds and dollars, the chosen one marked."""
    fastest = min(contents.alternatives, key=lambda each: each.seconds)
    cheapest = min(contents.alternatives, key=lambda each: each.cost)
    description = (
        f"Cost against time: the fastest is {_cost_in_words(fastest)}, "
        f"the cheapest {_cost_in_words(cheapest)}"
    )
    legend = [("cost", "a number of machines")]
    chosen = _chosen(contents)
    if chosen is not None:
        legend.append(("chosen", "chosen"))
        description += f"; chosen: {_cost_in_words(contents.alternatives[chosen])}"
    if contents.goal is not None:
        limits = {"deadline": contents.latest_seconds, "budget": contents.goal.budget_dollars}
        names = [name for name, limit in limits.items() if limit]
        if names:
            legend.append(("goal", " and ".join(names)))
    return figure(
        lambda canvas: _draw_cost(contents, canvas),
        description=f"{description}.",
        legend=legend,
        caption=(
            "Down is cheaper, left is faster; the labels are numbers of machines. A point that has another "
            "one both below and to its left is never worth its money."
        ),
        numbers=_cost_numbers(contents),
    )


def _cost_in_words(each: Alternative) -> str:
    return f"{machines(each.machines)}, {duration(each.seconds)} for {dollars(each.cost)}"


def _chosen(contents: Contents) -> int | None:
    """The position of the alternative that was chosen."""
    if contents.decision is None:
        return None
    chosen = contents.decision.config.machines
    return next(at for at, each in enumerate(contents.alternatives) if each.machines == chosen)


def _draw_cost(contents: Contents, canvas: Canvas) -> list[Element]:
    alternatives, deadline = contents.alternatives, contents.latest_seconds
    budget = contents.goal.budget_dollars if contents.goal else None
    across = logarithmic_axis(
        [*(each.seconds for each in alternatives), *([deadline] if deadline else [])],
        start=canvas.left,
        end=canvas.right,
    )
    up = axis_from_zero(
        [*(each.cost for each in alternatives), *([budget] if budget else [])],
        start=canvas.bottom,
        end=canvas.top,
    )
    elements = frame(canvas, across=across, up=up, across_name="seconds", up_name="dollars")
    if deadline:
        x = across.place(deadline)
        elements.append(line(x, canvas.top, x, canvas.bottom, class_="goal"))
        aside, anchor = (6, "start") if x < canvas.width / 2 else (-6, "end")
        elements.append(
            text(x + aside, canvas.top + 12, f"deadline {duration(deadline)}", class_=f"note {anchor}")
        )
    if budget:
        y = up.place(budget)
        elements.append(line(canvas.left, y, canvas.right, y, class_="goal"))
        elements.append(text(canvas.right, y - 6, f"budget {dollars(budget)}", class_="note end"))
    places = [(across.place(each.seconds), up.place(each.cost)) for each in alternatives]
    elements.append(path(places, class_="cost-line"))
    chosen = _chosen(contents)
    for at, (each, (x, y)) in enumerate(zip(alternatives, places, strict=True)):
        style, radius = ("chosen", 7.0) if at == chosen else ("cost", 4.0)
        elements.append(point(x, y, class_=style, says=_cost_in_words(each), radius=radius))
    words = [
        machines(each.machines) if at == chosen else str(each.machines)
        for at, each in enumerate(alternatives)
    ]
    ends = [at for at in (0, len(places) - 1) if at != chosen]
    order = [*([] if chosen is None else [chosen]), *ends]
    elements += labels(places, words, first=order, bold=chosen)
    return elements


def _cost_numbers(contents: Contents) -> Element:
    chosen = _chosen(contents)
    has_limits = contents.goal is not None and contents.goal.has_limits
    columns = ["machines", "seconds", "dollars", *(["keeps the goal"] if has_limits else []), ""]
    return table(
        columns,
        (
            [
                str(each.machines),
                number(each.seconds),
                dollars(each.cost),
                *([probability(each.probability or 0.0)] if has_limits else []),
                _remark(each, is_chosen=at == chosen),
            ]
            for at, each in enumerate(contents.alternatives)
        ),
        words=[len(columns) - 1],
        chosen=chosen,
    )


def _remark(each: Alternative, *, is_chosen: bool) -> str:
    remarks = [
        "chosen" if is_chosen else "" if each.feasible else "less sure than asked for",
        "on the Pareto front" if each.is_pareto else "",
        each.memory_shortage,
    ]
    return "; ".join(remark for remark in remarks if remark)


# ---------------------------------------------------------------------------
# What the time is spent on, against the number of machines: why it does not get faster.


WORTH_A_COLOUR = 0.01
"""Terms that never explain so large a share of the time are drawn together."""

OTHERS = "others"
MOST_COLOURS = 7


def shares_chart(contents: Contents) -> Element:
    """The share of each term in the time, stacked."""
    first, last = contents.predictions[0], contents.predictions[-1]
    shown = shown_parts(contents)
    meanings = {term.name: term.meaning for term in contents.model.terms}
    # As they are stacked: the first on top.
    legend = [
        (_style(contents, name), f"{name}: {meanings[name]}" if name in meanings else name)
        for name in reversed(shown)
    ]
    return figure(
        lambda canvas: _draw_shares(contents, canvas, shown),
        description=(
            "Shares of the time against machines. "
            f"On {machines(first.machines)}: {_shares_in_words(first, shown)}. "
            f"On {machines(last.machines)}: {_shares_in_words(last, shown)}."
        ),
        legend=legend,
        caption=(
            "Only work that spreads shrinks with more machines. What takes most of the time at the right "
            "edge is what further machines cannot help."
        ),
        numbers=_shares_numbers(contents),
    )


def shown_parts(contents: Contents) -> list[str]:
    """The names that have a colour of their own, in the order in which they are stacked, `OTHERS` last.

    What shrinks most from the first to the last number of machines is on top.
    """
    names = list(contents.predictions[0].parts)
    largest = {name: max(_share(each, name) for each in contents.predictions) for name in names}
    kept = [name for name in names if largest[name] >= WORTH_A_COLOUR]
    kept = sorted(kept, key=lambda name: -largest[name])[:MOST_COLOURS]
    first, last = contents.predictions[0], contents.predictions[-1]
    kept.sort(key=lambda name: _share(first, name) - _share(last, name))
    return kept if len(kept) == len(names) else [*kept, OTHERS]


def _style(contents: Contents, name: str) -> str:
    """The class of a part's colour: that of its place in the model, so that it is the same in all reports."""
    names = list(contents.predictions[0].parts)
    if len(names) > MOST_COLOURS:
        names = shown_parts(contents)
    return "part-others" if name == OTHERS else f"part-{names.index(name)}"


def _share(each: CurvePoint, name: str, shown: list[str] | None = None) -> float:
    """The share of a part of the time; that of `OTHERS` is what the shown ones leave."""
    if name == OTHERS and shown is not None:
        return max(0.0, 1.0 - sum(_share(each, other) for other in shown if other != OTHERS))
    return each.parts[name] / sum(each.parts.values())


def _shares_in_words(each: CurvePoint, shown: list[str]) -> str:
    return ", ".join(f"{name} {percent(_share(each, name, shown))}" for name in shown)


def _draw_shares(contents: Contents, canvas: Canvas, shown: list[str]) -> list[Element]:
    counts = [each.machines for each in contents.predictions]
    across = machines_axis(counts, start=canvas.left, end=canvas.right)
    up = Axis(low=0.0, high=1.0, start=canvas.bottom, end=canvas.top, ticks=(0.0, 0.25, 0.5, 0.75, 1.0))
    elements = frame(
        canvas,
        across=across,
        up=up,
        across_name="machines",
        up_name="share of the time",
        up_number=lambda value: f"{100 * value:.0f} %",
    )
    floor = [0.0] * len(counts)
    for name in shown:
        ceiling = [
            below + _share(each, name, shown) for below, each in zip(floor, contents.predictions, strict=True)
        ]
        upper, lower = _steps(across, up, counts, ceiling), _steps(across, up, counts, floor)
        area = path([*upper, *lower[::-1]], class_=f"part {_style(contents, name)}", closed=True)
        area.append(tag("title", name))
        elements.append(area)
        floor = ceiling
    return elements


def _steps(across: Axis, up: Axis, counts: list[int], heights: list[float]) -> list[tuple[float, float]]:
    """The corners of a staircase with a step for each number of machines."""
    return [
        (across.place(edge), up.place(height))
        for edges, height in zip(bands(counts), heights, strict=True)
        for edge in edges
    ]


def _shares_numbers(contents: Contents) -> Element:
    names = list(contents.predictions[0].parts)
    return table(
        ["machines", *names],
        (
            [
                str(each.machines),
                *(f"{number(each.parts[name])} ({percent(_share(each, name))})" for name in names),
            ]
            for each in contents.predictions
        ),
    )


# ---------------------------------------------------------------------------
# Each observed run against what the others predict of it.


BAND = 1.1
"""Predictions within 10 % lie in the band around the diagonal."""


def validation_chart(contents: Contents) -> Element:
    """Predicted from the others against measured, with the diagonal on which both are the same."""
    validation = contents.model.validation
    worst = max(validation.folds, key=lambda fold: abs(fold.error_percent))
    return figure(
        lambda canvas: _draw_validation(contents, canvas),
        description=(
            f"Leave-one-out predictions against measured times of {len(validation.folds)} runs: the median "
            f"error is {validation.median_error_percent:.1f} %, the largest {worst.error_percent:+.1f} %, of "
            f"run {worst.index}."
        ),
        legend=[
            ("observed", "a run, with its number"),
            ("diagonal", "predicted = measured"),
            ("certain", "within 10 %"),
        ],
        caption=(
            "Each run is predicted by a model of all the others, without start-up. Points above the line "
            "were predicted too slow, points below it too fast."
        ),
        numbers=table(
            ["run", "machines", "scale", "seconds", "predicted from the others", "error"],
            (_row(fold) for fold in validation.folds),
        ),
    )


def _row(fold: Fold) -> list[str]:
    return [
        str(fold.index),
        str(fold.machines),
        percent(fold.scale),
        number(fold.seconds),
        number(fold.predicted_seconds),
        f"{fold.error_percent:+.1f} %",
    ]


def _draw_validation(contents: Contents, canvas: Canvas) -> list[Element]:
    folds = contents.model.validation.folds
    values = [value for fold in folds for value in (fold.seconds, fold.predicted_seconds)]
    across = logarithmic_axis(values, start=canvas.left, end=canvas.right)
    up = logarithmic_axis(values, start=canvas.bottom, end=canvas.top)
    elements = frame(
        canvas, across=across, up=up, across_name="measured seconds", up_name="predicted seconds"
    )
    low, high = across.low, across.high
    band = [
        (low, low * BAND),
        (high / BAND, high),
        (high, high),
        (high, high / BAND),
        (low * BAND, low),
        (low, low),
    ]
    elements.append(path([(across.place(x), up.place(y)) for x, y in band], class_="certain", closed=True))
    ends = [(across.place(end), up.place(end)) for end in (low, high)]
    elements.append(path(ends, class_="diagonal"))
    places = [(across.place(fold.seconds), up.place(fold.predicted_seconds)) for fold in folds]
    for fold, (x, y) in zip(folds, places, strict=True):
        says = (
            f"run {fold.index}: {machines(fold.machines)}, {percent(fold.scale)} of the input: "
            f"{duration(fold.seconds)}, predicted {duration(fold.predicted_seconds)}"
        )
        elements.append(point(x, y, class_="observed", says=says))
    worst_first = sorted(range(len(folds)), key=lambda at: -abs(folds[at].error_percent))
    elements += labels(places, [str(fold.index) for fold in folds], first=worst_first)
    return elements


# ---------------------------------------------------------------------------


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


def _time_figure(name: str, each: CurvePoint) -> Element:
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
        "model": model.id,
        "fitted": model.at,
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
