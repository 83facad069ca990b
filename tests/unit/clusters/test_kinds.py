from dataclasses import replace

import pytest

from airflow_provider_ernest.clusters.base import reopen
from airflow_provider_ernest.clusters.ec2.cluster import RunningCluster
from airflow_provider_ernest.clusters.local import LocalCluster
from airflow_provider_ernest.exceptions import ClusterError


def test_a_local_cluster_is_reopened_without_aws(cluster_handle, tmp_path):
    assert isinstance(reopen(cluster_handle, clusters=tmp_path), LocalCluster)


def test_a_local_cluster_needs_the_folder_of_its_like(cluster_handle):
    with pytest.raises(ClusterError, match=r"nothing tells the folder"):
        reopen(cluster_handle)


def test_a_cluster_on_ec2_is_reopened_through_the_given_client(cluster_handle):
    handle = replace(cluster_handle, kind="ec2", name=f"ernest-here-{'0f' * 10}")
    opened = reopen(handle, client=lambda service: None)
    assert isinstance(opened, RunningCluster)


@pytest.mark.parametrize("kind", ["ec2", "emr"])
def test_a_cluster_on_aws_needs_a_client(cluster_handle, kind):
    with pytest.raises(ClusterError, match=r"nothing was given to reach AWS"):
        reopen(replace(cluster_handle, kind=kind))


def test_an_unknown_kind_is_refused(cluster_handle):
    with pytest.raises(ClusterError, match=r"kind 'toaster'"):
        reopen(replace(cluster_handle, kind="toaster"))
