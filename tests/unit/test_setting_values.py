"""What users state, as it comes back from templates: numbers, flags, lists and documents as texts."""

from dataclasses import fields

import pytest

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.goal import SizingGoal
from airflow_provider_ernest.settings.values import (
    number,
    optional_document,
    optional_number,
    optional_text,
    optional_whole_number,
    settings_of,
    texts,
    truth,
    whole_number,
)


@pytest.mark.parametrize(
    ("read", "given", "expected"),
    [
        (number, "3.5", 3.5),
        (number, " 1e-2 ", 0.01),
        (optional_number, 0, 0.0),
        (optional_number, "None", None),
        (optional_whole_number, "", None),
        (optional_document, {"machines": 2}, {"machines": 2}),
        (optional_document, '{"machines": 2}', {"machines": 2}),
        (optional_document, "None", None),
        (texts, None, ()),
        (texts, "a, b,", ("a", "b")),
        (texts, "['a', 'b']", ("a", "b")),
        *((lambda _, value: optional_text(value), nothing, None) for nothing in (None, "", "None")),
        (truth, True, True),
        (truth, "True", True),
        (truth, " no ", False),
        (truth, None, False),
    ],
)
def test_values_survive_rendering_as_text(read, given, expected):
    assert read("field", given) == expected


@pytest.mark.parametrize(
    ("read", "given", "named"),
    [
        *((number, given, "^field=") for given in ("", "ten", None, float("nan"), "inf", True, [1])),
        (whole_number, "2.5", r"field='2\.5' is not a whole number"),
        *((optional_document, given, "^field=") for given in ("{'machines': 2}", "[1]", 3)),
        *((texts, given, "field=.* is not a list") for given in (7, {"a": 1}, "[a", "[__import__('os')]")),
        *((truth, given, "field=.* is neither true nor false") for given in ("maybe", 2, [])),
    ],
)
def test_what_cannot_be_read_is_named(read, given, named):
    with pytest.raises(InvalidParameterError, match=named):
        read("field", given)


def test_a_specification_rendered_to_text_is_the_same_specification():
    spec = EC2ClusterSpec(
        machines=4,
        instance_type="m5.large",
        image="ami-0123456789abcdef0",
        subnets=("subnet-0123456789abcdef0", "subnet-0123456789abcdef1"),
        security_groups=("sg-0123456789abcdef0",),
        spot=True,
        volume_gigabytes=50,
        tags={"team": "data", "floor": "3"},
        over_allocation=0.1,
    )
    values = {one.name: getattr(spec, one.name) for one in fields(spec)}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    as_text = {name: str(value) for name, value in plain.items()} | {"tags": '{"team": "data", "floor": 3}'}

    assert settings_of(EC2ClusterSpec, as_text, "spec") == settings_of(EC2ClusterSpec, values, "spec") == spec
    local = {**vars(LocalClusterSpec(machines=3)), "machines": "3"}
    assert settings_of(LocalClusterSpec, local, "spec").machines == 3


def goal_of(minimum, maximum, allowed) -> SizingGoal:
    return SizingGoal(
        deadline_seconds=60, min_executors=minimum, max_executors=maximum, allowed_executors=allowed
    )


@pytest.mark.parametrize(
    ("minimum", "maximum", "allowed", "counts"),
    [
        ("2", "3", "None", (2, 3)),
        (1, 10, [16, 4, 8, 4], (4, 8)),
        (5, None, "4, 8, 16", (8, 16)),
    ],
)
def test_numbers_of_machines_are_bounds_or_what_is_allowed_within_them(minimum, maximum, allowed, counts):
    assert goal_of(minimum, maximum, allowed).executors == counts


@pytest.mark.parametrize(
    ("minimum", "maximum", "allowed", "named"),
    [
        (0, 3, None, "min_executors=0 is not a number of at least 1"),
        (4, 3, None, "min_executors=4 is more than max_executors=3"),
        (1, None, None, "max_executors=None sets no limit. Give it, or allowed_executors"),
        (1, None, [], "allowed_executors=.* leaves none from 1 to any number"),
        (1, 3, [1.5], "allowed_executors=.*1.5.* is not a whole number"),
        (1, 3, 3, "allowed_executors=3 is not a list"),
        (1, 1e12, None, "max_executors=1000000000000 is more than"),
    ],
)
def test_what_leaves_no_machines_is_named_as_the_user_wrote_it(minimum, maximum, allowed, named):
    with pytest.raises(InvalidParameterError, match=named):
        goal_of(minimum, maximum, allowed)
