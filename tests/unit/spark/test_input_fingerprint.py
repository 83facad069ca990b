"""The shape of an input, the columns of its files, and what is told where it cannot be read."""

import bz2
import gzip
import json
import logging
import sys
import zlib

import fsspec
import pytest

from airflow_provider_ernest.documents.runs import InputFingerprint
from airflow_provider_ernest.spark import input_fingerprint as module
from airflow_provider_ernest.spark.input_fingerprint import (
    columns_of_avro,
    columns_of_text,
    input_fingerprint,
)

TABLE = b"a,b,c\n" + b"1,2,3\n" * 50
LOG = logging.getLogger("task")


def fingerprint(path, *, partitions=None, header=False):
    return input_fingerprint(str(path), partitions=partitions, header=header, log=LOG)


@pytest.fixture(autouse=True)
def _everything_is_logged(caplog):
    caplog.set_level(logging.INFO)


def test_a_folder_is_told_by_its_files(tmp_path, caplog):
    for number in range(4):
        (tmp_path / f"part-{number}.csv").write_bytes(TABLE)
    (tmp_path / "_SUCCESS").write_text("")

    found = fingerprint(tmp_path)

    assert found == InputFingerprint(partitions=4, total_bytes=4 * len(TABLE), columns=3, format="csv")
    assert found.bytes_per_partition == len(TABLE)
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("deflate", zlib.compress)],
)
def test_compressed_text_is_read(tmp_path, suffix, compress):
    (tmp_path / f"part-0.csv.{suffix}").write_bytes(compress(TABLE))

    found = fingerprint(tmp_path)

    assert (found.format, found.columns) == (f"csv.{suffix}", 3)


def test_only_the_beginning_of_a_large_file_is_read(tmp_path, monkeypatch):
    with (tmp_path / "large.csv").open("wb") as file:
        file.write(TABLE)
        file.truncate(1 << 33)  # 8 GiB that take no space
    disk = fsspec.filesystem("file")
    asked = []
    monkeypatch.setattr(
        type(disk), "cat_file", lambda self, path, start, end: asked.append((start, end)) or TABLE
    )

    assert fingerprint(tmp_path).columns == 3
    assert asked == [(0, module.BEGINNING_BYTES)]


def test_the_format_is_that_of_most_bytes(tmp_path):
    (tmp_path / "README.md").write_text("about the data")
    (tmp_path / "2024.csv").write_bytes(TABLE)
    (tmp_path / "data.2025.csv").write_bytes(TABLE)

    found = fingerprint(tmp_path)

    assert (found.format, found.columns, found.partitions) == ("csv", 3, 3)
    assert fingerprint(tmp_path, partitions=64).partitions == 64, "what is stated wins"

    numbered = tmp_path / "numbered"
    numbered.mkdir()
    (numbered / "part.0001").write_bytes(TABLE)
    assert (fingerprint(numbered).format, fingerprint(numbered).columns) == (None, 3)


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_columnar_files_tell_their_columns_where_pyarrow_is_there(tmp_path, kind, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": [1], "b": ["x"], "c": [{"d": 1, "e": 2}]})
    path = tmp_path / f"part-0.snappy.{kind}"
    if kind == "parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        pytest.importorskip("pyarrow.orc").write_table(table, path)

    assert fingerprint(tmp_path).columns == 3

    monkeypatch.setitem(sys.modules, f"pyarrow.{kind}", None)
    found = fingerprint(tmp_path)
    assert (found.columns, found.format, found.partitions) == (None, kind, 1)


def test_little_is_read_of_many_or_of_much(tmp_path, monkeypatch):
    """Two files of more than is read of any, and hundreds beside them."""
    for number in range(300):
        (tmp_path / f"part-{number:05d}.csv").write_bytes(b"1,2\n")
    for name, compress in {"a.csv.gz": gzip.compress, "b.csv.bz2": bz2.compress}.items():
        (tmp_path / name).write_bytes(compress(b"1,2\n" * module.BEGINNING_BYTES))
    seen = []
    real = module.columns_of_text
    monkeypatch.setattr(
        module, "columns_of_text", lambda text, **how: seen.append(len(text)) or real(text, **how)
    )

    assert fingerprint(tmp_path / "a.csv.gz").columns == 2
    assert fingerprint(tmp_path / "b.csv.bz2").columns == 2
    assert seen == [module.BEGINNING_BYTES] * 2
    assert fingerprint(tmp_path).partitions == 302
    assert len(seen) <= 2 + module.FILES


@pytest.mark.parametrize("path", ["/no/such/folder", "nowhere://bucket/data", "memory://empty"])
def test_what_cannot_be_listed_is_not_known_and_said_once(path, caplog):
    assert fingerprint(path) == InputFingerprint()
    assert fingerprint(path, partitions=8) == InputFingerprint(partitions=8)
    assert len(caplog.messages) == 2


@pytest.mark.parametrize("name", ["a.parquet", "a.avro", "a.csv.gz", "a.csv.bz2"])
def test_a_file_that_is_not_what_its_name_says_leaves_the_columns_unknown(tmp_path, name, caplog):
    (tmp_path / name).write_bytes(b"Obj\x01 no such thing")

    found = fingerprint(tmp_path)

    assert (found.partitions, found.total_bytes, found.columns) == (1, 18, None)
    assert len(caplog.messages) == 1


def test_errors_of_libraries_are_told_without_their_words(tmp_path, monkeypatch, caplog):
    def refused(path):
        raise PermissionError("GET https://anna:1234@lake/?X-Amz-Signature=abc: 403")

    monkeypatch.setattr(module, "list_input", refused)

    assert fingerprint(tmp_path) == InputFingerprint()
    assert caplog.messages == ["The shape of the input cannot be told: PermissionError"]


JSON = '{"a": 1, "b": {"x": 1}, "c": []}\n{"a": 1, "b": 2}\n{"a": 1, "d": null}'
RARE_KEYS = [{"a": 1, "b": 2} | ({f"rare-{n}": 3} if n % 7 == 0 else {}) for n in range(1_000)]
PROSE = "".join(f"On day {number} it rained{', and snowed' * (number % 3)}.\n" for number in range(50))
LIBSVM = "1 1:0.5 2:1 3:2\n0 1:0.1 2:0.25 3:1 # a remark\n" * 20 + "0 1:3\n"


def columns(text, kind="", *, header=False, is_whole=True):
    return columns_of_text(text.encode(), kind=kind, header=header, is_whole=is_whole)


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("a,b,c\n1,2,3\n4,5,6\n", "csv", 3),
        ("\ufeffname;town\nAnna;Ulm\n", "csv", 2),
        ("a\tb\n1\t2,5\n", "tsv", 2),
        ("a|b|c\n1|2|3\n", "psv", 3),
        ("only\n1\n2\n", "csv", 1),
        ('id,text\n1,"a, b, c"\n2,"say ""no"", please"\n', "csv", 2),
        ('id,text\n1,"two\nlines, and more"\n2,x\n', "csv", 2),
        ("a,b\r\n1,2\r\n", "csv", 2),
        ("name;remark\nAnna;fine, really\nBert;well, so, so\nCarl;no\n", "csv", 2),
        ("", "csv", None),
        ("Dear Anna, well\nBert, too\n", "txt", None),  # two lines are alike by chance
        ("\0\1\2,\n" * 20, "png", None),
        ("[1, 2]\n", "json", None),
        ('{\n  "a": 1\n}\n', "json", None),
        ("[" * 100_000, "json", None),
        (LIBSVM, "libsvm", 3),
        (LIBSVM, "", 3),  # without a suffix, too
        ("1\n0\n", "libsvm", None),
        (JSON, "jsonl", 4),
        (JSON, "", 4),
        # Else the count would depend on which records come first.
        ("\n".join(map(json.dumps, RARE_KEYS)), "json", 2),
        (PROSE, "txt", None),
        # Neither what sparse records name nor the largest index is the same for other data of the kind.
        ("1 1:0.5 7:1 4096:2\n0 2:0.1 3:0.25\n-1 5:1\n", "libsvm", None),
    ],
)
def test_columns_of_text(text, kind, expected):
    assert columns(text, kind) == expected


def test_a_record_that_is_cut_off_does_not_count():
    assert columns("1,2,3\n4,5", "csv", is_whole=False) == 3
    assert columns("1,2,3,4,5", "csv", is_whole=False) is None, "not even the first line ends"
    assert columns('1,2\n3,"a\nb', "csv", is_whole=False) == 2


def avro_bytes(content: bytes) -> bytes:
    length, coded = len(content) * 2, b""  # zigzag
    while length > 127:
        coded, length = coded + bytes([length & 127 | 128]), length >> 7
    return coded + bytes([length]) + content


def test_avro_tells_its_fields_in_its_header():
    schema = {"type": "record", "name": "r", "fields": [{"name": f"f{n}", "type": "long"} for n in range(12)]}
    entries = {b"avro.codec": b"null", b"avro.schema": json.dumps(schema).encode()}
    pairs = b"".join(avro_bytes(key) + avro_bytes(value) for key, value in entries.items())
    sized = b"\x03" + avro_bytes(pairs)  # the same block as one that tells its size: -2 entries

    assert columns_of_avro(b"Obj\x01" + b"\x04" + pairs + b"\x00") == 12
    assert columns_of_avro(b"Obj\x01" + sized + b"\x00") == 12
    assert columns_of_avro(b"PAR1") is None
