"""The packed runs as observations, as a sample run of the package is kept."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.eventlog.run_facts import read_run, registered_at, run_metrics, run_seconds
from airflow_provider_ernest.prediction.predict import WHOLE_CACHE
from benchmarks.history.packing import unpack
from benchmarks.regimes.schedule import SETTINGS, TARGET_FILES, Setting


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """A run of a setting.

    Attributes:
        setting: its name.
        observation: of the run; its scale is the files read over those of the whole input.
        is_short: whether it was on the side where memory ran short, or the job took another course.
    """

    setting: str
    observation: Observation
    is_short: bool


def recorded_runs(archives: Path, settings: Sequence[Setting] = SETTINGS) -> list[RecordedRun]:
    """All runs, by setting and in their order.

    Args:
        archives: folder of the packed logs.
        settings: that were recorded.
    """
    by_name = {setting.name: setting for setting in settings}
    with tempfile.TemporaryDirectory(prefix="ernest-regimes-") as folder:
        facts = [fact for fact in unpack(Path(folder), packed=archives) if fact["job"] in by_name]
        if not facts:
            raise SystemExit(f"{archives} holds no archive of runs: record and pack some first.")
        return [
            _run(by_name[fact["job"]], fact, Path(folder) / fact["run"])
            for fact in sorted(facts, key=lambda fact: (fact["job"], fact["number"]))
        ]


def _run(setting: Setting, fact: dict[str, int], log_file: Path) -> RecordedRun:
    log = read_run(log_file)
    observation = Observation(
        index=fact["number"],
        machines=fact["machines"],
        scale=fact["files"] / TARGET_FILES,
        seconds=run_seconds(log, fact["machines"]),
        startup_seconds=max(0.0, registered_at(log, fact["machines"]) - log.started_at),
        application_id=log.application_id,
        hosts=tuple(executor.host for executor in log.machines),
        metrics=run_metrics(log),
    )
    is_told = setting.changes_at is not None
    return RecordedRun(
        setting=setting.name,
        observation=observation,
        is_short=fact["files"] >= (setting.changes_at or 0) if is_told else is_short(observation),
    )


def is_short(observation: Observation) -> bool:
    """Whether memory ran short by Spark's figures: a cache was not all in memory, or tasks spilled."""
    metrics = observation.metrics
    if metrics is None:
        return False
    share = metrics.cache_share
    return metrics.spilled_bytes > 0 or (share is not None and share < WHOLE_CACHE)
