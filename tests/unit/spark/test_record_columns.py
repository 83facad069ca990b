"""How many columns the beginnings of files are said to have."""

import json

import pytest

from airflow_provider_ernest.spark.input_fingerprint import columns_of_avro, columns_of_text


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
    ],
)
def test_delimited_text(text, kind, expected):
    assert columns(text, kind) == expected


def test_the_delimiter_is_the_one_that_cuts_records_alike():
    assert columns("name;remark\nAnna;fine, really\nBert;well, so, so\nCarl;no\n", "csv") == 2


def test_a_header_tells_even_where_records_are_longer():
    assert columns("a,b\n1,2,3\n4,5,6\n", "csv", header=True) == 2
    assert columns("a,b\n1,2,3\n4,5,6\n", "csv") == 3


def test_a_record_that_is_cut_off_does_not_count():
    assert columns("1,2,3\n4,5", "csv", is_whole=False) == 3
    assert columns("1,2,3,4,5", "csv", is_whole=False) is None, "not even the first line ends"
    assert columns('1,2\n3,"a\nb', "csv", is_whole=False) == 2


def test_json_lines_have_the_keys_of_all_records_as_columns():
    records = [{"a": 1, "b": {"x": 1}, "c": []}, {"a": 1, "b": 2}, {"a": 1, "d": None}]
    assert columns("\n".join(map(json.dumps, records)), "jsonl") == 4
    assert columns("\n".join(map(json.dumps, records))) == 4, "without a suffix, too"


def test_keys_that_hardly_a_record_has_are_no_columns():
    """Else the count would depend on which records come first."""
    records = [{"a": 1, "b": 2} | ({f"rare-{n}": 3} if n % 7 == 0 else {}) for n in range(1_000)]
    assert columns("\n".join(map(json.dumps, records)), "json") == 2


@pytest.mark.parametrize("text", ["[1, 2]\n", '{\n  "a": 1\n}\n', "[" * 100_000])
def test_json_that_is_not_in_lines_has_no_columns(text):
    assert columns(text, "json") is None


def test_records_of_libsvm_that_name_all_features_have_so_many_columns():
    text = "1 1:0.5 2:1 3:2\n0 1:0.1 2:0.25 3:1 # a remark\n" * 20 + "0 1:3\n"
    assert columns(text, "libsvm") == 3
    assert columns(text) == 3, "without a suffix, too"
    assert columns("1\n0\n", "libsvm") is None


def test_sparse_records_have_no_count():
    """Neither what a record names nor the largest index is the same for other data of the same kind."""
    assert columns("1 1:0.5 7:1 4096:2\n0 2:0.1 3:0.25\n-1 5:1\n", "libsvm") is None


def test_text_without_a_structure_has_no_columns():
    lines = [f"On day {number} it rained{', and snowed' * (number % 3)}.\n" for number in range(50)]
    assert columns("".join(lines), "txt") is None
    assert columns("Dear Anna, well\nBert, too\n", "txt") is None, "two lines are alike by chance"
    assert columns("\0\1\2,\n" * 20, "png") is None
    assert columns("", "csv") is None


def test_no_more_than_the_first_records_are_looked_at():
    assert columns("a,b\n" * 1_000 + "a,b,c\n" * 5_000, "csv") == 2


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
