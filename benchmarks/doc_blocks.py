"""Parts of the pages in docs/ that are copies: example DAGs, policies, and tables made of the code.

    python -m benchmarks.doc_blocks            writes them anew; a test fails where one is not up to date

A copy stands behind a comment that says of what: ``<!-- dags/example_ernest_yarn.py -->`` is followed by
that file as a block, ``<!-- docs/measured/demo.txt "The decision" -->`` by the sections of it that are named,
``<!-- configuration -->`` by a table. So a page needs no file beside it, on GitHub
either.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from airflow_provider_ernest.provider_info import get_provider_info

ROOT = Path(__file__).parents[1]
OPENAPI = ROOT / "tests" / "golden" / "expected" / "interfaces" / "openapi.json"
LANGUAGES = {".py": "python", ".json": "json", ".txt": "text"}

_FILE = re.compile(
    r"(?<=<!-- )((?:dags|docs)/\S+)((?: \"[^\"\n]+\")*)( -->\n)```\w+\n.*?^```$", re.DOTALL | re.MULTILINE
)
_TABLE = re.compile(r"(?<=<!-- )(configuration|routes)( -->\n\n)(?:\|.*\n)*", re.MULTILINE)


def main() -> None:
    """Write all pages anew."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


def filled(page: str) -> str:
    """The page, with its copies up to date."""
    page = _FILE.sub(lambda found: f"{found[1]}{found[2]}{found[3]}{_block(ROOT / found[1], found[2])}", page)
    return _TABLE.sub(lambda found: f"{found[1]}{found[2]}" + "".join(TABLES[found[1]]()), page)


def _block(path: Path, sections: str) -> str:
    text = path.read_text(encoding="utf-8").strip()
    if sections:
        text = "\n\n".join(_section(text, title) for title in re.findall(r'"([^"]+)"', sections))
    return f"```{LANGUAGES[path.suffix]}\n{text}\n```"


def _section(text: str, title: str) -> str:
    """From an underlined title up to the next empty line."""
    return text[text.index(f"\n{title}\n---") + 1 :].partition("\n\n")[0]


def _configuration() -> Iterator[str]:
    yield "| option | default | example | what |\n|---|---|---|---|\n"
    for name, option in get_provider_info()["config"]["ernest"]["options"].items():
        default = f"`{option['default']}`" if option["default"] else ""
        yield f"| `{name}` | {default} | `{option['example']}` | {option['description']} |\n"


def _routes() -> Iterator[str]:
    yield "| GET | what | parameters (those that are needed in bold) |\n|---|---|---|\n"
    for path, methods in json.loads(OPENAPI.read_text(encoding="utf-8"))["paths"].items():
        (route,) = methods.values()
        names = [
            f"**`{each['name']}`**" if each.get("required") else f"`{each['name']}`"
            for each in route.get("parameters", [])
        ]
        yield f"| `/ernest{path}` | {route['summary']} | {', '.join(names)} |\n"


TABLES = {"configuration": _configuration, "routes": _routes}

if __name__ == "__main__":
    main()
