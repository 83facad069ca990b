"""Predictions across a change of regime, judged by recorded runs of Spark on both sides of it.

python -m benchmarks.regimes    a minute
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from benchmarks.recordings import error_table, shown
from benchmarks.regimes.evaluation import CASES, MOST_EXECUTORS, RecordedRun, evaluate, recorded_runs

SAME_WORK = ("gradient-memory", "gradient-disk")
"""Settings of one script that differ only in where cached data falls that finds no room."""


def main() -> None:
    """Predict all runs, and print how near that came."""
    runs = recorded_runs()
    said = pd.DataFrame(evaluate(runs))
    print(
        f"{len(runs)} real runs; seconds are clean; short: memory ran short, or the job took another course"
    )
    print(pd.DataFrame([_setting_row(name, runs) for name in sorted({run.setting for run in runs})]))
    print("\nErrors in per cent of what came; wide: upper bound over lower, median")
    print(shown(error_table(said, ["case"])))
    print("\nAcross a change, by whether Spark's figures announce it")
    print(shown(error_table(said[said["announced"].notna()], ["case", "announced"])))
    announced = said[said["announced"].eq(True)]
    print("\nAnnounced, on either way")
    print(shown(error_table(announced.assign(case="all"), ["case"])))
    print(f"\nThe same, on more machines than any known run, or not; {MOST_EXECUTORS} share two cores")
    print(shown(error_table(announced, ["on more"])))
    print(same_work(runs))
    for case in CASES:
        print(f"\n{case.capitalize()}, by setting")
        print(shown(error_table(said[said["case"] == case], ["setting"])))
    missed = said[(said["low 95%"] > 1) | (said["high 95%"] < 1)]
    print(f"\nOutside the 95% interval: {len(missed)} of {said['low 95%'].count()}")
    print(missed[["case", "setting", "executors", "scale", "seconds", "error"]].to_string(index=False))


def _setting_row(name: str, runs: Sequence[RecordedRun]) -> dict[str, object]:
    of = [run for run in runs if run.setting == name]
    seconds = [run.observation.seconds for run in of]
    metrics = [run.observation.metrics for run in of if run.observation.metrics is not None]
    shares = [each.cache_share for each in metrics if each.cache_share is not None]
    return {
        "setting": name,
        "ample": sum(not run.is_short for run in of),
        "short": sum(run.is_short for run in of),
        "seconds": f"{min(seconds):.0f}..{max(seconds):.0f}",
        "least cached": f"{min(shares):.0%}" if shares else "-",
        "spilled MB": round(max((each.spilled_bytes for each in metrics), default=0) / 1e6, 1),
    }


def same_work(runs: Sequence[RecordedRun]) -> str:
    """How much no predictor could know: how the same work differs that was recorded twice, all in memory."""
    one, other = (
        [run.observation for run in runs if run.setting == name and not run.is_short] for name in SAME_WORK
    )
    pairs = [(a, b) for a, b in product(one, other) if a.configuration == b.configuration]
    logarithms = np.array([np.log(a.seconds / b.seconds) for a, b in pairs])
    off = 100 * np.expm1(np.abs(logarithms))
    spread = 100 * np.sqrt((logarithms**2).mean() / 2)
    of_mean, of_other = spread * np.sqrt(2 / np.pi), spread * 2 / np.sqrt(np.pi)
    return (
        f"The same work recorded twice (one script, all in memory): {len(off)} pairs, the longer run by "
        f"{off.mean():.1f}% (mean), {off.max():.0f}% (most);\n"
        f"standard deviation of a single run {spread:.1f}%: who knew the mean would be off by "
        f"{of_mean:.1f}%, who knows one such run by {of_other:.1f}%"
    )


if __name__ == "__main__":
    main()
