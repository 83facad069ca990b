"""The sentence of a job: its size today, what the model would take, what that saves, how surely a goal holds.

Model page, report, card of a DAG run, task log and command line say it from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from airflow_provider_ernest.documents.base import Interval, time_of
from airflow_provider_ernest.documents.decisions import Configuration, Decision
from airflow_provider_ernest.documents.runs import ExecutorBounds
from airflow_provider_ernest.store.catalogue import PRODUCTION_RUN, CatalogueEntry
from airflow_provider_ernest.views.view import view_of
from airflow_provider_ernest.words import count, dollars, duration, duration_range, executors, probability

RECENT_RUNS = 5
"""Their median is what a run takes today: a single one may be odd."""


@dataclass(frozen=True, kw_only=True)
class Today:
    """What a run of a job takes now: on the size of the last one, in the median of the newest on that size.

    Attributes:
        cost: paid, in dollars; null where no price is known.
        runs: how many these are.
        runs_per_month: of the job; null of fewer than two, or all of one day.
        is_past: whether only event logs tell of the runs, which nobody sized.
    """

    executors: int
    instance_type: str
    seconds: float
    cost: float | None = None
    runs: int
    runs_per_month: float | None = None
    is_past: bool = False

    @property
    def cost_per_month(self) -> float | None:
        """Paid a month; None where the cost or the rate is not known."""
        if self.cost is None or self.runs_per_month is None:
            return None
        return self.cost * self.runs_per_month


def today_of(
    model: CatalogueEntry, of_place: Sequence[CatalogueEntry], past_cost: float | None = None
) -> Today | None:
    """What the runs of a model's job take, by the entries of its type; without any, its past runs.

    `past_cost` is in dollars, of one of these.
    """
    runs = [
        each
        for each in sorted(of_place, key=lambda each: each.id)
        if each.kind == PRODUCTION_RUN and each.executors is not None and each.seconds is not None
    ]
    if not runs:
        past = model.past
        if past is None:
            return None
        return Today(
            executors=past.executors,
            instance_type=model.instance_type,
            seconds=past.seconds,
            cost=past_cost,
            runs=past.runs,
            is_past=True,
        )
    size = runs[-1].executors, runs[-1].instance_type
    newest = [each for each in runs if (each.executors, each.instance_type) == size][-RECENT_RUNS:]
    costs = [each.cost for each in newest if each.cost is not None]
    return Today(
        executors=size[0] or 0,
        instance_type=size[1],
        seconds=median(each.seconds or 0.0 for each in newest),
        cost=median(costs) if costs else None,
        runs=len(newest),
        runs_per_month=runs_per_month(runs),
    )


def runs_per_month(runs: Sequence[CatalogueEntry]) -> float | None:
    """The runs' rate; None of fewer than two, or all of one day."""
    moments = [moment for moment in (time_of(run.at) for run in runs) if moment is not None]
    if not moments:
        return None
    days = (max(moments) - min(moments)).total_seconds() / 86400.0
    return (len(moments) - 1) / days * 365.25 / 12 if days >= 1.0 else None


WOULD_DO = "would do in"
GUESS = "by a guess"
"""Of what lies beyond all that was tried."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A size that a model speaks for."""

    config: Configuration
    composition: tuple[Configuration, ...] = ()  # of a mix of types
    bounds: ExecutorBounds | None = None  # of dynamic allocation
    seconds: float | None  # predicted; None of a stated fallback
    likely_seconds: Interval | None = None  # what they lie between with 80 % probability
    cost: float | None = None  # predicted, in dollars, of the run alone; None without a price
    probability: float | None = None  # that the limits are kept
    confidence: float | None = None  # asked for
    limits: str = ""  # such as "the deadline of 7 min"
    is_out_of_reach: bool = False
    role: str = WOULD_DO  # such as "would be the cheapest tried, in"
    lead: str = ""  # what is said ahead, such as "by predictions that no longer hold"

    def is_of(self, today: Today | None) -> bool:
        """Whether it is today's size."""
        own = self.config.executors, self.config.instance_type
        is_plain = not self.composition and not self.bounds
        return today is not None and is_plain and own == (today.executors, today.instance_type)

    def saving(self, today: Today | None) -> float | None:
        """Dollars a run less than today; None where it is today's size, or a cost is not known."""
        if today is None or today.cost is None or self.cost is None or self.is_of(today):
            return None
        return today.cost - self.cost


def proposal_of(decision: Decision, *, limits: str = "the goal") -> Proposal:
    """What a decision chose."""
    taken, explores = filter(decision.is_for, decision.alternatives), decision.exploration
    lead = GUESS if any(each.extrapolates for each in taken) else ""
    if explores and explores.executors is not None:
        lead = f"to learn what others than {count(explores.instead_of)} take"
    return view_of(
        Proposal,
        decision,
        seconds=decision.predicted_seconds,
        cost=decision.predicted_run_cost,
        limits=limits,
        is_out_of_reach=decision.fallback_reason is not None,
        role=WOULD_DO,
        lead=lead,
    )


def limits_in_words(deadline_seconds: float | None, budget_dollars: float | None) -> str:
    """The deadline of 7 min; the deadline of 7 min and the budget of $4.00; empty without either."""
    limits = [] if deadline_seconds is None else [f"the deadline of {duration(deadline_seconds)}"]
    limits += [] if budget_dollars is None else [f"the budget of {dollars(budget_dollars)}"]
    return " and ".join(limits)


def sentence(today: Today | None, proposal: Proposal | None) -> str:
    """Today's size and the proposed one, in one or two sentences; empty where there is neither."""
    told = (_today(today, proposal), _proposed(today, proposal) if proposal else "")
    return " ".join(filter(None, told))


def _today(today: Today | None, proposal: Proposal | None) -> str:
    if today is None:
        return ""
    paid = f", {dollars(today.cost)}" if today.cost is not None else ""
    # The page says which type it is of; only where another is proposed there are two to tell apart.
    of_type = "" if proposal and _is_same_type(today, proposal) else today.instance_type
    per_machine = proposal.config.executors_per_machine if proposal else 1
    size = executors(today.executors, of_type, executors_per_machine=per_machine)
    return f"{'Before Ernest' if today.is_past else 'Today'} {size}, {duration(today.seconds)}{paid}."


def _proposed(today: Today | None, proposal: Proposal) -> str:
    size = _size(today, proposal)
    if proposal.seconds is None:
        return f"{size}: the stated fallback, without a prediction."
    likely = f" (80 %: {duration_range(proposal.likely_seconds)})" if proposal.likely_seconds else ""
    takes = f"{duration(proposal.seconds)}{likely}{_money(today, proposal)}"
    if proposal.is_out_of_reach:
        chance = (
            f", with a chance of {probability(proposal.probability, proposal.confidence)}"
            if proposal.probability is not None
            else ""
        )
        comes = "comes nearest" if size.startswith("1 ") or proposal.is_of(today) else "come nearest"
        told = f"{proposal.limits} is out of reach: {size[0].lower()}{size[1:]} {comes}, in {takes}{chance}."
    else:
        does = "would take" if proposal.is_of(today) else proposal.role
        told = f"{size} {does} {takes}{_chance(proposal)}."
    if proposal.lead and not (proposal.is_out_of_reach and proposal.lead == GUESS):
        told = f"{proposal.lead}, {told[0].lower()}{told[1:]}"
    return f"{told[0].upper()}{told[1:]}"


def _size(today: Today | None, proposal: Proposal) -> str:
    """The type is named where it is not today's."""
    if proposal.is_of(today):
        return "The same"
    if proposal.composition:
        return " + ".join(map(_of_type, proposal.composition))
    if proposal.bounds:
        return str(proposal.bounds)
    config = proposal.config
    return count(config.executors) if _is_same_type(today, proposal) else _of_type(config)


def _is_same_type(today: Today | None, proposal: Proposal) -> bool:
    is_same = today is not None and today.instance_type == proposal.config.instance_type
    return is_same and not proposal.composition


def _of_type(size: Configuration) -> str:
    return executors(size.executors, size.instance_type, executors_per_machine=size.executors_per_machine)


def _money(today: Today | None, proposal: Proposal) -> str:
    paid = f" for {dollars(proposal.cost)}" if proposal.cost is not None and not proposal.is_of(today) else ""
    saving = proposal.saving(today)
    if not saving or today is None:
        return paid
    rate, per = (today.runs_per_month, "month") if today.runs_per_month else (1.0, "run")
    amount = f"{dollars(abs(saving) * rate)} a {per}"
    return f"{paid}, {f'saving {amount}' if saving > 0 else f'{amount} more'}"


def _chance(proposal: Proposal) -> str:
    if not proposal.limits or proposal.probability is None:
        return ""
    holds = "hold" if " and " in proposal.limits else "holds"
    return f"; {proposal.limits} {holds} in {probability(proposal.probability, proposal.confidence)} of runs"
