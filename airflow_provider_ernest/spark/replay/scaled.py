"""How long a job would take at another scale and on other machines, replayed from the profiles of its runs.

A run that read most is replayed: its stages with as many tasks, of such a size, as all runs show them to have
at that scale; what the driver took between them stays. How far that is off is told by replaying the
other runs from it, each without itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.log_reading.tables import FloatColumn
from airflow_provider_ernest.spark.replay.matched_stages import MatchedStages
from airflow_provider_ernest.spark.replay.profile_plan import StageWork, plan_of_profile
from airflow_provider_ernest.spark.replay.replaying import busy_seconds
from airflow_provider_ernest.spark.replay.simulation import Simulated, Slot, simulate
from airflow_provider_ernest.spark.replay.stage_growth import LARGER_BY, growth
from airflow_provider_ernest.spark.replay.warm_up import remote_share_change

_LARGEST_CORRECTION = 1.25
"""A stage whose own replay is further off did something else than run its tasks."""

_MOST_TASKS = 20_000
"""Of a stage, that are replayed one by one."""


@dataclass(frozen=True, kw_only=True)
class ScaledReplay:
    """The job at one scale on several numbers of machines.

    Attributes:
        sizes: clean seconds, by ascending number of machines; empty where nothing could be replayed.
        from_application_id: the run that was replayed.
        from_scale: the share of the input that it read.
        error_percent: median absolute error of replaying the other runs; None where there is no other.
        problem: why there are no sizes; empty where there are.
    """

    sizes: tuple[run_profile.ReplayedSize, ...] = ()
    from_application_id: str | None = None
    from_scale: float | None = None
    error_percent: float | None = None
    problem: str = ""


def replay_scaled(
    profiles: Sequence[run_profile.RunProfile],
    *,
    machines: Sequence[int],
    scale: float,
    cores_per_machine: int,
    iterations: int | None = None,
) -> ScaledReplay:
    """Replay a job at another scale.

    Args:
        profiles: of its runs; at several scales it is learned from them how its stages grow.
        machines: numbers to replay it on.
        scale: the share of the target input that it shall read.
        cores_per_machine: tasks that a machine runs at once.
        iterations: of an iterative job; as many as in the run by default.
    """
    known = [profile for profile in profiles if any(stage.tasks for stage in profile.stages)]
    if not known:
        return ScaledReplay(problem="No run of the job has a profile that tells of its stages.")
    source = _source_of(known)
    others = sorted((profile for profile in known if profile is not source), key=_amount_of_work)
    replays = _Source(source, others)
    sizes = [
        run_profile.ReplayedSize(
            machines=count,
            seconds=replays.replayed(
                scale=scale, machines=count, slots=count * cores_per_machine, iterations=iterations
            ),
        )
        for count in sorted(set(machines))
    ]
    return ScaledReplay(
        sizes=tuple(sizes),
        from_application_id=source.application_id,
        from_scale=source.scale,
        error_percent=_error_percent(source, others),
    )


def _source_of(profiles: Sequence[run_profile.RunProfile]) -> run_profile.RunProfile:
    """The run that is replayed: of those that read most the one whose work is in the middle.

    A run that other load or a cold cache made long would else stand for the job.
    """
    most = max(profile.scale for profile in profiles)
    largest = [profile for profile in profiles if LARGER_BY * profile.scale >= most]
    return sorted(largest, key=_amount_of_work)[(len(largest) - 1) // 2]


def _amount_of_work(profile: run_profile.RunProfile) -> tuple[float, float, str]:
    """By which runs are sorted: what the tasks and the driver took."""
    work = sum(stage.task_seconds for stage in profile.stages) + profile.left_out_seconds
    return work + profile.driver_seconds, profile.scale, profile.application_id


def _error_percent(source: run_profile.RunProfile, others: Sequence[run_profile.RunProfile]) -> float | None:
    """How far the others are from what the source and the rest foretell; the median of absolute errors."""
    errors = []
    for left_out in others:
        rest = [profile for profile in others if profile is not left_out]
        foretold = _Source(source, rest).replayed(
            scale=left_out.scale,
            machines=left_out.machines,
            slots=left_out.slots,
            iterations=left_out.iterations,
        )
        errors.append(100.0 * abs(foretold / left_out.seconds - 1.0))
    return float(np.median(errors)) if errors else None


class _Source:
    """The run that is replayed, and the replay of it as it was, which is made once."""

    def __init__(self, profile: run_profile.RunProfile, others: Sequence[run_profile.RunProfile]) -> None:
        self._profile = profile
        self._matched = MatchedStages(profile, others)
        as_it_was = [StageWork(tasks=stage.tasks, times_seconds=1.0) for stage in profile.stages]
        corrections = _Replay(profile, as_it_was, slots=profile.slots).corrections()
        self._work = [
            replace(work, times_seconds=correction)
            for work, correction in zip(as_it_was, corrections, strict=True)
        ]
        self._busy_seconds = _Replay(profile, self._work, slots=profile.slots).busy_seconds
        self._left_out_seconds = _left_out_seconds(profile)

    def replayed(self, *, scale: float, machines: int, slots: int, iterations: int | None) -> float:
        """Clean seconds at another scale, on other machines."""
        remote = remote_share_change(had=self._profile.machines, machines=machines)
        work = []
        for stage, each in zip(self._profile.stages, self._work, strict=True):
            if stage.tasks:
                each = self._grown(stage, each, scale=scale, slots=slots)
                waiting = stage.blocked_seconds.get(run_profile.NETWORK, 0.0) / max(stage.task_seconds, 1e-9)
                each = replace(each, times_seconds=each.times_seconds * (1.0 + waiting * (remote - 1.0)))
            work.append(each)
        there = _Replay(self._profile, work, slots=slots)
        if self._left_out_seconds > 0:
            there = _Replay(self._profile, work, slots=slots, times_gaps=self._times_gaps(there))
        return there.seconds + _more_iterations(self._profile, there, iterations)

    def _grown(
        self, stage: run_profile.StageProfile, work: StageWork, *, scale: float, slots: int
    ) -> StageWork:
        grown = growth(*self._matched.points(stage), scale=scale, slots=slots)
        # So many tasks fill all slots so often that fewer and longer ones take as long.
        tasks = min(grown.tasks, max(_MOST_TASKS, 100 * slots))
        return StageWork(
            tasks=tasks, times_seconds=work.times_seconds * grown.times_seconds * grown.tasks / tasks
        )

    def _times_gaps(self, there: _Replay) -> float:
        """The stages that the profile leaves out change as the others do; the driver's time does not."""
        change = there.busy_seconds / self._busy_seconds if self._busy_seconds > 0 else 1.0
        driver = self._profile.driver_seconds
        return (driver + self._left_out_seconds * change) / (driver + self._left_out_seconds)


class _Replay:
    """The profile's stages, replayed with other work on other slots."""

    def __init__(
        self,
        profile: run_profile.RunProfile,
        work: Sequence[StageWork],
        *,
        slots: int,
        times_gaps: float = 1.0,
    ) -> None:
        self._profile = profile
        self._plan, durations = plan_of_profile(profile, work, times_gaps=times_gaps)
        self._simulated: Simulated = simulate(self._plan, durations, [Slot()] * max(1, slots))

    @property
    def seconds(self) -> float:
        return self._simulated.seconds

    @property
    def busy_seconds(self) -> float:
        """While a task ran."""
        return busy_seconds(self._simulated.began, self._simulated.finished)

    def spans(self) -> tuple[FloatColumn, FloatColumn]:
        """When each stage was submitted, and when it ended."""
        at = self._simulated.moments
        began = np.array([at[stage.submitted] for stage in self._plan.stages])
        return began, np.array([at[stage.ended] for stage in self._plan.stages])

    def corrections(self) -> list[float]:
        """What makes each stage that ran alone as long as it was: its tasks' order, and idle slots."""
        began, ended = self.spans()
        found = []
        for stage, seconds in zip(self._profile.stages, (ended - began).tolist(), strict=True):
            ratio = stage.seconds / seconds if seconds > 0 and self._ran_alone(stage) else 1.0
            found.append(min(_LARGEST_CORRECTION, max(1.0 / _LARGEST_CORRECTION, ratio)))
        return found

    def _ran_alone(self, stage: run_profile.StageProfile) -> bool:
        return not any(
            other.began_seconds < stage.ended_seconds and stage.began_seconds < other.ended_seconds
            for other in self._profile.stages
            if other is not stage
        )


def _left_out_seconds(profile: run_profile.RunProfile) -> float:
    """How long the stages ran that the profile leaves out."""
    if not profile.stages_left_out:
        return 0.0
    began = np.array([stage.began_seconds for stage in profile.stages]).clip(0.0)
    ended = np.array([stage.ended_seconds for stage in profile.stages]).clip(0.0)
    return max(0.0, profile.seconds - profile.driver_seconds - busy_seconds(began, ended))


def _more_iterations(profile: run_profile.RunProfile, there: _Replay, iterations: int | None) -> float:
    """What other iterations take more, or less: stages that each repeats, and what passes before them."""
    if iterations is None or not profile.iterations or iterations == profile.iterations:
        return 0.0
    kept = len(profile.stages) / (len(profile.stages) + profile.stages_left_out)
    enough = max(2.0, kept * profile.iterations / 2.0)
    names = [stage.name for stage in profile.stages]
    _, ended = there.spans()
    until = np.concatenate([[0.0], np.maximum.accumulate(ended)[:-1]])
    repeated = np.array([names.count(name) >= enough for name in names])
    # From the end of what was before to its own.
    each = np.maximum(0.0, ended - np.maximum(until, 0.0))
    return float(each[repeated].sum()) * (iterations / profile.iterations - 1.0)
