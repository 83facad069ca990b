"""A report: one HTML file that needs nothing else, readable and printable without scripts.

Its body is words and tables. It carries the scripts and styles of the pages in Airflow with it, and what they
draw as JSON: where scripts run they put each chart over the table of its numbers. Whatever the user wrote is
escaped when the tree is written, and the policy lets no script run but those two that are meant.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from xml.etree.ElementTree import Element, tostring

from airflow_provider_ernest.views.scripts import STATIC, bundled, harmless
from airflow_provider_ernest.views.view import json_ready

Child: TypeAlias = "Element | str | None"

LONG = 40
"""Cells with more letters are given room, instead of many short lines."""

FIT_ON_PHONES = 3
"""Tables of more columns are cards there, as in ``static/js/table.js``."""

_STYLES = ("tokens", "base", "components", "tables", "controls", "notices", "model", "why", "report")


def whole_page(*body: Child, title: str, data: Mapping[str, Any]) -> str:
    """The HTML of a report; the same arguments give the same page.

    Args:
        body: what is on it.
        title: of the browser's window.
        data: views and documents, for ``static/js/pages/report.js``.
    """
    css = "".join((STATIC / "css" / f"{name}.css").read_text(encoding="utf-8") for name in _STYLES)
    library = (STATIC / "vendor" / "echarts.min.js").read_text(encoding="utf-8")
    scripts = (library, bundled("pages/report.js"))
    embedded = json.dumps(json_ready(data), ensure_ascii=True, separators=(",", ":"))
    known = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {known}"
    root = tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("title", title),
            tag("style", css),
            tag("script", harmless(embedded), id="data", type="application/json"),
            *(tag("script", script) for script in scripts),
        ),
        tag("body", tag("main", *body)),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{tostring(root, encoding='unicode', method='html')}\n"


def _digest(script: str) -> str:
    return b64encode(hashlib.sha256(script.encode()).digest()).decode()


def tag(name: str, /, *children: Child, **attributes: str) -> Element:
    """An element of these children but None; ``class_`` is class, ``aria_label`` is aria-label."""
    element = Element(
        name, {key.removesuffix("_").replace("_", "-"): text for key, text in attributes.items()}
    )
    last: Element | None = None
    for child in children:
        if isinstance(child, Element):
            element.append(child)
            last = child
        elif child and last is None:
            element.text = (element.text or "") + child
        elif child and last is not None:
            last.tail = (last.tail or "") + child
    return element


def header(kicker: str, title: str, *lines: Child) -> Element:
    """What it is about: the question, the job or run, and what was asked."""
    paragraphs = (tag("p", line) if isinstance(line, str) else line for line in lines)
    return tag("header", tag("p", kicker, class_="muted"), tag("h1", title), *paragraphs)


def headline(answer: str, *but: str) -> Element:
    """The answer in a sentence, and what else must be said of it where it stands."""
    return tag("p", tag("strong", answer), *(f" {each}" for each in but), class_="headline")


def section(title: str, *children: Child) -> Element:
    """A part of the page under its heading."""
    return tag("section", tag("h2", title), *children, class_="card")


def chart(name: str, title: str, *numbers: Child) -> Element:
    """The numbers that a chart is drawn of, and over, by the script that knows this name."""
    return tag("section", tag("h2", title), *numbers, id=name, class_="figure")


def key_figures(*figures: tuple[str, str, str], best: int | None = None) -> Element:
    """Figures that stand out: what each is, its value, and a remark; one may be marked as the best."""
    return tag(
        "dl",
        *(
            tag(
                "div",
                tag("dt", name),
                tag("dd", value, class_="value"),
                tag("dd", remark, class_="remark"),
                class_="key-figure best" if at == best else "key-figure",
            )
            for at, (name, value, remark) in enumerate(figures)
        ),
        class_="key-figures",
    )


def warnings_section(warnings: Sequence[str]) -> Element | None:
    """What to know before trusting the rest; None where there is nothing."""
    if not warnings:
        return None
    listed = tag("ul", *(tag("li", warning) for warning in warnings))
    return tag("section", tag("h2", "Before you trust this"), listed, class_="notice warning")


def facts(known: Mapping[str, str | None]) -> Element:
    """Names with what they stand for; empty ones are left out."""
    shown = ((name, value) for name, value in known.items() if value)
    parts = (part for name, value in shown for part in (tag("dt", name), tag("dd", value)))
    return tag("dl", *parts, class_="facts")


def footer(words: str) -> Element:
    """Who wrote it, by whose methods."""
    return tag("footer", tag("p", f"Written by airflow-provider-ernest{words}"))


def _width(cell: Child, style: str) -> str:
    return "long" if isinstance(cell, str) and len(cell) > LONG else style


def table(
    columns: Mapping[str, Iterable[Child]], *, words: Sequence[str] = (), chosen: int | None = None
) -> Element:
    """A table, as cards on phones where it has too many columns for them.

    Args:
        columns: the cells by what each column holds; columns without any are left out.
        words: the columns that hold words; the others are numbers, and stand to the right.
        chosen: the row that is marked.
    """
    listed = {name: list(cells) for name, cells in columns.items()}
    known = {
        name: cells
        for name, cells in listed.items()
        if any(cell is not None and cell != "" for cell in cells)
    }
    styles = ["words" if name in words else "number" for name in known]
    head = (tag("th", name, scope="col", class_=style) for name, style in zip(known, styles, strict=True))
    body = (
        tag(
            "tr",
            *(
                tag("td", cell, class_=_width(cell, style), data_title=name)
                for name, cell, style in zip(known, row, styles, strict=True)
            ),
            class_="highlight" if position == chosen else "row",
        )
        for position, row in enumerate(zip(*known.values(), strict=True))
    )
    layout = {"class_": "cards-on-phones"} if len(known) > FIT_ON_PHONES else {}
    whole = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body), **layout)
    # A region that scrolls must be within reach of the keyboard.
    return tag(
        "div",
        whole,
        class_="table-scroll",
        tabindex="0",
        role="region",
        aria_label=", ".join(known) or "nothing",
    )
