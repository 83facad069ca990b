"""Of the lines of one thing the latest counts, in whatever order and by whatever clock."""

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.store.catalogue import (
    REMOVALS_KEPT,
    Line,
    line_text,
    needed,
    read_line,
    time_after,
)
from tests.unit.model.sample_records import an_entry

ENTRY = an_entry("1", terms=("1", "machines"), median_error_percent=0.1 + 0.2, reason="größe")
LONG_AHEAD = (datetime.now(UTC) + timedelta(days=400)).isoformat(timespec="microseconds")
LONG_AGO = (datetime.now(UTC) - REMOVALS_KEPT - timedelta(days=1)).isoformat(timespec="microseconds")


@pytest.mark.parametrize("at", ["", "2026-01-01T00:00:00.000000+00:00"])
@pytest.mark.parametrize("entry", [ENTRY, None])
def test_a_line_is_read_as_it_was_written(at, entry):
    line = Line(ENTRY.key, at, entry)

    assert read_line(line_text(line)) == line


def test_a_line_of_an_earlier_version_is_older_than_any_other():
    """It does not say when it was written."""
    old = read_line(json.dumps(ENTRY.to_dict()))

    assert old == Line(ENTRY.key, "", ENTRY)
    assert Line(ENTRY.key, time_after(None), None).is_later_than(old)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "{}",
        "[" * 100_000,
        json.dumps({**ENTRY.to_dict(), "schema": 999}),
        json.dumps({**ENTRY.to_dict(), "listed_at": 7}),
        json.dumps({"schema": 999, "is_removed": True}),
        json.dumps({**ENTRY.to_dict(), "job": None}),
    ],
)
def test_what_is_no_line_is_refused(text):
    with pytest.raises(InvalidDocumentError):
        read_line(text)


@pytest.mark.parametrize(
    "at",
    [
        "",
        "2026-01-01T00:00:00.000000+00:00",
        pytest.param(LONG_AHEAD, id="to come"),
        "9999-12-31T23:59:59.999999+00:00",
        "9999",
        "no time at all",
    ],
)
def test_there_is_a_time_after_any_other(at):
    later = time_after(Line(ENTRY.key, at, ENTRY))

    assert later > at
    assert Line(ENTRY.key, later, None).is_later_than(Line(ENTRY.key, at, ENTRY))


def test_times_follow_one_another_though_the_clock_stands_still():
    line = Line(ENTRY.key, (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="microseconds"), ENTRY)
    for _ in range(3):
        line, before = Line(ENTRY.key, time_after(line), None), line
        assert line.is_later_than(before)


def test_the_latest_line_is_kept_in_any_order():
    other = an_entry("2")
    lines = [
        Line(ENTRY.key, "", ENTRY),
        Line(ENTRY.key, "2026-01-01", ENTRY),
        Line(ENTRY.key, "2026-01-02", None),
        Line(ENTRY.key, "2026-01-03", replace(ENTRY, warnings=3)),
        Line(other.key, "", other),
    ]
    for order in itertools.permutations(lines):
        kept = [order[position] for position in needed(order, are_all=False)]
        assert sorted(kept, key=lambda line: line.key) == [lines[3], lines[4]]


def test_of_one_moment_the_removal_counts():
    entry, removal = Line(ENTRY.key, "2026-01-01", ENTRY), Line(ENTRY.key, "2026-01-01", None)

    assert removal.is_later_than(entry)
    assert not entry.is_later_than(removal)
    assert needed([removal, entry], are_all=False) == [0]


@pytest.mark.parametrize(
    ("at", "are_all", "is_kept"),
    [(LONG_AGO, True, False), (LONG_AGO, False, True), (time_after(None), True, True)],
    ids=["old", "old, not all", "new"],
)
def test_a_removal_is_forgotten_when_it_is_old_and_nothing_can_bring_its_thing_back(at, are_all, is_kept):
    lines = [Line(ENTRY.key, "", ENTRY), Line(ENTRY.key, at, None)]

    assert needed(lines, are_all=are_all) == ([1] if is_kept else [])
