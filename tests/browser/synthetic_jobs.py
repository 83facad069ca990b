"""Jobs of known run times, clusters to run them on, and what came of the runs: for stores of samples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

import msgspec

from airflow_provider_ernest.documents.base import Origin, new_stamp
from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, TrainedMachine, TrainingCluster
from airflow_provider_ernest.documents.runs import Design, Experiment, Observation, RunMetrics
from airflow_provider_ernest.store.catalogue import place_of
from airflow_provider_ernest.store.store import ModelStore

PARTITIONS = 640
GIGABYTES = 320
SHUFFLE_PARTITIONS = 2000
"""So many that there are tasks for all slots of any cluster here."""

STARTUP_SECONDS = 22.0


@dataclass(frozen=True, kw_only=True)
class MachineType:
    """A type of machine; `speed` is that of an r3.xlarge times so much."""

    name: str
    cores: int
    price_per_hour: float
    speed: float


R3_XLARGE = MachineType(name="r3.xlarge", cores=4, price_per_hour=0.333, speed=1.0)
R3_2XLARGE = MachineType(name="r3.2xlarge", cores=8, price_per_hour=0.8, speed=1.9)
M4_XLARGE = MachineType(name="m4.xlarge", cores=4, price_per_hour=0.27, speed=0.7)


@dataclass(kw_only=True)
class SyntheticJob:
    """A job of which every second is known but for the noise.

    Attributes:
        fixed: seconds whatever the machines.
        spreading: seconds of one r3.xlarge for the whole input, shared by all machines.
        gathering: seconds for each doubling (natural logarithm) of the machines.
        machine: seconds for each machine.
        noise: relative standard deviation of a run.
    """

    fixed: float = 18.0
    spreading: float = 2600.0
    gathering: float = 5.0
    machine: float = 1.2
    noise: float = 0.03
    random: Random = field(default_factory=lambda: Random(7))

    def expected_seconds(self, machine_type: MachineType, *, executors: int, scale: float) -> float:
        """Without noise and start-up."""
        spread = self.spreading / machine_type.speed * scale / executors
        return self.fixed + spread + self.gathering * math.log(executors) + self.machine * executors

    def measure(self, machine_type: MachineType, *, executors: int, scale: float) -> float:
        """As a run would take it, start-up excluded."""
        expected = self.expected_seconds(machine_type, executors=executors, scale=scale)
        return round(expected * math.exp(self.random.gauss(0.0, self.noise)), 3)

    def observe(
        self,
        experiment: Experiment,
        machine_type: MachineType,
        *,
        hosts: tuple[str, ...],
        origin: Origin | None,
        when: datetime,
    ) -> Observation:
        """An experiment that was run on the first of the hosts."""
        seconds = self.measure(machine_type, executors=experiment.executors, scale=experiment.scale)
        application_id = f"app-{when:%Y%m%d%H%M%S}-{experiment.index:04d}"
        return Observation(
            index=experiment.index,
            executors=experiment.executors,
            scale=experiment.scale,
            seconds=seconds,
            startup_seconds=round(STARTUP_SECONDS * math.exp(self.random.gauss(0.0, 0.08)), 3),
            waited_seconds=4.0 * experiment.index if experiment.index % 3 == 2 else 0.0,
            instance_type=machine_type.name,
            iterations=experiment.iterations,
            application_id=application_id,
            event_log=f"s3a://logs/spark-events/{application_id}",
            hosts=hosts[: experiment.executors],
            metrics=_metrics(experiment, machine_type, seconds),
            origin=origin,
        )


def _metrics(experiment: Experiment, machine_type: MachineType, seconds: float) -> RunMetrics:
    slots = machine_type.cores * experiment.executors
    return RunMetrics(
        tasks=experiment.partitions + SHUFFLE_PARTITIONS,
        slots=slots,
        executor_run_seconds=round(0.8 * slots * seconds, 3),
        garbage_collection_seconds=round(0.02 * slots * seconds, 3),
        input_bytes=int(GIGABYTES * 1e9 * experiment.scale),
        shuffle_read_bytes=int(GIGABYTES * 2e8 * experiment.scale),
        spilled_bytes=0,
        dominant_stage_tasks=SHUFFLE_PARTITIONS,
    )


def production_run(record: DecisionRecord, run_seconds: float, when: datetime) -> ProductionRun:
    """What came of a decision."""
    decision = record.decision
    seconds = run_seconds + STARTUP_SECONDS
    executors = decision.config.executors
    return ProductionRun(
        **new_stamp(when),
        job=record.job,
        instance_type=record.instance_type,
        executors=executors,
        scale=record.scale,
        seconds=seconds,
        run_seconds=run_seconds,
        startup_seconds=STARTUP_SECONDS,
        predicted_seconds=decision.predicted_seconds,
        likely_seconds=decision.likely_seconds,
        nearly_certain_seconds=decision.nearly_certain_seconds,
        cost=round(executors * (decision.price_per_hour or 0.0) * seconds / 3600, 4),
        model_id=record.model_id,
        decision_id=record.id,
        artifact_sha256=record.artifact_sha256,
        application_id=f"app-{when:%Y%m%d%H%M%S}-0001",
        event_log=f"s3a://logs/spark-events/app-{when:%Y%m%d%H%M%S}-0001",
    )


def training_cluster(machine_type: MachineType, *, executors: int, name: str, seed: int) -> TrainingCluster:
    """Machines with their bandwidths, of which those too many were culled: the slowest."""
    random = Random(seed)
    slow = {2: 0.55, 9: 0.78}
    members = []
    for number in range(executors + len(slow)):
        share = slow.get(number, 1.0) * random.gauss(1.0, 0.03)
        why = f"slowest by memory bandwidth: {100 * share:.0f} % of the median" if number in slow else ""
        members.append(
            TrainedMachine(
                host=f"10.0.{seed % 250}.{10 + number}",
                instance_id=f"i-{random.getrandbits(68):017x}",
                memory_gigabytes_per_second=round(11.5 * machine_type.speed * share, 2),
                network_gigabytes_per_second=round(0.11 * random.gauss(1.0, 0.05), 4),
                score=round(share, 3),
                culled_because=why,
            )
        )
    return TrainingCluster(
        kind="ec2",
        name=name,
        instance_type=machine_type.name,
        executor_cores=machine_type.cores,
        price_per_hour=machine_type.price_per_hour,
        machines=tuple(members),
    )


def kept_hosts(cluster: TrainingCluster) -> tuple[str, ...]:
    """The machines that the runs were made on."""
    return tuple(machine.host for machine in cluster.machines if not machine.culled_because)


def planned(machine_type: MachineType, *, iterations: int | None = None) -> Design:
    """The design of a training, by the real planner."""
    from airflow_provider_ernest.design.candidates import enumerate_candidates
    from airflow_provider_ernest.design.plan import plan_design

    candidates = enumerate_candidates(
        max_executors=12,
        min_scale=0.02,
        max_scale=0.1,
        partitions=PARTITIONS,
        executor_cores=machine_type.cores,
        scale_steps=12,
    )
    return plan_design(candidates=candidates, max_runs=9, iterations=iterations)


def add_cheap_models(
    store: ModelStore, like: Model, number: int, *, now: datetime, versions: int = 2
) -> None:
    """Write that many models at the price of one, so many of each job: copies under other names, as files."""
    random = Random(13)
    for index in range(number):
        job = index // versions
        median = round(random.lognormvariate(1.3, 0.6), 2)
        model = replace(
            like,
            **new_stamp(now - timedelta(minutes=7 * (number - index))),
            job=f"job_{job:05d}",
            validation=replace(
                like.validation, median_error_percent=median, max_error_percent=round(3 * median, 2)
            ),
            artifact=f"s3a://jars/job_{job:05d}.jar",
            artifact_sha256=f"{job:064x}",
            origin=Origin(dag_id=f"dag_{job % 50:02d}", run_id="scheduled__1", task_id="sizing.fit_model"),
        )
        path = place_of(model).path(store.root)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(model.to_dict()))
