"""What IAM decides: whether a policy allows what a recorded call needs.

As far as the policies in docs/ need it: statements that allow, and conditions on texts. What each call is
checked for follows AWS's Service Authorization Reference ("Actions, resources, and condition keys for Amazon
EC2", "... for Amazon EMR").
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.ec2_testbed.api_client import Call

ACCOUNT = "123456789012"
DEPLOYMENT = "ours"
DOCS = Path(__file__).parents[2] / "docs"

# Whose description IAM does not narrow to single resources.
_ON_EVERYTHING = re.compile(r"ec2:Describe(?!InstanceAttribute$)|pricing:|elasticmapreduce:ListSupported")

Context = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Access:
    """What IAM is asked: one action on the resource of an ARN, with values of condition keys."""

    action: str
    resource: str = "*"
    context: Context = field(default_factory=dict)


class Policy:
    """A policy of docs/, by the name of its file."""

    def __init__(self, name: str) -> None:
        text = (DOCS / name).read_text().replace("REPLACE-WITH-YOUR-DEPLOYMENT", DEPLOYMENT)
        document = json.loads(text)
        assert document["Version"] == "2012-10-17"
        self.statements: list[dict[str, Any]] = document["Statement"]
        assert all(statement["Effect"] == "Allow" for statement in self.statements)

    @property
    def actions(self) -> set[str]:
        """All that it allows something of."""
        return {action for statement in self.statements for action in _list(statement["Action"])}

    def allowing(self, access: Access) -> list[tuple[str, str]]:
        """What allows it: names of statements, each with the pattern of the resource."""
        return [
            (statement["Sid"], pattern)
            for statement in self.statements
            if access.action in _list(statement["Action"])
            for pattern in _list(statement["Resource"])
            if _is_like(access.resource, pattern) and _holds(statement.get("Condition", {}), access.context)
        ]

    @property
    def parts(self) -> set[tuple[str, str]]:
        """All statements, each with each of its patterns of resources."""
        return {
            (statement["Sid"], pattern)
            for statement in self.statements
            for pattern in _list(statement["Resource"])
        }


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _is_like(text: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(text, pattern.replace("[", "[[]"))


_OPERATORS: dict[str, Callable[[Sequence[str], Sequence[str]], bool]] = {
    "StringEquals": lambda found, wanted: any(text in wanted for text in found),
    "StringLike": lambda found, wanted: any(_is_like(text, one) for text in found for one in wanted),
    "ForAllValues:StringEquals": lambda found, wanted: all(text in wanted for text in found),
}


def _holds(conditions: Mapping[str, Mapping[str, Any]], context: Context) -> bool:
    def values(key: str) -> Sequence[str]:
        value = context.get(key, ())
        return [value] if isinstance(value, str) else value

    return all(
        _OPERATORS[operator](values(key), _list(wanted))
        for operator, keys in conditions.items()
        for key, wanted in keys.items()
    )


def tags_in(kind: str, tags: Mapping[str, str]) -> dict[str, str | Sequence[str]]:
    """Tags as values of condition keys; `kind` is "RequestTag" or "ResourceTag"."""
    found: dict[str, str | Sequence[str]] = {f"aws:{kind}/{key}": value for key, value in tags.items()}
    if kind == "RequestTag":
        found["aws:TagKeys"] = list(tags)
    return found


def accesses_of(call: Call, tags_of: Callable[[str], Mapping[str, str]]) -> Iterator[Access]:
    """What IAM is asked for a recorded call of EC2, SSM or the price list.

    `tags_of` gives an instance's tags.
    """
    action = f"{call.service}:{call.action}"
    given = call.parameters
    if _ON_EVERYTHING.match(action):
        yield Access(action=action)
    elif action == "ssm:GetParameter":
        name = given["Name"]
        account = "" if name.startswith("/aws/") else ACCOUNT
        yield Access(action=action, resource=f"arn:aws:ssm:us-east-1:{account}:parameter{name}")
    elif action == "ec2:RunInstances":
        yield from _launch_accesses(given)
    else:
        requested = _tags(given, "Tag")
        for instance_id in _values(given, r"(?:InstanceId|ResourceId)(?:\.\d+)?"):
            context = {**tags_in("ResourceTag", tags_of(instance_id)), **tags_in("RequestTag", requested)}
            yield Access(action=action, resource=_ec2("instance", instance_id), context=context)


def _launch_accesses(given: Mapping[str, str]) -> Iterator[Access]:
    tagged = {}
    for name, resource_type in given.items():
        if found := re.fullmatch(r"(TagSpecification\.\d+)\.ResourceType", name):
            tagged[resource_type] = _tags(given, f"{found[1]}.Tag")
    # These are made by the launch; a machine has at least one volume and one interface.
    made = {"instance", "volume", "network-interface"}
    if given.get("InstanceMarketOptions.MarketType") == "spot":
        made.add("spot-instances-request")
    for kind in sorted(made):
        context = tags_in("RequestTag", tagged.get(kind, {}))
        yield Access(action="ec2:RunInstances", resource=_ec2(kind, "*"), context=context)
    for kind, tags in tagged.items():
        context = {"ec2:CreateAction": "RunInstances", **tags_in("RequestTag", tags)}
        yield Access(action="ec2:CreateTags", resource=_ec2(kind, "*"), context=context)
    for kind, form in {
        "image": r"ImageId",
        "key-pair": r"KeyName",
        "launch-template": r"LaunchTemplate\.LaunchTemplate(?:Id|Name)",
        "security-group": r"(?:NetworkInterface\.\d+\.)?SecurityGroupId\.\d+",
        "subnet": r"(?:NetworkInterface\.\d+\.)?SubnetId",
    }.items():
        for value in _values(given, form):
            yield Access(action="ec2:RunInstances", resource=_ec2(kind, value))
    if any(_values(given, r"IamInstanceProfile\.(?:Name|Arn)")):
        yield pass_role("REPLACE-WITH-THE-ROLE-OF-THE-MACHINES", "ec2.amazonaws.com")


def pass_role(role: str, service: str) -> Access:
    """What no call shows: a role is given to a service."""
    return Access(
        action="iam:PassRole",
        resource=f"arn:aws:iam::{ACCOUNT}:role/{role}",
        context={"iam:PassedToService": service},
    )


def job_flow_accesses(
    operation: str, given: Mapping[str, Any], tags_of: Callable[[str], Mapping[str, str]]
) -> Iterator[Access]:
    """What IAM is asked for a call of EMR (such as "RunJobFlow"); `tags_of` gives a job flow's tags."""
    action = f"elasticmapreduce:{operation}"
    if operation == "RunJobFlow":
        context = tags_in("RequestTag", {tag["Key"]: tag["Value"] for tag in given["Tags"]})
        yield Access(action=action, context=context)
        yield Access(action="elasticmapreduce:AddTags", resource=_job_flow("*"), context=context)
        if "AutoTerminationPolicy" in given:
            yield Access(action="elasticmapreduce:PutAutoTerminationPolicy", resource=_job_flow("*"))
        yield pass_role(given["ServiceRole"], "elasticmapreduce.amazonaws.com")
        yield pass_role(given["JobFlowRole"], "ec2.amazonaws.com")
    elif _ON_EVERYTHING.match(action):
        yield Access(action=action)
    else:
        known = (given.get("ClusterId"), given.get("JobFlowId"), *given.get("JobFlowIds", ()))
        for job_flow_id in filter(None, known):
            context = tags_in("ResourceTag", tags_of(job_flow_id))
            yield Access(action=action, resource=_job_flow(job_flow_id), context=context)


_S3_ACTIONS = {
    "ListObjectsV2": "s3:ListBucket",
    "GetObject": "s3:GetObject",
    "HeadObject": "s3:GetObject",
    "PutObject": "s3:PutObject",
}


def file_access(operation: str, given: Mapping[str, Any]) -> Access:
    """What IAM is asked for a call of S3; the bucket is the policy's."""
    key = f"/{given['Key']}" if "Key" in given else ""
    return Access(action=_S3_ACTIONS[operation], resource=f"arn:aws:s3:::REPLACE-WITH-YOUR-BUCKET{key}")


def used_parts(policy: Policy, accesses: Iterable[Access]) -> set[tuple[str, str]]:
    """What of a policy any of the accesses needs."""
    return {part for access in accesses for part in policy.allowing(access)}


def _ec2(kind: str, name: str) -> str:
    account = "" if kind == "image" else ACCOUNT
    return f"arn:aws:ec2:us-east-1:{account}:{kind}/{name}"


def _job_flow(job_flow_id: str) -> str:
    return f"arn:aws:elasticmapreduce:eu-west-1:{ACCOUNT}:cluster/{job_flow_id}"


def _values(given: Mapping[str, str], form: str) -> list[str]:
    return [value for name, value in given.items() if re.fullmatch(form, name)]


def _tags(given: Mapping[str, str], prefix: str) -> dict[str, str]:
    form = re.compile(rf"({re.escape(prefix)}\.\d+)\.Key")
    return {
        value: given.get(f"{found[1]}.Value", "")
        for name, value in given.items()
        if (found := form.fullmatch(name))
    }
