"""The first step: what a specification of a cluster names is checked before anything costs money."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.operators.ec2_cluster import EC2ClusterOperator
from airflow_provider_ernest.operators.failures import no_vain_retries
from airflow_provider_ernest.operators.rendered import optional_text

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec


class EC2PreflightOperator(EC2ClusterOperator):
    """Check against AWS what `EC2ClusterOperator` with the same arguments would launch. Launches nothing.

    Image, instance types, subnets, security groups and launch template must exist, fit each other and not be
    open to the world. Returns and pushes ``cores_per_machine`` and ``price_per_hour`` (dollars for a worker;
    None where AWS does not tell), for the tasks that plan with them.

    Args:
        machines ... region_name: see `EC2ClusterOperator`.

    Raises:
        InvalidParameterError, MissingResourceError: something does not exist, does not fit, or is forbidden
            (no retry).
        ClusterError: AWS does not answer.
    """

    def execute(self, context: Context) -> dict[str, Any]:
        """Ask AWS."""
        with no_vain_retries():
            facts = self._facts(self._spec(**self._sized()))
        for key, value in facts.items():
            context["ti"].xcom_push(key=key, value=value)
        return facts

    def _facts(self, spec: EC2ClusterSpec) -> dict[str, Any]:
        from airflow_provider_ernest.clusters.ec2.instance_types import executor_memory_megabytes
        from airflow_provider_ernest.clusters.ec2.preflight import check_before_launch
        from airflow_provider_ernest.clusters.ec2.prices import ON_DEMAND, SPOT
        from airflow_provider_ernest.operators.aws import aws_clients
        from airflow_provider_ernest.operators.ec2_prices import price_book

        conn_id = optional_text(self.aws_conn_id)
        clients = aws_clients(conn_id, optional_text(self.region_name))
        ec2 = clients("ec2")
        plan = check_before_launch(spec, ec2=ec2, ssm=lambda: clients("ssm"))
        worker = plan.instance_types[spec.instance_type]
        memory = spec.memory_megabytes_per_machine or executor_memory_megabytes(worker)
        cores = spec.cores_per_machine or worker.cores
        prices = price_book(ec2, aws_conn_id=conn_id, override_per_hour=spec.price_per_hour)
        price = prices.per_hour(spec.instance_type, SPOT if spec.spot else ON_DEMAND)
        self.log.info(
            "%s in %s: %d cores and %d MB of memory for executors, %s dollars per hour",
            spec.instance_type,
            ec2.meta.region_name,
            cores,
            memory,
            "an unknown number of" if price is None else f"{price:.4f}",
        )
        return {"cores_per_machine": cores, "price_per_hour": price}
