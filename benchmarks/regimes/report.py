"""The tables of how good predictions across a change of regime are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from airflow_provider_ernest.documents.runs import Observation
from benchmarks.regimes.corpus import RecordedRun
from benchmarks.regimes.evaluation import CASES, INTO_SHORTAGE, LEVELS, OUT_OF_SHORTAGE, Said
from benchmarks.regimes.schedule import MOST_MACHINES, SETTINGS

MOST_ERROR, LEAST_COVERAGE = 0.15, 0.75
"""The targets, of runs whose change was announced: mean absolute error, and coverage of 80 %."""

_HEADS = (
    f"{'runs':>6}{'silent':>8}{'mean':>7}{'median':>8}{'bias':>7}"
    + "".join(f"{f'in {level:.0%}':>9}" for level in LEVELS)
    + "".join(f"{f'wide {level:.0%}':>10}" for level in LEVELS)
)


def report_lines(runs: Sequence[RecordedRun], said: Sequence[Said]) -> Iterator[str]:
    """The tables.

    Args:
        runs: that were recorded.
        said: of them.
    """
    yield from _of_the_runs(runs)
    yield "\nErrors in per cent of what came; wide: upper bound over lower, median"
    yield f"{'':<38}{_HEADS}"
    for case in CASES:
        of_case = [each for each in said if each.case == case]
        yield f"{case:<38}" + _row(of_case)
        if case in (INTO_SHORTAGE, OUT_OF_SHORTAGE):
            for announced, words in ((True, "  the figures announce it"), (False, "  they do not")):
                yield f"{words:<38}" + _row([each for each in of_case if each.announced is announced])
    yield from _targets(said)
    yield from _limits(runs, said)
    for case in CASES:
        yield f"\n{case[0].upper()}{case[1:]}, by setting"
        yield f"{'':<30}{'announced':>10}{_HEADS}"
        for setting in sorted({run.setting for run in runs}):
            chosen = [each for each in said if (each.case, each.setting) == (case, setting)]
            told = [each.announced for each in chosen if each.announced is not None]
            share = f"{sum(told)}/{len(told)}" if told else "-"
            yield f"{setting:<30}{share:>10}{_row(chosen)}"
    yield from _missed(said)


def _of_the_runs(runs: Sequence[RecordedRun]) -> Iterator[str]:
    yield f"{len(runs)} real runs; seconds are clean; short: memory ran short, or the job took another course"
    yield f"{'setting':<20}{'ample':>6}{'short':>6}{'seconds':>12}{'least cached':>14}{'spilled MB':>12}"
    for setting in sorted({run.setting for run in runs}):
        of_setting = [run for run in runs if run.setting == setting]
        seconds = [run.observation.seconds for run in of_setting]
        metrics = [run.observation.metrics for run in of_setting if run.observation.metrics is not None]
        shares = [each.cache_share for each in metrics if each.cache_share is not None]
        short = sum(run.is_short for run in of_setting)
        yield (
            f"{setting:<20}{len(of_setting) - short:>6}{short:>6}"
            f"{f'{min(seconds):.0f}..{max(seconds):.0f}':>12}"
            f"{f'{min(shares):.0%}' if shares else '-':>14}"
            f"{max((each.spilled_bytes for each in metrics), default=0) / 1e6:>12.1f}"
        )


def _targets(said: Sequence[Said]) -> Iterator[str]:
    announced = [each for each in said if each.announced and each.error is not None]
    if not announced:
        return
    error = float(np.mean([abs(each.error or 0.0) for each in announced]))
    held = float(np.mean([each.held[0] for each in announced]))
    for what, reached, is_met in (
        (f"mean error at most {MOST_ERROR:.0%}", error, error <= MOST_ERROR),
        (f"80 % interval holds at least {LEAST_COVERAGE:.0%}", held, held >= LEAST_COVERAGE),
    ):
        yield f"Target where announced: {what}: {reached:.2%}, {'met' if is_met else 'missed'}"


def _limits(runs: Sequence[RecordedRun], said: Sequence[Said]) -> Iterator[str]:
    """How much of the errors no predictor could know: machines that share two cores, and mere scatter."""
    yield f"\n{'Announced, on either way':<38}{_HEADS}"
    announced = [each for each in said if each.announced]
    for is_beyond, words in (
        (False, "on as many machines as some known run"),
        (True, f"on more; {MOST_MACHINES} share two cores"),
    ):
        chosen = [each for each in announced if (each.machines > each.most_machines) is is_beyond]
        yield f"{words:<38}{_row(chosen)}"
    logarithms = np.array([np.log(one.seconds / other.seconds) for one, other in _same_work(runs)])
    if len(logarithms):
        off = 100 * np.expm1(np.abs(logarithms))
        spread = 100 * np.sqrt((logarithms**2).mean() / 2)
        of_mean, of_other = spread * np.sqrt(2 / np.pi), spread * 2 / np.sqrt(np.pi)
        yield (
            f"The same work recorded twice (one script, all in memory): {len(off)} pairs, the longer run by "
            f"{off.mean():.1f}% (mean), {off.max():.0f}% (most);\n"
            f"standard deviation of a single run {spread:.1f}%: who knew the mean would be off by "
            f"{of_mean:.1f}%, who knows one such run by {of_other:.1f}%"
        )


def _same_work(runs: Sequence[RecordedRun]) -> Iterator[tuple[Observation, Observation]]:
    """Runs of two settings that differ in where cached data falls, and whose data all stayed in memory."""
    scripts = {setting.name: setting.script for setting in SETTINGS}
    kept = [run for run in runs if not run.is_short and run.setting in scripts]
    for one, other in combinations(kept, 2):
        is_same = scripts[one.setting] == scripts[other.setting] and one.setting != other.setting
        if is_same and one.observation.configuration == other.observation.configuration:
            yield one.observation, other.observation


def _missed(said: Sequence[Said]) -> Iterator[str]:
    """The runs that the widest interval does not hold: nobody was warned of them."""
    missed = [each for each in said if each.held and not each.held[-1]]
    yield f"\nOutside the {LEVELS[-1]:.0%} interval: {len(missed)} of {sum(bool(each.held) for each in said)}"
    for each in sorted(missed, key=lambda each: -abs(np.log((each.predicted or 1.0) / each.seconds))):
        low, high = each.intervals[-1]
        yield (
            f"{each.case:<26}{each.setting:<18}{each.machines:>2} machines, scale {each.scale:<6.3g}"
            f"took {each.seconds:.1f} s, said {each.predicted or 0.0:.1f} ({low:.1f} to {high:.1f})"
        )


def _row(said: Sequence[Said]) -> str:
    errors = 100 * np.array([each.error for each in said if each.error is not None])
    if not len(errors):
        return f"{0:>6}{len(said):>8}"
    figures = f"{len(errors):>6}{len(said) - len(errors):>8}{np.abs(errors).mean():>7.1f}"
    figures += f"{np.median(np.abs(errors)):>8.1f}{errors.mean():>+7.1f}"
    answers = [each for each in said if each.intervals]
    for place in range(len(LEVELS)):
        figures += f"{np.mean([each.held[place] for each in answers]):>9.0%}"
    for place in range(len(LEVELS)):
        figures += f"{np.median([each.widths[place] for each in answers]):>10.2f}"
    return figures
