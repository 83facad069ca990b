"""A handful of jobs as users size them, each in a DAG of its own, with a store of its own.

Their run times are known but for a scatter that is the same each time, so that each is what it is named for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from tests.golden.dag_runs import Run
from tests.golden.names import public
from tests.golden.spark_submit import stands_in

PARTITIONS = 400
STARTUP_SECONDS = 8.0
CORES = {"local": 1, "m5.large": 2, "c5.xlarge": 4}
PRICES = {"local": 0.2, "m5.large": 0.096, "c5.xlarge": 0.17}
SPEEDS = {"local": 1.0, "m5.large": 1.0, "c5.xlarge": 1.9}


def seconds(executors: int, scale: float, instance_type: str, *, index: int = 0) -> float:
    """What the job takes: 20 s in any case, an hour's work that spreads, 2 s a machine; 2 % scatter."""
    known = 20.0 + 3600.0 * scale / executors / SPEEDS[instance_type] + 2.0 * executors
    return round(known * (1.0 + 0.02 * math.sin(7.0 * (index + 1) + executors)), 3)


@dataclass(kw_only=True)
class Sized:
    """What became of a job.

    Attributes:
        name: of the job.
        folder: of its application, its input and its store.
        runs: of its DAG, the oldest first.
        refusal: what the last of them failed with; empty where it did not.
    """

    name: str
    folder: Path
    runs: list[Run] = field(default_factory=list)
    refusal: str = ""

    @property
    def store(self) -> Path:
        return self.folder / "store"


def size(name: str, folder: Path) -> Sized:
    """Do what is to be done for one of `JOBS`."""
    (folder / "input").mkdir(parents=True)
    (folder / "job.py").write_text("print('the same in each run')\n")
    for number in range(4):
        (folder / "input" / f"part-{number}.csv").write_text("1,2,3\n" * 100)
    sized = Sized(name=name, folder=folder)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("AIRFLOW__ERNEST__STORE", str(sized.store))
        JOBS[name](sized)
    return sized


def one_type(sized: Sized) -> None:
    """A deadline on one type of machine: trained, decided, run."""
    run = _run(sized)
    _train(run)
    _produce(run, slower=1.03)


def several_types(sized: Sized) -> None:
    """The cheaper of two types of machine."""
    ec2 = public("EC2ClusterSpec")
    clusters = [ec2(machines=4, instance_type=name, **MACHINES) for name in ("m5.large", "c5.xlarge")]
    run = _run(sized, cluster=clusters, goal={"price_per_hour": None, "max_executors": 8})
    _train(run, types={"ernest.m5_large": "m5.large", "ernest.c5_xlarge": "c5.xlarge"})
    _produce(run)


def reused(sized: Sized) -> None:
    """The second night goes by the model of the first."""
    one_type(sized)
    run = _run(sized)
    _reuse(run)
    _produce(run)


def fallen_back(sized: Sized) -> None:
    """The training fails, and a fallback is stated."""
    run = _run(sized, goal={"fallback_executors": 6})
    run.execute("ernest.find_model")
    run.execute("ernest.design")
    run.put("ernest.create_cluster", _handle("local"))
    run.states["ernest.sample_run", 0] = "failed"
    run.fail("ernest.fit_model", state="upstream_failed")
    run.execute("ernest.choose_config")
    _produce(run, took=500.0)


def drifting(sized: Sized) -> None:
    """Production goes well, then takes half as long again as predicted, until the model is no longer used."""
    run = _run(sized)
    _train(run)
    _produce(run)
    for slower in (1.02, 0.99, 1.01, 1.5, 1.55, 1.45):
        run = _run(sized)
        _reuse(run)
        _produce(run, slower=slower)
    _run(sized).execute("ernest.find_model")


def infeasible(sized: Sized) -> None:
    """No number of machines keeps the deadline, and no fallback is stated."""
    run = _run(sized, goal={"deadline_seconds": 30})
    try:
        _train(run)
    except AirflowException as error:
        sized.refusal = str(error)


def most_probable(sized: Sized) -> None:
    """No number of machines keeps the deadline surely, and the most probable one is wanted then."""
    goal = {"deadline_seconds": 475, "confidence": 0.99, "max_executors": 8, "on_failure": "most_probable"}
    run = _run(sized, goal=goal)
    _train(run)
    _produce(run)


def on_a_lake(sized: Sized) -> None:
    """A cluster of YARN that is there already; here the sample runs and production are submitted, too."""
    cluster = public("ConnectedCluster")(
        spark_conn_id="lake",
        executors=8,
        cores_per_machine=2,
        memory_megabytes_per_machine=4096,
        instance_type="lake",
        price_per_hour=0.3,
    )
    goal = {"deadline_seconds": 285, "price_per_hour": None, "max_executors": 8}
    logs = sized.folder / "logs"
    logs.mkdir()
    conf = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{logs}"}
    with pytest.MonkeyPatch.context() as monkeypatch, stands_in(sized.folder):
        monkeypatch.setenv("AIRFLOW_CONN_LAKE", '{"conn_type": "spark", "host": "yarn"}')
        run = _run(sized, cluster=cluster, goal=goal, conf=conf, submits_production=True)
        run.execute("ernest.find_model")
        experiments = run.execute("ernest.design")
        run.execute("ernest.create_cluster")
        run.execute_each("ernest.sample_run", "experiment", experiments)
        for task in ("fit_model", "bottleneck_report", "choose_config", "terminate_cluster"):
            run.execute(f"ernest.{task}")
        run.execute("production")


JOBS: dict[str, Callable[[Sized], None]] = {
    each.__name__: each
    for each in (one_type, several_types, reused, fallen_back, drifting, infeasible, most_probable, on_a_lake)
}

MACHINES = {
    "image": "ami-0123456789abcdef0",
    "subnets": ["subnet-0a1b2c3d"],
    "security_groups": ["sg-0a1b2c3d"],
}


def _run(
    sized: Sized,
    *,
    goal: dict[str, Any] | None = None,
    cluster: Any = None,
    conf: dict[str, str] | None = None,
    submits_production: bool = False,
) -> Run:
    """The next run of the job's DAG."""
    cluster = cluster or public("LocalClusterSpec")(machines=16)
    stated = {"deadline_seconds": 600, "price_per_hour": PRICES["local"], "max_executors": 10, **(goal or {})}
    with DAG(f"nightly_{sized.name}", schedule=None) as dag:
        ernest = public("ErnestTaskGroup")(
            job=public("SparkJob")(
                name=sized.name,
                application=str(sized.folder / "job.py"),
                application_args=["{{ sample.input }}", "/out/{{ ti.map_index }}", "{{ sample.scale }}"],
                conf={"spark.sql.shuffle.partitions": "64", "spark.executor.memory": "800m", **(conf or {})},
            ),
            input=public("SampledInput")(
                path=str(sized.folder / "input"), partitions=PARTITIONS, sampling="argument"
            ),
            bounds=public("DesignBounds")(max_executors=4),
            cluster=cluster,
            goal=public("SizingGoal")(**stated),
        )
        if submits_production:
            ernest >> public("ErnestSparkSubmitOperator")(
                task_id="production",
                conn_id="lake",
                application=str(sized.folder / "job.py"),
                application_args=[str(sized.folder / "input"), "/out", "1.0"],
                conf=ernest.job_conf("yarn_conf"),
                decision=ernest.decision,
            )
        else:
            record = public("RecordRunOperator")(
                task_id="record_run",
                decision=ernest.decision,
                production_task_id="production",
            )
            ernest >> EmptyOperator(task_id="production") >> record
    run = Run(dag, night=len(sized.runs))
    sized.runs.append(run)
    return run


def _train(run: Run, types: dict[str, str] | None = None) -> None:
    """From the search for a model to the decision, by the branches of the types of machine."""
    run.execute("ernest.find_model")
    for group, instance_type in (types or {"ernest": "local"}).items():
        if run.dag.has_task(f"{group}.check_cluster"):
            about = {"cores_per_machine": CORES[instance_type], "price_per_hour": PRICES[instance_type]}
            run.put(f"{group}.check_cluster", None, **about)
        design = "ernest.design" if run.dag.has_task("ernest.design") else f"{group}.design"
        experiments = run.execute(design)
        run.put(f"{group}.create_cluster", _handle(instance_type))
        for experiment in experiments:
            index = experiment["index"]
            run.put(f"{group}.sample_run", _observation(experiment, instance_type), map_index=index)
        run.execute(f"{group}.fit_model")
        run.put(f"{group}.terminate_cluster", None)
    run.execute("ernest.choose_config")


def _reuse(run: Run) -> None:
    run.execute("ernest.find_model")
    run.execute("ernest.choose_config")


def _produce(run: Run, *, slower: float = 1.0, took: float | None = None) -> None:
    """Production runs, so many times as long as predicted, and is recorded."""
    run.put("production", None)
    decided = run.xcoms["ernest.choose_config", -1, "return_value"]
    run.durations["production"] = took or round(slower * decided["predicted_seconds"], 1)
    run.execute("record_run")


def _handle(instance_type: str) -> dict[str, Any]:
    """The cluster of the sample runs, as its task returns it."""
    is_local = instance_type == "local"
    executors = 16 if is_local else 4
    return {
        "schema": 1,
        "kind": "local" if is_local else "ec2",
        "name": f"ernest-{instance_type}",
        "master_url": "spark://10.0.0.9:7077",
        "web_url": "http://10.0.0.9:8080",
        "instance_type": instance_type,
        "cores_per_machine": CORES[instance_type],
        "machines": [
            {
                "worker_id": f"worker-{number}",
                "host": f"10.0.0.{10 + number}",
                "cores": CORES[instance_type],
                "memory_megabytes": 4096 * CORES[instance_type],
                "instance_id": None if is_local else f"i-{number:04d}",
                "price_per_hour": None if is_local else PRICES[instance_type],
            }
            for number in range(executors)
        ],
    }


def _observation(experiment: dict[str, Any], instance_type: str) -> dict[str, Any]:
    """What came of a sample run, as its task returns it."""
    index, executors, scale = (experiment[name] for name in ("index", "executors", "scale"))
    return {
        "schema": 1,
        "index": index,
        "executors": executors,
        "scale": scale,
        "seconds": seconds(executors, scale, instance_type, index=index),
        "startup_seconds": STARTUP_SECONDS,
        "instance_type": instance_type,
        "application_id": f"app-20010101000000-{index:04d}",
        "event_log": f"/logs/app-20010101000000-{index:04d}",
        "hosts": [f"10.0.0.{10 + number}" for number in range(executors)],
    }
