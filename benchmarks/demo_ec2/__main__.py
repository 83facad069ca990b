"""The whole Ernest loop on EC2 machines of the test bed: ``make demo-ec2``.

The test bed answers as AWS does, and its machines are hosts on this one: they boot from their user-data, form
a Spark cluster, and some of them are slow. A real Airflow runs ``dags/example_ernest_ec2.py`` against it.
Nothing is paid, nothing leaves this machine.
"""

from __future__ import annotations

import shutil
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow_provider_ernest.clusters.base import ClusterHandle
from benchmarks.demo.airflow_server import AirflowServer, AirflowStartError
from benchmarks.demo.api import AirflowApiError
from benchmarks.demo.example_run import ExampleRun, run_example
from benchmarks.demo.report import report_lines, section
from benchmarks.demo.session import DAGS, INTERRUPTED, ROOT, begin, options, say_why, stay_up
from benchmarks.demo_ec2.cloud import SLOW, airflow_environment, cloud, in_words
from benchmarks.demo_ec2.machines import call_lines, cost_lines, launched_machines, machine_lines
from tests.ec2_testbed import Testbed

DAG_ID = "example_ernest_ec2"
PARAMS = {
    "deadline_seconds": 100,
    "most_machines": 6,
    # Hosts that share two cores disturb each other more than machines of their own would.
    "on_inadequate": "warn",
}
_END_SECONDS = 60.0
_POLL_SECONDS = 0.2


def main() -> int:
    """Run the demo; returns the exit code."""
    given = options("make demo-ec2", __doc__)
    begin()
    if missing := Testbed.missing():
        print(f"This demonstration cannot run here: {missing}.", file=sys.stderr)
        return 1
    home = ROOT / "build" / "demo-ec2"
    shutil.rmtree(home, ignore_errors=True)
    conf = {**PARAMS, **({"deadline_seconds": given.deadline_seconds} if given.deadline_seconds else {})}
    try:
        with cloud(home) as bed:
            return _run_in(bed, home, conf, leaves=given.exit)
    except KeyboardInterrupt:
        print("\nStopped: Airflow, the cloud and all of its machines have ended.")
        return INTERRUPTED
    except (AirflowStartError, AirflowApiError, RuntimeError, TimeoutError) as error:
        say_why(
            str(error), program="benchmarks.demo_ec2", deadline_seconds=conf["deadline_seconds"], logs=home
        )
        return 1


def _run_in(bed: Testbed, home: Path, conf: dict[str, Any], *, leaves: bool) -> int:
    print(
        f"EC2's test bed is at {bed.endpoint_url}, its machines in {bed.network}; logs below {home / 'bed'}"
    )
    for number, performance in SLOW.items():
        bed.set_performance(number, megabits_per_second=performance.megabits_per_second)
        print(f"The machine that is launched as number {number} will be slow: {in_words(performance)}")
    with AirflowServer(home / "airflow", DAGS, environment=airflow_environment(bed, home)) as server:
        started_at = time.monotonic()
        with server.api() as api:
            run = run_example(api, DAG_ID, conf=conf)
            _report(run, bed, server, deadline_seconds=float(conf["deadline_seconds"]))
            failure = "" if run.succeeded else run.failure or "The DAG run failed, and none of its tasks."
        print(f"\nThe whole run took {time.monotonic() - started_at:.0f} s.")
        left = _left_alive(bed)
        if not failure and not leaves:
            stay_up(server)
    if failure:
        deadline_seconds = float(conf["deadline_seconds"])
        logs = server.home / "logs"
        say_why(failure, program="benchmarks.demo_ec2", deadline_seconds=deadline_seconds, logs=logs)
    return 1 if failure or left else 0


def _report(run: ExampleRun, bed: Testbed, server: AirflowServer, *, deadline_seconds: float) -> None:
    calls, now = bed.calls(), datetime.now(UTC)
    pages = bed.client("ec2").get_paginator("describe_instances").paginate()
    reservations = [each for page in pages for each in page["Reservations"]]
    described = {one["InstanceId"]: one for each in reservations for one in each["Instances"]}
    machines = launched_machines(
        [described[machine.instance_id] for machine in bed.instances()],
        _handles(run),
        slow={number: in_words(performance) for number, performance in SLOW.items()},
    )
    lines = section("The machines", machine_lines(machines, now=now))
    if run.succeeded:
        outcome = run.outcome(server.home)
        spare = deadline_seconds - outcome.production_task_seconds
        kept = f"kept with {spare:.1f} s to spare" if spare >= 0 else f"MISSED by {-spare:.1f} s"
        lines += [*report_lines(outcome), f"the deadline of {deadline_seconds:g} s was {kept}"]
        decided_at = run.task("ernest.choose_config").end or now
        lines += section("What it cost", cost_lines(outcome, machines, decided_at=decided_at, now=now))
    lines += section("Calls of AWS", call_lines(calls))
    print("\n".join(lines))


def _handles(run: ExampleRun) -> list[ClusterHandle]:
    """Of the cluster for the sample runs and of the one for production, as far as the run came."""
    found = []
    for task in ("create_cluster", "resize_cluster"):
        try:
            found.append(ClusterHandle.from_dict(run.xcom(task)))
        except AirflowApiError:
            if run.succeeded:
                raise
    return found


def _left_alive(bed: Testbed) -> int:
    """Count the machines that are alive a moment after the run, and say so."""
    deadline = time.monotonic() + _END_SECONDS
    while (bed.live_instances() or bed.hosts()) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    alive = {machine.instance_id: machine.state for machine in bed.live_instances()}
    alive |= {host.instance_id: "its host still runs" for host in bed.hosts()}
    named = "".join(f"\n  {instance_id}: {state}" for instance_id, state in alive.items())
    print(f"{len(alive)} machines left alive of {len(bed.instances())} that were launched{named}")
    return len(alive)


if __name__ == "__main__":
    sys.exit(main())
