"""What a specification of an EMR cluster refuses, before anything is launched."""

from __future__ import annotations

import pytest

from airflow_provider_ernest.clusters.emr.spec import BootstrapAction, EmrClusterSpec
from airflow_provider_ernest.exceptions import InvalidParameterError

from .conftest import specification


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"machines": 0}, r"machines=0 is not a whole number of at least 1"),
        ({"idle_timeout_seconds": 59}, r"idle_timeout_seconds=59 is not a whole number from 60 to 604800"),
        ({"time_to_live_seconds": float("nan")}, r"time_to_live_seconds=nan"),
        ({"memory_megabytes_per_machine": 449}, r"memory_megabytes_per_machine=449"),
        ({"price_per_hour": -1}, r"price_per_hour=-1"),
        ({"instance_type": ""}, r"instance_type='' is not a text of one line"),
        ({"log_uri": "/var/log"}, r"log_uri='/var/log' is no folder on S3.*s3://BUCKET"),
        ({"event_log_uri": "s3://bucket/a b; rm"}, r"event_log_uri=.*is no folder on S3"),
        ({"log_uri": "s3://b/l"}, r"log_uri='s3://b/l' names a bucket 'b' that cannot be.*3 to 63"),
        ({"price_per_hour": 0}, r"price_per_hour=0 is not a number of dollars above 0"),
        ({"applications": "Spark"}, r"applications='Spark' is no tuple"),
        ({"subnet": 7}, r"subnet=7 is not a text"),
        ({"release_label": "7.5.0"}, r"release_label='7.5.0' is no release of EMR"),
        ({"release_label": "emr-5.29.0"}, r"emr-5.29.0' has no auto-termination policy"),
        ({"release_label": "emr-6.0.0"}, r"emr-6.0.0' has no auto-termination policy"),
        ({"applications": ("Hive",)}, r"applications=.*lack Spark"),
        ({"tags": {"ernest:expires-at": "never"}}, r"tags='ernest:expires-at' begins with"),
    ],
)
def test_what_cannot_work_is_refused(changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        specification(**changes)


@pytest.mark.parametrize("release", ["emr-5.30.0", "emr-6.1.0", "emr-7.10.0"])
def test_releases_that_end_idle_job_flows_are_taken(release):
    assert specification(release_label=release).release_label == release


def test_a_bootstrap_action_must_be_on_s3():
    with pytest.raises(InvalidParameterError, match=r"'/tmp/setup.sh' is not on S3"):
        BootstrapAction(name="setup", path="/tmp/setup.sh")


def test_it_can_be_given_as_rendered_text():
    spec = EmrClusterSpec.from_dict(
        {
            "machines": "3",
            "instance_type": "m5.xlarge",
            "release_label": "emr-7.5.0",
            "log_uri": "s3://ernest-logs/emr/",
            "event_log_uri": "s3://ernest-logs/spark",
            "bootstrap_actions": [{"name": "setup", "path": "s3://ernest-logs/setup.sh"}],
        }
    )
    assert spec.machines == 3
    assert spec.bootstrap_actions[0].path == "s3://ernest-logs/setup.sh"
    assert spec.type_of_master == "m5.xlarge"
