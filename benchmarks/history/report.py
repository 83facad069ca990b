"""The tables of how good predictions from history alone are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.history.evaluation import CASES, LEVELS, METHODS, NUMBERS_OF_RUNS, RecordedRun, Said

PER_JOB_RUNS = (2, 10)


def report_lines(runs: Sequence[RecordedRun], said: Sequence[Said]) -> Iterator[str]:
    """The tables.

    Args:
        runs: of the corpus.
        said: of them.
    """
    yield from _of_the_corpus(runs)
    for case in CASES:
        yield f"\nRuns on {case}; errors in per cent of what came"
        yield (
            f"{'method':<28}{'known':>6}{'runs':>6}{'mean':>7}{'median':>8}{'bias':>7}"
            + "".join(f"{f'in {level:.0%}':>9}" for level in LEVELS)
            + f"{'silent':>8}"
        )
        for method in METHODS:
            for count in NUMBERS_OF_RUNS:
                chosen = [s for s in said if (s.case, s.method, s.runs) == (case, method, count)]
                yield f"{method:<28}{count:>6}" + _row(chosen)
    for case in CASES:
        yield f"\nMean absolute error by job, on {case}, per cent"
        columns = [(method, count) for method in METHODS for count in PER_JOB_RUNS]
        yield f"{'':<20}" + "".join(f"{method[:17]:>20}" for method in METHODS)
        yield f"{'job, runs known:':<20}" + "".join(f"{count:>10}" for _, count in columns)
        for job in sorted({run.job for run in runs}):
            cells = [
                _mean([s for s in said if (s.case, s.method, s.runs, s.job) == (case, method, count, job)])
                for method, count in columns
            ]
            yield f"{job:<20}" + "".join(f"{cell:>10}" for cell in cells)


def _of_the_corpus(runs: Sequence[RecordedRun]) -> Iterator[str]:
    jobs = sorted({run.job for run in runs})
    yield f"{len(runs)} real runs of {len(jobs)} jobs; seconds are clean"
    yield "failed: runs whose driver ended with an error; told: those whose logs say so"
    heads = f"{'failed':>8}{'told':>6}  {'machines: runs':<30}{'seconds':>10}{'input MB':>12}"
    yield f"{'job':<20}{'runs':>4}{heads}"
    for job in jobs:
        of_job = [run for run in runs if run.job == job]
        good = [run.past for run in of_job if not run.failed]
        counts = sorted({run.machines for run in good})
        sizes = ", ".join(f"{count}: {sum(run.machines == count for run in good)}" for count in counts)
        failed = [run for run in of_job if run.failed]
        yield (
            f"{job:<20}{len(of_job):>4}{len(failed):>8}{sum(bool(run.past.failure) for run in of_job):>6}  "
            f"{sizes:<30}"
            f"{_span([run.seconds for run in good]):>10}{_span([run.input_bytes / 1e6 for run in good]):>12}"
        )


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.0f}..{max(values):.0f}" if values else "-"


def _row(said: Sequence[Said]) -> str:
    errors = _errors(said)
    if not len(errors):
        return f"{0:>6}{'-':>7}{'-':>8}{'-':>7}" + f"{'-':>9}" * len(LEVELS) + f"{len(said):>8}"
    figures = f"{len(errors):>6}{np.abs(errors).mean():>7.1f}{np.median(np.abs(errors)):>8.1f}"
    figures += f"{errors.mean():>+7.1f}"
    for place in range(len(LEVELS)):
        held = [each.held[place] for each in said if each.held[place] is not None]
        figures += f"{np.mean([bool(each) for each in held]):>9.0%}" if held else f"{'-':>9}"
    return figures + f"{len(said) - len(errors):>8}"


def _mean(said: Sequence[Said]) -> str:
    errors = _errors(said)
    return f"{np.abs(errors).mean():.0f}" if len(errors) else "-"


def _errors(said: Sequence[Said]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([100 * np.expm1(each.error) for each in said if each.error is not None])
