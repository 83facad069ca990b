"""What EMR is asked for: the arguments of RunJobFlow (Amazon EMR API Reference)."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clusters.ec2.identity import SPEC_TAG, tag_value
from airflow_provider_ernest.clusters.emr.job_flows import tags_of

if TYPE_CHECKING:
    from datetime import datetime

    from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
    from airflow_provider_ernest.clusters.emr.spec import EmrClusterSpec

ROLE = "emr"
"""What the role tag says of job flows and of the machines that inherit it."""


def specification_digest(spec: EmrClusterSpec) -> str:
    """The same for the same specification, in any process: tells whether a job flow may be taken over."""
    text = json.dumps(spec.to_dict(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def job_flow_request(
    spec: EmrClusterSpec, *, identity: ClusterIdentity, expires_at: datetime
) -> dict[str, Any]:
    """The request of a job flow.

    It stays alive without steps, since those come later, one for each sample run, and one at a time:
    runs at once would share machines that each of them takes for its own.
    """
    request: dict[str, Any] = {
        "Name": identity.cluster_name,
        "ReleaseLabel": spec.release_label,
        "LogUri": spec.log_uri,
        "Applications": [{"Name": name} for name in spec.applications],
        "Instances": _instances(spec),
        "ServiceRole": spec.service_role,
        "JobFlowRole": spec.job_flow_role,
        "VisibleToAllUsers": True,
        "StepConcurrencyLevel": 1,
        "AutoTerminationPolicy": {"IdleTimeout": spec.idle_timeout_seconds},
        "Tags": _tags(spec, identity, expires_at),
    }
    if spec.bootstrap_actions:
        request["BootstrapActions"] = [
            {
                "Name": action.name,
                "ScriptBootstrapAction": {"Path": action.path, "Args": list(action.arguments)},
            }
            for action in spec.bootstrap_actions
        ]
    if spec.configurations:
        request["Configurations"] = [dict(one) for one in spec.configurations]
    if spec.security_configuration:
        request["SecurityConfiguration"] = spec.security_configuration
    return request


def has_specification(job_flow: dict[str, Any], spec: EmrClusterSpec) -> bool:
    """Whether a job flow was asked for by this specification."""
    return tags_of(job_flow).get(SPEC_TAG) == specification_digest(spec)


def _instances(spec: EmrClusterSpec) -> dict[str, Any]:
    places = {
        "Ec2SubnetId": spec.subnet,
        "Ec2KeyName": spec.key_name,
        "EmrManagedMasterSecurityGroup": spec.master_security_group,
        "EmrManagedSlaveSecurityGroup": spec.core_security_group,
        "ServiceAccessSecurityGroup": spec.service_access_security_group,
    }
    return {
        "InstanceGroups": [
            _group("MASTER", spec.type_of_master, 1, spec),
            _group("CORE", spec.instance_type, spec.machines, spec),
        ],
        "KeepJobFlowAliveWhenNoSteps": True,
        "TerminationProtected": False,
        **{name: value for name, value in places.items() if value},
    }


def _group(role: str, instance_type: str, count: int, spec: EmrClusterSpec) -> dict[str, Any]:
    group: dict[str, Any] = {
        "Name": role.lower(),
        "InstanceRole": role,
        "InstanceType": instance_type,
        "InstanceCount": count,
        "Market": "ON_DEMAND",
    }
    if spec.ebs_gigabytes:
        volume = {"VolumeType": spec.ebs_volume_type, "SizeInGB": spec.ebs_gigabytes}
        group["EbsConfiguration"] = {
            "EbsBlockDeviceConfigs": [{"VolumeSpecification": volume, "VolumesPerInstance": 1}]
        }
    return group


def _tags(spec: EmrClusterSpec, identity: ClusterIdentity, expires_at: datetime) -> list[dict[str, str]]:
    ours = identity.tags(role=ROLE, expires_at=expires_at, specification=specification_digest(spec))
    tags = {**{name: tag_value(value) for name, value in spec.tags.items()}, **ours}
    return [{"Key": name, "Value": value} for name, value in tags.items()]
