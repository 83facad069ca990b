"""What a cluster on Amazon EMR shall be, as data. A DAG file may import this: it costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ernest.clusters.emr.spec_checks import check_bootstrap_action, check_spec
from airflow_provider_ernest.model.documents import Document


@dataclass(frozen=True, kw_only=True)
class BootstrapAction(Document):
    """A script that EMR runs on each machine before it starts its applications.

    Attributes:
        name: shown in EMR's console.
        path: s3:// address of the script.
        arguments: of the script.

    Raises:
        InvalidParameterError: a path that is not on S3.
    """

    name: str
    path: str
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what EMR cannot fetch."""
        check_bootstrap_action(self)


@dataclass(frozen=True, kw_only=True)
class EmrClusterSpec(Document):
    """A job flow of EMR on EC2: one machine for the master, and the core instances that do the work.

    EMR knows no time to live. What ends a forgotten job flow is that it is idle: no step outlives
    `time_to_live_seconds`, and `idle_timeout_seconds` after the last one EMR ends it (Amazon EMR Management
    Guide, "Using an auto-termination policy"). The time is written into its tags for the reaper, too.

    Attributes:
        machines: how many core instances.
        instance_type: of the core instances.
        release_label: EMR's release, such as "emr-7.5.0"; at least 5.30.0, or 6.1.0 of the sixes, since older
            ones have no auto-termination policy.
        log_uri: s3:// folder for EMR's own logs, those of the steps among them.
        event_log_uri: s3:// folder for Spark's event logs, from which the runs are observed.
        master_instance_type: of the master, on which the drivers run; None for `instance_type`.
        subnet: where the machines lie; None for the account's default.
        service_role: IAM role with which EMR acts.
        job_flow_role: instance profile of the machines; it must read the application and its input, and write
            to both folders.
        key_name: key pair for SSH by hand; Ernest itself never uses SSH.
        master_security_group, core_security_group, service_access_security_group: ids, instead of those that
            EMR makes; EMR sets what it needs in them.
        security_configuration: name of an EMR security configuration: encryption of the volumes and in
            transit, and that machines demand IMDSv2, are told there.
        applications: that EMR installs; Spark is one of them.
        bootstrap_actions: scripts run on each machine first.
        configurations: of EMR's applications, as the API takes them (Classification, Properties, ...).
        ebs_gigabytes: size of the one additional volume of each machine; None for what EMR gives.
        ebs_volume_type: of that volume.
        tags: further tags; EMR passes them on to the machines.
        cores_per_machine: offered to executors; None for all that the type has.
        memory_megabytes_per_machine: heap of an executor; None for what YARN has on such a type.
        python: of PySpark's workers; None for that of the release.
        idle_timeout_seconds: EMR ends a job flow that has had no step for so long; 60 to 604800.
        time_to_live_seconds: no step runs longer than until so long after the start.
        start_timeout_seconds: how long it may take to be ready.
        price_per_hour: dollars for a core instance and hour, EMR's own share included; None where unknown.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    machines: int
    instance_type: str
    release_label: str
    log_uri: str
    event_log_uri: str
    master_instance_type: str | None = None
    subnet: str | None = None
    service_role: str = "EMR_DefaultRole"
    job_flow_role: str = "EMR_EC2_DefaultRole"
    key_name: str | None = None
    master_security_group: str | None = None
    core_security_group: str | None = None
    service_access_security_group: str | None = None
    security_configuration: str | None = None
    applications: tuple[str, ...] = ("Spark",)
    bootstrap_actions: tuple[BootstrapAction, ...] = ()
    configurations: tuple[Mapping[str, Any], ...] = ()
    ebs_gigabytes: int | None = None
    ebs_volume_type: str = "gp3"
    tags: Mapping[str, str] = field(default_factory=dict)
    cores_per_machine: int | None = None
    memory_megabytes_per_machine: int | None = None
    python: str | None = None
    idle_timeout_seconds: int = 900
    time_to_live_seconds: float = 7200
    start_timeout_seconds: float = 1800
    price_per_hour: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot work before anything is launched."""
        check_spec(self)

    @property
    def type_of_master(self) -> str:
        """The master's instance type."""
        return self.master_instance_type or self.instance_type
