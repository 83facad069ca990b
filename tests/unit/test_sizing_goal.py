import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings import SizingGoal, UntrainedType


@pytest.mark.parametrize(
    ("stated", "reaction"),
    [
        ({}, "fail"),
        ({"fallback_machines": 4}, "fallback"),
        ({"fallback_machines": 4, "on_failure": "fail"}, "fail"),
        ({"on_failure": "most_probable"}, "most_probable"),
        ({"fallback_machines": "{{ params.size }}", "on_failure": "fallback"}, "fallback"),
    ],
)
def test_what_happens_where_nothing_can_be_chosen(stated, reaction):
    assert SizingGoal(deadline_seconds=60, max_machines=8, **stated).reaction == reaction


@pytest.mark.parametrize(
    ("stated", "named"),
    [
        ({"max_machines": None}, "max_machines=None sets no limit"),
        ({"on_failure": "retry"}, "on_failure='retry' is unknown. Use one of fail, fallback, most_probable"),
        ({"on_failure": "fallback"}, "on_failure='fallback' has none to take. Give fallback_machines"),
    ],
)
def test_what_cannot_be_is_refused_when_the_dag_is_parsed(stated, named):
    with pytest.raises(InvalidParameterError, match=named):
        SizingGoal(**{"deadline_seconds": 60, "max_machines": 8, **stated})


def test_allowed_machines_are_limit_enough():
    assert SizingGoal(deadline_seconds=60, allowed_machines=(2, 4)).max_machines is None


@pytest.mark.parametrize("relative_speed", [2, "{{ params.speed }}"])
def test_a_type_of_another_speed_says_its_cores(relative_speed):
    """Else production would use those that the trained type has, of machines that have twice as many."""
    fields = {"instance_type": "big", "like": "small", "price_per_hour": 1}
    with pytest.raises(
        InvalidParameterError, match=r"untrained_types\['big'\]\.cores_per_machine=None leaves open"
    ):
        UntrainedType(**fields, relative_speed=relative_speed)

    assert UntrainedType(**fields, relative_speed=relative_speed, cores_per_machine=4).cores_per_machine == 4
    assert UntrainedType(**fields, relative_speed=1).cores_per_machine is None
