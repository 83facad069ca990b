"""The configurations that predictions are asked for."""

import pytest

from airflow_provider_ernest.design.criteria import Targets
from airflow_provider_ernest.exceptions import InvalidParameterError


def test_one_scale_is_that_of_all():
    machines, scale = Targets(machines=range(2, 5)).columns()

    assert machines.tolist() == [2.0, 3.0, 4.0]
    assert scale.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"machines": (0,)},
        {"machines": (4,), "scale": 0.0},
        {"machines": (4, 8), "scale": (1.0, 1.0, 1.0)},
    ],
)
def test_configurations_that_cannot_be(wrong):
    with pytest.raises(InvalidParameterError):
        Targets(**wrong)
