"""The examples of docs/explanation/lineage.md run, and its tables name what is really told."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from airflow_provider_ernest.documents.models import AGE, ModelMark
from airflow_provider_ernest.lineage import events
from airflow_provider_ernest.operators.recording import notify_stale
from tests import examples

PAGE = (Path(__file__).parents[3] / "docs" / "explanation" / "lineage.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `(ernest_\w+)` \| (.*) \|$", PAGE.partition("## OpenLineage")[2], re.MULTILINE))
FACETS = {name: set(fields) for name, fields in events.FACETS.values()}
FACETS |= {events.FOUND_MODELS: {"models"}, events.STALE_MODELS: {"models"}}


@pytest.mark.parametrize("name", FACETS)
def test_the_page_names_all_fields_of_a_facet_and_no_other(name):
    # What stands in brackets are the fields of what a field lists, and remarks.
    assert set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", ROWS[name]))) == FACETS[name]


def test_the_page_has_a_row_for_each_facet():
    assert set(ROWS) == set(FACETS)


def test_the_examples_of_messages_work(capsys, caplog):
    names: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(example, names)
    note, _mail = names["on_stale"]
    mark = examples.mark(job="enrich", cause=AGE, reason="It is old.")
    notify_stale(note, context={"ti": SimpleNamespace()}, marks=[mark], log=logging.getLogger("task"))

    assert capsys.readouterr().out == "enrich on m5.large: It is old.\n"
    assert not caplog.messages


def test_the_page_names_all_that_a_mark_tells():
    (row,) = re.findall(r"^\| `ernest_mark` \| (.*) \|$", PAGE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) - {"ModelMark"} <= set(ModelMark.__dataclass_fields__)
