"""The pages' own files: nothing from elsewhere, no markup made of data, nothing that nobody loads."""

from __future__ import annotations

import hashlib
import posixpath
import re

import pytest

from airflow_provider_ernest.views.report import CHARTS, STATIC, STYLES, bundled, modules_of
from airflow_provider_ernest.web.app import asset, page_html
from tests.unit.web.pages_app import pages

JS, VENDOR = STATIC / "js", STATIC / "vendor"
SCRIPTS = {
    path.relative_to(JS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(JS.rglob("*.js"))
}
ENTRIES = [f"pages/{name}.js" for name in STYLES]
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function\*?|const|class|let) (\w+)", re.MULTILINE)
FIELD = re.compile(r"\.([a-z]+(?:_[a-z]+)+)\b(?!\()")
MARKUP = re.compile(
    r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc|DOMParser)"
)
ELSEWHERE = re.compile(r"""(?:src|href)\s*=\s*["'](?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import""")
VENDORED = re.findall(
    r"^\| (\S+\.\w+) \| \[.*?\]\(.*?\) \| (\S+) \| .* \| ([0-9a-f]{64}) \|$",
    (VENDOR / "README.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def test_scripts_make_text_of_data_never_markup():
    assert not [name for name, text in SCRIPTS.items() if MARKUP.search(text)]


def test_scripts_read_only_what_the_api_answers():
    """A field that was renamed would be undefined, and silently so."""
    schemas = pages().get("/openapi.json").json()["components"]["schemas"].values()
    answered = {name for schema in schemas for name in schema.get("properties", {})}
    read = {name for text in SCRIPTS.values() for name in FIELD.findall(text)}
    airflows = {"dag_run_id", "is_paused"}
    assert read - answered <= {"saved_seconds", *airflows}, "a column of a script's own"


def test_nothing_is_loaded_from_elsewhere():
    styles = [path.read_text(encoding="utf-8") for path in STATIC.rglob("*.css")]
    texts = [*SCRIPTS.values(), *styles, *map(page_html, STYLES)]
    assert not [text for text in texts if ELSEWHERE.search(text)]


@pytest.mark.parametrize("name", STYLES)
def test_a_page_is_one_script_and_one_style_sheet_and_holds_no_script_of_its_own(name: str):
    html = page_html(name)
    loaded = re.findall(r'(?:src|href)="(?!data:|#)([^"]+)"', html)
    assert loaded == [asset(f"{name}.css").address, asset(f"{name}.js").address]
    # The content security policy would not let it run.
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|javascript:", html)
    assert (f'data-charts="{asset(CHARTS).address}"' in html) == (name in ("model", "survey", "analysis"))


def test_what_is_imported_is_there_and_nothing_lies_about():
    used = {module for entry in ENTRIES for module in modules_of(entry)}
    assert used == set(SCRIPTS)
    words = {name: set(re.findall(r"\w+", text)) for name, text in SCRIPTS.items()}
    unused = [
        f"{name}: {exported}"
        for name, text in SCRIPTS.items()
        for exported in EXPORT.findall(text)
        if not any(exported in known for other, known in words.items() if other != name)
    ]
    assert not unused


def test_each_name_that_is_imported_is_exported():
    # A browser shows nothing of a page with one that is not.
    missing = [
        f"{name}: {imported} of {module}"
        for name, text in SCRIPTS.items()
        for names, module in IMPORT.findall(text)
        for imported in re.findall(r"(\w+)(?: as \w+)?(?:,|\s*$)", names)
        if "/vendor/" not in module
        and imported not in EXPORT.findall(SCRIPTS[posixpath.normpath(posixpath.join(name, "..", module))])
    ]
    assert not missing


@pytest.mark.parametrize("entry", ENTRIES)
def test_scripts_are_written_as_the_bundle_needs_them(entry: str):
    statements = re.findall(r"^(?:import|export)\b.*", bundled(entry), re.MULTILINE)
    assert not statements
    assert "</script" not in bundled(entry).lower()
    assert "<!--" not in bundled(entry)


def test_a_bundle_leaves_no_name_of_a_module_to_another():
    # Each is a function of its own: what two of them call alike must not collide.
    assert bundled("pages/model.js").count("const COLUMNS = [") > 1


def test_what_others_wrote_is_shipped_as_they_published_it_with_its_licence():
    shipped = {each.name for each in VENDOR.iterdir() if each.name.endswith((".js", ".css"))}
    assert {name for name, _version, _digest in VENDORED} == shipped
    for name, version, digest in VENDORED:
        content = (VENDOR / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
        assert f'"{version}"'.encode() in content, "the file tells its version"
    assert "Apache License" in (VENDOR / "echarts.LICENSE").read_text(encoding="utf-8")
    assert "Apache Software Foundation" in (VENDOR / "echarts.NOTICE").read_text(encoding="utf-8")
