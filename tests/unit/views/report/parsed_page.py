"""A page taken apart as a browser does it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

VOID = {"meta"}


class Page(HTMLParser):
    """The elements of a page, its scripts, and the text that a reader sees without them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    @property
    def data(self) -> Any:
        """What the charts are drawn of."""
        return json.loads(self.scripts[0])["shown"]

    @property
    def policy(self) -> str:
        (policy,) = (each for each in self.all("meta") if each.get("http-equiv") == "Content-Security-Policy")
        return str(policy["content"])

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def columns(self, name: str) -> list[str]:
        """The heads of the table that the chart of that name is drawn over."""
        attributes = [each for _, each in self.elements]
        (wanted,) = (at for at, each in enumerate(attributes) if each.get("id") == name)
        region = next(each for each in attributes[wanted:] if each.get("role") == "region")
        return str(region["aria-label"]).split(", ")


def reaches_out(page: Page) -> list[str]:
    """What of a page would load, link to or run anything that is not in it."""
    loads = {"link", "img", "iframe", "object", "form", "a", "base"}
    found = [tag for tag, _ in page.elements if tag in loads]
    for tag, attributes in page.elements:
        found += [f"{tag} {name}" for name in attributes if name.startswith("on") or name in ("src", "href")]
    return found


def same_shape(page: Page, other: Page) -> bool:
    """Whether two pages have the same kinds of elements and attributes: no text became any."""

    def shape(each: Page) -> set[tuple[str, str]]:
        return {(tag, name) for tag, attributes in each.elements for name in ("", *attributes)}

    lists = {(tag, name) for tag in ("ul", "li") for name in ("", "class")}
    return shape(page) | lists == shape(other) | lists
