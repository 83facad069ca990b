"""Bad numbers are refused with the parameter's name, the value and its position."""

import math

import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.numbers import (
    number_not_negative,
    positive_column,
    positive_number,
    whole_number,
)

NO_NUMBERS = (None, "fast", "3.0", math.nan, math.inf, [1.0])


@pytest.mark.parametrize(
    ("read", "value"),
    [
        *((positive_number, value) for value in (0, -1, *NO_NUMBERS)),
        *((number_not_negative, value) for value in (-1e-9, *NO_NUMBERS)),
        *((whole_number, value) for value in (0, 2.0, *NO_NUMBERS)),
        *((positive_column, value) for value in ("many", [["a"]], [[1.0, 2.0]], None)),
    ],
)
def test_what_is_no_number_is_named(read, value):
    with pytest.raises(InvalidParameterError, match="price"):
        read("price", value)


def test_a_column_names_the_first_value_that_is_wrong():
    with pytest.raises(InvalidParameterError, match=r"seconds\[2\]=nan"):
        positive_column("seconds", [1.0, 2.0, math.nan, -1.0])
