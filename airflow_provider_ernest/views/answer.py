"""The answer to "how many machines?": figures, the most important caution, checks, and the opinion of replay.

Page, report and command line take their words from here.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from airflow_provider_ernest.decision.deciding import Choice, possible
from airflow_provider_ernest.decision.goals import cheapest_that_meets, chosen, fastest, next_faster
from airflow_provider_ernest.documents.decisions import Alternative, Decision
from airflow_provider_ernest.documents.models import UNEXPLAINED, Model
from airflow_provider_ernest.documents.profiles import BottleneckReport
from airflow_provider_ernest.documents.profiles import ReplayOpinion as StoredOpinion
from airflow_provider_ernest.exceptions import ErnestError, InfeasibleGoalError, StoreError
from airflow_provider_ernest.learning.freshness import DRIFTING, STALE
from airflow_provider_ernest.prediction.predict import ModelForecast, predict_seconds
from airflow_provider_ernest.settings.goal import MAX_ERROR_PERCENT
from airflow_provider_ernest.store.catalogue import CatalogueEntry
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.clarity import MOST_REPORTS, report_of_models
from airflow_provider_ernest.views.loaded import Readable, newest_models
from airflow_provider_ernest.views.outcomes import BAD, WARNING, Standing, is_inaccurate
from airflow_provider_ernest.views.sentence import (
    GUESS,
    WOULD_DO,
    Proposal,
    Today,
    limits_in_words,
    sentence,
)
from airflow_provider_ernest.views.view import view_of
from airflow_provider_ernest.words import (
    confidence,
    count,
    counted,
    dollars,
    duration,
    percentage,
    unit,
)

log = logging.getLogger(__name__)

RECENT_REPORTS = 10
"""Number of reports searched for the newest model of another type of machine."""

SAME_SCALE = 1.5
"""Inputs may differ by this factor from the replayed one; the model says what that changes."""


PROOF = 3
"""So many production runs of about a size that came as predicted tell more of it than any replay."""

SAME_SIZE = 1.25
"""Sizes may differ by this factor to be about the same."""


class Replay(StoredOpinion):
    """The job on other machines by replay of one of its runs, at one scale and number of iterations."""

    instance_type: str
    model_id: str | None


def replays_of(
    store: ModelStore, model: Model, *, of_job: Sequence[CatalogueEntry], readable: Readable
) -> tuple[Replay, ...]:
    """The replays on the model's type of machine, then those of the job's newest models of other types.

    Unreadable reports are logged and left out: the page must not fail for a second opinion. `of_job` are the
    job's visible entries.
    """
    return tuple(
        Replay(**vars(report.replay), instance_type=report.instance_type, model_id=report.model_id)
        for report in _reports(store, model, of_job, readable)
        if report.replay is not None
    )


def _reports(
    store: ModelStore, model: Model, of_job: Sequence[CatalogueEntry], readable: Readable
) -> Iterator[BottleneckReport]:
    wanted = [(model.instance_type, {model.id, model.base_model_id or model.id}, MOST_REPORTS)]
    wanted += [
        (entry.instance_type, {entry.id, entry.base_model_id or entry.id}, RECENT_REPORTS)
        for entry in newest_models(of_job).values()
        if entry.instance_type != model.instance_type
    ]
    for instance_type, model_ids, limit in wanted:
        try:
            reports = store.newest_first(BottleneckReport, model.job, instance_type, limit=limit)
            report = report_of_models(reports, model_ids, readable)
        except StoreError:
            log.warning("Reports of %r on %s cannot be read", model.job, instance_type, exc_info=True)
        else:
            if report is not None:
                yield report


def _near(
    replays: Sequence[Replay], each: Alternative, scale: float, iterations: int | None
) -> Replay | None:
    """The replay on the configuration's type at the nearest scale."""
    near = [
        replay
        for replay in replays
        if replay.instance_type == each.instance_type
        and _ratio(replay.scale, scale) <= SAME_SCALE
        and (iterations is None or replay.iterations in (None, iterations))
    ]
    return min(near, key=lambda replay: abs(replay.scale - scale), default=None)


def _replayed_seconds(replayed: Replay, executors: int) -> float | None:
    """Interpolated evenly by ratio between the replayed sizes; None outside of them."""
    sound = {size.executors: size.replayed_seconds for size in replayed.sizes if size.replayed_seconds > 0}
    if not sound or not min(sound) <= executors <= max(sound):
        return None
    import numpy as np  # imported here, as nothing heavy is before it is needed

    sizes, seconds = np.log(sorted(sound.items())).T
    return float(np.exp(np.interp(math.log(executors), sizes, seconds)))


def latest_seconds(choice: Choice) -> float | None:
    """The deadline counted from submission; None without one, or if booting takes all of it."""
    deadline = choice.goal.deadline_seconds
    if deadline is None or not choice.offers:
        return None
    left = deadline - choice.offers[0].billing.boot_seconds
    return left if left > 0 else None


@dataclass(frozen=True, kw_only=True)
class Caution:
    """What to know before the answer is acted on."""

    words: str
    about: str  # the id of the check or part of the page that shows it
    tone: str = WARNING


@dataclass(frozen=True, kw_only=True)
class Check:
    """A question to ask before the answer is trusted."""

    name: str  # error, size, replay, drift or conditions
    title: str
    words: str
    passed: bool | None  # null where nothing is known


@dataclass(frozen=True, kw_only=True)
class AnswerRow:
    """A configuration beside the others."""

    roles: tuple[str, ...]
    executors: int
    instance_type: str
    seconds: float  # predicted, from submission to end; of today those that runs take
    likely_seconds: tuple[float, float] | None = None
    cost: float | None  # in dollars, likewise; null without a price
    probability: float | None = None  # that the goal is kept; of today null
    is_chosen: bool = False
    is_actual: bool = False
    extrapolates: str = ""  # why the observations do not support it; empty where they do


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What to do, and how far to believe it."""

    sentence: str  # today's size, and the one that is shown
    today: Today | None
    facts: tuple[str, ...]  # what is paid a month, what for, how many deadlines were kept
    caution: Caution | None  # the most important; null where there is none
    rows: tuple[AnswerRow, ...]  # at most five, from the cheapest to the fastest, then today
    # what the chosen costs more than the plainly cheapest or fastest, and what that buys; or empty
    worth: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked of a model, and what was chosen."""

    model: Model
    choice: Choice
    decision: Decision | None  # None without a goal or a price
    error: ErnestError | None  # why the goal is out of reach; None if it is not, or there is none
    is_priced: bool
    standings: Mapping[str, Standing]  # of the model of each type that is offered
    iterations: int | None

    @cached_property
    def shown(self) -> Alternative | None:
        """The chosen one, else the nearest to the goal; without one today's size, else the cheapest tried."""
        if self.decision is not None:
            return chosen(self.choice.alternatives, self.decision)
        if self.error is not None:
            return self.error.most_probable if isinstance(self.error, InfeasibleGoalError) else None
        return min(
            self.tried, key=lambda each: (each.executors != self.todays_executors, each.expense), default=None
        )

    @property
    def todays_executors(self) -> int | None:
        """The executors of the last run on the model's type; None without one."""
        today = self.own.today
        return today.executors if today and today.instance_type == self.model.instance_type else None

    @cached_property
    def shown_model(self) -> Model:
        """The model that what is shown comes of, of a mix that of most executors; else the page's."""
        return self.choice.offer_of(self.shown).model if self.shown else self.model

    @property
    def shown_type(self) -> str:
        """The type of machine of that model."""
        return self.shown_model.instance_type

    def of(self, instance_type: str) -> str:
        """Which type is spoken of, before what is said; empty where it is that of the page."""
        return "" if instance_type == self.model.instance_type else f"{instance_type}: "

    @property
    def own(self) -> Standing:
        """How the model itself stands."""
        return self.standings[self.model.instance_type]

    @property
    def standing(self) -> Standing:
        """How the model stands that what is shown comes of."""
        return self.standings[self.shown_type]

    @property
    def unit(self) -> str:
        """What is counted, in the singular: machines, or executors of a shared cluster."""
        return unit(self.model.executors_per_machine)

    @property
    def tried(self) -> list[Alternative]:
        """The configurations of the model's type within what was tried; all of them where none is."""
        own_type = self.model.instance_type
        own = [each for each in self.choice.alternatives if each.instance_type == own_type]
        return [each for each in own if not each.extrapolates] or own

    @property
    def limits(self) -> str:
        """The limits in words; empty if there are none."""
        return limits_in_words(self.choice.goal.deadline_seconds, self.choice.goal.budget_dollars)

    @property
    def proposal(self) -> Proposal | None:
        """What is shown, for the sentence."""
        shown, parts = self.shown, self.decision.cost_parts if self.decision else None
        if shown is None:
            return None
        return view_of(
            Proposal,
            shown,
            cost=(shown.cost or 0.0) - (parts.training if parts else 0.0) if self.is_priced else None,
            confidence=self.choice.goal.confidence,
            limits=self.limits,
            is_out_of_reach=self.error is not None,
            role=WOULD_DO if self.decision or self.error else "would be the cheapest tried, in",
            lead=LEADS.get(self.standing.state.name, GUESS if shown.extrapolates else ""),
        )

    @property
    def role(self) -> str:
        """Of what is shown where nothing is asked."""
        if self.shown and self.shown.executors == self.todays_executors:
            return "As today"
        return "Cheapest tried" if self.is_priced else f"Fewest {self.unit}-hours tried"


LEADS = {DRIFTING: "by predictions that no longer hold", STALE: "by the model from before the change"}


def answer_of(asked: Asked, replays: Sequence[Replay]) -> Answer:
    """Return the answer. The replays may be of any type of machine."""
    of = asked.of(asked.shown_type)
    checks = tuple(replace(each, words=f"{of}{each.words}") for each in _checks(asked, replays))
    return Answer(
        sentence=sentence(asked.own.today, asked.proposal) or str(asked.error or ""),
        today=asked.own.today,
        facts=tuple(filter(None, _facts(asked))),
        caution=next(_cautions(asked, checks), None),
        rows=tuple(_rows(asked)),
        worth=asked.decision.worth if asked.decision else "",
        checks=checks,
    )


def _proof(asked: Asked) -> int:
    """How many production runs of about the shown size came as predicted; 0 if too few, or in a drift."""
    shown, standing = asked.shown, asked.standing
    proof = sum(
        not run.is_unusual
        and _ratio(run.executors, shown.executors) <= SAME_SIZE
        and _ratio(run.predicted_seconds, shown.seconds) <= SAME_SCALE
        for run in standing.predicted
        if shown is not None
    )
    return proof if proof >= PROOF and not standing.evidence.is_drift else 0


def _ratio(one: float | None, other: float) -> float:
    """Of the larger to the smaller."""
    return max(one / other, other / one) if one else math.inf


def _paid_for(decision: Decision | None) -> str:
    """Costs that are not for the machines; empty if there are none."""
    parts = decision.cost_parts if decision else None
    if parts is None:
        return ""
    besides = (("the master", parts.master), ("volumes", parts.volumes), ("training", parts.training))
    told = [f"{dollars(cost)} for {name}" for name, cost in besides if cost > 0]
    return f"Of the predicted {dollars(parts.total)} {', '.join(told)}" if told else ""


def _facts(asked: Asked) -> Iterator[str]:
    today, deadlines = asked.own.today, asked.standing.deadlines
    if today and today.cost_per_month is not None:
        runs = counted(round(today.runs_per_month or 0.0), "run")
        yield f"Paid about {dollars(today.cost_per_month)} a month, by {runs}"
    yield _paid_for(asked.decision)
    if deadlines.judged:
        last = {None: "", True: ", the last one too", False: ", the last one not"}[asked.standing.last_kept]
        wanted = f" (asked: {confidence(deadlines.asked)})" if deadlines.asked else ""
        yield f"Deadlines kept: {count(deadlines.kept)} of {count(deadlines.judged)}{last}{wanted}"


REMEDIES = {
    "conditions": "",
    "error": " Train it again with more sample runs.",
    "replay": "",
    "size": " A sample run of about this size would tell.",
}
"""What to do if a check failed, the most important first."""


def _drifts(asked: Asked) -> Iterator[Caution]:
    """That production has shown the page's model to be wrong; those of other types are not offered then."""
    state, name = asked.own.state, asked.model.instance_type
    if state.name == DRIFTING:
        is_shown = asked.shown_type == name
        instead = "" if is_shown else f" The answer is of {asked.shown_type}."
        words = f"Predictions for {name} no longer hold.{instead} {state.reason}"
        yield Caution(words=words, about="drift" if is_shown else "history", tone=BAD)


def _cautions(asked: Asked, checks: Sequence[Check]) -> Iterator[Caution]:
    """Cautions, the most important first."""
    yield from _drifts(asked)
    if asked.error:
        yield Caution(words=_out_of_reach(asked, asked.error), about="question", tone=BAD)
    deadlines = asked.standing.deadlines
    if deadlines.is_short:
        words = f"Fewer deadlines were kept than asked: {deadlines.kept} of {deadlines.judged}."
        yield Caution(words=words, about="history", tone=BAD)
    failed = {each.name: each.words for each in checks if each.passed is False}
    for name in filter(failed.__contains__, REMEDIES):
        tone = BAD if name == "error" else WARNING
        yield Caution(words=failed[name] + REMEDIES[name], about=name, tone=tone)
    if asked.shown and asked.shown.memory_shortage:
        yield Caution(words=asked.shown.memory_shortage, about="size")
    for words in asked.decision.warnings if asked.decision else asked.choice.warnings:
        yield Caution(words=words, about="trust")


MANY = tuple(sorted({round(2 ** (step / 4)) for step in range(49)}))
"""Executors among which the shortest time is sought: 1 to 4,096, evenly by ratio."""

FLOOR_PARTS = 3
"""The longest parts of that time, which are told."""


def _out_of_reach(asked: Asked, error: ErnestError) -> str:
    """Which goal cannot be met, and the nearest that can."""
    if asked.shown is None or not isinstance(error, InfeasibleGoalError):
        return str(error)
    goal = asked.choice.goal
    instead = possible(error.earliest_deadline, error.least_budget, goal)
    told = f"Out of reach: nothing meets {asked.limits} in {confidence(goal.confidence)} of runs.{instead}"
    return f"{told} {_floor(asked, asked.shown)}".rstrip()


def _floor(asked: Asked, nearest: Alternative) -> str:
    """Why the deadline is out of reach, and what would help; of a budget alone nothing."""
    goal, model, deadline = asked.choice.goal, asked.shown_model, latest_seconds(asked.choice)
    if goal.deadline_seconds is None:
        return ""
    forecast = ModelForecast(model, executors=MANY, scale=goal.scale, iterations=asked.iterations)
    seconds = [each + model.startup_seconds for each in forecast.seconds.tolist()]
    least = min(range(len(MANY)), key=seconds.__getitem__)
    if deadline is None or seconds[least] > deadline:
        meanings = {term.name: term.meaning for term in model.terms}
        parts = {"start-up": model.startup_seconds, **forecast.contributions()[least]}
        longest = sorted(parts, key=parts.__getitem__, reverse=True)[:FLOOR_PARTS]
        told = [f"{meanings.get(name, name)} {duration(parts[name])}" for name in longest if parts[name] > 0]
        return (
            f"No number of {asked.unit}s of {asked.shown_type} ends before about {duration(seconds[least])}: "
            f"{', '.join(told)}. Only less of these would help, less input, or another type."
        )
    enough = next(size for size, each in zip(MANY, seconds, strict=True) if each <= deadline)
    helps = ["ask for less certainty"] if nearest.seconds <= deadline else []
    if enough > max(each.executors for each in asked.choice.alternatives):
        helps.append(f"allow more {asked.unit}s")
    return f"{' or '.join(helps).capitalize()}." if helps else ""


def _checks(asked: Asked, replays: Sequence[Replay]) -> Iterator[Check]:
    model = asked.shown_model
    median = model.validation.median_error_percent
    run = "sample run" if model.basis is None else "past run"
    known = f"Each {run}, predicted from the others, was off by {percentage(median)} (median)."
    yield Check(
        name="error",
        title=f"Typical error under {count(MAX_ERROR_PERCENT)} %",
        words=model.known_by if median is None else known,
        passed=None if median is None else not is_inaccurate(median),
    )
    beyond = f"{asked.shown.extrapolates}." if asked.shown and asked.shown.extrapolates else ""
    yield Check(
        name="size",
        title="Size within what was tried",
        words=beyond or model.known_by or f"{_tried(asked)} were tried.",
        passed=None if asked.shown is None else not beyond,
    )
    yield _replay_check(asked, replays)
    evidence, state = asked.standing.evidence, asked.standing.state
    yield Check(
        name="drift",
        title="Production runs as predicted",
        words=evidence.sentence,
        passed=not evidence.is_drift if evidence.runs else None,
    )
    is_changed = state.cause not in ("", UNEXPLAINED)
    yield Check(
        name="conditions",
        title="Code and settings unchanged",
        words=state.reason if is_changed else "Nothing has changed, as far as is known.",
        passed=False if is_changed or state.name == STALE else None if state.name == DRIFTING else True,
    )


def _replay_check(asked: Asked, replays: Sequence[Replay]) -> Check:
    """What production, else the replay of a run, says of what is shown.

    Times between two replayed sizes are interpolated. At another scale than the replayed one, the replayed
    time is changed by the same factor as the model's.
    """
    shown, choice = asked.shown, asked.choice
    if proof := _proof(asked):
        words = f"{counted(proof, 'production run')} of about this size came as predicted."
        return Check(name="replay", title="Shown by production", words=words, passed=True)
    told = partial(Check, name="replay", title="Replay of a run agrees")
    replayed = seconds = None
    if shown and not shown.composition:
        replayed = _near(replays, shown, choice.goal.scale, asked.iterations)
        seconds = _replayed_seconds(replayed, shown.executors) if replayed else None
    if shown is None or replayed is None or seconds is None:
        return told(words="There is no replay for this size and input.", passed=None)
    scales, model = [choice.goal.scale, replayed.scale], asked.shown_model
    here, there = predict_seconds(
        model, executors=shown.executors, scale=scales, iterations=asked.iterations
    ).tolist()
    seconds *= here / there if there > 0 else 1.0
    low, high = shown.nearly_certain_seconds or (shown.seconds, shown.seconds)
    deadline = latest_seconds(choice)
    is_late = deadline is not None and seconds > deadline >= shown.seconds
    size, by_model, by_replay = str(shown.config), duration(shown.seconds), duration(seconds)
    if low <= seconds <= high and not is_late:
        return told(words=f"Replay of a run gives {by_replay} on {size}, the model {by_model}.", passed=True)
    late = f" (deadline {duration(deadline)})" if is_late else ""
    words = (
        f"Two predictions disagree for {size}: the model says {by_model}, replay of a run {by_replay}{late}."
    )
    return told(words=f"{words} A test run of about that size would tell.", passed=False)


def _tried(asked: Asked) -> str:
    counts = [run.executors for run in asked.shown_model.observations]
    if not counts:
        return f"No {asked.unit}s"
    low, high = min(counts), max(counts)
    return f"{count(low)} to " * (low < high) + counted(high, asked.unit)


def _compared(asked: Asked, shown: Alternative) -> list[tuple[str, Alternative | None]]:
    """At most four configurations to compare, by their roles."""
    alternatives = asked.choice.alternatives
    least = "Cheapest" if asked.is_priced else f"Fewest {asked.unit}-hours"
    if asked.decision is not None:
        return [
            (f"{least} that meets it" if asked.limits else least, cheapest_that_meets(alternatives)),
            ("Chosen", shown),
            ("Next faster", next_faster(alternatives, shown)),
            ("Fastest", fastest(alternatives)),
        ]
    if asked.error is not None:
        return [("Nearest", shown), ("Fastest", fastest(alternatives))]
    return [(asked.role, shown), ("Fastest tried", fastest(asked.tried))]


def _rows(asked: Asked) -> Iterator[AnswerRow]:
    """The compared configurations, each once with all its roles, and today."""
    found: dict[object, tuple[Alternative, list[str]]] = {}
    for role, each in _compared(asked, asked.shown) if asked.shown else ():
        if each is not None:
            key = each.instance_type, each.executors, each.composition
            found.setdefault(key, (each, []))[1].append(role)
    for each, roles in found.values():
        yield view_of(
            AnswerRow,
            each,
            roles=tuple(roles),
            cost=each.cost if asked.is_priced else None,
            probability=each.probability if asked.limits else None,
            extrapolates=each.extrapolates and f"{asked.of(each.instance_type)}{each.extrapolates}",
            is_chosen=each == asked.shown,
            is_actual=False,
        )
    if today := asked.own.today:
        yield view_of(
            AnswerRow,
            today,
            roles=("Before Ernest" if today.is_past else "Today",),
            is_actual=True,
            likely_seconds=None,
            probability=None,
            is_chosen=False,
            extrapolates="",
        )
