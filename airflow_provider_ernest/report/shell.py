"""What all pages have: their head, their style, sections, key figures and warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from xml.etree.ElementTree import Element

from airflow_provider_ernest.report.markup import Child, document, tag

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
