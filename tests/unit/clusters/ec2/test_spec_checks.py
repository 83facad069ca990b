import pytest

from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.values import settings_of

GOOD = {
    "machines": 4,
    "instance_type": "m5.xlarge",
    "image": "ami-0123456789abcdef0",
    "subnets": ("subnet-0123456789abcdef0", "subnet-12345678"),
    "security_groups": ("sg-0123456789abcdef0",),
}
FULL = GOOD | {
    "fallback_instance_types": ("m5a.xlarge", "u-12tb1.112xlarge"),
    "master_instance_type": "t3.medium",
    "image": "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64",
    "instance_profile": "arn:aws:iam::123456789012:instance-profile/team/spark",
    "key_name": "Ann's key (2)",
    "launch_template": "lt-0123456789abcdef0",
    "launch_template_version": "3",
    "volume_gigabytes": 100,
    "volume_key": "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
    "tags": {"cost centre": "A/1+2=3 no", "Größe": ""},
    "setup_script": "#!/bin/bash\nyum install -y java-17\n",
    "spark_distribution": "/opt/spark 4",
    "java_home": "/usr/lib/jvm/a b",
    "python": "/opt/env/bin/python",
    "spark_user": "spark_jobs-2",
    "cores_per_machine": 4,
    "memory_megabytes_per_machine": 450,
    "smallest_acceptable": 4,
    "over_allocation": 1,
    "price_per_hour": 0.1,
    "driver_host": "airflow-1.internal",
}
FOREIGN_TEMPLATE = {**GOOD, "launch_template": "spark-workers"}


def test_all_that_can_be_set_can_be_set_together():
    spec = EC2ClusterSpec(**FULL)
    assert EC2ClusterSpec.from_dict(spec.to_dict()) == spec
    assert spec.instance_types == ("m5.xlarge", "m5a.xlarge", "u-12tb1.112xlarge")
    assert EC2ClusterSpec(**GOOD, time_to_live_seconds=30 * 24 * 3600)


@pytest.mark.parametrize("field", ["image", "subnets", "security_groups"])
def test_only_a_launch_template_may_leave_it_open(field):
    empty = None if field == "image" else ()
    assert EC2ClusterSpec(**{**FOREIGN_TEMPLATE, field: empty})
    with pytest.raises(InvalidParameterError, match=rf"{field}=.*launch_template") as error:
        EC2ClusterSpec(**{**GOOD, field: empty})
    assert error.value.parameter == field


REFUSED = {
    "spark_user": ["0", "Ernest", "a" * 32, "-u", "a b", None],
    "machines": [0, "4", True],
    "instance_type": ["m5", "m5.large; reboot", "m5.large\n", None],
    "fallback_instance_types": [
        "m5.large",  # a text is a sequence of texts, too
        ("m5.large", ""),
    ],
    "master_instance_type": ["M5.large"],
    "image": ["ami-xyz", "my-image", "/aws/service/x\n"],
    "subnets": [("default",), "subnet-12345678", ("subnet-12345678", "subnet-12345678")],
    "security_groups": [("default",), ("sg-12345678", None)],
    "instance_profile": ["a\nb", ""],
    "key_name": [" key", ""],
    "launch_template": [""],
    "launch_template_version": [3],
    "volume_gigabytes": [0, 1.5],
    "volume_type": ["st1"],
    "volume_key": [""],
    "tags": [
        ["a"],
        {"": "x"},
        {"ernest:cluster": "mine"},
        {"Name": "mine"},
    ],
    "setup_script": [None, "echo \0"],
    "spark_distribution": ["", "opt/spark", "/opt/spark\ntouch x", "s3://bucket/spark.tgz"],
    "java_home": ["jvm", "/usr/lib\x1b[2J"],
    "python": ["", "-c", "env/bin/python", "python3\n", "python3\u2028"],
    "cores_per_machine": [0],
    "memory_megabytes_per_machine": [449],
    "time_to_live_seconds": [
        59,
        30 * 24 * 3600 + 1,
        float("inf"),
        float("nan"),
        "7200",
        600,  # as much as the start may take
        630,  # as much as the start and the two rounds of the probe may take
    ],
    "start_timeout_seconds": [0],
    "over_allocation": [-0.1, 1.1, float("nan")],
    "smallest_acceptable": [0, 5],
    "probe_rounds": [-1, 1.5],
    "probe_interval_seconds": [-1],
    "cull_floor": [1.01, None],
    "spot": ["false"],
    "on_demand_fallback": [None],
    "public_address": [1],
    "network_encryption": ["yes"],
    "price_per_hour": [-0.01, float("nan")],
    "driver_host": ["http://10.0.0.1", "10.0.0.1:7077", "-x", "$(touch x)", ""],
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in REFUSED.items() for value in values]
)
def test_a_value_that_cannot_work_is_refused_by_its_name(field, value):
    with pytest.raises(InvalidParameterError, match=rf"^{field}=") as error:
        EC2ClusterSpec(**{**GOOD, field: value})
    assert error.value.parameter == field


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"tags": {"team": 7}}, r"tags\['team'\]=7"),
        ({"spark_user": "root"}, r"spark_user='root'.*time to live.*created"),
        (
            {"spark_distribution": "https://example.com/spark.tgz"},
            "^spark_distribution=.*absolute path.*setup_script",
        ),
    ],
)
def test_what_is_wrong_and_what_to_do_is_told(changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        EC2ClusterSpec(**GOOD, **changes)


@pytest.mark.parametrize("field", sorted(FULL.keys() - {"setup_script"}))
def test_what_a_template_will_say_is_checked_when_it_is_rendered(field):
    spec = EC2ClusterSpec(**{**FULL, field: "{{ later }}"})
    with pytest.raises(InvalidParameterError, match=rf"^{field}='{{{{ later }}}}' is a template"):
        spec.require_literal()
    with pytest.raises(InvalidParameterError, match=rf"^{field}=.*still a template"):
        settings_of(EC2ClusterSpec, spec, "spec")


@pytest.mark.parametrize(
    "templates",
    [
        {"machines": "{{ m }}", "smallest_acceptable": 9},
        {"time_to_live_seconds": "{{ s }}", "start_timeout_seconds": 9000},
        {"time_to_live_seconds": 100, "probe_rounds": "{{ n }}"},
        {"tags": {"team": "{{ team }}"}, "subnets": ("{{ subnet }}",)},
    ],
)
def test_fields_are_not_compared_with_what_is_not_known_yet(templates):
    EC2ClusterSpec(**{**GOOD, **templates})


def test_the_braces_of_a_script_are_its_own():
    EC2ClusterSpec(**GOOD, setup_script="docker ps --format '{{.ID}}'").require_literal()
    with pytest.raises(InvalidParameterError, match="setup_script="):
        EC2ClusterSpec(**GOOD, setup_script="{{ \0 }}")


@pytest.mark.parametrize(
    ("changes", "launched", "smallest"),
    [
        ({}, 5, 4),
        ({"machines": 50}, 52, 50),
        ({"over_allocation": 0}, 4, 4),
        ({"probe_rounds": 0}, 4, 4),
        ({"over_allocation": 1, "smallest_acceptable": 2}, 8, 2),
    ],
)
def test_so_many_workers_are_launched_and_needed(changes, launched, smallest):
    spec = EC2ClusterSpec(**{**GOOD, **changes})
    assert (spec.launched_machines, spec.smallest_machines) == (launched, smallest)
