"""What replays of earlier runs say of a job's other runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.clarity.replay_scaled import replay_scaled
from airflow_provider_ernest.documents.models import AveragingPrior
from airflow_provider_ernest.documents.profiles import RunProfile
from airflow_provider_ernest.eventlog.tables import EventLog
from airflow_provider_ernest.numbers import FloatArray
from airflow_provider_ernest.prediction.averaging import TermAveraging
from benchmarks.replay_prior.spark_run import CORES

GRID_MACHINES = (1, 2, 4, 8, 16)
GRID_SCALE = (0.01, 0.03, 0.1)
"""Where samples are replayed; between lies what their logarithms' straight lines say."""


def profile_of(log: EventLog, *, scale: float) -> RunProfile:
    """The profile of a run, as a sample run's task makes it."""
    return profile_run(log, scale=scale, machine_counts=(1,), changes=())


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """Seconds by replay.

    Attributes:
        log_seconds: logarithms at the grid, shape (scales, machines).
        of_targets: seconds of the targets, shape (t,).
    """

    log_seconds: FloatArray
    of_targets: FloatArray

    @classmethod
    def of(cls, profiles: Sequence[RunProfile], target_machines: Sequence[int]) -> Replayed:
        """Replay at the grid, and at the whole input for the targets' machines."""
        grid = [replayed_seconds(profiles, GRID_MACHINES, scale) for scale in GRID_SCALE]
        return cls(
            log_seconds=np.log(np.array(grid)),
            of_targets=replayed_seconds(profiles, target_machines, 1.0),
        )

    def seconds(self, *, machines: FloatArray, scale: FloatArray) -> FloatArray:
        """The seconds of sample runs, shape (n,); an `ExpectedSecondsOfRuns`."""
        asked = np.log(np.asarray(machines, dtype=np.float64))
        at_scales = np.array([np.interp(asked, np.log(GRID_MACHINES), row) for row in self.log_seconds])
        # Targets lie beyond the grid: the last line goes on.
        known, wanted = np.log(GRID_SCALE), np.log(np.asarray(scale, dtype=np.float64))
        place = np.clip(np.searchsorted(known, wanted) - 1, 0, len(known) - 2)
        share = (wanted - known[place]) / (known[place + 1] - known[place])
        columns = np.arange(len(asked))
        low, high = at_scales[place, columns], at_scales[place + 1, columns]
        return np.asarray(np.exp(low + share * (high - low)), dtype=np.float64)

    def term_probabilities(self, target_machines: Sequence[int], prior: AveragingPrior) -> FloatArray:
        """Of each term of the dictionary, by a model of what was replayed."""
        scale, machines = np.meshgrid(GRID_SCALE, GRID_MACHINES, indexing="ij")
        averaging = TermAveraging(prior=prior).fit(
            machines=[*machines.ravel(), *target_machines],
            scale=[*scale.ravel(), *(1.0 for _ in target_machines)],
            seconds=[*np.exp(self.log_seconds).ravel(), *self.of_targets],
        )
        return averaging.probabilities_


def replayed_seconds(profiles: Sequence[RunProfile], machines: Sequence[int], scale: float) -> FloatArray:
    """Seconds on each number of machines, in the given order."""
    return with_error(profiles, machines, scale)[0]


def with_error(
    profiles: Sequence[RunProfile], machines: Sequence[int], scale: float
) -> tuple[FloatArray, float]:
    """The same, and the error that the replay says it has, as a share; 0 where there is but one run."""
    found = replay_scaled(profiles, machines=machines, scale=scale, cores_per_machine=CORES)
    by_machines = {size.machines: size.replayed_seconds for size in found.sizes}
    return np.array([by_machines[count] for count in machines]), (found.error_percent or 0.0) / 100.0
