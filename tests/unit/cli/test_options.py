from argparse import ArgumentTypeError

import pytest

from airflow_provider_ernest.cli.command import machine_numbers
from airflow_provider_ernest.cli.models import name_of_job


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
def test_numbers_of_machines(text: str, numbers: list[int]):
    assert machine_numbers(text) == numbers


@pytest.mark.parametrize(
    "text", ["", "x", "0", "0-4", "-4", "8-4", "1-4:0", "1-4:-1", "1.5", "1-", "1-1000000", "4,,8"]
)
def test_what_is_no_number_of_machines_is_refused(text: str):
    with pytest.raises(ArgumentTypeError):
        machine_numbers(text)


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[31mred", "\udcff"])
def test_names_that_cannot_be_printed_are_refused(name: str):
    with pytest.raises(ArgumentTypeError, match="not a printable name"):
        name_of_job(name)
