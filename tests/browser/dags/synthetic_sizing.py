"""One sizing run with Ernest's own operators, in which nothing starts Spark.

Design, fit and decision are the real operators, and so are their XComs and links. The cluster and the sample
runs are not: the operators below bear the class names of the real ones, by which the pages find Ernest's
tasks. The cluster is made up; the runs make their observations by a formula and take the time that they say.
So does production.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, BaseOperator, Param, TaskGroup, XComArg, task

from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.operators import sample_run
from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator
from airflow_provider_ernest.operators.experiment_design import ExperimentDesignOperator
from airflow_provider_ernest.operators.fit_model import FitModelOperator
from airflow_provider_ernest.settings import DesignBounds, SampledInput, SizingGoal, SparkJob
from airflow_provider_ernest.task_group.training import run_name

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_ernest.spark.machines import Machine

JOB = "synthetic job"
INSTANCE_TYPE = "m5.large"
PRICE_PER_HOUR = 0.096
STARTUP_SECONDS = 0.5
CLICKS = SampledInput(path=__file__, partitions=1000)
GOAL = SizingGoal(max_executors=16, deadline_seconds="{{ params.deadline_seconds }}")


def run(executors: int, scale: float, *, work_seconds: float, noise: float) -> float:
    """Take the job's time; returns it without the start-up: work that spreads, and what does not."""
    seconds = 0.4 + work_seconds * scale / executors + 0.2 * math.log(executors) + 0.02 * executors
    time.sleep(STARTUP_SECONDS + noise * seconds)
    return noise * seconds


class EC2ClusterOperator(BaseOperator):
    """A cluster of which only the document exists: four machines, and one that was ended as the slowest."""

    def execute(self, context: Context) -> dict[str, Any]:
        """Return the `ClusterHandle` document."""
        from airflow_provider_ernest.clusters.base import ClusterHandle, CulledMachine
        from airflow_provider_ernest.clusters.ec2.spec import EC2

        *kept, slowest = (made_up_machine(number) for number in range(5))
        reason = "the slowest of 5: its memory has 61 % of the median bandwidth"
        return ClusterHandle(
            kind=EC2,
            name="ernest-synthetic",
            master_url="spark://10.0.0.100:7077",
            machines=tuple(kept),
            instance_type=INSTANCE_TYPE,
            culled=(CulledMachine(machine=slowest, reason=reason),),
        ).to_dict()


def made_up_machine(number: int) -> Machine:
    """A machine as the bandwidth probe would have found it; the last one is slow."""
    from airflow_provider_ernest.spark.machines import Bandwidth, Machine

    memory, network = (6.1, 0.41) if number == 4 else (10.0 - 0.1 * number, 0.62 - 0.01 * number)
    return Machine(
        worker_id=f"worker-{number}",
        host=f"10.0.0.{number + 1}",
        cores=1,
        memory_megabytes=4096,
        instance_id=f"i-{number:017x}",
        price_per_hour=PRICE_PER_HOUR,
        bandwidth=Bandwidth(
            memory_gigabytes_per_second=memory, network_gigabytes_per_second=network, score=memory / 10.0
        ),
    )


class SampleRunOperator(sample_run.SampleRunOperator):
    """The real one as Airflow sees it, with an observation made by a formula instead of a run of Spark."""

    def execute(self, context: Context) -> dict[str, Any]:
        """Take the formula's time; no two runs are alike."""
        from airflow_provider_ernest.documents.runs import Experiment, Observation
        from airflow_provider_ernest.operators.task_context import origin_of

        experiment = Experiment.from_dict(self.experiment)
        seconds = run(
            experiment.executors,
            experiment.scale,
            work_seconds=context["params"]["work_seconds"],
            noise=1.0 + 0.01 * (-1) ** experiment.index,
        )
        return Observation(
            index=experiment.index,
            executors=experiment.executors,
            scale=experiment.scale,
            seconds=seconds,
            startup_seconds=STARTUP_SECONDS,
            instance_type=INSTANCE_TYPE,
            application_id=f"app-20260101000000-{experiment.index:04d}",
            hosts=tuple(f"10.0.0.{number + 1}" for number in range(experiment.executors)),
            origin=origin_of(context),
        ).to_dict()


with DAG(
    "synthetic_sizing",
    schedule=None,
    params={
        "work_seconds": Param(60.0, type="number", description="Of one machine for the whole input."),
        "deadline_seconds": Param(20.0, type="number", description="The production run must end within."),
    },
):
    with TaskGroup("ernest"):
        design = ExperimentDesignOperator(
            task_id="design",
            bounds=DesignBounds(max_executors=4, min_scale=0.004, max_scale=0.02, max_runs=7),
            input=CLICKS,
            goal=GOAL,
            executor_cores=1,
        )
        cluster = EC2ClusterOperator(task_id="create_cluster")
        runs = SampleRunOperator.partial(
            task_id="sample_run",
            job=SparkJob(name=JOB, application=__file__),
            input=CLICKS,
            cluster=cluster.output,
            map_index_template=run_name(LocalClusterSpec(machines=4)),
        ).expand(experiment=design.output)
        fit = FitModelOperator(
            task_id="fit_model",
            observations=runs.output,
            design=XComArg(design, key="design"),
            cluster=cluster.output,
            job=SparkJob(name=JOB, application=__file__),
            input=CLICKS,
            goal=GOAL,
            trigger_rule="all_done_min_one_success",
        )
        choose = ChooseConfigOperator(
            task_id="choose_config",
            model=fit.output,
            cluster=cluster.output,
            goal=GOAL,
        )

    @task
    def production(executors: int, params: dict[str, Any]) -> None:
        """Take the time of the machines that were chosen."""
        run(executors, 1.0, work_seconds=params["work_seconds"], noise=1.02)

    design >> cluster
    choose >> production(XComArg(choose, key="executors"))
