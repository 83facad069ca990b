"""The pages' scripts and styles: for pages that link to them, and for reports that contain them."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path

STATIC = Path(__file__).resolve().parents[1] / "web" / "static"

CHARTS = "echarts.min.js"
"""The charts' library, in ``static/vendor``."""

COMMON_STYLES = ("tokens", "base", "components", "tables", "controls", "notices")
STYLES = {
    "models": ("models",),
    "model": ("model", "life", "why"),
    "run": ("run",),
    "survey": ("model", "survey"),
    "analysis": ("model", "why"),
}
"""The pages with their own style sheets; their scripts are ``js/pages/NAME.js``."""


def styles_of(page: str) -> str:
    """All style sheets of a page."""
    names = (*COMMON_STYLES, *STYLES[page])
    return "".join((STATIC / "css" / f"{name}.css").read_text(encoding="utf-8") for name in names)


# All scripts of the pages are written like this; a test checks it.
_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)


@cache
def modules_of(entry: str) -> tuple[str, ...]:
    """A script and all that it imports, as paths in ``static/js``, each after what it imports.

    Raises:
        ValueError: two of them import each other.
    """
    found: dict[str, bool] = {}

    def visit(name: str) -> None:
        if found.setdefault(name, False) is False:
            for _, imported in _IMPORT.findall(_source(name)):
                module = _resolved(imported, name)
                if found.get(module) is False:
                    raise ValueError(f"{name} and {module} import each other.")
                visit(module)
            found[name] = True
            ordered.append(name)

    ordered: list[str] = []
    visit(entry)
    return tuple(ordered)


@cache
def bundled(entry: str) -> str:
    """A script with all that it imports as one classic script, which needs no server."""
    bodies = (f'modules["{name}"] = (() => {{\n{_as_function(name)}}})();\n' for name in modules_of(entry))
    return f'(() => {{\n"use strict";\nconst modules = {{}};\n{"".join(bodies)}}})();\n'


def harmless(data: str) -> str:
    """JSON that cannot break out of its HTML element: it has no ``<``, ``>`` or ``&``."""
    for sign in "<>&":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    return data


def _as_function(name: str) -> str:
    source = _source(name)

    def imported(found: re.Match[str]) -> str:
        names = found[1].replace(" as ", ": ")
        return f'const {{{names}}} = modules["{_resolved(found[2], name)}"];'

    exported = ", ".join(_EXPORT.findall(source))
    return f"{_EXPORT.sub('', _IMPORT.sub(imported, source))}return {{ {exported} }};\n"


def _source(name: str) -> str:
    return (STATIC / "js" / name).read_text(encoding="utf-8")


def _resolved(imported: str, by: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(by), imported))
