"""The bandwidth probe as a step of an Airflow task (submitted, bounded in time, read), and culling by it."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow_provider_ernest.clusters.base import ClusterHandle, CulledMachine
from airflow_provider_ernest.exceptions import ClusterError, ClusterStartError, SampleRunError
from airflow_provider_ernest.processes import make_owned, runtime_folder
from airflow_provider_ernest.spark.machines import Bandwidth, Machine, Measurement, rate, relative_to_median
from airflow_provider_ernest.spark.sizing import sizing_conf
from airflow_provider_ernest.words import as_percent

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook

APPLICATION = Path(__file__).with_name("bandwidth_probe.py")

# An executor of the probe holds next to nothing, and Spark refuses less than 450.
_EXECUTOR_MEGABYTES = 512


def probe_bandwidth(
    handle: ClusterHandle,
    *,
    rounds: int,
    interval_seconds: float,
    secret: str | None,
    timeout_seconds: float,
    on_submit: Callable[[ErnestSubmitHook], None] | None = None,
) -> dict[str, Bandwidth]:
    """Measure the bandwidth of all machines of a cluster that does nothing else; a round takes some 10 s.

    Must be called from the task's main thread, as `ErnestSubmitHook.run`. `secret` is what the cluster's
    processes share; `on_submit` gets the hook before it submits, so that a killed task can call its `end`.

    Returns:
        The bandwidth of each machine, by its host as the Spark master knows it.

    Raises:
        ClusterStartError: the probe failed, was ended or took too long; with the reason.
        ClusterLostError: there is no way to the master.
        InvalidParameterError, MissingResourceError: see `ErnestSubmitHook`.
    """
    # Only here: the keeper of a local cluster knows what bandwidth is, and Airflow does not load there.
    from airflow_provider_ernest.spark.submit import ErnestSubmitHook, driver_conf

    machines, cores, conf = len(handle.machines), handle.cores_per_machine, handle.spark_conf()
    size = sizing_conf(executors=machines, executor_cores=cores, executors_wait_seconds=timeout_seconds)
    folder = make_owned(runtime_folder())
    try:
        output = Path(folder, "bandwidth.json")
        hook = ErnestSubmitHook(
            master_url=handle.master_url,
            conf={**conf, **driver_conf(handle.master_url, conf=conf), **size, **_probe_conf(handle)},
            application_args=[
                f"--machines={machines}",
                f"--cores={cores}",
                f"--rounds={rounds}",
                f"--interval-seconds={interval_seconds}",
                f"--output={output}",
            ],
            name="ernest-bandwidth-probe",
            secret=secret,
        )
        if on_submit is not None:
            on_submit(hook)
        _run(hook, timeout_seconds=timeout_seconds, output=output)
        bandwidth = rate(map(Measurement.from_dict, _read(output).get("measurements", ())))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if len(bandwidth) != machines:
        raise _failed(f"{len(bandwidth)} of {machines} machines took part")
    return bandwidth


def _run(hook: ErnestSubmitHook, *, timeout_seconds: float, output: Path) -> None:
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        hook.end()

    timer = threading.Timer(timeout_seconds, end)
    timer.daemon = True
    timer.start()
    try:
        hook.run(str(APPLICATION))
    except SampleRunError as error:
        if is_late.is_set():
            raise _failed(f"it took longer than timeout_seconds={timeout_seconds:g} and was ended") from error
        raise _failed(_read(output).get("problem") or error.message.rstrip(".")) from error
    finally:
        timer.cancel()
        hook.end()  # whatever else interrupted the run, such as Airflow's own time limit


def _read(output: Path) -> dict[str, Any]:
    """What the application wrote; nothing where it did not come to that."""
    try:
        document: dict[str, Any] = json.loads(output.read_text())
    except FileNotFoundError:
        return {}
    return document


def _probe_conf(handle: ClusterHandle) -> dict[str, str]:
    """Properties of the probe itself: one task fills a machine, and no failure is tried again."""
    java = "-XX:TieredStopAtLevel=1"  # it lives for seconds: half of a start is compilation
    executor_megabytes = min(_EXECUTOR_MEGABYTES, *(one.memory_megabytes for one in handle.machines))
    return {
        "spark.task.cpus": str(handle.cores_per_machine),
        "spark.executor.memory": f"{executor_megabytes}m",
        "spark.driver.extraJavaOptions": java,
        "spark.executor.extraJavaOptions": java,
        "spark.task.maxFailures": "1",
        "spark.stage.maxConsecutiveAttempts": "1",
        "spark.barrier.sync.timeout": "60",
        # All machines are there before the first stage; more than a few looks would only hide a mistake.
        "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
        "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "5",
        "spark.speculation": "false",
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "false",
    }


def _failed(problem: str) -> ClusterError:
    return ClusterStartError(
        f"The bandwidth probe failed: {problem}.",
        remedy="The driver's output is in this task's log, above; the executors' is in the logs of the "
        "machines.",
    )


def choose_culled(
    machines: Sequence[Machine], *, keep: int, floor: float, smallest: int
) -> list[CulledMachine]:
    """Return the machines to end, the slowest first, whatever their order in `machines`.

    Ernest paper (NSDI 2016), section 4.2: launch more machines than needed, measure, keep the fastest.

    First stragglers, whose score is below the floor, then unmeasured machines, then the rest, until `keep`
    remain. Stragglers that still remain are culled too, down to `smallest`, which is from 1 to `keep`.
    """
    judged = _judged(machines, floor)
    stragglers = sum(one.is_straggler for one in judged)
    culled = max(0, len(judged) - keep, min(stragglers, len(judged) - smallest))
    return [CulledMachine(machine=one.machine, reason=one.reason) for one in judged[:culled]]


def warnings_after(machines: Sequence[Machine], *, floor: float) -> list[str]:
    """What to tell the user of stragglers, by this floor, among the machines that were kept."""
    return [
        f"{one.machine.host} is slow and remains: {one.reason}. The others will wait for it, and the runs "
        "take longer than on ordinary machines."
        for one in _judged(machines, floor)
        if one.is_straggler
    ]


class _Verdict(NamedTuple):
    """On one machine; the first in order is ended first."""

    order: tuple[int, float, str, str, str]
    machine: Machine
    is_straggler: bool
    reason: str


def _judged(machines: Sequence[Machine], floor: float) -> list[_Verdict]:
    """All machines against the median, each by the resource that limits it most."""
    bandwidths = {str(index): one.bandwidth for index, one in enumerate(machines) if one.bandwidth}
    memory = relative_to_median({key: each.memory_gigabytes_per_second for key, each in bandwidths.items()})
    network = relative_to_median(
        {
            key: each.network_gigabytes_per_second
            for key, each in bandwidths.items()
            if each.network_gigabytes_per_second is not None
        }
    )
    verdicts = []
    for index, machine in enumerate(machines):
        key, names = str(index), (machine.host, machine.worker_id, machine.instance_id or "")
        if key not in bandwidths:
            reason = "not needed: its bandwidth was not measured"
            verdicts.append(_Verdict((1, 0.0, *names), machine, False, reason))
            continue
        score = bandwidths[key].score
        is_straggler = score < floor
        resource = "network" if key in network and network[key] < memory[key] else "memory"
        measured = f"{resource} {as_percent(score)} of the median"
        reason = (
            f"{measured}, below the floor of {as_percent(floor)}: a straggler"
            if is_straggler
            else f"not needed: {measured}"
        )
        verdicts.append(_Verdict((0 if is_straggler else 2, score, *names), machine, is_straggler, reason))
    return sorted(verdicts, key=lambda one: one.order)
