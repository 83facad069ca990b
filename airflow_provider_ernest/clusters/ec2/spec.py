"""What a cluster on EC2 shall be, as data. A DAG file may import this: it costs nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_ernest.clusters.ec2.spec_checks import check_spec
from airflow_provider_ernest.model.documents import Document


@dataclass(frozen=True, kw_only=True)
class EC2ClusterSpec(Document):
    """A Spark standalone cluster on EC2: one machine for the master, and the workers.

    Attributes:
        machines: how many workers remain after the slowest have been culled.
        instance_type: of the workers. All are of one type, since a model is one of a type.
        fallback_instance_types: tried in this order where AWS has not enough of `instance_type`.
        master_instance_type: of the master, which does no work; None for the workers' type.
        image: AMI id, or the name of an SSM parameter that holds one ("/aws/service/..."); None where the
            launch template names it. It needs Linux with cloud-init, curl, Java 17 and Python.
        subnets: tried in this order; machines of one cluster may lie in several.
        security_groups: ids. None of them may be open to the world. They must let the machines reach each
            other and the Airflow worker, and the Airflow worker reach ports 7077 and 8080 of the master.
        instance_profile: name or ARN of the machines' instance profile.
        key_name: key pair for SSH by hand; Ernest itself never uses SSH.
        spot: ask for spot instances for the workers; the master is always on demand.
        on_demand_fallback: where spot is refused, take on-demand instances for what is missing.
        launch_template: id (lt-...) or name; what is set here overrides it.
        launch_template_version: "$Default", "$Latest" or a number; machines are launched from the
            version that this means when it is checked.
        volume_gigabytes: size of the encrypted root volume; None for that of the image.
        volume_type: of the root volume.
        volume_key: ARN or id of the KMS key; None for the account's default key.
        public_address: give the machines public IP addresses.
        tags: further tags of instances and volumes.
        setup_script: shell script that each machine runs as root before Spark starts. It must not reboot the
            machine: one that was rebooted shuts down, since Spark does not come back.
        spark_user: Linux user of Spark and of the jobs' code on the machines. A system user is created where
            there is none; setup_script may create one, such as with the number that owns shared files. So
            that no job can call off the time to live, "root" is refused, and sudo has no effect. Name no
            user who may log in, or is in a group that amounts to root, such as docker.
        spark_distribution: where Spark is: a path on the image ("/opt/spark"), or the https:// or s3://
            address of a .tgz that each machine unpacks (s3:// needs the AWS CLI on the image).
        spark_distribution_sha512: hexadecimal digest that the .tgz must have; an https:// address needs it.
        java_home: on the machines; None to use what is on their PATH.
        python: of PySpark's workers; its minor version must be that of the drivers.
        cores_per_machine: offered to executors; None for all that the type has.
        memory_megabytes_per_machine: offered to executors; None for what the type has less a reserve.
        time_to_live_seconds: each machine shuts itself down so long after its boot, whatever happens.
        start_timeout_seconds: how long all machines may take to be there.
        over_allocation: the share of additional workers from which the slowest are culled; at least one
            additional worker unless 0.
        smallest_acceptable: go on with so many workers where there are not more; None for all `machines`.
        probe_rounds: how often the bandwidth of all workers is measured; 0 to launch no additional ones
            and to measure nothing.
        probe_interval_seconds: between the rounds.
        cull_floor: a worker that scores below is called a straggler; see `clusters.culling`.
        network_encryption: encrypt what Spark's processes exchange. They always share a secret.
        price_per_hour: dollars for a worker and hour, instead of asking AWS.
        driver_host: address at which the machines reach the Airflow worker; None to find it.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    machines: int
    instance_type: str
    fallback_instance_types: tuple[str, ...] = ()
    master_instance_type: str | None = None
    image: str | None = None
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    instance_profile: str | None = None
    key_name: str | None = None
    spot: bool = False
    on_demand_fallback: bool = True
    launch_template: str | None = None
    launch_template_version: str = "$Default"
    volume_gigabytes: int | None = None
    volume_type: str = "gp3"
    volume_key: str | None = None
    public_address: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)
    setup_script: str = ""
    spark_user: str = "ernest"
    spark_distribution: str = "/opt/spark"
    spark_distribution_sha512: str | None = None
    java_home: str | None = None
    python: str = "python3"
    cores_per_machine: int | None = None
    memory_megabytes_per_machine: int | None = None
    time_to_live_seconds: float = 7200
    start_timeout_seconds: float = 600
    over_allocation: float = 0.04
    smallest_acceptable: int | None = None
    probe_rounds: int = 2
    probe_interval_seconds: float = 30
    cull_floor: float = 0.85
    network_encryption: bool = False
    price_per_hour: float | None = None
    driver_host: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot work before anything is launched."""
        check_spec(self)

    @property
    def additional_machines(self) -> int:
        """Workers launched beyond `machines`, to cull the slowest (Ernest paper, section 4.2: 2 of 50)."""
        if self.over_allocation == 0 or self.probe_rounds == 0:
            return 0
        return max(1, math.ceil(self.over_allocation * self.machines))

    @property
    def smallest_machines(self) -> int:
        """The number of workers below which the start fails."""
        return self.machines if self.smallest_acceptable is None else self.smallest_acceptable

    @property
    def instance_types(self) -> tuple[str, ...]:
        """The workers' types in the order in which they are tried."""
        return (self.instance_type, *self.fallback_instance_types)
