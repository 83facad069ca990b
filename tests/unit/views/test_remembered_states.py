"""States that are told again are those that would be found anew."""

from dataclasses import replace

import pytest

from airflow_provider_ernest.documents import DATA
from airflow_provider_ernest.learning.freshness import state_of
from airflow_provider_ernest.views import models
from airflow_provider_ernest.views.models import remembered_state

from .stored import entry

SHOWN = entry(days=9)
MARK = entry("mark", days=2, model_id=SHOWN.id, cause=DATA, reason="Other columns.")


def test_the_state_follows_what_is_listed():
    assert remembered_state(SHOWN, [SHOWN]).name == "fresh"
    assert remembered_state(SHOWN, [SHOWN, MARK]).name == "stale"
    assert remembered_state(SHOWN, [SHOWN]).name == "fresh"


def test_another_entry_in_the_place_of_one_counts():
    told = remembered_state(SHOWN, [SHOWN, MARK])
    other = remembered_state(SHOWN, [SHOWN, replace(MARK, reason="Another format.")])
    assert (told.reason, other.reason) == ("Other columns.", "Another format.")


def test_the_same_entries_are_weighed_once(monkeypatch: pytest.MonkeyPatch):
    asked = []

    def counted(model, *, others):
        asked.append(model)
        return state_of(model, others=others)

    monkeypatch.setattr(models, "state_of", counted)
    shown = replace(SHOWN, job="weighed once")
    for _ in range(3):
        remembered_state(shown, [shown])
    assert asked == [shown]


def test_no_more_are_remembered_than_are_listed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(models, "MOST_REMEMBERED", 2)
    monkeypatch.setattr(models, "_REMEMBERED", {})
    for number in range(5):
        shown = replace(SHOWN, job=f"job {number}")
        assert remembered_state(shown, [shown]).name == "fresh"
    assert len(models._REMEMBERED) <= 2
