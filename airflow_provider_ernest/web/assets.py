"""The pages' files as a browser gets them: a script and a style sheet for each, and the charts' library.

They are made of ``static/`` once in a process, compressed, and lie at addresses that change with what they
hold: a browser asks for each of them once, and never again until the package is another.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache, cached_property

from airflow_provider_ernest.views.scripts import CHARTS, STATIC, STYLES, bundled, modules_of, styles_of

CSS, JS = "text/css; charset=utf-8", "text/javascript; charset=utf-8"


@dataclass(frozen=True)
class Asset:
    """A file.

    Attributes:
        name: the last part of its address.
        media_type: for the header.
        content: as it is.
    """

    name: str
    media_type: str
    content: bytes

    @cached_property
    def digest(self) -> str:
        """Of the content: another content has another."""
        return hashlib.sha256(self.content).hexdigest()[:16]

    @cached_property
    def compressed(self) -> bytes:
        """The content by gzip."""
        return gzip.compress(self.content, mtime=0)

    @property
    def address(self) -> str:
        """Relative to the pages, since nobody here knows the prefix that Airflow runs under."""
        return f"assets/{self.digest}/{self.name}"


@cache
def asset(name: str) -> Asset:
    """The file of a name.

    Raises:
        KeyError: there is none.
    """
    if name == CHARTS:
        return Asset(name, JS, (STATIC / "vendor" / name).read_bytes())
    page, _, kind = name.partition(".")
    if page not in STYLES:
        raise KeyError(name)
    if kind == "js":
        return Asset(name, JS, bundled(f"pages/{page}.js").encode())
    if kind == "css":
        return Asset(name, CSS, styles_of(page).encode())
    raise KeyError(name)


def page_html(name: str, data: str = "") -> str:
    """A page: what it is drawn by is one script, which holds back the first paint.

    So nothing is shown in the wrong theme. It fetches the charts' library, five times as large, behind what
    is read first.

    Args:
        name: of the page.
        data: JSON without signs that mean something to HTML, which `fetchJson` finds; empty for none.
    """
    html = frame(name)
    block = f'<script type="application/json" id="answers">{data}</script>\n  </body>'
    return html.replace("</body>", block) if data else html


@cache
def frame(name: str) -> str:
    """A page without data."""
    script, style = asset(f"{name}.js"), asset(f"{name}.css")
    has_charts = "charts/echart.js" in modules_of(f"pages/{name}.js")
    charts = f' data-charts="{asset(CHARTS).address}"' if has_charts else ""
    head = (
        f'<link rel="stylesheet" href="{style.address}">',
        f'<script src="{script.address}" defer blocking="render"{charts}></script>',
    )
    text = (STATIC / "page.html").read_text(encoding="utf-8")
    return text.replace("TITLE", name.capitalize()).replace("<!-- HEAD -->", "\n    ".join(head))
