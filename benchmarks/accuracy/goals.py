"""What the predictor is to reach, and whether it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from benchmarks.accuracy import bell, c3o, synthetic
from benchmarks.accuracy.evaluation import LEVELS, Outcome, Summary, summarise
from benchmarks.accuracy.methods import ORIGINAL
from benchmarks.accuracy.ours import NAME as OURS
from benchmarks.accuracy.report import number
from benchmarks.accuracy.timing import Times

MOST_ERROR: Mapping[str, float] = {
    c3o.ALL_POINTS: 4.5,
    c3o.FEWEST_SECONDS: 6.0,
    c3o.FEWEST_MACHINE_SECONDS: 6.0,
    bell.INTERPOLATION: 4.0,
    bell.FAR_EXTRAPOLATION: 12.0,
    **dict.fromkeys(synthetic.DESIGNS, 6.0),
}
"""The mean absolute percentage error allowed in each table; other tables have no such goal."""

NEVER_ABOVE_ORIGINAL = frozenset(synthetic.DESIGNS)
"""Tables in which ours must not err more than the original, whatever the limit."""

COVERAGE_TOLERANCE = 5.0
"""Percentage points that coverage may be off the nominal."""

PROMISED = ((77.0, 88.0), (92.0, 99.0))
"""Per cent of single runs that the intervals of `LEVELS` are to hold, over all protocols."""

MOST_FIT_MILLISECONDS = 50.0


@dataclass(frozen=True, kw_only=True)
class Goal:
    """One figure of ours beside the others'; None where a method has no such figure.

    Attributes:
        figure: what is measured, with its unit.
        table: where.
        original: the figure of the original Ernest.
        best: the figure of the best method but ours and its variants, of those that refused nothing.
        best_method: its name; empty if there is none.
        ours: the figure of our method.
        low, high: what ours is to lie between; `high` is None where there is no goal.
        refused: how many predictions ours refused.
    """

    figure: str
    table: str
    original: float | None
    best: float | None
    best_method: str
    ours: float | None
    low: float
    high: float | None
    refused: int = 0

    @property
    def met(self) -> bool | None:
        """Whether the goal is met, which it is not by refusing; None where there is none."""
        if self.high is None:
            return None
        return self.ours is not None and self.low <= self.ours <= self.high and not self.refused


def goals_of(title: str, outcomes: Sequence[Outcome]) -> list[Goal]:
    """Error and coverage in each table of a protocol."""
    goals: list[Goal] = []
    methods = list(dict.fromkeys(outcome.method for outcome in outcomes))
    for split in dict.fromkeys(outcome.split for outcome in outcomes):
        summaries = {
            method: summarise(o for o in outcomes if (o.split, o.method) == (split, method))
            for method in methods
        }
        table = f"{title}: {split}"
        goals.append(_error(table, MOST_ERROR.get(split), summaries, split in NEVER_ABOVE_ORIGINAL))
        goals += [_coverage(table, position, summaries) for position in range(len(LEVELS))]
    return goals


def goal_of_times(times: Mapping[str, Times]) -> Goal:
    """The time of a fit."""
    figures = {method: of.fit for method, of in times.items()}
    return _goal("ms of a fit", "12 observations", figures, bounds=(0.0, MOST_FIT_MILLISECONDS))


def goals_table(goals: Sequence[Goal]) -> list[str]:
    """The table, line by line, the goals of one figure below each other."""
    lines = ["== goals =="]
    width = max(len(goal.table) for goal in goals)
    for figure in dict.fromkeys(goal.figure for goal in goals):
        lines += ["", f"{figure:{width}s}  original    best other                  ours  goal"]
        lines += [_line(goal, width) for goal in goals if goal.figure == figure]
    return lines


def calibration_table(protocols: Mapping[str, Sequence[Outcome]]) -> list[str]:
    """What our intervals hold in each table of each protocol, and in all of them together.

    Args:
        protocols: the outcomes by title.
    """
    tables = {
        f"{title}: {split}": [o for o in outcomes if (o.method, o.split) == (OURS, split)]
        for title, outcomes in protocols.items()
        for split in dict.fromkeys(outcome.split for outcome in outcomes)
    }
    width = max(len(table) for table in tables)
    heads = "".join(
        f" | in {level:.0%}  width  promised {low:.0f} to {high:.0f}"
        for level, (low, high) in zip(LEVELS, PROMISED, strict=True)
    )
    return [
        f"== calibration over all protocols: {OURS}, single runs, % ==",
        f"{'':{width}s}    runs{heads}",
        *(_calibration_line(f"{table:{width}s}", of) for table, of in tables.items()),
        _calibration_line(f"{'all of them':{width}s}", [o for of in tables.values() for o in of]),
        "",
    ]


def _calibration_line(name: str, outcomes: Sequence[Outcome]) -> str:
    summary = summarise(outcomes)
    line = f"{name}  {sum(len(outcome.repetitions) for outcome in outcomes):6d}"
    if summary.coverage is None or summary.width is None:
        return line
    for share, wide, (low, high) in zip(summary.coverage, summary.width, PROMISED, strict=True):
        told = "kept" if low <= share <= high else "too few" if share < low else "too many"
        line += f" | {number(share, 9)}  {number(wide, 5, 0)}  {told:17s}"
    return line.rstrip()


def _line(goal: Goal, width: int) -> str:
    wanted = "-"
    if goal.high is not None:
        wanted = f"{goal.low:.0f} to {goal.high:.0f}" if goal.low else f"{goal.high:.1f}"
        wanted += "  met" if goal.met else "  missed"
    refused = f", refused {goal.refused}" if goal.refused else ""
    return (
        f"{goal.table:{width}s}  {number(goal.original, 8)}  {number(goal.best, 6)} {goal.best_method:18s}  "
        f"{number(goal.ours, 6)}  {wanted}{refused}"
    )


def _error(table: str, most: float | None, summaries: Mapping[str, Summary], below_original: bool) -> Goal:
    figures = {method: summary.mean for method, summary in summaries.items()}
    original = figures.get(ORIGINAL)
    if most is not None and below_original and original is not None:
        most = min(most, original)
    bounds = None if most is None else (0.0, most)
    return _goal("mean error, %", table, figures, bounds=bounds, refused=_refused(summaries))


def _coverage(table: str, position: int, summaries: Mapping[str, Summary]) -> Goal:
    figures: dict[str, float | None] = dict.fromkeys(summaries)
    for method, summary in summaries.items():
        # Intervals for the easy predictions only would compare with nothing.
        if summary.coverage is not None and summary.bounded == summary.predictions - summary.refused:
            figures[method] = summary.coverage[position]
    nominal = 100.0 * LEVELS[position]
    bounds = (nominal - COVERAGE_TOLERANCE, min(100.0, nominal + COVERAGE_TOLERANCE))
    name = f"single runs in {nominal:.0f} %, %"
    return _goal(name, table, figures, bounds=bounds, refused=_refused(summaries), nominal=nominal)


def _refused(summaries: Mapping[str, Summary]) -> dict[str, int]:
    return {method: summary.refused for method, summary in summaries.items()}


def _goal(
    figure: str,
    table: str,
    figures: Mapping[str, float | None],
    *,
    bounds: tuple[float, float] | None,
    refused: Mapping[str, int] = MappingProxyType({}),
    nominal: float = 0.0,
) -> Goal:
    """The goal of one figure; best is what is nearest to `nominal`.

    Whoever refuses the hard predictions errs little on the others, and is no yardstick.
    """
    others = {
        method: value
        for method, value in figures.items()
        if value is not None and not method.startswith(OURS) and not refused.get(method)
    }
    best = min(others, key=lambda method: abs(others[method] - nominal), default="")
    return Goal(
        figure=figure,
        table=table,
        original=figures.get(ORIGINAL),
        best=others.get(best),
        best_method=best,
        ours=figures.get(OURS),
        low=bounds[0] if bounds is not None else 0.0,
        high=bounds[1] if bounds is not None else None,
        refused=refused.get(OURS, 0),
    )
