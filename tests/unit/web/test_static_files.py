"""The pages' own files: nothing from elsewhere, no markup made of data, nothing that nobody loads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_provider_ernest.web.app import STATIC

SCRIPTS = sorted(path for path in STATIC.rglob("*.js") if "vendor" not in path.parts)
PAGES = sorted(STATIC.glob("*.html"))
IMPORT = re.compile(r"""^(?:import|export)\b[^;]*?\bfrom "(?P<module>[^"]+)";""", re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function\*?|const|class|let) (\w+)", re.MULTILINE)
MARKUP = re.compile(
    r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc|DOMParser)"
)

ELSEWHERE = re.compile(r"""(?:src|href)\s*=\s*["'](?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import""")


def name(path: Path) -> str:
    return path.relative_to(STATIC).as_posix()


def imported(script: Path) -> set[Path]:
    text = script.read_text(encoding="utf-8")
    return {(script.parent / found["module"]).resolve() for found in IMPORT.finditer(text)}


def reached_from(script: Path) -> set[Path]:
    found, open_ends = {script}, [script]
    while open_ends:
        new = imported(open_ends.pop()) - found
        found |= new
        open_ends += new
    return found


def entry_of(page: Path) -> Path:
    return STATIC / "js" / "pages" / f"{page.stem}.js"


def test_scripts_make_text_of_data_never_markup():
    assert not [name(script) for script in SCRIPTS if MARKUP.search(script.read_text(encoding="utf-8"))]


def test_nothing_is_loaded_from_elsewhere():
    files = [*SCRIPTS, *PAGES, *STATIC.rglob("*.css")]
    assert not [name(file) for file in files if ELSEWHERE.search(file.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_names_all_scripts_that_it_will_need(page: Path):
    # Else the browser finds them one after the other, each by the one before.
    text = page.read_text(encoding="utf-8")
    preloaded = {STATIC.parent / path for path in re.findall(r'rel="modulepreload" href="([^"]+)"', text)}
    run = {STATIC.parent / path for path in re.findall(r'<script type="module" src="([^"]+)"', text)}
    needed = reached_from(entry_of(page))
    assert entry_of(page) in run
    assert preloaded | run == needed | run


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_holds_no_script_of_its_own(page: Path):
    # The content security policy would not let it run.
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|javascript:", text)


def test_what_is_imported_is_there_and_nothing_lies_about():
    entries = [*map(entry_of, PAGES), STATIC / "js" / "pages" / "report.js"]
    used = set().union(*map(reached_from, entries), {STATIC / "js" / "theme.js"})
    assert {name(path) for path in used} == {name(path) for path in SCRIPTS}


def test_what_a_script_exports_is_used_by_another():
    words = {script: set(re.findall(r"\w+", script.read_text(encoding="utf-8"))) for script in SCRIPTS}
    unused = [
        f"{name(script)}: {exported}"
        for script in SCRIPTS
        for exported in EXPORT.findall(script.read_text(encoding="utf-8"))
        if not any(exported in used for other, used in words.items() if other != script)
    ]
    assert not unused
