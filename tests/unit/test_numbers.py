"""Bad numbers are refused with the parameter's name, the value and its position."""

import math

import numpy as np
import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.numbers import (
    machines_and_scale,
    number_not_negative,
    positive_column,
    positive_number,
    rounded_up,
    whole_number,
)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "fast", "3.0", [1.0]])
def test_what_is_no_positive_number(value):
    with pytest.raises(InvalidParameterError, match="price=") as caught:
        positive_number("price", value, remedy="Say a price.")

    assert str(caught.value).endswith("Say a price.")


def test_zero_may_be_allowed():
    assert number_not_negative("overhead", 0) == 0.0
    with pytest.raises(InvalidParameterError, match="at least 0"):
        number_not_negative("overhead", -1e-9)


@pytest.mark.parametrize("value", [0, 2.0, "3", None, math.nan])
def test_what_is_no_whole_number(value):
    with pytest.raises(InvalidParameterError, match="machines="):
        whole_number("machines", value)


def test_numpy_integers_are_whole_numbers():
    assert whole_number("machines", np.int64(3)) == 3


def test_a_column_names_the_first_value_that_is_wrong():
    with pytest.raises(InvalidParameterError, match=r"seconds\[2\]=nan"):
        positive_column("seconds", [1.0, 2.0, math.nan, -1.0])


@pytest.mark.parametrize("values", ["many", [["a"]], [[1.0, 2.0]], None])
def test_what_is_no_column(values):
    with pytest.raises(InvalidParameterError, match="seconds"):
        positive_column("seconds", values)


def test_a_single_scale_goes_with_all_machine_counts():
    machines, scale = machines_and_scale(machines=[1, 2, 4], scale=0.5)

    assert machines.tolist() == [1, 2, 4]
    assert scale.tolist() == [0.5, 0.5, 0.5]


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(InvalidParameterError, match="2 values where machines has 3"):
        machines_and_scale(machines=[1, 2, 4], scale=[0.1, 0.2])


@pytest.mark.parametrize("value", [1.0, 6.523891, 0.07, 1234567.8, 1e-9, 2 / 3])
def test_what_a_message_proposes_is_enough(value):
    assert value <= float(rounded_up(value)) * (1 + 1e-11)
    assert float(rounded_up(value)) == pytest.approx(value, rel=1e-5)
