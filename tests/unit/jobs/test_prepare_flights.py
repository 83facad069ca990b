"""The flights are split without loss, once, and whatever happened to an earlier attempt."""

import io
import zipfile
from pathlib import Path

import pytest
from prepare_flights import data_file, prepare


def parts(folder: Path) -> list[list[str]]:
    return [path.read_text().splitlines() for path in sorted(folder.iterdir())]


@pytest.fixture(scope="module")
def source() -> list[str]:
    with zipfile.ZipFile(data_file("flights.csv.zip")) as archive:
        return io.TextIOWrapper(archive.open("flights.csv")).read().splitlines()


def test_every_flight_is_in_exactly_one_file(tmp_path, source):
    header, *flights = source
    split = parts(prepare(tmp_path, files=336))
    assert len(split) == 336
    assert {part[0] for part in split} == {header}
    assert sorted(flight for part in split for flight in part[1:]) == sorted(flights)
    assert len(flights) == 336_776
    assert {len(part) - 1 for part in split} == {1002, 1003}


def test_a_repetition_leaves_the_files_alone_and_other_numbers_replace_them(tmp_path):
    prepare(tmp_path, files=4, rows=100)
    before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in tmp_path.rglob("*.csv")}
    prepare(tmp_path, files=4, rows=100)
    assert {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in tmp_path.rglob("*.csv")} == before
    assert [len(part) for part in parts(prepare(tmp_path, files=2, rows=20))] == [11, 11]


def test_a_half_done_attempt_is_made_good(tmp_path):
    expected = parts(prepare(tmp_path / "other", files=4, rows=100))
    (tmp_path / ".flights.partial").mkdir()
    (tmp_path / ".flights.partial" / "part-00000.csv").write_text("year,mon")
    (tmp_path / "flights").mkdir()  # as if files had been lost before the attempt was recorded as complete
    (tmp_path / "flights" / "part-00007.csv").write_text("year,mon")
    assert parts(prepare(tmp_path, files=4, rows=100)) == expected
    assert not (tmp_path / ".flights.partial").exists()


def test_a_folder_of_something_else_is_not_touched(tmp_path):
    (tmp_path / "flights").mkdir()
    (tmp_path / "flights" / "thesis.txt").write_text("precious")
    with pytest.raises(FileExistsError, match=r"thesis\.txt"):
        prepare(tmp_path, files=4, rows=100)
    assert (tmp_path / "flights" / "thesis.txt").read_text() == "precious"
    (tmp_path / "flights" / "thesis.txt").rename(tmp_path / "thesis.txt")
    assert len(parts(prepare(tmp_path, files=4, rows=100))) == 4
