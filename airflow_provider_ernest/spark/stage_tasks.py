"""How many tasks could run at once in the stages in which most of a run's time goes."""

from __future__ import annotations

import heapq
from collections import defaultdict
from typing import Any


class StageTasks:
    """Collects the stages of one application; memory in proportion to their number."""

    def __init__(self) -> None:
        self._run_seconds: dict[int, float] = defaultdict(float)
        self._stages: list[tuple[float, float, int, int]] = []

    def task_ended(self, stage_id: int, run_seconds: float) -> None:
        """Add the seconds that a task of the stage ran."""
        self._run_seconds[stage_id] += run_seconds

    def stage_completed(self, stage: dict[str, Any]) -> None:
        """Add a stage by its "Stage Info"; one that was never submitted has no times and no tasks."""
        submitted, completed = stage.get("Submission Time"), stage.get("Completion Time")
        if submitted is not None and completed is not None:
            self._stages.append((submitted, completed, stage["Stage ID"], stage["Number of Tasks"]))

    def dominant(self) -> int | None:
        """The tasks that could run at once: the median over the stages, weighted by their run seconds.

        Stages that overlap in time do not depend on one another (the two inputs of a join), so a stage
        counts with the tasks of those beside it. None where no stage has finished.
        """
        side_by_side = self._side_by_side()
        total = sum(self._run_seconds[stage] for stage in side_by_side)
        passed = 0.0
        for tasks, stage in sorted((tasks, stage) for stage, tasks in side_by_side.items()):
            passed += self._run_seconds[stage]
            if passed >= total / 2:
                return tasks
        return None

    def _side_by_side(self) -> dict[int, int]:
        """For each stage the most tasks that it and the stages running beside it had together."""
        most: dict[int, int] = defaultdict(int)
        running: list[tuple[float, int, int]] = []
        for submitted, completed, stage, tasks in sorted(self._stages):
            while running and running[0][0] <= submitted:
                heapq.heappop(running)
            heapq.heappush(running, (completed, stage, tasks))
            together = sum(each for _, _, each in running)
            for _, other, _ in running:
                most[other] = max(most[other], together)
        return most
