"""Regions and services are reaped each for itself."""

from __future__ import annotations

import socket
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from airflow_provider_ernest.clusters.emr.cluster import EmrCluster
from airflow_provider_ernest.clusters.reaping import ReapReport, reap_regions
from airflow_provider_ernest.exceptions import ClusterError
from airflow_provider_ernest.owned_folders import runtime_folder
from tests.unit.clusters.emr.conftest import identity, specification, states

NEAR, FAR = "eu-west-1", "us-east-1"


class Refusing:
    """A client of boto3 that may do nothing."""

    meta = SimpleNamespace(region_name=NEAR)

    def __getattr__(self, name: str) -> Any:
        denied = {"Error": {"Code": "AccessDenied", "Message": "You are not authorized."}}
        raise ClientError(denied, name)


class Account:
    """Makes clients by region and service, or what is ordered in their place."""

    def __init__(self) -> None:
        self.instead: dict[tuple[str, str], Any] = {}

    def clients(self, region: str) -> Callable[[str], Any]:
        def client(service: str) -> Any:
            ordered = self.instead.get((region, service))
            if isinstance(ordered, Exception):
                raise ordered
            return ordered or boto3.client(service, region_name=region)

        return client

    def reap(self, *regions: str, include_emr: bool = True) -> ReapReport:
        return reap_regions(
            {region: self.clients(region) for region in regions},
            deployment="ours",
            grace_seconds=300,
            dry_run=False,
            include_emr=include_emr,
        )


@pytest.fixture
def account(aws: None) -> Account:
    return Account()


@pytest.fixture
def forgotten(account: Account) -> list[Any]:
    """EMR in two regions, a job flow in each that nobody ended."""
    for region in (NEAR, FAR):
        handle = EmrCluster(
            specification(), identity(), client=account.clients(region), poll_seconds=0.0
        ).start()
        over = {"Key": "ernest:expires-at", "Value": "2020-01-01T00:00:00+00:00"}
        boto3.client("emr", region_name=region).add_tags(ResourceId=handle.name, Tags=[over])
    return [boto3.client("emr", region_name=region) for region in (NEAR, FAR)]


def test_job_flows_are_ended_where_machines_may_not_be_looked_for(account, forgotten):
    account.instead[NEAR, "ec2"] = Refusing()

    report = account.reap(NEAR)

    assert states(forgotten[0]) == ["TERMINATED"]
    assert [line for line in report.lines() if "of EMR in eu-west-1" in line]
    assert not [line for line in report.lines() if "no region" in line]
    with pytest.raises(ClusterError, match=r"eu-west-1.*EC2.*not authorized"):
        report.raise_failures()


def test_machines_that_were_ended_are_told_where_job_flows_may_not_be_looked_for(account):
    account.instead[NEAR, "emr"] = Refusing()

    report = account.reap(NEAR)

    assert report.lines() == ["Ended 0 overdue machines on EC2 in eu-west-1."]
    with pytest.raises(ClusterError, match=r"eu-west-1.*EMR.*not authorized"):
        report.raise_failures()


def test_the_failures_of_both_services_are_kept(account):
    account.instead.update({(NEAR, "ec2"): Refusing(), (NEAR, "emr"): ValueError("no such endpoint")})

    report = account.reap(NEAR)

    told = report.summary()["failures"]
    assert list(told) == [NEAR]
    assert "not authorized" in told[NEAR]
    assert "no such endpoint" in told[NEAR]
    assert not any("Ended" in line for line in report.lines())


@pytest.mark.parametrize("raised", [ValueError("bad endpoint"), RuntimeError("an error of Airflow")])
def test_a_client_that_cannot_be_made_does_not_protect_other_regions(account, forgotten, raised):
    account.instead.update({(NEAR, "ec2"): raised, (NEAR, "emr"): raised})

    report = account.reap(NEAR, FAR)

    assert [states(emr) for emr in forgotten] == [["WAITING"], ["TERMINATED"]]
    with pytest.raises(ClusterError, match=rf"eu-west-1.*{raised}"):
        report.raise_failures()


@pytest.mark.parametrize("dry_run", [True, False])
def test_secrets_that_killed_tasks_have_left_on_this_host_go(tmp_path, monkeypatch, dry_run):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # No process has so high an id.
    left_over = runtime_folder() / f"{socket.gethostname()}.{2**31 - 1}.1700000000000.abc"
    left_over.mkdir()
    reap_regions({}, deployment=None, grace_seconds=0, dry_run=dry_run, include_emr=False)
    assert left_over.exists() == dry_run
