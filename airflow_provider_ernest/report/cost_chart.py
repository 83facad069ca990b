"""What a run costs against how long it takes."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from airflow_provider_ernest.model.results import Alternative
from airflow_provider_ernest.report.axes import axis_from_zero, logarithmic_axis
from airflow_provider_ernest.report.chart import Canvas, figure, frame, labels, line, path, point, text
from airflow_provider_ernest.report.contents import Contents
from airflow_provider_ernest.report.tables import table
from airflow_provider_ernest.report.wording import dollars, duration, machines, number, probability


def cost_chart(contents: Contents) -> Element:
    """Every number of machines as a point of seconds and dollars, the chosen one marked."""
    fastest = min(contents.alternatives, key=lambda each: each.seconds)
    cheapest = min(contents.alternatives, key=lambda each: each.cost)
    description = f"Cost against time: the fastest is {_told(fastest)}, the cheapest {_told(cheapest)}"
    legend = [("cost", "a number of machines")]
    chosen = _chosen(contents)
    if chosen is not None:
        legend.append(("chosen", "chosen"))
        description += f"; chosen: {_told(contents.alternatives[chosen])}"
    if contents.goal is not None:
        limits = {"deadline": contents.latest_seconds, "budget": contents.goal.budget_dollars}
        names = [name for name, limit in limits.items() if limit]
        if names:
            legend.append(("goal", " and ".join(names)))
    return figure(
        lambda canvas: _draw(contents, canvas),
        description=f"{description}.",
        legend=legend,
        caption=(
            "Down is cheaper, left is faster; the labels are numbers of machines. A point that has another "
            "one both below and to its left is never worth its money."
        ),
        numbers=_numbers(contents),
    )


def _told(each: Alternative) -> str:
    return f"{machines(each.machines)}, {duration(each.seconds)} for {dollars(each.cost)}"


def _chosen(contents: Contents) -> int | None:
    """The position of the alternative that was chosen."""
    if contents.decision is None:
        return None
    chosen = contents.decision.config.machines
    return next(at for at, each in enumerate(contents.alternatives) if each.machines == chosen)


def _draw(contents: Contents, canvas: Canvas) -> list[Element]:
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
        elements.append(point(x, y, class_=style, says=_told(each), radius=radius))
    words = [
        machines(each.machines) if at == chosen else str(each.machines)
        for at, each in enumerate(alternatives)
    ]
    ends = [at for at in (0, len(places) - 1) if at != chosen]
    order = [*([] if chosen is None else [chosen]), *ends]
    elements += labels(places, words, first=order, bold=chosen)
    return elements


def _numbers(contents: Contents) -> Element:
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
