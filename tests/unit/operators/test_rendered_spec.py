from dataclasses import fields

import pytest

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.stated import spec_of, text_by_name, texts, truth


def test_a_specification_rendered_to_text_is_the_same_specification():
    spec = EC2ClusterSpec(
        machines=4,
        instance_type="m5.large",
        image="ami-0123456789abcdef0",
        subnets=("subnet-0123456789abcdef0", "subnet-0123456789abcdef1"),
        security_groups=("sg-0123456789abcdef0",),
        spot=True,
        volume_gigabytes=50,
        tags={"team": "data"},
        over_allocation=0.1,
    )
    rendered = {one.name: getattr(spec, one.name) for one in fields(spec)}
    as_text = {
        name: value
        if isinstance(value, dict)
        else str(value if not isinstance(value, tuple) else list(value))
        for name, value in rendered.items()
    }
    assert spec_of(EC2ClusterSpec, as_text) == spec
    assert spec_of(EC2ClusterSpec, rendered) == spec


def test_any_specification_can_be_read():
    assert spec_of(LocalClusterSpec, {**vars(LocalClusterSpec(machines=3)), "machines": "3"}).machines == 3


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, ()),
        ("", ()),
        ("None", ()),
        ("a", ("a",)),
        ("a, b,", ("a", "b")),
        ("['a', 'b']", ("a", "b")),
        ("('a',)", ("a",)),
        (["a"], ("a",)),
        ((), ()),
    ],
)
def test_texts(given, read):
    assert texts("subnets", given) == read


@pytest.mark.parametrize("given", [7, {"a": 1}, "[a", "[__import__('os')]"])
def test_what_is_no_list_is_named(given):
    with pytest.raises(InvalidParameterError, match=r"subnets=.* is no list"):
        texts("subnets", given)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (True, True),
        ("True", True),
        ("false", False),
        (" no ", False),
        ("", False),
        (None, False),
        ("1", True),
    ],
)
def test_truth(given, read):
    assert truth("spot", given) is read


@pytest.mark.parametrize("given", ["maybe", 2, []])
def test_what_is_neither_true_nor_false_is_named(given):
    with pytest.raises(InvalidParameterError, match=r"spot=.* is neither true nor false"):
        truth("spot", given)


def test_text_by_name():
    assert text_by_name("tags", '{"a": 1}') == {"a": "1"}
    assert text_by_name("tags", {"a": 1}) == {"a": "1"}
    assert text_by_name("tags", "None") == {}
    with pytest.raises(InvalidParameterError, match="tags="):
        text_by_name("tags", "[1]")
