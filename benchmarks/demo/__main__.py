"""The whole Ernest loop on this machine: ``make demo``.

Starts a real Airflow, triggers the example DAG over its REST API, shows how it goes, and prints what
came of it: the design, the observations, the model, the decision, and prediction against reality.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from airflow_provider_ernest.clusters.local import LocalCluster
from benchmarks.demo.airflow_server import AirflowServer, AirflowStartError, free_ports
from benchmarks.demo.api import AirflowApiError
from benchmarks.demo.example_run import run_example
from benchmarks.demo.report import report_lines
from benchmarks.demo.session import DAGS, INTERRUPTED, ROOT, begin, options, stay_up

DAG_ID = "example_ernest_local"


def main() -> int:
    """Run the demo; returns the exit code."""
    given = options("make demo", __doc__, home=ROOT / ".demo")
    begin()
    home = given.home.absolute()
    shutil.rmtree(home, ignore_errors=True)
    (master_port,) = free_ports(1)
    environment = {
        "AIRFLOW_CONN_ERNEST_LOCAL": f"spark://127.0.0.1:{master_port}",
        "ERNEST_EXAMPLE_DATA": str(home / "data"),
    }
    try:
        with AirflowServer(home / "airflow", _own_dags(home / "dags"), environment=environment) as server:
            succeeded = _run(server, given.deadline_seconds)
            if not given.exit:
                stay_up(server)
    except KeyboardInterrupt:
        print("\nStopped.")
        return INTERRUPTED
    except (AirflowStartError, AirflowApiError, TimeoutError) as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    finally:
        # The cluster outlives its task on purpose, but not a demo that was interrupted before its teardown.
        for cluster in LocalCluster.running_below(home / "airflow" / "ernest" / "clusters"):
            print(f"Spark {cluster.name}: {cluster.terminate()}")
    return 0 if succeeded else 1


def _own_dags(folder: Path) -> Path:
    """A folder with the demo's DAG alone: other examples import what `make demo` does not install."""
    folder.mkdir(parents=True)
    for name in (f"{DAG_ID}.py", "jobs"):
        (folder / name).symlink_to(DAGS / name)
    return folder


def _run(server: AirflowServer, deadline_seconds: float | None) -> bool:
    started_at = time.monotonic()
    with server.api() as api:
        run = run_example(
            api, DAG_ID, conf={} if deadline_seconds is None else {"deadline_seconds": deadline_seconds}
        )
        if not run.succeeded:
            print(f"\nThe run failed; its logs are below {server.home / 'logs'}")
            return False
        for line in report_lines(run.outcome(server.home)):
            print(line)
    print(f"\nThe whole run took {time.monotonic() - started_at:.0f} s.")
    return True


if __name__ == "__main__":
    sys.exit(main())
