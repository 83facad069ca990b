"""The whole Ernest loop on this machine: ``make demo``.

Starts a real Airflow, triggers the example DAG over its REST API, shows how it goes, and prints what
came of it: the design, the observations, the model, the decision, and prediction against reality.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

from airflow_provider_ernest.clusters.local import LocalCluster
from airflow_provider_ernest.model.documents import Design
from airflow_provider_ernest.model.results import Decision, Model
from airflow_provider_ernest.spark.event_log import find_event_log, read_run
from benchmarks.demo.airflow_server import AirflowServer, AirflowStartError, free_ports
from benchmarks.demo.api import AirflowApi, AirflowApiError, TaskInstance
from benchmarks.demo.progress import follow_run
from benchmarks.demo.report import Outcome, report_lines

ROOT = Path(__file__).parents[2]
DAG_ID = "example_ernest_local"
PRODUCTION_TASK = "enrich_all_flights"
RUN_TIMEOUT_SECONDS = 1800.0


def main() -> int:
    """Run the demo; returns the exit code."""
    options = _options()
    # Whoever reads along in a file or a pipe sees each line as it comes.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    # A terminated demo must end its Airflow as an interrupted one does.
    signal.signal(signal.SIGTERM, _interrupt)
    home = options.home.absolute()
    shutil.rmtree(home, ignore_errors=True)
    (master_port,) = free_ports(1)
    environment = {
        "AIRFLOW_CONN_ERNEST_LOCAL": f"spark://127.0.0.1:{master_port}",
        "ERNEST_EXAMPLE_DATA": str(home / "data"),
    }
    try:
        with AirflowServer(home / "airflow", ROOT / "dags", environment=environment) as server:
            succeeded = _run(server, options.deadline_seconds)
            if not options.exit:
                _stay_up(server)
    except KeyboardInterrupt:
        print("\nStopped.")
        return 130
    except (AirflowStartError, AirflowApiError, TimeoutError) as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    finally:
        # The cluster outlives its task on purpose, but not a demo that was interrupted before its teardown.
        for cluster in LocalCluster.running_below(home / "airflow" / "ernest" / "clusters"):
            print(f"Spark {cluster.name}: {cluster.terminate()}")
    return 0 if succeeded else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--exit", action="store_true", help="stop everything at the end")
    parser.add_argument(
        "--deadline-seconds",
        type=float,
        default=None,
        help="deadline of the production run (default: the DAG's)",
    )
    parser.add_argument(
        "--home", type=Path, default=ROOT / ".demo", help="folder for all that the demo writes; made anew"
    )
    return parser.parse_args()


def _run(server: AirflowServer, deadline_seconds: float | None) -> bool:
    conf = {} if deadline_seconds is None else {"deadline_seconds": deadline_seconds}
    started_at = time.monotonic()
    with server.api() as api:
        api.wait_for_dag(DAG_ID)
        api.unpause(DAG_ID)
        run_id = api.trigger(DAG_ID, conf=conf)
        print(f"Triggered {DAG_ID}, run {run_id}")
        tasks = follow_run(api, DAG_ID, run_id, timeout_seconds=RUN_TIMEOUT_SECONDS)
        if any(task.state == "failed" for task in tasks) or api.run_state(DAG_ID, run_id) != "success":
            print(f"\nThe run failed; its logs are below {server.home / 'logs'}")
            return False
        for line in report_lines(_outcome(api, run_id, tasks)):
            print(line)
    print(f"\nThe whole run took {time.monotonic() - started_at:.0f} s.")
    return True


def _outcome(api: AirflowApi, run_id: str, tasks: list[TaskInstance]) -> Outcome:
    def xcom(task: str, key: str = "return_value") -> dict[str, object]:
        value = api.xcom(DAG_ID, run_id, f"ernest.{task}", key=key)
        assert isinstance(value, dict)
        return value

    event_log = find_event_log(Path(str(xcom("choose_config", "spark_conf")["spark.eventLog.dir"])))
    if event_log is None:
        raise AirflowApiError("The production run wrote no event log.")
    production_task = next(task for task in tasks if task.task_id == PRODUCTION_TASK)
    return Outcome(
        design=Design.from_dict(xcom("design", "design")),
        model=Model.from_dict(xcom("fit_model")),
        decision=Decision.from_dict(xcom("choose_config")),
        production=read_run(event_log),
        production_task_seconds=production_task.duration_seconds or 0.0,
    )


def _stay_up(server: AirflowServer) -> None:
    print(f"\nThe Airflow UI is at {server.url} (user admin, password {server.password}).")
    print("Press Ctrl-C to stop it; nothing is left running then.")
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()
    print("\nStopping.")


def _interrupt(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
