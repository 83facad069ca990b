"""What commands share: files that they write, and options that several of them have."""

from argparse import ArgumentTypeError

import pytest

from airflow_provider_ernest.cli.command import executor_numbers, write_text
from airflow_provider_ernest.cli.models import name_of_job
from airflow_provider_ernest.exceptions import InvalidParameterError


def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left(tmp_path):
    with pytest.raises(InvalidParameterError, match=r"cannot be written: No such file or directory"):
        write_text(str(tmp_path / "absent" / "model.json"), "text", force=False)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidParameterError, match=r"cannot be written: Is a directory"):
        write_text(str(tmp_path / "folder"), "text", force=True)
    with pytest.raises(InvalidParameterError, match=r"cannot be written: File name too long"):
        write_text(str(tmp_path / ("a" * 250)), "text", force=False)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("16", [16]),
        ("1-4", [1, 2, 3, 4]),
        ("8-64:8", [8, 16, 24, 32, 40, 48, 56, 64]),
        ("8-20:8", [8, 16]),
        ("32,8,8-10", [8, 9, 10, 32]),
        (" 4 , 8 ", [4, 8]),
    ],
)
def test_numbers_of_machines(text, numbers):
    assert executor_numbers(text) == numbers


@pytest.mark.parametrize(
    "text", ["", "x", "0", "0-4", "-4", "8-4", "1-4:0", "1-4:-1", "1.5", "1-", "1-1000000", "4,,8"]
)
def test_what_is_no_number_of_machines_is_refused(text):
    with pytest.raises(ArgumentTypeError):
        executor_numbers(text)


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[31mred", "\udcff"])
def test_names_that_cannot_be_printed_are_refused(name):
    with pytest.raises(ArgumentTypeError, match="not a printable name"):
        name_of_job(name)
