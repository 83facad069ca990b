"""The same stage in several runs of a job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.replay.stage_growth import StagePoint, point_of

Stages = list[run_profile.StageProfile]


class MatchedStages:
    """Finds the stages of one run in others.

    Stages have the names of the lines that asked for them, and several may have one name: the second of a
    name is the second of that name in another run, if both have as many. If not (other numbers of iterations,
    other plans of adaptive execution), all of the name that read the same kind of data are taken for alike.
    """

    def __init__(self, source: run_profile.RunProfile, others: Sequence[run_profile.RunProfile]) -> None:
        self._others = [(run, _by_name(run.stages)) for run in others]
        self._source = source
        self._by_name = _by_name(source.stages)

    def points(self, stage: run_profile.StageProfile) -> tuple[StagePoint, list[StagePoint]]:
        """What the source tells of one of its stages, and what each of the other runs that has it tells."""
        of_source = point_of([stage], scale=self._source.scale, slots=self._source.slots)
        found = []
        for run, stages in self._others:
            alike = self._alike(stage, stages[stage.name])
            if alike:
                found.append(point_of(alike, scale=run.scale, slots=run.slots))
        return of_source, found

    def _alike(self, stage: run_profile.StageProfile, candidates: Stages) -> Stages:
        own = self._by_name[stage.name]
        if len(own) == len(candidates):
            return [candidates[own.index(stage)]]
        return [other for other in candidates if _kind(other) == _kind(stage)]


def _by_name(stages: Sequence[run_profile.StageProfile]) -> defaultdict[str, Stages]:
    found: defaultdict[str, Stages] = defaultdict(list)
    for stage in stages:
        if stage.tasks:
            found[stage.name].append(stage)
    return found


def _kind(stage: run_profile.StageProfile) -> tuple[bool, bool]:
    return stage.reads_input, stage.shuffle_remote_bytes + stage.shuffle_local_bytes > 0
