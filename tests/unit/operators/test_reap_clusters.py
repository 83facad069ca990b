from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.exceptions import ClusterError
from airflow_provider_ernest.operators.terminate_cluster import ReapClustersOperator
from tests.unit.ec2_machines import IDENTITY, launch


@pytest.fixture
def clusters(api) -> None:
    launch(api, workers=1)
    launch(api, workers=2, identity=replace(IDENTITY, task_id="forgotten"), expires_in=timedelta(minutes=-30))


@pytest.mark.usefixtures("clusters")
def test_ends_what_is_overdue_and_says_whose_it_was(api, context, capsys):
    summary = ReapClustersOperator(task_id="reap").execute(context)

    assert json.loads(json.dumps(summary)) == summary
    assert summary["machines"] == 3
    assert len(api.live_instances()) == 2
    assert "forgotten" in capsys.readouterr().out


@pytest.mark.usefixtures("clusters")
def test_templates_may_render_everything_as_text(api, context):
    summary = ReapClustersOperator(
        task_id="reap",
        regions="us-east-1, us-west-2",
        dry_run="True",
        grace_seconds="60",
    ).execute(context)

    assert summary["dry_run"] is True
    assert list(summary["clusters"]) == ["us-east-1", "us-west-2"]
    assert len(api.live_instances()) == 5


@pytest.mark.usefixtures("clusters")
def test_a_grace_is_kept(api, context):
    assert ReapClustersOperator(task_id="reap", grace_seconds=3600).execute(context)["machines"] == 0


def test_what_cannot_be_is_named(api, context):
    with pytest.raises(AirflowFailException, match="grace_seconds='soon'"):
        ReapClustersOperator(task_id="reap", grace_seconds="soon").execute(context)


@pytest.mark.usefixtures("clusters")
@pytest.mark.parametrize("order", ["us-east-1, eu west 1", "eu west 1, us-east-1"])
def test_a_region_that_is_none_does_not_protect_the_others(api, context, order):
    with pytest.raises(ClusterError, match=r"Overdue machines may live on.*eu west 1"):
        ReapClustersOperator(task_id="reap", regions=order).execute(context)
    assert len(api.live_instances()) == 2
