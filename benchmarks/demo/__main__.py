"""The whole Ernest loop on this machine: ``make demo``.

Starts a real Airflow, triggers the example DAG over its REST API, shows how it goes, and prints what
came of it: the design, the observations, the model, the decision, and prediction against reality.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from airflow_provider_ernest.clusters.local import STATE_FILE, ClusterDirectory, LocalCluster
from benchmarks.demo.airflow_server import AirflowServer, AirflowStartError
from benchmarks.demo.api import AirflowApiError
from benchmarks.demo.example_run import run_example
from benchmarks.demo.report import report_lines
from benchmarks.demo.session import DAGS, INTERRUPTED, ROOT, begin, options, say_why, stay_up

DAG_ID = "example_ernest_local"
DEADLINE_SECONDS = 120.0
"""The example's own."""


def main() -> int:
    """Run the demo; returns the exit code."""
    given = options("make demo", __doc__)
    begin()
    home = ROOT / ".demo"
    shutil.rmtree(home, ignore_errors=True)
    environment = {"ERNEST_EXAMPLE_DATA": str(home / "data")}
    deadline_seconds = given.deadline_seconds or DEADLINE_SECONDS
    try:
        with AirflowServer(home / "airflow", _own_dags(home / "dags"), environment=environment) as server:
            failure = _run(server, deadline_seconds)
            if not failure and not given.exit:
                stay_up(server)
    except KeyboardInterrupt:
        print("\nStopped.")
        return INTERRUPTED
    except (AirflowStartError, AirflowApiError, TimeoutError) as error:
        failure = str(error)
    finally:
        # The cluster outlives its task on purpose, but not a demo that was interrupted before its teardown.
        for found in sorted((home / "airflow" / "ernest" / "clusters").rglob(STATE_FILE)):
            if state := ClusterDirectory(found.parent).read_state():
                cluster = LocalCluster(state.spec, name=found.parent.name, directory=found.parent)
                print(f"Spark {cluster.name}: {cluster.terminate()}")
    if failure:
        logs = home / "airflow" / "logs"
        say_why(failure, program="benchmarks.demo", deadline_seconds=deadline_seconds, logs=logs)
    return 1 if failure else 0


def _own_dags(folder: Path) -> Path:
    """A folder with the demo's DAG alone: other examples import what `make demo` does not install."""
    folder.mkdir(parents=True)
    for name in (f"{DAG_ID}.py", "jobs"):
        (folder / name).symlink_to(DAGS / name)
    return folder


def _run(server: AirflowServer, deadline_seconds: float) -> str:
    """Run it and show what came of it; returns why it failed, empty where it did not."""
    started_at = time.monotonic()
    with server.api() as api:
        run = run_example(api, DAG_ID, conf={"deadline_seconds": deadline_seconds})
        if not run.succeeded:
            return run.failure or "The DAG run failed, and none of its tasks."
        for line in report_lines(run.outcome(server.home)):
            print(line)
    print(f"\nThe whole run took {time.monotonic() - started_at:.0f} s.")
    return ""


if __name__ == "__main__":
    sys.exit(main())
