"""The wall-clock time of a run by OptEx's phases (Sidhanta et al. 2016, section 3), from its event log.

Each moment from the application's start to its end belongs to one phase, or is shared out between two:

    initialisation    from the start until the last machine had registered, or, where that was earlier,
                      until the first job was submitted or the first task launched
    variable sharing  moments without a running task, within a query, as far as its broadcasts took time:
                      built and sent by the driver. Their collection runs tasks, and counts as those do
    preparation       all other moments without a running task: the driver plans, schedules, waits for
                      machines, works on results, and closes the application
    communication     of the moments with running tasks, the share of these tasks' time that they spent
                      fetching from other machines, writing for later stages, and handing over results
    computation       the rest of the moments with running tasks

The paper measures its phases by hand, by jobs of which each has all of them. What a log does not tell is the
time of broadcasts that the application makes itself (`SparkContext.broadcast`): it counts as preparation on
the driver, and as computation in the tasks that fetch them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.log_reading.tables import EventLog, FloatColumn, TaskTable
from airflow_provider_ernest.spark.monotasks.resource_use import DISK, NETWORK, ResourceUse, resource_use

PhaseSeconds = run_profile.PhaseSeconds


@dataclass(frozen=True, kw_only=True)
class _Work:
    """When tasks ran after the initialisation; each column of shape (spans,).

    Attributes:
        began: of each span in which the same tasks ran.
        ended: of it.
        running: how many did; 0 where none.
        communicating: the share of their time that was communication, 0..1.
    """

    began: FloatColumn
    ended: FloatColumn
    running: FloatColumn
    communicating: FloatColumn


def optex_phases(log: EventLog, use: ResourceUse | None = None) -> PhaseSeconds:
    """The seconds of a run by phase; they add up to the application's time.

    Args:
        log: the run.
        use: of it, where it is at hand.
    """
    use = use or resource_use(log)
    ready = _initialised_at(log)
    work = _work_after(log, ready, use)
    lasted = work.ended - work.began
    busy = work.running > 0
    communication = float(np.sum(lasted[busy] * work.communicating[busy]))
    sharing = _sharing_seconds(log, work)
    idle = float(lasted[~busy].sum())
    return PhaseSeconds(
        initialisation_seconds=ready - log.started_at,
        preparation_seconds=max(0.0, idle - sharing),
        variable_sharing_seconds=sharing,
        computation_seconds=max(0.0, float(lasted[busy].sum()) - communication),
        communication_seconds=communication,
    )


def _initialised_at(log: EventLog) -> float:
    """When the initialisation ended."""
    first = [job.submitted_at for job in log.jobs]
    if len(log.tasks):
        first.append(float(log.tasks.launched_at.min()))
    until = min([log.ready_at, log.ended_at, *first])
    return max(log.started_at, until)


def _work_after(log: EventLog, ready: float, use: ResourceUse) -> _Work:
    """What ran from then until the end of the application."""
    tasks = log.tasks
    began = np.clip(tasks.launched_at, ready, log.ended_at)
    ended = np.clip(tasks.finished_at, began, log.ended_at)
    edges = np.concatenate([[ready], began, ended, [log.ended_at]])
    order = np.argsort(edges, kind="stable")
    lengths = np.diff(edges[order])

    def sum_running(each: FloatColumn) -> FloatColumn:
        summed = np.cumsum(np.concatenate([[0.0], each, -each, [0.0]])[order])[:-1]
        positive: FloatColumn = np.maximum(summed, 0.0)
        return positive

    running = np.rint(sum_running(np.ones(len(tasks))))
    talking = sum_running(_communication_share(tasks, use))
    some = lengths > 0
    shares = np.divide(talking, running, out=np.zeros_like(talking), where=running > 0)
    starts = edges[order][:-1]
    return _Work(
        began=starts[some],
        ended=starts[some] + lengths[some],
        running=running[some],
        communicating=np.minimum(1.0, shares[some]),
    )


def _communication_share(tasks: TaskTable, use: ResourceUse) -> FloatColumn:
    """The share of each task's time that was communication, shape (tasks,)."""
    seconds = (
        use.parts[NETWORK]
        + use.parts[DISK]
        + tasks.result_serialisation_seconds
        + tasks.getting_result_seconds
    )
    lasted = tasks.seconds
    shares = np.divide(seconds, lasted, out=np.zeros_like(lasted), where=lasted > 0)
    within: FloatColumn = np.clip(shares, 0.0, 1.0)
    return within


def _sharing_seconds(log: EventLog, work: _Work) -> float:
    """Time without tasks that the broadcasts of queries explain.

    A moment counts for one query only, the first of those that it lies in.
    """
    idle = work.running == 0
    began, ended = work.began[idle], work.ended[idle]
    total, from_here = 0.0, -np.inf
    for query in sorted(log.sql_executions, key=lambda query: query.started_at):
        if query.broadcast_seconds > 0:
            start = max(query.started_at, from_here)
            end = log.ended_at if query.ended_at is None else query.ended_at
            within = np.minimum(ended, end) - np.maximum(began, start)
            total += min(query.broadcast_seconds, float(np.maximum(0.0, within).sum()))
            from_here = max(from_here, end)
    return total
