"""Example documents: one of each kind, as small as it may be, with any field given by its name.

A document's number names it and orders it within its kind; `days` dates it so many days before `NOW`. What
one document says of another (the model of a decision, the decision of a production run) is that of number 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from random import Random
from typing import Any

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.decisions import (
    Alternative,
    Configuration,
    Decision,
    DecisionRecord,
    ProductionRun,
)
from airflow_provider_ernest.documents.models import (
    CODE,
    FittedTerm,
    Model,
    ModelMark,
    TrainedMachine,
    TrainingCluster,
    Validation,
)
from airflow_provider_ernest.documents.profiles import (
    BLOCKING,
    CPU,
    DISK,
    GARBAGE_COLLECTION,
    NETWORK,
    SAMPLE,
    SLOW_HOST,
    Advice,
    BottleneckReport,
    Capacity,
    PhaseSeconds,
    ProfileRecord,
    ReplayedSize,
    ReplayOpinion,
    ResourceLimit,
    RunProfile,
    StageProfile,
    Straggler,
    StragglerCause,
    TwoOpinions,
    WhatIf,
)
from airflow_provider_ernest.documents.runs import (
    Design,
    Experiment,
    Observation,
    RunMetrics,
)
from airflow_provider_ernest.documents.surveys import (
    BOTH,
    REPLAY,
    PredictedSize,
    Survey,
    SurveyedJob,
    UsedSize,
)
from airflow_provider_ernest.settings import SizingGoal
from airflow_provider_ernest.spark.machines import Machine
from airflow_provider_ernest.store.catalogue import MODEL, CatalogueEntry

JOB = "pca"
INSTANCE_TYPE = "m5.large"
OF_THE_JOB = {"job": JOB, "instance_type": INSTANCE_TYPE}
ARTIFACT_SHA256 = "ab" * 32
WHEN = "2026-01-01T00:00:00+00:00"
NOW = datetime(2026, 6, 1, tzinfo=UTC)
ORIGIN = Origin(
    dag_id="nightly", run_id="manual__2026-01-01", task_id="ernest.fit", map_index=2, try_number=3
)


def ago(days: float, *, since: datetime = NOW) -> str:
    """That many days before, as documents say it."""
    return (since - timedelta(days=days)).isoformat()


def _when(days: float | None) -> str:
    return WHEN if days is None else ago(days)


# The runs of a training.


def experiment(index: int = 0, **fields: Any) -> Experiment:
    """A run on 2 machines with a tenth of the input."""
    return Experiment(**{"index": index, "executors": 2, "scale": 0.1, "partitions": 10, **fields})


def design(*experiments: Experiment, **fields: Any) -> Design:
    """A plan of these experiments; of two without any."""
    chosen = experiments or (experiment(cost=0.1), experiment(1, executors=4, scale=0.05, cost=0.05))
    return Design(
        **{
            "experiments": chosen,
            "terms": ("1", "scale/executors"),
            "criterion": "D",
            "efficiency": 0.9,
            "cost": sum(each.cost for each in chosen),
            "budget": 1.0,
            "cost_unit": "machine seconds",
            "candidates": 20,
            **fields,
        }
    )


def metrics(**fields: Any) -> RunMetrics:
    """Of a run of 5 s on 2 machines of 2 cores, with nothing cached and nothing spilled."""
    return RunMetrics(
        **{
            "tasks": 64,
            "slots": 4,
            "executor_run_seconds": 16.0,
            "garbage_collection_seconds": 0.4,
            "input_bytes": 10**9,
            "shuffle_read_bytes": 10**8,
            "spilled_bytes": 0,
            **fields,
        }
    )


def observation(index: int = 0, **fields: Any) -> Observation:
    """A run of 5 s on 2 machines with a tenth of the input."""
    return Observation(**{"index": index, "executors": 2, "scale": 0.1, "seconds": 5.0, **fields})


def observe(
    *, executors: Sequence[int], scale: Sequence[float] | float, seconds: Sequence[float], **fields: Any
) -> list[Observation]:
    """Observations of runs; further fields are the same for all."""
    scales = [scale] * len(executors) if isinstance(scale, int | float) else scale
    return [
        observation(index, executors=int(m), scale=float(s), seconds=float(t), **fields)
        for index, (m, s, t) in enumerate(zip(executors, scales, seconds, strict=True))
    ]


def noisy_observations(runs: int = 8, **fields: Any) -> list[Observation]:
    """Runs of a job of fixed work, work that spreads and a tree of aggregations, with 3 % of noise."""
    noise = Random(11)
    sizes = [(1, 0.05), (2, 0.05), (4, 0.1), (8, 0.1), (8, 0.04), (2, 0.02), (6, 0.08), (12, 0.1)]
    return [
        observation(
            index,
            executors=executors,
            scale=scale,
            seconds=(12 + 900 * scale / executors + 2 * math.log(executors)) * math.exp(noise.gauss(0, 0.03)),
            **{"startup_seconds": 5.0, "application_id": f"app-{index}", **fields},
        )
        for index, (executors, scale) in enumerate(islice(cycle(sizes), runs))
    ]


def training_cluster(executors: int = 2, **fields: Any) -> TrainingCluster:
    """Machines of 2 cores for 0.1 $ an hour."""
    return TrainingCluster(
        **{
            "kind": "ec2",
            "name": "ernest-1",
            "instance_type": INSTANCE_TYPE,
            "executor_cores": 2,
            "price_per_hour": 0.1,
            "machines": tuple(TrainedMachine(host=f"10.0.0.{number}") for number in range(executors)),
            **fields,
        }
    )


def machine(number: int = 0, **fields: Any) -> Machine:
    """A worker of 2 cores."""
    given = {"worker_id": f"w{number}", "host": f"10.0.0.{number}", "cores": 2, "memory_megabytes": 3000}
    return Machine(**{**given, **fields})


def cluster(executors: int = 4, *, each: dict[str, Any] | None = None, **fields: Any) -> ClusterHandle:
    """A standalone cluster on EC2; `each` of its workers has these fields."""
    return ClusterHandle(
        **{
            "kind": "ec2",
            "name": "ernest-1",
            "master_url": "spark://127.0.0.1:7077",
            "cores_per_machine": 2,
            "machines": tuple(machine(number, **(each or {})) for number in range(executors)),
            **fields,
        }
    )


# What a store keeps.


def model(number: int = 0, *, days: float | None = None, **fields: Any) -> Model:
    """A model of two terms, without fitting anything."""
    return Model(
        **{
            **OF_THE_JOB,
            "id": f"20260101T{number:06d}.000000Z-ab",
            "at": _when(days),
            "terms": (
                FittedTerm(name="1", meaning="fixed work", coefficient=2.0),
                FittedTerm(name="executors", meaning="all talk to all", coefficient=0.1, probability=0.2),
            ),
            "validation": Validation(
                folds=(), residual_sum_of_squares=1.0, median_error_percent=3.0, max_error_percent=9.0
            ),
            "observations": (observation(),),
            "artifact": "s3://jars/pca.jar",
            "artifact_sha256": ARTIFACT_SHA256,
            "warnings": ("look out",),
            "origin": ORIGIN,
            **fields,
        }
    )


def alternative(executors: int = 8, **fields: Any) -> Alternative:
    """A configuration that was considered: 50 s for 0.02 $, within the deadline."""
    considered = {"instance_type": INSTANCE_TYPE, "seconds": 50.0, "cost": 0.02, "feasible": True}
    return Alternative(**{"executors": executors, **considered, **fields})


def decision(executors: int = 8, **fields: Any) -> Decision:
    """Machines for a deadline of 60 s."""
    return Decision(
        **{
            "config": Configuration(executors=executors, instance_type=INSTANCE_TYPE),
            "goal": "best value within 60 s",
            "predicted_seconds": 50.0,
            "warnings": ("far from the samples",),
            **fields,
        }
    )


def decision_record(number: int = 0, *, days: float | None = None, **fields: Any) -> DecisionRecord:
    """That decision by the model."""
    return DecisionRecord(
        **{
            **OF_THE_JOB,
            "id": f"20260102T{number:06d}.000000Z-cd",
            "at": _when(days),
            "decision": decision(),
            "scale": 1.0,
            "min_executors": 1,
            "max_executors": 16,
            "model_id": model().id,
            "deadline_seconds": 60.0,
            "artifact_sha256": ARTIFACT_SHA256,
            "origin": ORIGIN,
            **fields,
        }
    )


def production_run(number: int = 0, *, days: float | None = None, **fields: Any) -> ProductionRun:
    """A production run by the decision, which took 55 s of 50 predicted."""
    return ProductionRun(
        **{
            **OF_THE_JOB,
            "id": f"20260103T{number:06d}.000000Z-ef",
            "at": _when(days),
            "executors": 8,
            "scale": 1.0,
            "seconds": 55.0,
            "predicted_seconds": 50.0,
            "likely_seconds": (47.0, 53.0),
            "nearly_certain_seconds": (44.0, 56.0),
            "model_id": model().id,
            "decision_id": decision_record().id,
            "artifact_sha256": ARTIFACT_SHA256,
            "origin": ORIGIN,
            **fields,
        }
    )


def mark(number: int = 0, *, days: float | None = None, **fields: Any) -> ModelMark:
    """A mark beside the model."""
    return ModelMark(
        **{
            **OF_THE_JOB,
            "id": f"20260104T{number:06d}.000000Z-12",
            "at": _when(days),
            "model_id": model().id,
            "cause": CODE,
            "reason": "The application changed. Train again.",
            **fields,
        }
    )


def catalogue_entry(name: str, **fields: Any) -> CatalogueEntry:
    """What the catalogue says of a model of that id."""
    return CatalogueEntry(**{**OF_THE_JOB, "kind": MODEL, "id": str(name), "at": WHEN, **fields})


# What a run's event log tells.

LIMITS = (
    ResourceLimit(
        resource=GARBAGE_COLLECTION,
        blocked_seconds=4.0,
        share_percent=10.0,
        seconds_without=36.0,
        improvement_percent=10.0,
    ),
    ResourceLimit(
        resource=NETWORK,
        blocked_seconds=0.8,
        share_percent=2.0,
        seconds_without=39.2,
        improvement_percent=2.0,
    ),
)
CAUSES = (StragglerCause(cause=SLOW_HOST, tasks=3, excess_seconds=12.0, seconds_without=35.0),)
ADVICE = (
    Advice(
        subject="instance family",
        text="Take machines of the compute-optimised family.",
        figure="CPU 38 of 40 s",
    ),
)


def stage_profile(number: int = 0, **fields: Any) -> StageProfile:
    """A stage of 20 s, as full as they come."""
    return StageProfile(
        **{
            "stage_id": number,
            "name": f"reduceByKey at job.py:{number}",
            "tasks": 64,
            "began_seconds": 20.123456 * number,
            "ended_seconds": 20.123456 * (number + 1),
            "task_seconds": 160.246801,
            "parents": (number - 1,) if number else (),
            "job_id": number // 2,
            "quantiles_seconds": tuple(1.1234567 + 0.21 * step for step in range(21)),
            "warmup_seconds": 0.734512,
            "reads_input": number == 0,
            "input_bytes": 8_589_934_592,
            "shuffle_remote_bytes": 4_294_967_296,
            "shuffle_local_bytes": 1_073_741_824,
            "shuffle_written_bytes": 5_368_709_120,
            "blocked_seconds": dict.fromkeys(BLOCKING, 1.234567),
            "seconds_without": dict.fromkeys(BLOCKING, 19.123456),
            "ideal_seconds": dict.fromkeys((CPU, NETWORK, DISK), 17.654321),
            "bottleneck": CPU,
            "stragglers": 3,
            **fields,
        }
    )


def run_profile(stage_count: int = 2, **fields: Any) -> RunProfile:
    """Of a run of 40 s on two machines."""
    return RunProfile(
        **{
            "application_id": "app-20260101030405-0001",
            "executors": 2,
            "slots": 8,
            "seconds": 40.0,
            "replayed_seconds": 39.0,
            "phases": PhaseSeconds(
                initialisation_seconds=3.0,
                preparation_seconds=2.0,
                variable_sharing_seconds=0.5,
                computation_seconds=35.0,
                communication_seconds=2.5,
            ),
            "event_log": "file:///logs/app-20260101030405-0001",
            "spark": "4.0.1",
            "scale": 0.1,
            "startup_seconds": 3.0,
            "driver_seconds": 2.0,
            "tasks": 64 * stage_count,
            "bottleneck": CPU,
            "headline": "CPU-bound: at most 2 % from a faster network.",
            "limits": LIMITS,
            "stages": tuple(map(stage_profile, range(stage_count))),
            "stragglers": (
                Straggler(
                    stage_id=1,
                    task_id=77,
                    host="worker-b",
                    seconds=9.0,
                    median_seconds=3.0,
                    cause=SLOW_HOST,
                    evidence="worker-b took 2.9 times as long as the others",
                ),
            ),
            "straggler_causes": CAUSES,
            "capacity": Capacity(cores=4, network_gigabytes_per_second=1.25, source="measured"),
            "ideal_seconds": {CPU: 35.0, NETWORK: 5.0, DISK: 9.0},
            "what_ifs": (WhatIf(change="twice the disks", seconds=39.5, change_percent=-1.25),),
            "sizes": (ReplayedSize(executors=4, seconds=21.0), ReplayedSize(executors=8, seconds=12.0)),
            "advice": ADVICE,
            "warnings": ("2 tasks told no metrics.",),
            **fields,
        }
    )


def profile_record(number: int = 0, *, days: float | None = None, **fields: Any) -> ProfileRecord:
    """The profile of a sample run, as it is kept."""
    return ProfileRecord(
        **{
            **OF_THE_JOB,
            "id": f"20251231T{number:06d}.000000Z-0c",
            "at": _when(days),
            "purpose": SAMPLE,
            "profile": run_profile(),
            "artifact_sha256": "cd34",
            "origin": ORIGIN,
            **fields,
        }
    )


def bottleneck_report(number: int = 0, *, days: float | None = None, **fields: Any) -> BottleneckReport:
    """What binds the job of the model, by the profile of number 0."""
    profile = run_profile()
    taken_over = ("application_id", "scale", "executors", "category", "bottleneck", "headline")
    listed = ("limits", "straggler_causes", "advice")
    return BottleneckReport(
        **{
            **OF_THE_JOB,
            **{name: getattr(profile, name) for name in taken_over + listed},
            "id": f"20260101T{number:06d}.500000Z-0d",
            "at": _when(days),
            "profile_ids": (profile_record().id,),
            "replay": ReplayOpinion(
                scale=1.0,
                sizes=(
                    TwoOpinions(
                        executors=4,
                        replayed_seconds=210.0,
                        model_seconds=205.0,
                        nearly_certain_seconds=(180.0, 230.0),
                    ),
                ),
                from_application_id=profile.application_id,
                from_scale=0.1,
                error_percent=4.0,
            ),
            "model_id": model().id,
            "origin": ORIGIN,
            **fields,
        }
    )


def in_an_address(request: Mapping[str, Any]) -> dict[str, Any]:
    """A request of the pages' API as parameters of an address: its billing beside the rest, without nulls."""
    asked = {**request["billing"], **request}
    return {name: value for name, value in asked.items() if value is not None and name != "billing"}


def sizing_goal(**fields: Any) -> SizingGoal:
    """A goal for up to 1,000 machines; what is to be kept, or what is best, is among its fields."""
    return SizingGoal(**{"max_executors": 1000, **fields})


# Surveys.


def surveyed_job(job: str = JOB, **fields: Any) -> SurveyedJob:
    """Nightly on 8 machines for half an hour, where 4 would do."""
    today = PredictedSize(
        executors=8, seconds=1800.0, likely_seconds=(1700.0, 1900.0), source=BOTH, cost=1.6, probability=0.97
    )
    fewer = replace(
        today, executors=4, seconds=1900.0, likely_seconds=(1750.0, 2100.0), cost=0.84, probability=0.88
    )
    return SurveyedJob(
        **{
            "job": job,
            "runs": 60,
            "failed_runs": 2,
            "first_at": ago(61),
            "last_at": ago(1),
            "runs_per_month": 30.4,
            "used": (
                UsedSize(executors=8, runs=52, seconds=1790.0, instance_type="m5.xlarge"),
                UsedSize(executors=12, runs=8, seconds=1650.0, instance_type="m5.xlarge"),
            ),
            "executors": 8,
            "executor_cores": 4,
            "seconds": 1800.0,
            "limit_seconds": 1980.0,
            "executor_hours_per_month": 121.6,
            "dollars_per_month": 48.6,
            "price_per_hour": 0.4,
            "slot_utilisation": 0.31,
            "input_bytes": 80 * 10**9,
            "input_growth_per_month": 1.04,
            "sizes": (
                replace(
                    fewer, executors=2, seconds=2600.0, likely_seconds=(2400.0, 2900.0), probability=0.01
                ),
                fewer,
                today,
                replace(today, executors=16, seconds=1750.0, likely_seconds=(1600.0, 1850.0), source=REPLAY),
            ),
            "proposed": fewer,
            "saved_share": 0.475,
            "likely_saved_share": (0.29, 0.57),
            "saved_per_month": 23.1,
            "likely_saved_per_month": (14.2, 27.9),
            "saved_executor_hours_per_month": 57.8,
            "likely_saved_executor_hours_per_month": (35.5, 69.8),
            "bottleneck": CPU,
            "why": "its tasks compute 81 % of their time",
            **fields,
        }
    )


def survey(*, days: float = 1, **fields: Any) -> Survey:
    """Of 120 event logs: a job that could save, and one of which too little is known."""
    moment = NOW - timedelta(days=days)
    poor = SurveyedJob(
        job="weekly_export",
        runs=1,
        first_at=ago(61),
        last_at=ago(1),
        used=(UsedSize(executors=6, runs=1, seconds=900.0),),
        executors=6,
        executor_cores=4,
        seconds=920.0,
        limit_seconds=1980.0,
        slot_utilisation=0.31,
        input_bytes=80 * 10**9,
        input_growth_per_month=1.04,
        unknown=("Its history lies all at one size: what others would take is not known.",),
    )
    return Survey(
        **{
            "id": f"{moment:%Y%m%dT%H%M%S.%fZ}-0123abcd",
            "at": moment.isoformat(),
            "jobs": (surveyed_job(), poor),
            "logs": 120,
            "unread": (("it ends in the middle", 3),),
            "goal": "today's time within 10 % in 80 % of runs",
            **fields,
        }
    )
