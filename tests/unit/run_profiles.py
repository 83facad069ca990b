"""Profiles of runs, as the analysis of an event log makes them, for tests of what shows and keeps them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from airflow_provider_ernest.documents import profiles
from airflow_provider_ernest.documents.profiles import (
    CPU,
    DISK,
    GARBAGE_COLLECTION,
    NETWORK,
    PYTHON_WORKER,
    SCHEDULER,
    SERIALISATION,
    Advice,
    Capacity,
    ReplayedSize,
    ResourceLimit,
    RunProfile,
    StageProfile,
    Straggler,
    StragglerCause,
    WhatIf,
)

GIGABYTE = 10**9

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style><svg onload=alert(1)>",
    "'; DROP TABLE jobs; --&lt;b&gt;",
)
"""What a name in an event log may be."""


def network_bound(**changes: Any) -> RunProfile:
    """A join of two data sets on 4 machines with 2 cores: 44 s, of which 18 s are waiting for the network."""
    profile = RunProfile(
        application_id="app-20260312101500-0007",
        event_log="/var/log/spark/app-20260312101500-0007.zstd",
        spark="4.0.1",
        category=profiles.SQL,
        executors=4,
        slots=8,
        scale=0.1,
        seconds=44.0,
        replayed_seconds=44.6,
        startup_seconds=6.2,
        driver_seconds=2.4,
        tasks=436,
        failed_tasks=3,
        phases=profiles.PhaseSeconds(
            initialisation_seconds=6.2,
            preparation_seconds=1.6,
            variable_sharing_seconds=0.8,
            computation_seconds=23.1,
            communication_seconds=18.5,
        ),
        bottleneck=NETWORK,
        headline="Network-bound: up to 41 % (18 s of 44 s) from an infinitely fast network",
        limits=_limits(
            (NETWORK, 131.0, 40.6, 26.3, 41.0),
            (GARBAGE_COLLECTION, 12.1, 3.7, 43.0, 3.6),
            (DISK, 9.4, 2.9, 43.4, 2.7),
            (SCHEDULER, 4.2, 1.3, 44.1, 1.1),
            (SERIALISATION, 1.1, 0.3, 44.5, 0.2),
            (PYTHON_WORKER, 0.0, 0.0, 44.6, 0.0),
        ),
        unmeasured_seconds=35.0,
        stages=_stages(),
        stages_left_out=3,
        left_out_seconds=1.2,
        stragglers=tuple(
            Straggler(
                stage_id=stage_id,
                task_id=task_id,
                host=host,
                seconds=seconds,
                median_seconds=median,
                cause=cause,
                evidence=evidence,
            )
            for stage_id, task_id, host, seconds, median, cause, evidence in (
                (
                    *(3, 371, "10.0.0.14", 3.9, 1.0, profiles.SLOW_FETCH),
                    "2.8 s waiting for shuffle data, the median of the stage is 0.6 s",
                ),
                (
                    *(3, 290, "10.0.0.12", 3.1, 1.0, profiles.INPUT_SKEW),
                    "read 38 MB, the median of the stage is 12 MB",
                ),
                (*(1, 8, "10.0.0.11", 1.3, 0.42, profiles.FIRST_TASK), "the first of its executor"),
            )
        ),
        straggler_causes=tuple(
            StragglerCause(cause=cause, tasks=tasks, excess_seconds=excess, seconds_without=without)
            for cause, tasks, excess, without in (
                (profiles.SLOW_FETCH, 9, 14.2, 40.9),
                (profiles.INPUT_SKEW, 4, 6.1, 43.2),
                (profiles.FIRST_TASK, 3, 3.0, 43.8),
                (profiles.UNEXPLAINED, 1, 0.7, 44.5),
            )
        ),
        capacity=Capacity(
            cores=2, network_gigabytes_per_second=0.0625, disk_gigabytes_per_second=0.4, source="measured"
        ),
        ideal_seconds={CPU: 19.4, NETWORK: 32.8, DISK: 6.3},
        what_ifs=(
            WhatIf(change="half the network", seconds=71.9, change_percent=63.4),
            WhatIf(change="twice the network", seconds=30.8, change_percent=-30.0),
            WhatIf(change="twice the disks", seconds=44.0, change_percent=0.0),
            WhatIf(change="16 cores of a machine", seconds=42.1, change_percent=-4.3),
        ),
        sizes=tuple(
            ReplayedSize(executors=executors, seconds=seconds)
            for executors, seconds in zip(
                (1, 2, 3, 4, 6, 8, 12, 16), (160.2, 83.1, 57.9, 44.6, 32.3, 26.4, 20.9, 18.2), strict=True
            )
        ),
        advice=(
            Advice(
                subject="instance family",
                text="Take machines of a network-optimised family, such as c6in, not more machines.",
                figure="41 % of the time is waiting for the network, 3 % for the disks",
            ),
            Advice(
                subject="memory",
                text="Give executors more memory, or the join more partitions.",
                figure="1.40 GB were spilled to disk in stage 3",
            ),
        ),
        warnings=(
            "The disks' capacity is what this run's own tasks got: a lower bound.",
            "The log tells nothing of Python workers.",
        ),
    )
    return replace(profile, **changes)


def reported_of(profile: RunProfile) -> dict[str, Any]:
    """What a report of bottlenecks takes over from the profile that it goes by."""
    names = ("application_id", "scale", "executors", "category", "bottleneck", "headline")
    return {name: getattr(profile, name) for name in (*names, "limits", "straggler_causes", "advice")}


def cpu_bound(**changes: Any) -> RunProfile:
    """A computation on the same machines that needs nothing else."""
    profile = network_bound(
        application_id="app-20260312103000-0008",
        category=profiles.CORE,
        bottleneck=CPU,
        headline="CPU-bound: at most 2 % from a faster network, 1 % from faster disks",
        limits=_limits((NETWORK, 6.1, 1.9, 43.7, 2.0), (DISK, 2.0, 0.6, 44.2, 0.9)),
        ideal_seconds={CPU: 39.0, NETWORK: 2.1, DISK: 1.1},
        advice=(),
        warnings=(),
    )
    return replace(profile, **changes)


def bare(**changes: Any) -> RunProfile:
    """As little as a profile can tell."""
    profile = RunProfile(
        application_id="local-1773310000000",
        executors=1,
        slots=1,
        seconds=3.5,
        replayed_seconds=3.5,
        phases=profiles.PhaseSeconds(
            initialisation_seconds=0.0,
            preparation_seconds=0.0,
            variable_sharing_seconds=0.0,
            computation_seconds=3.5,
            communication_seconds=0.0,
        ),
    )
    return replace(profile, **changes)


def hostile(text: str) -> RunProfile:
    """A profile with a text wherever an event log, or whoever wrote it, decides what stands."""
    rich = network_bound()
    one_each = {name: getattr(rich, name)[:1] for name in ("limits", "straggler_causes", "warnings")}
    told = replace(rich, **one_each, capacity=Capacity(cores=2, source="measured"))
    made: RunProfile = _with_text(told, text)
    return made


def _with_text(told: Any, text: str) -> Any:
    """The same with that text in the place of each other."""
    if isinstance(told, str):
        return text if told else ""
    if isinstance(told, tuple):
        return tuple(_with_text(each, text) for each in told)
    if isinstance(told, dict):
        return dict.fromkeys([text][: len(told)], 2.0)
    if not is_dataclass(told):
        return told
    return replace(told, **{each.name: _with_text(getattr(told, each.name), text) for each in fields(told)})


def _limits(*rows: tuple[str, float, float, float, float]) -> tuple[ResourceLimit, ...]:
    names = ("resource", "blocked_seconds", "share_percent", "seconds_without", "improvement_percent")
    return tuple(ResourceLimit(**dict(zip(names, row, strict=True))) for row in rows)


def _stage(
    stage_id: int, name: str, tasks: int, began: float, ended: float, task_seconds: float, **fields: Any
) -> StageProfile:
    return StageProfile(
        **{"job_id": 1, "own_seconds": ended - began, **fields},
        stage_id=stage_id,
        name=name,
        tasks=tasks,
        began_seconds=began,
        ended_seconds=ended,
        task_seconds=task_seconds,
    )


def _stages() -> tuple[StageProfile, ...]:
    """Those of `network_bound` in the order in which they began."""
    return (
        _stage(
            *(0, "parquet at orders.py:21", 8, 0.6, 2.1, 9.0),
            job_id=0,
            quantiles_seconds=(0.9, 1.0, 1.1, 1.2, 1.4),
            warmup_seconds=0.6,
            reads_input=True,
            input_bytes=90_000_000,
            blocked_seconds={DISK: 0.3, SCHEDULER: 0.4, SERIALISATION: 0.3},
            seconds_without={DISK: 1.4, SCHEDULER: 1.4, SERIALISATION: 1.4},
            ideal_seconds={CPU: 1.0, DISK: 0.1},
            bottleneck=CPU,
        ),
        _stage(
            *(1, "scan orders", 192, 2.4, 13.9, 86.0),
            own_seconds=6.05,
            failed_tasks=3,
            quantiles_seconds=(0.2, 0.38, 0.42, 0.5, 1.3),
            warmup_seconds=0.3,
            reads_input=True,
            input_bytes=6 * GIGABYTE,
            shuffle_written_bytes=2_100_000_000,
            blocked_seconds={DISK: 5.1, GARBAGE_COLLECTION: 4.0, SCHEDULER: 1.5},
            seconds_without={DISK: 10.9, GARBAGE_COLLECTION: 11.1, SCHEDULER: 11.4},
            ideal_seconds={CPU: 9.8, DISK: 3.9},
            bottleneck=CPU,
            stragglers=3,
        ),
        _stage(
            *(2, "scan customers", 24, 3.0, 14.6, 11.5),
            own_seconds=6.15,
            quantiles_seconds=(0.3, 0.4, 0.45, 0.5, 0.9),
            reads_input=True,
            input_bytes=800_000_000,
            shuffle_written_bytes=300_000_000,
            blocked_seconds={DISK: 0.7, GARBAGE_COLLECTION: 0.4},
            seconds_without={DISK: 11.5, GARBAGE_COLLECTION: 11.6},
            ideal_seconds={CPU: 1.4, DISK: 0.6},
            bottleneck=CPU,
        ),
        _stage(
            *(3, "sort merge join, then the revenue of each customer by month", 192, 14.9, 42.6, 212.0),
            own_seconds=26.5,
            parents=(1, 2),
            quantiles_seconds=(0.6, 0.9, 1.0, 1.2, 3.9),
            shuffle_remote_bytes=1_800_000_000,
            shuffle_local_bytes=600_000_000,
            shuffle_written_bytes=40_000_000,
            spilled_bytes=1_400_000_000,
            blocked_seconds={NETWORK: 131.0, DISK: 3.2, GARBAGE_COLLECTION: 7.6, SCHEDULER: 1.9},
            seconds_without={NETWORK: 9.6, DISK: 27.2, GARBAGE_COLLECTION: 26.6, SCHEDULER: 27.3},
            ideal_seconds={CPU: 7.1, NETWORK: 25.2, DISK: 1.6},
            unmeasured_seconds=21.2,
            bottleneck=NETWORK,
            stragglers=13,
        ),
        _stage(
            *(4, "save at orders.py:40", 8, 42.7, 43.9, 5.4),
            parents=(3,),
            quantiles_seconds=(0.4, 0.6, 0.7, 0.7, 1.1),
            shuffle_remote_bytes=30_000_000,
            shuffle_local_bytes=10_000_000,
            output_bytes=38_000_000,
            blocked_seconds={NETWORK: 0.2, DISK: 0.1, SCHEDULER: 0.4, SERIALISATION: 0.1},
            seconds_without={NETWORK: 1.1, DISK: 1.2, SCHEDULER: 1.1, SERIALISATION: 1.2},
            ideal_seconds={CPU: 0.5, NETWORK: 0.2, DISK: 0.1},
            bottleneck=CPU,
            stragglers=1,
        ),
    )
