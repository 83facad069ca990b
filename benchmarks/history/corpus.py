"""The packed corpus as `ernest history` and `ernest analyze` read it."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.documents.profiles import RunProfile
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.history.scan import scan
from benchmarks.history.evaluation import RecordedRun
from benchmarks.history.packing import unpack


def recorded_runs(archives: Path, folder: Path) -> list[RecordedRun]:
    """All runs, by job and in their order.

    Args:
        archives: folder of the packed logs.
        folder: that they are unpacked into.
    """
    facts = unpack(folder, packed=archives)
    if not facts:
        raise SystemExit(f"{archives} holds no archive of event logs.")
    found = {Path(run.event_log).name: run for run in scan([folder])}
    runs = [
        RecordedRun(
            job=fact["job"],
            number=fact["number"],
            past=found[fact["run"]],
            profile=_profile(folder / fact["run"]),
            failed=fact["fails"],
        )
        for fact in facts
    ]
    return sorted(runs, key=lambda run: (run.job, run.number))


def _profile(log: Path) -> RunProfile | None:
    try:
        return profile_run(read_event_log(log), changes=())
    except EventLogError:
        return None
