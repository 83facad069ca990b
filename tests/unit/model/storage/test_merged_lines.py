"""Lines that many add to one folder: none is lost, whoever merges, dies or looks on."""

import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.store import catalogue, files
from airflow_provider_ernest.store.catalogue import MergedLines
from tests.unit.model.store_samples import age

FEW = 8
"""So many loose files are merged here, that little suffices to see it."""


def read(line):
    if not line.startswith("line "):
        raise InvalidDocumentError(f"{line!r} is none")
    return line


def lines_in(folder):
    return MergedLines(folder, read)


def names_in(folder):
    return sorted(str(path.name) for path in folder.iterdir())


@pytest.fixture
def _merge_soon(monkeypatch):
    monkeypatch.setattr(catalogue, "MOST_LOOSE", FEW)
    monkeypatch.setattr(catalogue, "MOST_SEGMENTS", 3)


@pytest.mark.usefixtures("_merge_soon")
def test_what_was_added_is_news_once(root):
    reader = lines_in(root / "lines")
    assert reader.news() == []
    for number in range(50):
        lines_in(root / "lines").add(f"name {number}", f"line {number}")
        assert set(reader.news()) >= {f"line {number}"}

    assert sorted(lines_in(root / "lines").news()) == sorted(f"line {number}" for number in range(50))
    assert reader.news() == []


@pytest.mark.usefixtures("_merge_soon")
def test_files_stay_few(root):
    for number in range(100):
        lines_in(root / "lines").add(f"name {number}", f"line {number}")

    names = names_in(root / "lines")
    assert len([name for name in names if name.endswith(".json")]) <= FEW
    assert len([name for name in names if name.endswith(".jsonl")]) <= 4


def test_adding_a_line_again_is_allowed_and_changes_nothing(root):
    for _ in range(2):
        lines_in(root / "lines").add("name", "line 1")

    assert lines_in(root / "lines").news() == ["line 1"]


@pytest.mark.parametrize(
    "name", ["../escape", "a/b", ".hidden", "segment-x.jsonl", catalogue.COMPLETE, "x" * 5000]
)
def test_hostile_names_stay_in_the_folder(tmp_path, name):
    lines_in(tmp_path / "lines").add(name, "line 1")

    assert [path.name for path in tmp_path.iterdir()] == ["lines"]
    assert lines_in(tmp_path / "lines").news() == ["line 1"]
    assert all(name.endswith(".json") for name in names_in(tmp_path / "lines"))


@pytest.mark.usefixtures("_merge_soon")
def test_threads_that_write_and_merge_lose_nothing(root):
    expected = {f"line {number}" for number in range(120)}

    with ThreadPoolExecutor(max_workers=6) as pool:
        list(pool.map(lambda line: lines_in(root / "lines").add(line, line), sorted(expected)))

    assert set(lines_in(root / "lines").news()) == expected
    assert any(name.startswith("segment-") for name in names_in(root / "lines"))


@pytest.mark.usefixtures("_merge_soon")
def test_a_mark_outlives_merging_and_is_no_line(root):
    folder = root / "lines"
    assert not lines_in(folder).is_marked()
    for _ in range(2):
        lines_in(folder).mark()
    for number in range(3 * FEW):
        lines_in(folder).add("name", f"line {number}")

    assert lines_in(folder).is_marked()
    assert set(lines_in(folder).news()) == {f"line {number}" for number in range(3 * FEW)}


def test_a_line_is_added_where_a_library_fails_to_merge(tmp_path, monkeypatch, caplog):
    """As botocore does, with errors that are no OSError."""
    monkeypatch.setattr(catalogue, "MOST_LOOSE", FEW)

    def refuse(self, lines):
        raise RuntimeError("Unable to locate credentials")

    monkeypatch.setattr(MergedLines, "write_segment", refuse)
    for number in range(FEW + 1):
        lines_in(tmp_path).add("name", f"line {number}")

    assert "Unable to locate credentials" in caplog.text


def test_what_cannot_be_read_is_named_and_left_and_hides_nothing(root, caplog, monkeypatch):
    monkeypatch.setattr(catalogue, "MOST_LOOSE", FEW)
    folder = root / "lines"
    lines_in(folder).write_segment(["line a", "line b"])
    (segment,) = names_in(folder)
    (folder / "segment-torn.jsonl").write_text("line c\nline d\nli")
    (folder / "torn.json").write_text("l")
    (folder / "empty.json").write_text("")
    (folder / "notes.txt").write_bytes(b"\xff\xfe not even text")
    (folder / "folder.json").mkdir()
    (folder / "folder.json" / "file").write_text("line x\n")
    damaged = {"segment-torn.jsonl", "torn.json", "empty.json", "notes.txt", "folder.json"}

    assert sorted(lines_in(folder).news()) == ["line a", "line b", "line c", "line d"]
    assert all(any(name in record.getMessage() for record in caplog.records) for name in damaged)
    for number in range(20):
        lines_in(folder).add("name", f"line {number}")

    assert damaged | {segment} <= set(names_in(folder))
    assert set(lines_in(folder).news()) == {f"line {number}" for number in [*range(20), *"abcd"]}
    loose = [name for name in names_in(folder) if name.endswith(".json") and name not in damaged]
    assert len(loose) <= FEW


def test_a_damaged_file_is_warned_of_once(tmp_path, caplog):
    (tmp_path / "torn.json").write_text("l")
    age(tmp_path / "torn.json")
    (tmp_path / "folder.json").mkdir()
    reader = lines_in(tmp_path)

    for _ in range(3):
        reader.news()

    assert len(caplog.records) == 2


def test_a_file_that_is_still_growing_is_read_again(tmp_path):
    """As one that a program copies which does not write whole files."""
    lines_in(tmp_path).write_segment(["line a", "line b"])
    (segment,) = tmp_path.iterdir()
    content = segment.read_text()
    segment.write_text(content[:-4])
    reader = lines_in(tmp_path)
    assert reader.news() == ["line a"]
    assert not reader.are_torn
    segment.write_text(content)

    assert reader.news() == ["line a", "line b"]
    assert reader.news() == []


def test_files_that_are_torn_for_good_are_told_and_can_be_deleted(root, monkeypatch):
    monkeypatch.setattr(files, "UNTOUCHED", timedelta(seconds=-60))
    folder = root / "lines"
    lines_in(folder).write_segment(["line a"])
    reader = lines_in(folder)
    reader.news()
    assert not reader.are_torn
    for name, content in {"torn.json": b"l", "empty.json": b"", "binary.json": b"\xff"}.items():
        (folder / name).write_bytes(content)
    (folder / "newer.json").write_text('{"schema": 999}')

    assert reader.news() == []
    assert reader.are_torn
    reader.delete_torn()

    assert not reader.are_torn
    assert [name for name in names_in(folder) if not name.startswith("segment-")] == ["newer.json"]


def test_a_link_to_nothing_is_named(tmp_path, caplog):
    lines_in(tmp_path).add("name", "line 1")
    (tmp_path / "link.json").symlink_to(tmp_path / "nowhere")

    assert lines_in(tmp_path).news() == ["line 1"]
    assert [record for record in caplog.records if "link.json" in record.getMessage()] == caplog.records
    assert len(caplog.records) == 1


def test_a_file_that_cannot_be_read_now_is_tried_again(tmp_path, monkeypatch, caplog):
    reader = lines_in(tmp_path)
    reader.add("name", "line 1")
    real = Path.read_text

    def refuse(self, **options):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_text", refuse)
    assert reader.news() == []
    assert "name" in caplog.text
    monkeypatch.setattr(Path, "read_text", real)
    assert reader.news() == ["line 1"]


def test_what_a_merger_takes_away_while_it_is_read_is_found_where_it_went(tmp_path, monkeypatch):
    """The reader has listed the loose file, which is gone when it opens it."""
    reader = lines_in(tmp_path)
    reader.add("name", "line 1")
    (loose,) = tmp_path.iterdir()
    real = Path.read_text

    def merge_first(self, **options):
        if loose.exists():
            lines_in(tmp_path).write_segment(["line 1"])
            loose.unlink()
        return real(self, **options)

    monkeypatch.setattr(Path, "read_text", merge_first)

    assert reader.news() == ["line 1"]


def test_what_a_listing_missed_because_it_was_moved_is_found(tmp_path, monkeypatch):
    """A directory may be read in parts: neither the old name is in it then, nor the new one."""
    lines_in(tmp_path).write_segment(["line 1"])
    real, listings = Path.iterdir, []

    def miss_the_first_time(self):
        listings.append(self)
        return iter([]) if len(listings) == 1 else real(self)

    monkeypatch.setattr(Path, "iterdir", miss_the_first_time)

    assert lines_in(tmp_path).news() == ["line 1"]


def test_what_was_read_before_a_listing_fails_is_news_still(tmp_path, monkeypatch):
    reader = lines_in(tmp_path)
    reader.add("name", "line 1")
    real, listings = Path.iterdir, []

    def fail_the_second_time(self):
        listings.append(self)
        if len(listings) == 2:
            raise OSError(5, "Input/output error")
        return real(self)

    monkeypatch.setattr(Path, "iterdir", fail_the_second_time)

    with pytest.raises(OSError, match="Input/output"):
        reader.news()
    assert reader.news() == ["line 1"]


@pytest.mark.usefixtures("_merge_soon")
def test_where_nothing_may_be_deleted_adding_goes_on_and_merging_stops(tmp_path, monkeypatch, caplog):
    """As in a bucket that may only be read and written."""
    real = Path.unlink

    def refuse(self, *arguments, **options):
        if not self.name.startswith("."):
            raise PermissionError(1, "Operation not permitted", str(self))
        real(self, *arguments, **options)

    monkeypatch.setattr(Path, "unlink", refuse)
    for number in range(5 * FEW):
        lines_in(tmp_path).add("name", f"line {number}")

    assert set(lines_in(tmp_path).news()) == {f"line {number}" for number in range(5 * FEW)}
    assert len([name for name in names_in(tmp_path) if name.startswith("segment-")]) == 1
    assert ["Operation not permitted" in record.getMessage() for record in caplog.records] == [True]


@pytest.mark.usefixtures("_merge_soon")
def test_a_line_is_added_where_merging_fails(tmp_path, monkeypatch, caplog):
    def refuse(self, lines):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(MergedLines, "write_segment", refuse)
    for number in range(FEW + 1):
        lines_in(tmp_path).add("name", f"line {number}")

    assert len(lines_in(tmp_path).news()) == FEW + 1
    assert "No space left" in caplog.text


def write(folder, writer, count, acknowledged):
    catalogue.MOST_LOOSE, catalogue.MOST_SEGMENTS = FEW, 3
    for number in range(count):
        line = f"line {writer} {number}"
        lines_in(Path(folder)).add(line, line)
        acknowledged.put(line)


def test_processes_that_write_and_merge_at_once_lose_nothing_at_any_moment(tmp_path):
    context = multiprocessing.get_context("spawn")
    writers, count = 4, 60
    acknowledged = context.Queue()
    processes = [
        context.Process(target=write, args=(str(tmp_path), writer, count, acknowledged))
        for writer in range(writers)
    ]
    for process in processes:
        process.start()
    added, seen = set(), set()
    reader = lines_in(tmp_path)
    while len(added) < writers * count:
        added.add(acknowledged.get(timeout=60))
        seen.update(reader.news())
        assert added <= seen
    for process in processes:
        process.join(60)
        assert process.exitcode == 0

    assert set(lines_in(tmp_path).news()) == added
    assert len(names_in(tmp_path)) < 30


def die_at(folder, method):
    catalogue.MOST_LOOSE = FEW
    real = getattr(Path, method)

    def die(self, *arguments, **options):
        # Of the calls that merging makes, not of those that adding makes.
        if method == "hardlink_to" and "segment-" not in self.name:
            return real(self, *arguments, **options)
        if method == "unlink" and self.name.startswith("."):
            return real(self, *arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    setattr(Path, method, die)
    for number in range(FEW, 2 * FEW):
        lines_in(Path(folder)).add("name", f"line {number}")


@pytest.mark.parametrize("method", ["hardlink_to", "unlink"], ids=["before the segment", "before deleting"])
def test_a_merger_that_is_killed_loses_nothing(tmp_path, method, monkeypatch):
    for number in range(FEW):
        lines_in(tmp_path).add("name", f"line {number}")
    process = multiprocessing.get_context("spawn").Process(target=die_at, args=(str(tmp_path), method))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL

    assert set(lines_in(tmp_path).news()) == {f"line {number}" for number in range(FEW + 1)}
    monkeypatch.setattr(catalogue, "MOST_LOOSE", FEW)
    lines_in(tmp_path).add("name", "line x")
    assert len([name for name in names_in(tmp_path) if name.endswith(".json")]) == 0
    assert set(lines_in(tmp_path).news()) == {f"line {number}" for number in [*range(FEW + 1), "x"]}
