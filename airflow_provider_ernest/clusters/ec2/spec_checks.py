"""What a specification of an EC2 cluster must satisfy, checked before anything is launched."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec


def check_spec(spec: EC2ClusterSpec) -> None:
    """Refuse what cannot work.

    Raises:
        InvalidParameterError: a value that cannot work.
    """
