"""What triggerers that start anew, or watch at once, know of one another's changes."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from upath import UPath

from airflow_provider_ernest.triggers.jar_hash import WatchJournal


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=["local", "memory"])
def folder(request, tmp_path):
    if request.param == "local":
        return tmp_path / "watch"
    return UPath(f"memory://journal{tmp_path}/watch")


@pytest.fixture
def clock() -> Clock:
    return Clock()


def opened(folder, clock) -> WatchJournal:
    journal = WatchJournal(folder, lease_seconds=60, clock=clock)
    journal.refresh()
    return journal


def add(journal: WatchJournal, *hashes: str) -> None:
    for sha256 in hashes:
        assert journal.add(sha256, seen_at="2026-01-01T00:00:00+00:00")


def test_the_first_hash_is_what_the_watch_began_with_and_no_change(folder, clock):
    journal = opened(folder, clock)
    assert journal.last is None
    add(journal, "a")
    assert journal.due() is None
    assert opened(folder, clock).due() is None
    assert opened(folder, clock).last.sha256 == "a"


def test_a_change_is_due_until_it_is_confirmed(folder, clock):
    journal = opened(folder, clock)
    add(journal, "a", "b")
    change = opened(folder, clock).due()
    assert (change.sequence, change.sha256, change.previous_sha256) == (1, "b", "a")

    assert journal.claim(change)
    assert journal.due() is None, "it is being told"
    journal.confirm(change)
    clock.now += 1000
    assert journal.due() is None
    assert opened(folder, clock).due() is None


def test_what_was_told_and_not_confirmed_is_told_again_after_the_lease(folder, clock):
    journal = opened(folder, clock)
    add(journal, "a", "b")
    assert journal.claim(journal.due())

    again = opened(folder, clock)
    assert again.due() is None, "another triggerer may be telling it just now"
    clock.now += 60
    change = again.due()
    assert change.sequence == 1
    assert again.claim(change)

    third = opened(folder, clock)
    assert third.due() is None
    again.confirm(change)
    clock.now += 60
    assert third.due() is None


def test_changes_that_were_not_told_come_in_their_order(folder, clock):
    add(opened(folder, clock), "a", "b", "a", "c")
    journal = opened(folder, clock)
    told = []
    while change := journal.due():
        assert journal.claim(change)
        journal.confirm(change)
        told.append((change.sequence, change.sha256))
    assert told == [(1, "b"), (2, "a"), (3, "c")]


def test_one_of_two_notes_a_change_and_one_of_two_tells_it(folder, clock):
    one, other = opened(folder, clock), opened(folder, clock)
    add(one, "a")
    other.refresh()
    add(one, "b")
    assert not other.add("b", seen_at="later")
    assert other.last == one.last

    change = one.due()
    assert other.due() == change
    assert one.claim(change)
    assert not other.claim(change)
    assert other.due() is None


def test_a_file_that_is_no_change_makes_the_next_look_one(tmp_path, clock, caplog):
    folder = tmp_path / "watch"
    add(opened(folder, clock), "a", "b")
    (folder / "00000001.change.json").write_text("{")
    (folder / "README").write_text("not ours")
    journal = opened(folder, clock)
    assert "00000001.change.json" in caplog.text
    assert journal.due() is None
    assert journal.last.sha256 not in ("a", "b")
    add(journal, "b")
    assert journal.due().sequence == 2


@pytest.fixture
def read_only(tmp_path: Path):
    """A folder that nothing can be written to, also where tests run as root."""
    place = tmp_path / "file"
    place.write_text("in the way")
    yield place / "watch"
    place.chmod(stat.S_IRUSR | stat.S_IWUSR)


def test_where_nothing_can_be_written_it_goes_on_in_memory_and_writes_later(read_only, clock, caplog):
    journal = WatchJournal(read_only, clock=clock)
    add(journal, "a", "b")
    change = journal.due()
    assert journal.claim(change)
    journal.confirm(change)
    assert journal.due() is None
    (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "kept in memory" in warning.getMessage()

    read_only.parent.unlink()
    add(journal, "c")
    later = opened(read_only, clock)
    assert later.last.sha256 == "c"
    assert later.due().sequence == 2, "and what was told before is known, too"
