"""A page taken apart as a browser does it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta"}


class Page(HTMLParser):
    """The page as a browser takes it apart: its elements, and the text that a reader sees."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def outside_of_frames(self) -> list[str]:
        """What charts draw beyond the edges of their frame."""
        found = []
        width = height = 0.0
        for tag, attributes in self.elements:
            if tag == "svg":
                _, _, width, height = (float(part) for part in str(attributes["viewbox"]).split())
            found += [
                f"<{tag}> at {x},{y} of {width}x{height}"
                for x, y in _places(tag, attributes)
                if not (0 <= x <= width and 0 <= y <= height)
            ]
        return found


def _places(tag: str, attributes: dict[str, str | None]) -> list[tuple[float, float]]:
    places = re.findall(r"(-?[\d.]+),(-?[\d.]+)", attributes.get("d") or "")
    if tag == "circle":
        places.append((attributes["cx"], attributes["cy"]))
    if tag == "line":
        places += [(attributes["x1"], attributes["y1"]), (attributes["x2"], attributes["y2"])]
    if tag == "rect":
        x, y, wide, high = (float(attributes[name] or 0) for name in ("x", "y", "width", "height"))
        # Numbers are written in hundredths.
        places += [(x, y), (round(x + wide - 0.02, 2), round(y + high - 0.02, 2))]
    if tag == "text":
        places.append((attributes["x"], attributes["y"]))
    return [(float(x), float(y)) for x, y in places]
