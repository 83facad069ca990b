"""Recording the runs: each one spark-submit of a job on so many machines of a local cluster, its log kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from airflow_provider_ernest.clusters.local import CLIENT_FILE, LocalCluster
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.eventlog.run_facts import read_run, registered_at
from airflow_provider_ernest.exceptions import SampleRunError
from airflow_provider_ernest.spark.sizing import sizing_conf
from benchmarks.history import recording as history
from benchmarks.history.inputs import make_inputs
from benchmarks.regimes.schedule import MOST_MACHINES, RegimeRun

SCRIPTS = Path(__file__).parent / "jobs"

_DAY_SECONDS = 86_400.0
_EXECUTOR_MEGABYTES = 480

_SETTINGS = history.SETTINGS | {
    "spark.executor.memory": f"{_EXECUTOR_MEGABYTES}m",
    # As many tasks whatever the input is: then what one has to hold grows with it.
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.shuffle.partitions": "12",
    "spark.submit.pyFiles": str(history.SCRIPTS / "pacing.py"),
}


def record(
    runs: Sequence[RegimeRun], folder: Path, *, most_seconds: float, say: Callable[[str], None]
) -> None:
    """Make the runs that have not been made, one after another; as `history.recording.record` does."""
    make_inputs(folder / "inputs")
    local = folder / "clusters" / "local"
    shutil.rmtree(local, ignore_errors=True)
    spec = LocalClusterSpec(
        machines=MOST_MACHINES,
        memory_megabytes_per_machine=_EXECUTOR_MEGABYTES,
        time_to_live_seconds=_DAY_SECONDS,
        idle_limit_seconds=_DAY_SECONDS,
    )
    cluster = LocalCluster(spec, name="regimes", directory=local)
    try:
        handle = cluster.start()
        conf = {**_SETTINGS, **handle.spark_conf(), "spark.master": handle.master_url}

        def make(run: RegimeRun) -> None:
            history.make_run(
                run,
                SCRIPTS / f"{run.script}.py",
                ["--input", str(folder / "inputs"), "--files", str(run.files), *run.setting.arguments],
                conf | _conf_of(run),
                local / CLIENT_FILE,
                folder=folder,
            )
            log = folder / "logs" / run.id
            try:
                registered_at(read_run(log), run.machines)
            except SampleRunError as error:
                log.unlink()
                raise RuntimeError(error.message) from error

        history.make_missing(runs, folder, make, most_seconds=most_seconds, say=say)
    finally:
        cluster.terminate()


def _conf_of(run: RegimeRun) -> dict[str, str]:
    return {
        **sizing_conf(machines=run.machines, cores_per_machine=1),
        "spark.app.name": run.setting.name,
        "spark.executor.memory": f"{_EXECUTOR_MEGABYTES}m",
        "spark.memory.fraction": str(run.setting.memory_fraction),
        **run.setting.settings,
    }
