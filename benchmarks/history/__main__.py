"""Predictions from history alone, judged by recorded event logs.

python -m benchmarks.history    a few minutes
"""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from pathlib import Path

import pandas as pd

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.documents.profiles import RunProfile
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.history.scan import Scan
from benchmarks.history.evaluation import CASES, RecordedRun, said_of
from benchmarks.recordings import HISTORY, error_table, shown, unpack

PER_JOB_RUNS = (2, 10)


def main() -> None:
    """Predict all runs from those before, and print how near that came."""
    with tempfile.TemporaryDirectory(prefix="ernest-history-") as folder:
        runs = recorded_runs(Path(folder))
    by_job = {job: list(of_job) for job, of_job in groupby(runs, key=lambda run: run.job)}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        said = pd.DataFrame([row for rows in pool.map(said_of, by_job, by_job.values()) for row in rows])
    print(f"{len(runs)} real runs of {len(by_job)} jobs; seconds are clean")
    print("failed: runs whose driver ended with an error; told: those whose logs say so")
    print(pd.DataFrame([_corpus_row(job, of_job) for job, of_job in by_job.items()]).to_string(index=False))
    for case in CASES:
        of_case = said[said["case"] == case]
        print(f"\nRuns on {case}; errors in per cent of what came, by number of runs known")
        print(shown(error_table(of_case, ["method", "known"])))
        print(f"\nMean absolute error by job, on {case}, per cent")
        errors = error_table(of_case[of_case["known"].isin(PER_JOB_RUNS)], ["job", "method", "known"])["mean"]
        print(
            errors.unstack(["method", "known"])
            .sort_index()
            .to_string(float_format="{:.0f}".format, na_rep="-")
        )


def recorded_runs(folder: Path) -> list[RecordedRun]:
    """All runs, by job and in their order, as `ernest history` and `ernest analyze` read them."""
    facts = unpack(HISTORY, folder)
    found = {Path(run.event_log).name: run for run in Scan([folder])}
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


def _corpus_row(job: str, runs: list[RecordedRun]) -> dict[str, object]:
    good = [run.past for run in runs if not run.failed]
    counts = sorted({run.executors for run in good})
    seconds, megabytes = [run.seconds for run in good], [run.input_bytes / 1e6 for run in good]
    return {
        "job": job,
        "runs": len(runs),
        "failed": sum(run.failed for run in runs),
        "told": sum(bool(run.past.failure) for run in runs),
        "machines: runs": ", ".join(f"{n}: {sum(run.executors == n for run in good)}" for n in counts),
        "seconds": f"{min(seconds):.0f}..{max(seconds):.0f}",
        "input MB": f"{min(megabytes):.0f}..{max(megabytes):.0f}",
    }


if __name__ == "__main__":
    main()
