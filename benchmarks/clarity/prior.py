"""Does the replay help to choose sample runs, or to predict from them? Measured on real runs.

Each job's first sample is its cheapest. The others are chosen within a budget, by the design as it is, and by
one that expects of each run what the first one's replay says. From the runs so chosen production is
predicted: by the model, by the replay, by the mean of the two, and by the model with the replay's opinion of
production among its runs. Needs root, and 20 minutes for the runs.

    python -m benchmarks.clarity.prior [--keep DIR]
    python -m benchmarks.clarity.prior --logs DIR
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.clarity.replay_scaled import replay_scaled
from airflow_provider_ernest.design.candidates import Candidates
from airflow_provider_ernest.design.costs import ExpectedSecondsOfRuns
from airflow_provider_ernest.design.criteria import Targets
from airflow_provider_ernest.design.plan import plan_design
from airflow_provider_ernest.documents.profiles import RunProfile
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.prediction.averaging import TermAveraging
from airflow_provider_ernest.prediction.numbers import FloatArray
from benchmarks.clarity.command import Logs, run_command
from benchmarks.clarity.prior_runs import (
    JOBS,
    PRODUCTION_MACHINES,
    name_of,
    prior_scenarios,
    samples,
)

RUNS = (3, 4, 5, 6)
"""How many samples are made, the first among them."""

AS_IT_IS, BY_REPLAY = "as it is", "expecting the replay"
"""The two designs."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job's measured runs.

    Attributes:
        name: of the job.
        samples: the profile of each sample run, in the order of `prior_runs.samples`.
        production: seconds on each of `PRODUCTION_MACHINES`.
    """

    name: str
    samples: tuple[RunProfile, ...]
    production: FloatArray

    def costs(self) -> FloatArray:
        """Machine seconds of each sample run, shape (n,)."""
        return np.array([profile.machines * profile.seconds for profile in self.samples])


def chosen(job: Job, runs: int, *, by_replay: bool) -> list[RunProfile]:
    """The first sample run and those that a design adds to it, for what so many runs cost on average."""
    costs = job.costs()
    first = int(np.argmin(costs))
    others = [index for index in range(len(costs)) if index != first]
    grid = [samples()[index] for index in others]
    candidates = Candidates(
        machines=np.array([machines for machines, _ in grid], dtype=np.int64),
        scale=np.array([scale for _, scale in grid]),
        partitions=np.ones(len(grid), dtype=np.int64),
    )
    design = plan_design(
        candidates=candidates,
        cost=lambda _: costs[others],
        budget=(runs - 1) * float(costs[others].mean()),
        min_runs=runs - 1,
        max_runs=runs - 1,
        observed=[observation(job.samples[first])],
        targets=Targets(machines=PRODUCTION_MACHINES),
        expected_seconds=replayed_guess(job.samples[first]) if by_replay else None,
    )
    places = [grid.index((run.machines, run.scale)) for run in design.experiments]
    return [job.samples[first], *(job.samples[others[place]] for place in places)]


def observation(profile: RunProfile, index: int = 0) -> Observation:
    """A run as the model knows it."""
    return Observation(index=index, machines=profile.machines, scale=profile.scale, seconds=profile.seconds)


def replayed(profiles: Sequence[RunProfile], *, machines: Sequence[int], scale: float) -> FloatArray:
    """Seconds by the replay of these runs, in the order of the machines."""
    found = replay_scaled(profiles, machines=machines, scale=scale, cores_per_machine=1)
    seconds = {size.machines: size.replayed_seconds for size in found.sizes}
    return np.array([seconds[count] for count in machines])


def replayed_guess(profile: RunProfile) -> ExpectedSecondsOfRuns:
    """What the replay of one run says of any."""

    def guess(*, machines: FloatArray, scale: FloatArray) -> FloatArray:
        return np.array(
            [
                replayed([profile], machines=[int(count)], scale=float(share))[0]
                for count, share in zip(machines, scale, strict=True)
            ]
        )

    return guess


def by_model(profiles: Sequence[RunProfile], *, opinion: FloatArray | None = None) -> FloatArray:
    """Production by the model; the replay's opinion of it counts as runs where it is given."""
    machines = [float(profile.machines) for profile in profiles]
    scale = [profile.scale for profile in profiles]
    seconds = [profile.seconds for profile in profiles]
    if opinion is not None:
        machines += map(float, PRODUCTION_MACHINES)
        scale += [1.0] * len(PRODUCTION_MACHINES)
        seconds += opinion.tolist()
    fitted = TermAveraging().fit_undetermined(
        machines=np.array(machines), scale=np.array(scale), seconds=np.array(seconds)
    )
    return fitted.predict(
        machines=np.array(PRODUCTION_MACHINES, dtype=np.float64), scale=np.ones(len(PRODUCTION_MACHINES))
    )


def by_replay(profiles: Sequence[RunProfile]) -> FloatArray:
    """Production by the replay."""
    return replayed(profiles, machines=PRODUCTION_MACHINES, scale=1.0)


PREDICTORS: Mapping[str, Callable[[Sequence[RunProfile]], FloatArray]] = {
    "model": by_model,
    "replay": by_replay,
    "mean": lambda profiles: np.sqrt(by_model(profiles) * by_replay(profiles)),
    "both": lambda profiles: by_model(profiles, opinion=by_replay(profiles)),
}


def report_lines(logs: Logs) -> Iterator[str]:
    """The table."""
    yield "Absolute error in predicting production, median over its sizes; the last lines over all jobs, too"
    yield "both: the model with the replay's opinion among its runs; mean: the geometric one of the two"
    yield f"{'job':10}  runs  {'design':22}" + "".join(f"  {name:>7}" for name in PREDICTORS)
    everything: dict[tuple[int, str], dict[str, list[float]]] = {}
    for job in _jobs(logs):
        for runs in RUNS:
            for design in (AS_IT_IS, BY_REPLAY):
                profiles = chosen(job, runs, by_replay=design == BY_REPLAY)
                errors = {
                    name: np.abs(100.0 * (predict(profiles) / job.production - 1.0)).tolist()
                    for name, predict in PREDICTORS.items()
                }
                yield _line(job.name, runs, design, errors)
                of_all = everything.setdefault((runs, design), {name: [] for name in PREDICTORS})
                for name, of_job in errors.items():
                    of_all[name] += of_job
    for (runs, design), errors in everything.items():
        yield _line("all", runs, design, errors)


def _line(job: str, runs: int, design: str, errors: Mapping[str, Sequence[float]]) -> str:
    cells = "".join(f"  {median(errors[name]):6.1f}%" for name in PREDICTORS)
    return f"{job:10}  {runs:4d}  {design:22}{cells}"


def _jobs(logs: Logs) -> Iterator[Job]:
    """The jobs whose runs are all there, by the first of each."""
    for job in JOBS:
        points = [*samples(), *((machines, 1.0) for machines in PRODUCTION_MACHINES)]
        names = [name_of(job, machines=machines, scale=scale) for machines, scale in points]
        if all(name in logs for name in names):
            profiles = [
                profile_run(logs[name][0], scale=scale)
                for name, (_, scale) in zip(names, points, strict=True)
            ]
            count = len(samples())
            yield Job(
                name=job,
                samples=tuple(profiles[:count]),
                production=np.array([profile.seconds for profile in profiles[count:]]),
            )


if __name__ == "__main__":
    sys.exit(
        run_command("python -m benchmarks.clarity.prior", __doc__, tuple(prior_scenarios()), report_lines)
    )
