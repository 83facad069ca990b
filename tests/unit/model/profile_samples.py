"""Profiles of runs and reports of what binds a job, as a store keeps them."""

from airflow_provider_ernest.documents import (
    SAMPLE,
    BottleneckReport,
    ProfileRecord,
    ReplayOpinion,
    TwoOpinions,
)
from airflow_provider_ernest.run_profile import (
    BLOCKING,
    CPU,
    DISK,
    GARBAGE_COLLECTION,
    NETWORK,
    SLOW_HOST,
    Advice,
    Capacity,
    PhaseSeconds,
    ReplayedSize,
    ResourceLimit,
    RunProfile,
    StageProfile,
    Straggler,
    StragglerCause,
    WhatIf,
)

from .sample_records import ORIGIN, WHEN, a_model

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


def a_stage(number=0, **fields):
    """A stage of 20 s, as full as they come."""
    resources = (CPU, NETWORK, DISK)
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
            "ideal_seconds": dict.fromkeys(resources, 17.654321),
            "bottleneck": CPU,
            "stragglers": 3,
            **fields,
        }
    )


def a_run_profile(stage_count=2, **fields):
    """Of a run of 40 s on two machines."""
    return RunProfile(
        **{
            "application_id": "app-20260101030405-0001",
            "machines": 2,
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
            "stages": tuple(map(a_stage, range(stage_count))),
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
            "capacity": Capacity(
                cores=4,
                network_gigabytes_per_second=1.25,
                disk_gigabytes_per_second=0.5,
                source="measured",
            ),
            "ideal_seconds": {CPU: 35.0, NETWORK: 5.0, DISK: 9.0},
            "what_ifs": (WhatIf(change="twice the disks", seconds=39.5, change_percent=-1.25),),
            "sizes": (ReplayedSize(machines=4, seconds=21.0), ReplayedSize(machines=8, seconds=12.0)),
            "advice": ADVICE,
            "warnings": ("2 tasks told no metrics.",),
            **fields,
        }
    )


def a_profile(number=0, **fields):
    """The profile of a sample run, as it is kept; the number names it and orders it."""
    return ProfileRecord(
        **{
            "id": f"20251231T{number:06d}.000000Z-0c",
            "at": WHEN,
            "job": "pca",
            "instance_type": "m5.large",
            "purpose": SAMPLE,
            "profile": a_run_profile(),
            "artifact_sha256": "cd34",
            "origin": ORIGIN,
            **fields,
        }
    )


def a_bottleneck_report(number=0, **fields):
    """What binds the job of the model of number 0, by the profile of number 0."""
    profile = a_run_profile()
    return BottleneckReport(
        **{
            "id": f"20260101T{number:06d}.500000Z-0d",
            "at": WHEN,
            "job": "pca",
            "instance_type": "m5.large",
            "profile_ids": (a_profile().id,),
            "application_id": profile.application_id,
            "scale": profile.scale,
            "machines": profile.machines,
            "category": profile.category,
            "bottleneck": profile.bottleneck,
            "headline": profile.headline,
            "limits": LIMITS,
            "straggler_causes": CAUSES,
            "advice": ADVICE,
            "replay": ReplayOpinion(
                scale=1.0,
                sizes=(
                    TwoOpinions(
                        machines=4,
                        replayed_seconds=210.0,
                        model_seconds=205.0,
                        likely_seconds=(190.0, 220.0),
                        nearly_certain_seconds=(180.0, 230.0),
                    ),
                ),
                from_application_id=profile.application_id,
                from_scale=0.1,
                error_percent=4.0,
            ),
            "model_id": a_model().id,
            "origin": ORIGIN,
            **fields,
        }
    )
