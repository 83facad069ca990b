"""The secret that a cluster's daemons and applications share.

It is random, and it lives in the machines' user-data only: whoever may read that attribute of the master's
machine (ec2:DescribeInstanceAttribute) can submit to the cluster. It is in no tag, log, file or XCom.
"""

from __future__ import annotations

import base64
from typing import Any

from airflow_provider_ernest.clusters.ec2.aws_errors import explained
from airflow_provider_ernest.clusters.ec2.instances import Instance, of_cluster
from airflow_provider_ernest.clusters.ec2.readiness import master_of
from airflow_provider_ernest.exceptions import ClusterLostError


def cluster_secret(ec2: Any, cluster_name: str) -> str:
    """The secret of a running cluster. Do not log it, and keep it out of command lines.

    Needs the permissions ec2:DescribeInstances and ec2:DescribeInstanceAttribute.

    Args:
        ec2: a boto3 client.
        cluster_name: `ClusterHandle.name`.

    Raises:
        ClusterLostError: the cluster has no master any more.
        ClusterError, MissingResourceError: AWS does not answer, or a permission is missing.
    """
    master = master_of(of_cluster(ec2, cluster_name))
    if master is None:
        raise ClusterLostError(
            f"Cluster {cluster_name} has no master any more.", remedy="Start the cluster again."
        )
    return secret_of_master(ec2, master)


def secret_of_master(ec2: Any, master: Instance) -> str:
    """The secret in a master's user-data; raises as `cluster_secret`."""
    from airflow_provider_ernest.clusters.ec2.user_data import secret_of

    with explained("read the user-data of the master's machine"):
        answer = ec2.describe_instance_attribute(InstanceId=master.id, Attribute="userData")
    encoded = answer.get("UserData", {}).get("Value", "")
    return secret_of(base64.b64decode(encoded).decode())
