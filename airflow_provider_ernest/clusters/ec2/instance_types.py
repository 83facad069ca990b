"""What AWS says of its instance types: cores, memory, network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_ernest.clusters.ec2.aws_errors import Meaning, as_ours, code_of, meaning_of, said
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError

_TYPES_PER_CALL = 100  # the most that DescribeInstanceTypes takes by name
_DAEMON_RESERVE_MEGABYTES = 1024
_EXECUTOR_OVERHEAD = 0.10
_LEAST_EXECUTOR_MEGABYTES = 450
_SPEED = re.compile(
    r"(?:(?P<cards>\d+)\s*x\s*)?(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>giga|mega)bit", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class InstanceType:
    """One instance type.

    Attributes:
        name: "m5.xlarge".
        cores: vCPUs, as Spark counts cores: hyper-threads where the type has them.
        memory_megabytes: of the machine, nominal; its operating system sees a few percent less.
        network_gigabits_per_second: the peak, of all network cards together; a small type keeps it up for
            minutes only. None where AWS gives but a word for it ("Moderate").
        network_baseline_gigabits_per_second: what it keeps up for ever; None where AWS does not tell.
        network_performance: AWS's own words ("Up to 10 Gigabit").
        architectures: of the images that it boots ("x86_64", "arm64").
        spot_supported: it can be had as a spot instance.
    """

    name: str
    cores: int
    memory_megabytes: int
    network_gigabits_per_second: float | None
    network_baseline_gigabits_per_second: float | None = None
    network_performance: str = ""
    architectures: tuple[str, ...] = ()
    spot_supported: bool = False


def describe_instance_types(ec2: Any, names: Iterable[str]) -> dict[str, InstanceType]:
    """What AWS says of these types, in one request (of all pages) for up to 100 of them.

    Needs the permission ec2:DescribeInstanceTypes.

    Args:
        ec2: a boto3 client of the region where they shall run.
        names: of the types; repeated ones are asked for once.

    Raises:
        InvalidParameterError: the region has no such type.
        MissingResourceError: the permission is missing.
        ClusterError: AWS did not answer.
    """
    wanted = sorted(set(names))
    found: dict[str, InstanceType] = {}
    for first in range(0, len(wanted), _TYPES_PER_CALL):
        for facts in _ask(ec2, wanted[first : first + _TYPES_PER_CALL]):
            instance_type = _instance_type(facts)
            found[instance_type.name] = instance_type
    for name in wanted:
        if name not in found:
            raise _unknown(name, ec2)
    return found


def executor_memory_megabytes(instance_type: InstanceType) -> int:
    """The heap that an executor which fills the machine may have: ``spark.executor.memory``.

    A standalone worker offers the machine's memory less 1 GB, which is for the operating system and the
    daemon (Spark documentation, "Spark Standalone Mode", SPARK_WORKER_MEMORY). But an executor takes more
    than its heap: class metadata, thread stacks, network buffers and PySpark's workers lie beside it.
    Cluster managers that reckon with it add a tenth of the heap ("Running Spark on Kubernetes",
    spark.kubernetes.memoryOverheadFactor; "Configuration", spark.executor.memoryOverheadFactor). The
    standalone one does not, and Linux would kill the executor instead. So it is left out here:
    (memory - 1 GB) / 1.1. Machines of less than 2 GB keep half of their memory for the system.

    Raises:
        InvalidParameterError: the type has too little memory for any executor (Spark refuses heaps
            below 450 MB).
    """
    total = instance_type.memory_megabytes
    offered = max(total - _DAEMON_RESERVE_MEGABYTES, total // 2)
    heap = int(offered / (1 + _EXECUTOR_OVERHEAD))
    if heap < _LEAST_EXECUTOR_MEGABYTES:
        raise InvalidParameterError(
            "instance_type",
            instance_type.name,
            f"has {total} MB of memory, of which an executor could have {heap}; "
            f"Spark needs {_LEAST_EXECUTOR_MEGABYTES}",
            remedy="Choose a type of at least 1 GB, for real work of at least 4 GB.",
        )
    return heap


def _ask(ec2: Any, names: list[str]) -> Iterable[Mapping[str, Any]]:
    from botocore.exceptions import BotoCoreError, ClientError

    listed = ", ".join(names)
    try:
        pages = ec2.get_paginator("describe_instance_types").paginate(InstanceTypes=names)
        return [facts for page in pages for facts in page["InstanceTypes"]]
    except (BotoCoreError, ClientError) as error:
        if code_of(error).startswith(("InvalidInstanceType", "InvalidParameterValue")):
            # AWS names the bad ones in brackets at the end, and answers for none of the others.
            refused = re.findall(r"[\w.-]+", said(error).rpartition("[")[2])
            raise _unknown(next((name for name in names if name in refused), listed), ec2) from None
        if meaning_of(error) is Meaning.NOT_ALLOWED:
            raise MissingResourceError(
                f"AWS does not let these credentials describe the instance types {listed}: {said(error)}.",
                remedy="Grant ec2:DescribeInstanceTypes to them.",
            ) from None
        raise as_ours(error, f"describe the instance types {listed}") from None


def _unknown(name: str, ec2: Any) -> InvalidParameterError:
    region = ec2.meta.region_name
    return InvalidParameterError(
        "instance_type",
        name,
        f"is not known in the region {region}",
        remedy=f"`aws ec2 describe-instance-type-offerings --region {region}` lists those that it has.",
    )


def _instance_type(facts: Mapping[str, Any]) -> InstanceType:
    network = facts.get("NetworkInfo", {})
    cards = network.get("NetworkCards", [])
    performance = network.get("NetworkPerformance", "")
    return InstanceType(
        name=facts["InstanceType"],
        cores=facts["VCpuInfo"]["DefaultVCpus"],
        memory_megabytes=facts["MemoryInfo"]["SizeInMiB"],
        network_gigabits_per_second=_of_cards(cards, "PeakBandwidthInGbps") or _in_words(performance),
        network_baseline_gigabits_per_second=_of_cards(cards, "BaselineBandwidthInGbps"),
        network_performance=performance,
        architectures=tuple(facts.get("ProcessorInfo", {}).get("SupportedArchitectures", ())),
        spot_supported="spot" in facts.get("SupportedUsageClasses", ()),
    )


def _of_cards(cards: list[Mapping[str, Any]], figure: str) -> float | None:
    """The sum over the cards; None where one does not tell, since a part would pass for the whole."""
    figures = [card.get(figure) for card in cards]
    known = [float(value) for value in figures if value is not None]
    return sum(known) if known and len(known) == len(figures) else None


def _in_words(performance: str) -> float | None:
    """Gigabits per second of "Up to 12.5 Gigabit", "4x 100 Gigabit", "500 Megabit"; None of "Moderate"."""
    speed = _SPEED.search(performance)
    if speed is None:
        return None
    gigabits = float(speed["number"]) / (1000 if speed["unit"].lower() == "mega" else 1)
    return gigabits * int(speed["cards"] or 1)
