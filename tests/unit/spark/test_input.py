"""An input: the files that it is found to have, samples of it, and its shape."""

import logging
import sys
from pathlib import Path

import fsspec
import pytest

from airflow_provider_ernest.documents.runs import InputFingerprint
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.spark.input import (
    Sample,
    input_fingerprint,
    list_input,
    take_sample,
)
from tests.examples import experiment


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Forty files of unequal size in two partition folders, with what Hadoop writes beside them."""
    for number in range(40):
        folder = tmp_path / "input" / f"day={number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"{number},{row}\n" for row in range(10 + number))
        (folder / f"part-{number:05d}.csv").write_text(f"file,row\n{rows}")
    (tmp_path / "input" / "_SUCCESS").write_text("")
    (tmp_path / "input" / "day=0" / ".part.crc").write_text("checksum")
    return tmp_path / "input"


@pytest.fixture
def sampled(tmp_path: Path):
    """Takes a sample into a folder of its own."""

    def sampled(
        path: object, scale: float = 1.0, *, folder: str = "sample", pieces: int = 4, **how
    ) -> Sample:
        arguments = {"method": "files", "header": False, "minimum_files": 1, "seed": "1", **how}
        return take_sample(
            experiment(executors=2, scale=scale, partitions=pieces),
            str(path),
            staging=tmp_path / folder,
            **arguments,
        )

    return sampled


def test_subset_of_files_holds_the_share_of_bytes_that_it_says(parts: Path, sampled):
    sample = sampled(parts, 0.25, minimum_files=2, seed="7/0")

    read = list(Path(sample.input).rglob("*.csv"))
    listing = list_input(str(parts))
    assert len(listing.files) == 40, "what Hadoop would read"
    assert listing.total_bytes == sum(path.stat().st_size for path in parts.rglob("part-*.csv"))
    assert len(read) == sample.partitions
    assert sum(path.stat().st_size for path in read) / listing.total_bytes == sample.scale
    assert sample.scale == pytest.approx(0.25, abs=0.02)
    assert {path.parent.name for path in read} == {"day=0", "day=1"}, "partition folders are kept"


def test_same_seed_same_files_other_seed_others_and_by_argument_none(parts: Path, sampled, tmp_path: Path):
    sample = sampled(parts, 0.05, method="argument")
    assert (sample.input, sample.scale, sample.partitions) == (str(parts), 0.05, 4)
    assert not (tmp_path / "sample").exists()

    def names(seed: str, folder: str) -> set[str]:
        return {
            path.name for path in Path(sampled(parts, 0.2, seed=seed, folder=folder).input).rglob("*.csv")
        }

    assert names("1/0", "a") == names("1/0", "b")
    assert names("1/0", "c") != names("1/1", "d")


def test_every_core_gets_a_file_even_if_the_share_is_smaller(parts: Path, sampled):
    sample = sampled(parts, 0.01, minimum_files=6)
    assert sample.partitions == 6
    assert sample.scale > 0.05, "the share really read is told, not the share asked for"

    with pytest.raises(InvalidParameterError, match="has 40 files, and a run of this design needs 41"):
        sampled(parts, 0.5, minimum_files=41)


@pytest.mark.parametrize("root", ["memory://bucket", "memory:///bucket", "memory:/bucket"])
def test_remote_inputs_become_a_hadoop_pattern(sampled, root):
    bucket = fsspec.filesystem("memory")
    for name in ("a.csv", "b{1}.csv", "c.csv"):
        bucket.pipe(f"/bucket/table/{name}", b"x\n1\n")
    sample = sampled(f"{root}/table/", minimum_files=3)

    # Hadoop takes one slash for three: nothing names a host.
    folder = root.replace(":/bucket", ":///bucket") + "/table"
    assert sample.input.startswith(f"{folder}/{{")
    names = sample.input.removeprefix(f"{folder}/{{").removesuffix("}").split(",")
    assert set(names) == {"a.csv", "b\\{1\\}.csv", "c.csv"}
    assert sample.scale == 1.0
    assert sampled(f"{root}/table/a.csv").input == f"{folder}/a.csv"


def test_first_rows_come_in_order_with_headers_in_so_many_pieces(parts: Path, sampled):
    sample = sampled(parts, 0.1, method="first_rows", header=True)

    pieces = sorted(Path(sample.input).iterdir())
    assert len(pieces) == 4
    lines = [piece.read_text().splitlines() for piece in pieces]
    assert all(piece[0] == "file,row" for piece in lines)
    rows = [row for piece in lines for row in piece[1:]]
    source = [row for path in sorted(parts.rglob("part-*.csv")) for row in path.read_text().splitlines()[1:]]
    assert rows == source[: len(rows)]
    assert sample.scale == pytest.approx(0.1, rel=0.05)


def test_the_share_of_first_rows_is_that_of_the_rows(tmp_path: Path, sampled):
    """Headers are a large part of small files, and no part of the work."""
    (tmp_path / "input").mkdir()
    for number in range(10):
        (tmp_path / "input" / f"part-{number}.csv").write_text("column" * 20 + "\n" + "1234\n" * 10)
    sample = sampled(tmp_path / "input", 0.2, method="first_rows", header=True, pieces=2)

    copied = [row for piece in Path(sample.input).iterdir() for row in piece.read_text().splitlines()[1:]]
    assert sample.scale == pytest.approx(len(copied) / 100, abs=0.005)
    assert len(copied) == pytest.approx(20, abs=1)


def test_what_has_no_first_rows_is_refused(tmp_path: Path, sampled):
    for name, header, named in (
        ("data.csv", True, r"header=True leaves no rows of .*data\.csv"),
        ("part-0.parquet", False, r"cannot cut part-0\.parquet.*Use 'files'"),
    ):
        (tmp_path / name).write_bytes(b"one line\n")
        with pytest.raises(InvalidParameterError, match=named):
            sampled(tmp_path / name, method="first_rows", header=header)


@pytest.mark.parametrize("method", ["files", "first_rows", "argument"])
def test_an_input_that_is_missing_or_empty_is_named(method: str, sampled, tmp_path: Path):
    with pytest.raises(MissingResourceError, match=r"no-such-folder.*does not exist"):
        sampled(tmp_path / "no-such-folder", method=method)
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "_SUCCESS").write_text("")
    with pytest.raises(MissingResourceError, match="has no file with content"):
        sampled(tmp_path / "input", method=method)


@pytest.fixture
def file_in_the_root_directory(monkeypatch):
    """A stand-in for the local disk, for nothing may be written into its root directory."""
    disk = fsspec.filesystem("memory")
    disk.pipe("/data.csv", b"x\n1\n")
    monkeypatch.setattr(
        "airflow_provider_ernest.spark.input.filesystem_of",
        lambda path: (disk, path.removeprefix("file://")),
    )
    yield "/data.csv"
    disk.rm("/data.csv")


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_file_in_the_root_directory_is_linked_to_where_it_is(file_in_the_root_directory, scheme, sampled):
    staged = sampled(scheme + file_in_the_root_directory)

    assert (Path(staged.input) / "data.csv").readlink() == Path("/data.csv")
    assert list_input(scheme + file_in_the_root_directory).folder == f"{scheme}/"
    assert list_input(f"{scheme}/").folder == f"{scheme}/"


def test_a_file_is_linked_to_where_it_is(tmp_path, monkeypatch, sampled):
    """Hadoop writes one slash after the scheme of local files."""
    (tmp_path / "data.csv").write_text("x\n1\n")
    monkeypatch.chdir(tmp_path)
    for number, path in enumerate(("data.csv", f"file:{tmp_path}/data.csv")):
        sample = sampled(path, folder=f"sample-{number}")
        assert (Path(sample.input) / "data.csv").read_text() == "x\n1\n"


@pytest.mark.usefixtures("without_s3fs")
def test_an_input_whose_library_is_missing_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    for address, named in (
        ("s3a://b/flights", r'pip install "airflow-provider-ernest\[s3\]"'),
        ("gs://b/flights", "install gcsfs"),
    ):
        with pytest.raises(MissingResourceError, match=rf"'{address}'.*{named}"):
            list_input(address)


TABLE = b"a,b,c\n" + b"1,2,3\n" * 50


@pytest.fixture
def fingerprint(caplog):
    caplog.set_level(logging.INFO)

    def fingerprint(path: object, *, partitions: int | None = None) -> InputFingerprint:
        return input_fingerprint(str(path), partitions=partitions, log=logging.getLogger("task"))

    return fingerprint


def test_the_shape_is_that_of_the_format_of_most_bytes(tmp_path: Path, fingerprint, caplog):
    (tmp_path / "README.md").write_text("about the data")
    (tmp_path / "2024.csv").write_bytes(TABLE)
    (tmp_path / "data.2025.csv").write_bytes(TABLE)
    (tmp_path / "_SUCCESS").write_text("")
    found = fingerprint(tmp_path)
    assert found == InputFingerprint(partitions=3, total_bytes=2 * len(TABLE) + 14, format="csv")
    assert fingerprint(tmp_path, partitions=64).partitions == 64, "what is stated wins"

    (tmp_path / "numbered").mkdir()
    (tmp_path / "numbered" / "part.0001").write_bytes(TABLE)
    assert fingerprint(tmp_path / "numbered").format is None
    assert caplog.messages == []


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_columnar_files_tell_their_columns_where_pyarrow_is_there(
    tmp_path: Path, fingerprint, kind, monkeypatch
):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": [1], "b": ["x"], "c": [{"d": 1, "e": 2}]})
    path = tmp_path / f"part-0.snappy.{kind}"
    pytest.importorskip(f"pyarrow.{kind}").write_table(table, path)
    assert (fingerprint(tmp_path).columns, fingerprint(tmp_path).format) == (3, kind)
    monkeypatch.setitem(sys.modules, f"pyarrow.{kind}", None)
    found = fingerprint(tmp_path)
    assert (found.columns, found.format, found.partitions) == (None, kind, 1)


def test_what_cannot_be_read_is_not_known_and_said_once_without_a_librarys_words(
    tmp_path: Path, fingerprint, monkeypatch, caplog
):
    for path in ("/no/such/folder", "nowhere://bucket/data", "memory://empty"):
        assert fingerprint(path, partitions=8) == InputFingerprint(partitions=8)
    assert len(caplog.messages) == 3
    (tmp_path / "a.parquet").write_bytes(b"Obj\x01 no such thing")
    found = fingerprint(tmp_path / "a.parquet")
    assert (found.partitions, found.total_bytes, found.columns) == (1, 18, None)
    assert len(caplog.messages) == 4

    def refused(path):
        raise PermissionError("GET https://anna:1234@lake/?X-Amz-Signature=abc: 403")

    monkeypatch.setattr("airflow_provider_ernest.spark.input.list_input", refused)
    assert fingerprint(tmp_path) == InputFingerprint()
    assert caplog.messages[4:] == ["The shape of the input cannot be told: PermissionError"]
