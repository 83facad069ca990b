"""The pages of docs/ are as the code is, and can be read where nothing builds them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.doc_blocks import filled

DOCS = Path(__file__).parents[2] / "docs"
README = DOCS.parent / "README.md"
PAGES = sorted(DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_copies_of_files_and_tables_of_the_code_are_up_to_date(page: Path):
    """Run `python -m benchmarks.doc_blocks` where one is not."""
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_no_directive_can_be_seen_where_sphinx_has_not_read_the_page(page: Path):
    shown = re.findall(r"^`{3,}\{.*|^:::.*|\{(?:doc|ref|term)\}`", page.read_text("utf-8"), re.MULTILINE)
    assert not shown


def test_every_page_is_reached_from_the_first():
    waiting, reached = [DOCS / "index.md"], set()
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)#:\s]+\.md)", page.read_text(encoding="utf-8"))
        linked = [(page.parent / link).resolve() for link in links]
        waiting += [each for each in linked if DOCS in each.parents]
    assert reached == set(PAGES)


def test_the_dag_of_the_readme_is_whole_and_parses():
    (source,) = re.findall(
        r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    names: dict[str, object] = {}
    exec(source, names)
    dag = names["production"].dag

    dag.validate()
    assert "ernest.choose_config" in dag.get_task("production").get_flat_relative_ids(upstream=True)
    assert len(source.splitlines()) <= 25
