"""The answer to "how many machines?": figures, the most important caution, and checks.

Page, report and command line take their words from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airflow_provider_ernest.decision.deciding import Choice
from airflow_provider_ernest.decision.goals import chosen
from airflow_provider_ernest.documents.decisions import Alternative, Decision
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.exceptions import ErnestError, InfeasibleGoalError
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, STALE, State
from airflow_provider_ernest.settings.goal import MAX_ERROR_PERCENT
from airflow_provider_ernest.views.records import (
    AnswerRow,
    beside_the_chosen,
    beside_the_nearest,
    compared_rows,
    limits_in_words,
    out_of_reach,
)
from airflow_provider_ernest.views.replays import Replay, ReplayOpinion, opinion_by_replay
from airflow_provider_ernest.views.standing import BAD, GOOD, PLAIN, WARNING, Standing, error_tone
from airflow_provider_ernest.words import (
    confidence,
    count,
    counted,
    dollars,
    duration,
    duration_range,
    machines,
    percentage,
    probability,
)

NEARLY_AS_FAST = 1.1
"""Times the shortest time that still count as about as fast."""


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A figure of the decision.

    Attributes:
        name: machines, time, cost, chance or kept.
        notes: what belongs to it, a few words each.
        tone: good, warning, bad, or empty where it is neither.
    """

    name: str
    label: str
    value: str
    notes: tuple[str, ...] = ()
    tone: str = PLAIN


@dataclass(frozen=True, kw_only=True)
class Caution:
    """What to know before the answer is acted on.

    Attributes:
        about: the id of the check or part of the page that shows it.
    """

    words: str
    about: str
    tone: str = WARNING


@dataclass(frozen=True, kw_only=True)
class Check:
    """A question to ask before the answer is trusted.

    Attributes:
        name: error, size, replay, drift or conditions.
        passed: null where nothing is known.
    """

    name: str
    title: str
    words: str
    passed: bool | None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What to do, and how far to believe it.

    Attributes:
        headline: the answer in a sentence.
        caution: the most important; null where there is none.
        rows: at most five, from the cheapest to the fastest, then the last run.
        worth: what the chosen costs more than the plainly cheapest or fastest, and what that buys; or empty.
    """

    headline: str
    tiles: tuple[Tile, ...]
    caution: Caution | None
    rows: tuple[AnswerRow, ...]
    worth: str
    checks: tuple[Check, ...]


def answer_of(
    model: Model,
    choice: Choice,
    *,
    standing: Standing,
    replays: Sequence[Replay] = (),
    has_goal: bool,
    is_priced: bool,
    iterations: int | None = None,
) -> Answer:
    """Return the answer.

    Args:
        model: that is asked.
        choice: what was considered and chosen.
        standing: the model's state and last run.
        replays: of runs, of any type.
        has_goal: whether there is a limit or an objective.
        is_priced: whether the price of machines is known.
        iterations: of the run that is predicted.
    """
    asked = _Asked(model=model, choice=choice, has_goal=has_goal, is_priced=is_priced)
    shown = asked.shown
    opinion = opinion_by_replay(model, shown, replays, choice, iterations) if shown else None
    checks = tuple(_checks(model, shown, standing, opinion))
    return Answer(
        headline=_headline(shown, asked),
        tiles=tuple(_tiles(shown, asked, standing)),
        caution=next(_cautions(shown, asked, standing, opinion, checks), None),
        rows=tuple(_rows(shown, asked, standing)),
        worth=asked.decision.worth if asked.decision else "",
        checks=checks,
    )


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What was asked and chosen. Without a price, goal and choice count as absent."""

    model: Model
    choice: Choice
    has_goal: bool
    is_priced: bool

    @property
    def decision(self) -> Decision | None:
        return self.choice.decision if self.has_goal and self.is_priced else None

    @property
    def out_of_reach(self) -> ErnestError | None:
        return self.choice.error if self.has_goal and self.is_priced else None

    @property
    def shown(self) -> Alternative | None:
        """The chosen configuration, else the nearest to the goal, else the fastest of the type."""
        alternatives, error = self.choice.alternatives, self.out_of_reach
        if self.decision is not None:
            return chosen(alternatives, self.decision)
        if error is not None:
            return error.most_probable if isinstance(error, InfeasibleGoalError) else None
        own = [each for each in alternatives if each.instance_type == self.model.instance_type]
        return min(own, key=lambda each: each.seconds, default=None)

    def compared(self, shown: Alternative) -> list[tuple[str, Alternative | None]]:
        """At most four configurations to compare, with their roles."""
        alternatives = self.choice.alternatives
        if self.decision is not None:
            return beside_the_chosen(alternatives, shown, has_limits=bool(self.limits))
        if self.out_of_reach is not None:
            return beside_the_nearest(alternatives, shown)
        own = [each for each in alternatives if each.instance_type == self.model.instance_type]
        near = next((each for each in own if each.seconds <= NEARLY_AS_FAST * shown.seconds), None)
        return [("Nearly as fast", None if near is shown else near), ("Fastest", shown)]

    @property
    def limits(self) -> str:
        """The limits in words: "the deadline of 7 min"."""
        goal = self.choice.goal
        return limits_in_words(goal.deadline_seconds, goal.budget_dollars)


def of_type(each: Alternative) -> str:
    """6 machines of m5.xlarge; a mix by its types."""
    if each.composition:
        return " + ".join(machines(part.machines, part.instance_type) for part in each.composition)
    return machines(each.machines, each.instance_type)


def _headline(shown: Alternative | None, asked: _Asked) -> str:
    if shown is None:
        return str(asked.out_of_reach) if asked.out_of_reach else "Nothing can be predicted."
    paid = f" for {dollars(shown.cost)}" if asked.is_priced else ""
    said = f"{of_type(shown)}: {duration(shown.seconds)}{paid}"
    if asked.out_of_reach:
        return f"Out of reach: {asked.limits}. Nearest: {said}, {_chance(shown)}"
    if not asked.decision:
        return f"Fastest: {said}"
    return f"{said}, {_chance(shown)}" if asked.limits else said


def _chance(shown: Alternative) -> str:
    return f"{probability(shown.probability or 0.0)} chance"


def _tiles(shown: Alternative | None, asked: _Asked, standing: Standing) -> Iterator[Tile]:
    if shown is None:
        return
    last = standing.last_run
    ran = f"last run: {count(last.machines)}" if last and last.machines else ""
    yield Tile(
        name="machines",
        label="Nearest" if asked.out_of_reach else "Machines" if asked.decision else "Fastest",
        value=_size(shown),
        notes=_notes(f"of {shown.instance_type}", ran),
        tone=BAD if asked.out_of_reach else PLAIN,
    )
    likely = shown.likely_seconds
    between = f"{duration_range(likely)} in 80 % of runs" if likely else ""
    yield Tile(name="time", label="Time", value=duration(shown.seconds), notes=_notes(between))
    if asked.is_priced:
        month = standing.runs_per_month
        yield Tile(
            name="cost",
            label="Cost of a run",
            value=dollars(shown.cost),
            notes=_notes(
                f"{dollars(shown.cost * month)} a month, by {counted(round(month), 'run')}"
                if month and round(month)
                else "",
                _paid_for(asked.decision),
            ),
        )
    if asked.limits and shown.probability is not None and (asked.decision or asked.out_of_reach):
        wanted = asked.choice.goal.confidence
        yield Tile(
            name="chance",
            label="Chance to meet it" if asked.choice.goal.budget_dollars else "Chance to meet the deadline",
            value=probability(shown.probability, wanted),
            notes=_notes(f"{asked.limits[4:]}", f"asked: {confidence(wanted)}"),
            tone=GOOD if shown.feasible else BAD,
        )
    yield _kept(standing)


def _paid_for(decision: Decision | None) -> str:
    """Costs that are not for the machines; empty if there are none."""
    parts = decision.cost_parts if decision else None
    if parts is None:
        return ""
    besides = (("the master", parts.master), ("volumes", parts.volumes), ("training", parts.training))
    told = [f"{dollars(cost)} for {name}" for name, cost in besides if cost > 0]
    return f"of it {', '.join(told)}" if told else ""


def _size(shown: Alternative) -> str:
    if not shown.composition:
        return machines(shown.machines)
    return " + ".join(f"{part.machines} {part.instance_type}" for part in shown.composition)


def _kept(standing: Standing) -> Tile:
    deadlines, last = standing.deadlines, standing.last_run
    if not deadlines.judged:
        none = "no run with a deadline yet" if last else "no production run yet"
        return Tile(name="kept", label="Deadlines kept", value="none yet", notes=(none,))
    kept = {None: "", True: "last run: kept", False: "last run: missed"}[standing.last_kept]
    return Tile(
        name="kept",
        label="Deadlines kept",
        value=f"{count(deadlines.kept)} of {count(deadlines.judged)}",
        notes=_notes(kept, f"asked: {confidence(deadlines.asked)}" if deadlines.asked else ""),
        tone=BAD
        if deadlines.is_short or standing.last_kept is False
        else WARNING
        if deadlines.missed
        else GOOD,
    )


def _notes(*words: str) -> tuple[str, ...]:
    return tuple(filter(None, words))


def _cautions(
    shown: Alternative | None,
    asked: _Asked,
    standing: Standing,
    opinion: ReplayOpinion | None,
    checks: Sequence[Check],
) -> Iterator[Caution]:
    """Cautions, the most important first."""
    if asked.out_of_reach:
        yield Caution(words=_out_of_reach(asked, asked.out_of_reach, shown), about="question", tone=BAD)
    if opinion and opinion.breaks_deadline:
        yield Caution(words=opinion.words, about="replay", tone=BAD)
    yield from _of_state(standing.state)
    failed = {each.name: each.words for each in checks if each.passed is False}
    for name, remedy, tone in REMEDIES:
        if name in failed:
            yield Caution(words=f"{failed[name]} {remedy}".rstrip(), about=name, tone=tone)
    if shown and shown.memory_shortage:
        yield Caution(words=shown.memory_shortage, about="size")
    for words in asked.decision.warnings if asked.decision else asked.choice.warnings:
        yield Caution(words=words, about="trust")


def _out_of_reach(asked: _Asked, error: ErnestError, shown: Alternative | None) -> str:
    """Which goal cannot be met, and the nearest that can."""
    nearest = error.within_reach if isinstance(error, InfeasibleGoalError) else None
    if shown is None or nearest is None:
        return str(error)
    goal = asked.choice.goal
    return out_of_reach(
        deadline_seconds=goal.deadline_seconds,
        budget_dollars=goal.budget_dollars,
        confidence=goal.confidence,
        earliest_deadline=nearest.earliest_deadline,
        least_budget=nearest.least_budget,
    )


REMEDIES = (
    ("error", "Train it again with more sample runs.", BAD),
    ("size", "A sample run of about this size would tell.", WARNING),
    ("replay", "", WARNING),
)
"""What to do if a check failed, the most important first."""


def _of_state(state: State) -> Iterator[Caution]:
    if state.name == DRIFTING:
        yield Caution(words=state.reason, about="drift", tone=BAD)
    if state.name == STALE:
        yield Caution(words=state.reason, about="conditions")


def _checks(
    model: Model, shown: Alternative | None, standing: Standing, opinion: ReplayOpinion | None
) -> Iterator[Check]:
    median = model.validation.median_error_percent
    yield Check(
        name="error",
        title=f"Typical error under {count(MAX_ERROR_PERCENT)} %",
        words=f"Each sample run, predicted from the others, was off by {percentage(median)} (median).",
        passed=error_tone(median) != BAD,
    )
    yield Check(
        name="size",
        title="Size within what was tried",
        words=f"{shown.extrapolates}." if shown and shown.extrapolates else f"{_tried(model)} were tried.",
        passed=None if shown is None else not shown.extrapolates,
    )
    yield Check(
        name="replay",
        title="Replay of a run agrees",
        words=opinion.words if opinion else "No run's event log tells of this size and input.",
        passed=opinion.agrees and not opinion.breaks_deadline if opinion else None,
    )
    evidence = standing.evidence
    yield Check(
        name="drift",
        title="Production runs as predicted",
        words=evidence.sentence,
        passed=not evidence.is_drift if evidence.runs else None,
    )
    state = standing.state
    yield Check(
        name="conditions",
        title="Code and settings unchanged",
        words=state.reason or "Nothing has changed, as far as is known.",
        passed=state.name == FRESH if state.name != DRIFTING else None,
    )


def _tried(model: Model) -> str:
    counts = [run.machines for run in model.observations]
    if not counts:
        return "No machines"
    low, high = min(counts), max(counts)
    return machines(low) if low == high else f"{count(low)} to {machines(high)}"


def _rows(shown: Alternative | None, asked: _Asked, standing: Standing) -> Iterator[AnswerRow]:
    yield from compared_rows(
        asked.compared(shown) if shown else [],
        shown=shown,
        is_priced=asked.is_priced,
        has_limits=bool(asked.limits),
    )
    last = standing.last_run
    if last and last.machines and last.seconds is not None:
        yield AnswerRow(
            roles=("Last run",),
            machines=last.machines,
            instance_type=last.instance_type,
            seconds=last.seconds,
            likely_seconds=None,
            cost=last.cost,
            probability=None,
            is_actual=True,
        )
