"""What the next runs of a job will read, forecast from what its past runs read.

The logarithm of a run's input is a level, a trend, effects of the weekday, the month's end and the time of
day, and noise; the level may jump, and may wander. None of these is certain after few runs. So each has a
prior probability and a prior width, models with and without each are weighed by their evidence (the
likelihood of the runs with all unknowns integrated out, which punishes what the history does not need), and
draws are made from all of them together (Hoeting et al. 1999). Given the model, all is a linear regression
with a normal-inverse-gamma prior (Raftery, Madigan, Hoeting 1997): its tails are Student's, wide after few
runs. Jumps and outliers are looked for beforehand, the one that explains most first, as Chen and Liu (1993)
do: a run far from all others is left out, and a jump is no trend.

Weekdays and hours are those of UTC.
"""

from __future__ import annotations

import math
from calendar import monthrange
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import ndtr, ndtri

from airflow_provider_ernest.documents.base import Interval
from airflow_provider_ernest.documents.surveys import Lateness
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.numbers import FloatArray, IntArray, positive_column

LATEST_RUNS = 400  # older ones tell little of tonight
DRAWS = 2000

MONTH_DAYS = 365.25 / 12
DAY_SECONDS = 86_400.0

USUAL_NOISE, NOISE_RUNS = 0.1, 2.0
"""Standard deviation of log(amount) around all that is known, and how many runs that guess counts as."""

LEVEL_WIDTH = 10.0
TREND_WIDTHS = {0.0: 0.4, 0.03: 0.35, 0.2: 0.25}
"""Of log(amount) in a month: standard deviations of a trend, and their prior probabilities."""
WALK_WIDTHS = {0.0: 0.6, 0.02: 0.25, 0.08: 0.15}
"""The same of how far the level wanders in a day."""
EFFECTS = ((0.4, 0.5), (0.4, 0.1), (0.5, 0.3))
"""Of weekday, time of day and month's end: standard deviation of its deviations, and the probability that
there is such an effect."""
JUMP, BEND = "jump", "bend"
CHANGES, MOST_CHANGES = {JUMP: (1.0, 0.005), BEND: (0.2, 0.003)}, 3
"""Of the level and of the trend: standard deviations, and the probabilities for each run."""
OUTLIER, OUTLIER_WIDTH, OUTLIER_PROBABILITY, MOST_OUTLIERS = (
    "outlier",
    1.0,
    0.02,
    0.2,
)  # at most that share of the runs
OUTLIER_RUNS = 25.0  # the usual share of outliers counts as much as so many runs
LEAST_SEARCHED = 5  # fewer runs tell no jump and no outlier
MOST_KNOTS = 40  # at which the level may wander on
LEAST_NOISE = 0.01  # that priors are in proportion to

_QUANTILES = (0.025, 0.1, 0.5, 0.9, 0.975)
MOST_LOG = 700.0  # what no number holds is infinite


@dataclass(frozen=True, kw_only=True)
class ForecastInput:
    """What a run at a moment reads, in bytes, or in records where the history is of these."""

    amount: float  # median
    likely: Interval  # its bounds with 80 % probability
    nearly_certain: Interval  # with 95 %
    log_spread: float  # standard deviation of log(amount) of a normal distribution with the likely bounds


# The regression.

_PLACES = (slice(2, 10), slice(10, 14), slice(14, 17))
"""Columns of the effects, in their order; before them the level and the trend, then changes, then knots."""
_FIXED = 17


@dataclass(frozen=True)
class _Columns:
    """Makes the columns of the regression."""

    last: datetime
    changes: Sequence[tuple[str, float]] = ()  # jumps and bends, in days since the last run
    knots: Sequence[float] = ()  # likewise, where the level may have wandered

    def rows(self, moments: Sequence[datetime]) -> FloatArray:
        """A row for each moment, (n, p)."""
        days = _days(self.last, moments)
        trend = np.stack([np.ones_like(days), days / MONTH_DAYS], axis=1)
        effects = np.array([_calendar(each) for each in moments]).reshape(-1, _FIXED - 2)
        since = days[:, None] - np.array([*(day for _, day in self.changes), *self.knots]) + 1e-9
        begun = np.asarray(since > 0, dtype=np.float64)
        for place, (kind, _) in enumerate(self.changes):
            if kind == BEND:
                begun[:, place] *= since[:, place] / MONTH_DAYS
        return np.hstack([trend, effects, begun])


def _days(last: datetime, moments: Iterable[datetime]) -> FloatArray:
    return np.array([(moment - last).total_seconds() / DAY_SECONDS for moment in moments])


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _calendar(moment: datetime) -> list[float]:
    weekday, left = moment.weekday(), monthrange(moment.year, moment.month)[1] - moment.day
    angle = 2 * math.pi * (moment.hour + moment.minute / 60) / 24
    hours = [wave(times * angle) for times in (1, 2) for wave in (math.cos, math.sin)]
    month_end = [float(left == 0), float(moment.day == 1), float(left < 3)]
    return [*(float(day == weekday) for day in range(7)), float(weekday > 4), *hours, *month_end]


def _all_admitted(noise: float) -> FloatArray:
    """Prior standard deviations where trend and effects are all admitted, in units of the noise."""
    widths = np.array([LEVEL_WIDTH, max(TREND_WIDTHS)] + [0.0] * (_FIXED - 2))
    for (width, _), place in zip(EFFECTS, _PLACES, strict=True):
        widths[place] = width
    return np.asarray(widths / noise)


def _search(
    last: datetime, moments: Sequence[datetime], logs: FloatArray, noise: float
) -> tuple[list[tuple[str, float]], IntArray]:
    """Look for changes and outliers, one by one, while that makes the runs more probable.

    Returns:
        The changes with their days, that which explains most first, and the places of the other runs.
    """
    days, kept, changes = _days(last, moments), np.arange(len(logs)), list[tuple[str, float]]()
    least = max(LEAST_SEARCHED, math.ceil((1 - MOST_OUTLIERS) * len(logs)))
    while len(kept) >= LEAST_SEARCHED:
        rows = _Columns(last, changes).rows([moments[place] for place in kept.tolist()])
        widths = [*_all_admitted(noise), *(CHANGES[kind][0] / noise for kind, _ in changes)]
        gains = _gains(rows * widths, days[kept] / MONTH_DAYS, logs[kept], noise)
        if len(kept) <= least:
            del gains[OUTLIER]
        if len(changes) == MOST_CHANGES:
            del gains[JUMP], gains[BEND]
        best = max(gains, key=lambda kind: gains[kind].max(), default=None)
        if best is None or gains[best].max() <= 0.0:
            break
        place = int(gains[best].argmax())
        if best == OUTLIER:
            kept = np.delete(kept, place)
        else:
            changes.append((best, float(days[kept[place]])))
    return changes, kept


def _gains(rows: FloatArray, months: FloatArray, logs: FloatArray, noise: float) -> dict[str, FloatArray]:
    """By how much the logarithm of the evidence rises if one run is an outlier, or a change is at it."""
    count, inverse = len(logs), np.linalg.inv(np.eye(rows.shape[1]) + rows.T @ rows)
    left = logs - rows @ (inverse @ (rows.T @ logs))
    shape, rate = (NOISE_RUNS + count) / 2, (NOISE_RUNS * noise**2 + logs @ left) / 2

    def since(values: FloatArray) -> FloatArray:  # the sum from each run on
        return np.asarray(np.cumsum(values[::-1], axis=0)[::-1])

    def gain(kind: str, squares: FloatArray, shared: FloatArray, dots: FloatArray) -> FloatArray:
        """Of a further column, by its products with itself, with the others and with what they leave."""
        width, probability = (OUTLIER_WIDTH, OUTLIER_PROBABILITY) if kind == OUTLIER else CHANGES[kind]
        own = np.maximum(squares - np.einsum("ij,jk,ik->i", shared, inverse, shared), 0.0)
        explained = np.minimum(dots**2 / (own + (noise / width) ** 2) / (2 * rate), 1 - 1e-12)
        occam = np.log1p(own * (width / noise) ** 2) / 2
        told = math.log(probability) - occam - shape * np.log1p(-explained)
        if kind != OUTLIER:
            told[:2], told[-1:] = -np.inf, -np.inf  # one run alone is an outlier, at either end, too
        return np.asarray(told)

    ones, above = np.ones(count), since(rows)
    bent = since(months[:, None] * rows) - months[:, None] * above
    squares = since(months**2) - 2 * months * since(months) + months**2 * since(ones)
    return {
        OUTLIER: gain(OUTLIER, ones, rows, left),
        JUMP: gain(JUMP, since(ones), above, since(left)),
        BEND: gain(BEND, squares, bent, since(months * left) - months * since(left)),
    }


def _models(columns: _Columns, noise: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The models that are weighed, m of them: their priors, in units of the noise.

    Returns:
        The standard deviation of each column, (m, p), and of the level's wandering in a day, (m,); and the
        logarithms of the models' probabilities, (m,).
    """
    apart = np.sqrt(np.diff(columns.knots, prepend=columns.knots[0]))
    widths, walks, priors = [], [], []
    changes = [CHANGES[kind] for kind, _ in columns.changes]
    admitted = [*product((False, True), repeat=len(EFFECTS))]
    for trend, walk, begun, effects in product(TREND_WIDTHS, WALK_WIDTHS, range(len(changes) + 1), admitted):
        row = np.zeros(_FIXED)
        row[:2] = LEVEL_WIDTH, trend
        shares = [TREND_WIDTHS[trend], WALK_WIDTHS[walk], *(share for _, share in changes[:begun])]
        for (width, share), place, admits in zip(EFFECTS, _PLACES, effects, strict=True):
            row[place] = admits * width
            shares.append(share if admits else 1 - share)
        changed = [width * (place < begun) for place, (width, _) in enumerate(changes)]
        widths.append(np.concatenate([row, changed, walk * apart]) / noise)
        walks.append(walk / noise)
        priors.append(math.log(math.prod(shares)))
    return np.array(widths), np.array(walks), np.array(priors)


def _rough_noise(logs: FloatArray) -> float:
    """By differences of runs that follow each other, or are alike in week or day: they know no trend."""
    lags = range(1, 1 + min(14, len(logs) // 3))
    apart = [float(np.median(np.abs(logs[lag:] - logs[:-lag]))) for lag in lags]
    return max(1.05 * min(apart, default=USUAL_NOISE), LEAST_NOISE)


class InputForecast:
    """What the next runs of one job read, by the moments and amounts (bytes, or records) of its past runs.

    The same history always tells the same.

    Attributes:
        last: when the newest run of the history began.

    Raises:
        InvalidParameterError: there is no amount, or one that is not above 0.
    """

    def __init__(self, moments: Iterable[datetime], amounts: ArrayLike) -> None:
        column = positive_column("amounts", amounts)
        both = zip(map(_in_utc, moments), column.tolist(), strict=True)
        ordered = sorted(both, key=lambda run: run[0])[-LATEST_RUNS:]
        if not ordered:
            raise InvalidParameterError("amounts", [], "is empty", remedy="Pass what one run read, or more.")
        moments, logs = [moment for moment, _ in ordered], np.log([amount for _, amount in ordered])
        self.last = moments[-1]
        self._middle = float(np.median(logs))
        logs -= self._middle
        noise = _rough_noise(logs)
        changes, places = _search(self.last, moments, logs, noise)
        kept = [moments[place] for place in places.tolist()]
        days = _days(self.last, kept)
        knots = days[np.linspace(0, len(days) - 1, MOST_KNOTS + 1).astype(int)]
        self._columns = _Columns(self.last, changes, np.unique(knots).tolist())
        self._draw(self._columns.rows(kept), logs[places], noise)
        off = np.setdiff1d(np.arange(len(moments)), places)
        outliers = logs[off] - self._columns.rows([moments[place] for place in off]) @ self._mean
        self._draw_noise(outliers, len(moments))
        # A typical run has the mean of all runs' weekdays and hours, and is of no month's end.
        now, later = self._columns.rows([self.last, self.last + timedelta(days=MONTH_DAYS)])
        calendar, month_end = slice(2, _FIXED), _PLACES[-1]
        now[calendar] = later[calendar] = self._columns.rows(kept).mean(axis=0)[calendar]
        now[month_end] = later[month_end] = 0.0
        self._typical, self._trend = self._unknowns @ now, self._unknowns @ (later - now)
        self._weekdays = {each.weekday() for each in kept}

    def _draw(self, rows: FloatArray, logs: FloatArray, noise: float) -> None:
        """Draw the unknowns from all models, from each as often as it is probable."""
        random, (widths, walks, log_priors) = np.random.default_rng(0), _models(self._columns, noise)
        scaled = widths[:, :, None] * (rows.T @ rows) * widths[:, None, :]
        roots = np.linalg.cholesky(np.eye(rows.shape[1]) + scaled)
        solved = np.linalg.solve(roots, (widths * (rows.T @ logs))[:, :, None])[:, :, 0]
        shape = (NOISE_RUNS + len(logs)) / 2
        rates = (NOISE_RUNS * USUAL_NOISE**2 + logs @ logs - (solved**2).sum(axis=1)) / 2
        evidence = (
            log_priors - np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1) - shape * np.log(rates)
        )
        shares = np.exp(evidence - evidence.max())
        shares /= shares.sum()
        drawn = np.searchsorted(np.cumsum(shares), (np.arange(DRAWS) + 0.5) / DRAWS * (1 - 1e-9))
        self._noises = np.sqrt(rates[drawn] / random.gamma(shape, size=DRAWS))
        self._walks = walks[drawn] * self._noises
        self._unknowns = np.empty((DRAWS, rows.shape[1]))
        self._mean = np.zeros(rows.shape[1])
        for model in np.unique(drawn):
            own = drawn == model
            around = self._noises[own] * random.standard_normal((rows.shape[1], own.sum()))
            at = solved[model][:, None] + around
            self._unknowns[own] = widths[model] * solve_triangular(roots[model].T, at).T
            self._mean += own.mean() * widths[model] * solve_triangular(roots[model].T, solved[model])

    def _draw_noise(self, outliers: FloatArray, runs: int) -> None:
        """Draw what a single run is off by; now and then it is an outlier, as those that were found."""
        random = np.random.default_rng(1)
        self._off = self._noises * ndtri(random.permutation((np.arange(DRAWS) + 0.5) / DRAWS))
        share = (len(outliers) + OUTLIER_RUNS * OUTLIER_PROBABILITY) / (runs + OUTLIER_RUNS)
        far = math.sqrt((OUTLIER_WIDTH**2 / 4 + outliers @ outliers) / (1 + len(outliers)))
        is_far = random.random(DRAWS) < share
        self._off[is_far] += far * random.standard_normal(is_far.sum())
        self._future = random.standard_normal(DRAWS)

    def at(self, moment: datetime) -> ForecastInput:
        """What a run at that moment reads."""
        moment = _in_utc(moment)
        ahead = max(0.0, float(_days(self.last, [moment])[0]))
        logs = self._levels([moment])[:, 0] + self._walks * math.sqrt(ahead) * self._future + self._off
        low, likely_low, middle, likely_high, high = np.quantile(logs, _QUANTILES).clip(-MOST_LOG, MOST_LOG)
        return ForecastInput(
            amount=math.exp(middle),
            likely=(math.exp(likely_low), math.exp(likely_high)),
            nearly_certain=(math.exp(low), math.exp(high)),
            log_spread=float((likely_high - likely_low) / (2 * ndtri(_QUANTILES[3]))),
        )

    def _levels(self, moments: Sequence[datetime]) -> FloatArray:
        """Draws of log(amount) without a single run's noise, and as if the level wandered no further."""
        return np.asarray(self._middle + self._unknowns @ self._columns.rows(moments).T)

    @property
    def growth_per_month(self) -> float:
        """By how many times the input grows in a month, the median; jumps are no growth."""
        return math.exp(float(np.clip(np.median(self._trend), -50.0, 50.0)))

    def typical(self, days: int) -> FloatArray:
        """Draws of log(amount) of a typical run on each of so many days after the last run, (draws, days).

        Typical runs have neither noise, nor a weekday, nor a month's end.
        """
        steps = np.random.default_rng(2).standard_normal((DRAWS, days))
        trend = self._trend[:, None] * np.arange(1, days + 1) / MONTH_DAYS
        walked = self._walks[:, None] * np.cumsum(steps, axis=1)
        return np.asarray(self._middle + self._typical[:, None] + trend + walked)

    def usual_days(self, days: int) -> tuple[FloatArray, FloatArray]:
        """On which of so many days after the last run there are runs, and their median log(amount)."""
        moments = [self.last + timedelta(days=day) for day in range(1, days + 1)]
        usual = [each for each in moments if each.weekday() in self._weekdays]
        return _days(self.last, usual), np.asarray(np.median(self._levels(usual), axis=0))

    @property
    def noise(self) -> FloatArray:
        """What a run is off by, as a logarithm, in ascending order: as probable as each other."""
        return np.sort(self._off)[DRAWS // 200 :: DRAWS // 100]


# When a size stops keeping a deadline.

HORIZON_DAYS = 365  # beyond that nothing is told
LASTING_DAYS = (90, 30, 7)  # a size that is proposed keeps the deadline for so much longer, the most of these
PEAK_DAYS = 7  # a single day that is late is told if it comes so much earlier
MOST_SCALE = math.log(16.0)  # of an input, on the logarithm: for more no probability is asked
LEAST_STEP, CLOSE_DEVIATIONS, MOST_ASKED = 0.01, 1.0, 16  # between such inputs, and how many of them

ProbabilityWithin: TypeAlias = Callable[[float, Sequence[int]], FloatArray]


def late_from(
    forecast: InputForecast,
    probability_within: ProbabilityWithin,
    *,
    executors: Sequence[int],
    today: int,
    whole: float,
    confidence: float,
) -> Lateness | None:
    """When runs on `today` executors stop keeping a deadline as surely as asked, as the input grows.

    None where it is kept for all of `HORIZON_DAYS` after the last run, at single days, too.

    By the input of a run, as a share of `whole`, and n numbers of executors `probability_within` tells the
    probabilities that it keeps the deadline on these, shape (n,); the input's noise is added here. The
    executors are in ascending order, today's among them.
    """
    typical = forecast.typical(HORIZON_DAYS) - math.log(whole)
    ahead, by_day = forecast.usual_days(HORIZON_DAYS)
    by_day = by_day - math.log(whole)
    lows, highs = np.quantile(typical.max(axis=1), (_QUANTILES[1], _QUANTILES[3])).tolist()
    single_most = float(by_day.max(initial=-MOST_LOG))
    # Most jobs keep it even with what is needed for anything to be told: then nothing else is asked.
    needed = min(MOST_SCALE, max(lows, single_most) + float(np.quantile(forecast.noise, confidence)))
    if probability_within(math.exp(needed), [today])[0] >= confidence:
        return None

    def days_of(count: int) -> tuple[list[float], float]:
        """After how many days a typical run is late, with its bounds, and after how many a single one."""
        between = (min(0.0, float(np.median(typical[:, 0]))) - 0.5, min(MOST_SCALE, max(highs, needed)))
        limit = _limit(forecast.noise, probability_within, count, between, confidence)
        above = ahead[by_day > limit]
        return _first_days(typical, limit), float(above[0]) if len(above) else math.inf

    (earliest, usual, latest), single = days_of(today)
    if single + PEAK_DAYS > usual:  # it is late as others are
        single = math.inf
    # Somewhere in this year or later is no day that anybody can plan for.
    usual = usual if latest < math.inf else math.inf
    late = min(usual, single)
    if late == math.inf:
        return None
    middles = np.median(typical, axis=0)
    until = [min(HORIZON_DAYS, int(late) + further) for further in LASTING_DAYS]
    then = [float(middles[day - 1]) for day in until] if usual < math.inf else [single_most]
    larger = [count for count in executors if count > today]
    proposed, end = _first_that_keeps(probability_within, larger, then, confidence), math.inf
    if proposed is not None:
        (_, typical_end, _), single_end = days_of(proposed)
        end = typical_end if usual < math.inf else single_end
        proposed = proposed if end > late else None  # by the inputs' noise it may not keep it

    def date_of(day: float) -> str:
        return "" if day == math.inf else (forecast.last + timedelta(days=day)).date().isoformat()

    return Lateness(
        from_day=date_of(usual),
        earliest_day=date_of(earliest if usual < math.inf else math.inf),
        latest_day=date_of(latest),
        single_day=date_of(single),
        executors=proposed,
        executors_until=date_of(end) if proposed else "",
    )


def _limit(
    noise: FloatArray,
    probability_within: ProbabilityWithin,
    count: int,
    between: tuple[float, float],
    confidence: float,
) -> float:
    """Up to which log(scale) of a typical run so many executors keep it; infinite for all between."""

    def deviations(scale: float) -> float:  # nearly a straight line, as the probability is not
        probability = float(probability_within(math.exp(scale), [count])[0])
        return float(ndtri(min(max(probability, 1e-6), 1 - 1e-6)))

    scales = list(between)
    told = [deviations(scale) for scale in scales]
    while len(scales) < MOST_ASKED:
        gaps = np.where(np.diff(scales) > LEAST_STEP, np.abs(np.diff(told)), 0.0)
        widest = int(gaps.argmax())
        if gaps[widest] < CLOSE_DEVIATIONS:
            break
        scales.insert(widest + 1, (scales[widest] + scales[widest + 1]) / 2)
        told.insert(widest + 1, deviations(scales[widest + 1]))
    # What keeps it with more input does with less, however little is known of runs with so little.
    falling = np.maximum.accumulate(told[::-1])[::-1]
    fine = np.linspace(*between, 500)
    kept = ndtr(np.interp(fine[:, None] + noise, scales, falling)).mean(axis=1) >= confidence
    if kept.all():
        return math.inf
    return float(fine[kept.argmin()]) if kept[0] else -math.inf


def _first_that_keeps(
    probability_within: ProbabilityWithin, executors: list[int], scales: list[float], confidence: float
) -> int | None:
    """The fewest that keep it at the first of the log(scales) at which any do."""
    for scale in scales if executors else ():
        enough = probability_within(math.exp(min(scale, MOST_SCALE)), executors) >= confidence
        if enough.any():
            return executors[int(enough.argmax())]
    return None


def _first_days(typical: FloatArray, limit: float) -> list[float]:
    """After how many days a typical run passes a limit: the bounds of 80 %, the median between them."""
    is_above = typical > limit
    first = np.where(is_above.any(axis=1), is_above.argmax(axis=1) + 1.0, np.inf)
    return [float(np.sort(first)[round(share * (len(first) - 1))]) for share in _QUANTILES[1:4]]
