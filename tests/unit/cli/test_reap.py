import json
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.ec2_testbed import EC2Api
from tests.unit.ec2_machines import IDENTITY, launch

OVERDUE = replace(IDENTITY, task_id="forgotten")


@pytest.fixture
def run(api, monkeypatch, ernest):
    """Runs a command against the API with credentials of the environment."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    return lambda *argv, code=0: ernest(*argv, "--endpoint-url", api.endpoint_url, code=code)


@pytest.fixture
def clusters(api: EC2Api) -> None:
    launch(api, workers=2)
    launch(api, workers=3, identity=OVERDUE, expires_in=timedelta(hours=-2))


def owners(api: EC2Api) -> list[str]:
    return sorted({m.tags["ernest:task"] for m in api.live_instances()})


@pytest.mark.usefixtures("clusters")
def test_ends_the_overdue_and_spares_the_others(api, run):
    out, _ = run("reap", "--region", "us-east-1")

    assert "Ended 4 overdue machines on EC2 in us-east-1." in out
    assert "forgotten" in out
    assert owners(api) == [IDENTITY.task_id]
    assert run("reap", "--region", "us-east-1").out == "Ended 0 overdue machines on EC2 in us-east-1.\n"


@pytest.mark.usefixtures("clusters")
def test_a_dry_run_only_lists(api, run):
    out, _ = run("reap", "--region", "us-east-1", "--dry-run", "--format", "json")

    report = json.loads(out)
    assert report["dry_run"] is True
    assert report["machines"] == 4
    (cluster,) = report["clusters"]["us-east-1"]
    assert (cluster["task_id"], len(cluster["overdue"])) == ("forgotten", 4)
    assert len(api.live_instances()) == 7


def test_a_machine_has_some_minutes_to_end_itself(api, run):
    launch(api, workers=2, expires_in=timedelta(minutes=-4))
    run("reap", "--region", "us-east-1")
    assert len(api.live_instances()) == 3


@pytest.mark.usefixtures("clusters")
def test_machines_of_others_are_never_touched(api, run):
    api.client("ec2").run_instances(
        ImageId=api.image_id, InstanceType="m5.large", SubnetId=api.subnet_ids[0], MinCount=1, MaxCount=1
    )
    run("reap", "--region", "us-east-1")
    assert [m.cluster for m in api.live_instances()].count(None) == 1


@pytest.mark.usefixtures("clusters")
@pytest.mark.parametrize(
    ("region", "told"), [("eu-west-1", "not authorized"), ("eu west 1", "InvalidRegionError")]
)
def test_a_region_that_fails_does_not_protect_the_others(api, run, region, told):
    if region == "eu-west-1":
        refusal = {"code": "UnauthorizedOperation", "message": "You are not authorized."}
        api.fail("DescribeInstances", status=403, **refusal)
    out, err = run("reap", "--region", region, "--region", "us-east-1", code=1)

    assert region in err
    assert told in err
    assert "Traceback" not in err
    assert "Ended 4 overdue machines on EC2 in us-east-1." in out
    assert owners(api) == [IDENTITY.task_id]


def test_the_report_of_regions_that_all_failed_names_them_and_no_other(run):
    out, _ = run("reap", "--region", "eu west 1", "--format", "json", code=1)

    report = json.loads(out)
    assert report["clusters"] == {}
    assert "InvalidRegionError" in report["failures"]["eu west 1"]


@pytest.mark.usefixtures("clusters")
def test_living_clusters_are_listed_with_their_owners(run):
    out, _ = run("clusters", "--region", "us-east-1")

    (forgotten,) = (row for row in out.splitlines() if "forgotten" in row)
    assert "4 running" in forgotten
    assert "2 h ago" in forgotten
    assert f"{IDENTITY.dag_id} forgotten {IDENTITY.run_id}" in forgotten
    out, _ = run("clusters", "--region", "us-east-1", "--format", "json")
    assert {cluster["task_id"] for cluster in json.loads(out)["us-east-1"]} == {"forgotten", IDENTITY.task_id}


def test_nothing_to_list_is_said(run):
    assert run("clusters", "--region", "us-east-1").out == "No clusters in us-east-1.\n"


def test_what_is_missing_is_said_with_its_remedy(run):
    _, err = run("reap", code=1)
    assert "boto3 is configured for none" in err
    _, err = run("reap", "--region", "us-east-1", "--profile", "absent", code=1)
    assert "absent" in err
    assert "Traceback" not in err


@pytest.mark.usefixtures("clusters")
def test_whose_machines_are_meant_must_be_known(api, run, monkeypatch, tmp_path):
    monkeypatch.delenv("AIRFLOW__ERNEST__DEPLOYMENT")
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    _, err = run("reap", "--region", "us-east-1", code=1)
    assert "--all-deployments" in err
    assert not list(tmp_path.iterdir()), "nothing is made by looking"
    assert "Ended 0" in run("reap", "--region", "us-east-1", "--deployment", "theirs").out
    assert len(api.live_instances()) == 7
    assert "Ended 4" in run("reap", "--region", "us-east-1", "--all-deployments").out
