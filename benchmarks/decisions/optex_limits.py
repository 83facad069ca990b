"""The deadlines and budgets of the OptEx paper: what it chose for them, and what is chosen here.

To choose from are all numbers of machines from the fewest to the most that tables IV and VI recorded at the
iterations asked for. What was not recorded is interpolated between its neighbours, in 1/machines. No option
is predicted by a model that saw a run of it, nor of those neighbours:

* *from few*: trained on at most half of the numbers of machines and of iterations (`accuracy.optex`), asked
  of more iterations, or where a job has none of more machines, if the paper's choice is among those;
* *from all others*: each option is predicted from all recorded runs of its job but those it is judged by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from airflow_provider_ernest.settings import Billing
from benchmarks.accuracy.optex import PRINTED, Configuration, Job, mode_of, price_per_hour
from benchmarks.accuracy.report import number
from benchmarks.accuracy.runs import Runs
from benchmarks.decisions.outlook import Forecasts, Outlook
from benchmarks.decisions.questions import BUDGET, DEADLINE, Question
from benchmarks.decisions.rules import CONFIDENCES, ORACLE, ORIGINAL, all_rules, ours
from benchmarks.decisions.situations import Option, Situation

RULES = (ORIGINAL, *map(ours, CONFIDENCES), ORACLE)
JUDGED = ours(CONFIDENCES[-1])

LEAST_KEPT = 98.0
"""Per cent of deadlines, as the paper reports of OptEx."""

MOST_SHOWN = 8
"""Of our dearest decisions."""

KINDS = {"IV": DEADLINE, "VI": BUDGET}

Trained = Callable[[Job, frozenset[Configuration]], Runs]
"""The runs of a job that its model sees where options are judged by these configurations' recorded times."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One decision and what it came to.

    Attributes:
        rule: which rule decided.
        job, iterations, question: what was asked.
        chosen: the option.
        kept: whether its time keeps to the limit.
        optex: what the paper chose.
        optex_kept: whether that does.
    """

    rule: str
    job: str
    iterations: int
    question: Question
    chosen: Option
    kept: bool
    optex: Option
    optex_kept: bool


def from_few(job: Job, judging: frozenset[Configuration]) -> Runs:
    """The few runs of a job, whatever is predicted."""
    return job.runs(row for row in job.rows if job.is_few((row.iterations, row.machines)))


def from_all_others(job: Job, judging: frozenset[Configuration]) -> Runs:
    """All runs of a job but those that it is judged by."""
    return job.runs(row for row in job.rows if (row.iterations, row.machines) not in judging)


def report(of: Sequence[Job]) -> list[str]:
    """All tables, line by line."""
    jobs = [job for job in of if any(row.limit is not None for row in job.rows)]
    price = price_per_hour([row for job in jobs for row in job.rows])
    lines = []
    for title, trained in (("from few", from_few), ("from all others", from_all_others)):
        verdicts = decide(jobs, trained, price=price)
        asked = sum(row.limit is not None for job in jobs for row in job.rows)
        judged = len(verdicts) // (len(RULES) + 1)
        lines.append(f"== OptEx: its deadlines and budgets, {title} ({judged} of {asked} can be judged) ==")
        lines += [line for kind in KINDS.values() for line in _table(kind, verdicts)]
        lines += _against(verdicts)
    return lines


def decide(jobs: Sequence[Job], trained: Trained, *, price: float) -> list[Verdict]:
    """The answers of OptEx and of all rules to all limits that some option on offer keeps.

    Args:
        jobs: the jobs; those of one mode are one deployment.
        trained: what the models see.
        price: dollars of a machine and hour.
    """
    return [
        verdict
        for job in jobs
        for iterations in dict.fromkeys(row.iterations for row in job.rows)
        for verdict in _decide(
            jobs, job, iterations, trained, Billing(price_per_hour=price, minimum_seconds=0.0)
        )
    ]


def _decide(
    jobs: Sequence[Job], job: Job, iterations: int, trained: Trained, billing: Billing
) -> Iterator[Verdict]:
    recorded = {
        machines: tuple(row.recorded for row in rows)
        for (repeated, machines), rows in job.by_configuration().items()
        if repeated == iterations
    }
    judged = {
        machines: seconds
        for machines, seconds in recorded.items()
        if _may_be_judged(job, (iterations, machines), trained)
    }
    if not judged:
        return
    offered = range(min(judged), max(judged) + 1)
    groups: dict[frozenset[Configuration], list[Option]] = {}
    for machines in offered:
        judging = frozenset((iterations, of) for of in _neighbours(machines, judged))
        option = _option(machines, judged, scale=iterations / job.most_iterations, billing=billing)
        groups.setdefault(judging, []).append(option)
    beside = [other for other in jobs if other is not job and mode_of(other) == mode_of(job)]
    others = [trained(other, frozenset()) for other in beside]
    outlook = _joined(
        [
            Forecasts([trained(job, judging), *others]).outlook(
                Situation(job=job.name, setting="", gigabytes=None, options=tuple(options))
            )
            for judging, options in groups.items()
        ]
    )
    options = {option.machines: option for option in outlook.situation.options}
    for row in job.rows:
        if row.iterations == iterations and row.limit is not None and row.machines in offered:
            question = Question(kind=KINDS[row.table], limit=row.limit, slack=0.0)
            yield from _verdicts(job, iterations, question, outlook, options[row.machines])


def _verdicts(
    job: Job, iterations: int, question: Question, outlook: Outlook, printed: Option
) -> Iterator[Verdict]:
    """Of OptEx and all rules; none where no option on offer keeps to the limit."""
    options = outlook.situation.options
    if not any(question.keeps(option, option.seconds) for option in options):
        return
    answers = {name: options[all_rules()[name](outlook, [question])[0][0]] for name in RULES}
    for name, chosen in {PRINTED: printed, **answers}.items():
        yield Verdict(
            rule=name,
            job=job.name,
            iterations=iterations,
            question=question,
            chosen=chosen,
            kept=question.keeps(chosen, chosen.seconds),
            optex=printed,
            optex_kept=question.keeps(printed, printed.seconds),
        )


def _may_be_judged(job: Job, configuration: Configuration, trained: Trained) -> bool:
    """Whether no model of it saw it; and from few: of more iterations, where there are such."""
    if trained is not from_few:
        return True
    most_iterations = job.few()[0]
    if most_iterations < job.most_iterations:
        return configuration[0] > most_iterations
    return not job.is_few(configuration)


def _neighbours(machines: int, recorded: Iterable[int]) -> tuple[int, ...]:
    """The recorded numbers of machines that it lies between; itself where it was recorded."""
    below, above = (of for of in recorded if of <= machines), (of for of in recorded if of >= machines)
    return tuple(dict.fromkeys((max(below), min(above))))


def _option(
    machines: int, recorded: Mapping[int, Sequence[float]], *, scale: float, billing: Billing
) -> Option:
    """With the median of its recorded times, or what lies between its neighbours'."""
    around = _neighbours(machines, recorded)
    few, many = around[0], around[-1]
    share = 0.0 if few == many else (1 / few - 1 / machines) / (1 / few - 1 / many)
    seconds = (1 - share) * median(recorded[few]) + share * median(recorded[many])
    return Option(
        model=0,
        instance_type="m1",
        cores=1,
        machines=machines,
        scale=scale,
        billing=billing,
        seconds=seconds,
        repetitions=(seconds,),
    )


def _joined(outlooks: Sequence[Outlook]) -> Outlook:
    """One of all options, those of each with its own model."""
    options = [
        replace(option, model=position)
        for position, outlook in enumerate(outlooks)
        for option in outlook.situation.options
    ]
    return Outlook(
        situation=replace(outlooks[0].situation, options=tuple(options)),
        original_seconds=np.concatenate([outlook.original_seconds for outlook in outlooks]),
        seconds=np.concatenate([outlook.seconds for outlook in outlooks]),
        forecasts=[outlook.forecasts[0] for outlook in outlooks],
    )


def _table(kind: str, verdicts: Sequence[Verdict]) -> list[str]:
    """What the rules came to: means, and the sums compared with those of OptEx's choices."""
    of_kind = [verdict for verdict in verdicts if verdict.question.kind == kind]
    if not of_kind:
        return []
    jobs = list(dict.fromkeys(verdict.job for verdict in of_kind))
    judged = len(of_kind) // (len(RULES) + 1)
    heads = "".join(f"  {job}" for job in jobs)
    head = "  kept, %  mean $  mean s  $ against OptEx, %  s against OptEx, % | kept:"
    lines = [f"{f'{kind}s ({judged})':18s}{head}{heads}"]
    for rule in (PRINTED, *RULES):
        own = [verdict for verdict in of_kind if verdict.rule == rule]
        line = f"{rule:18s}  {_kept(own):7.0f}  {np.mean([_dollars(v.chosen) for v in own]):6.3f}  "
        line += f"{np.mean([v.chosen.seconds for v in own]):6.1f}  "
        line += f"{_against_optex(own, _dollars):+18.1f}  {_against_optex(own, _seconds):+18.1f} |      "
        for job in jobs:
            line += f"  {number(_kept([v for v in own if v.job == job]), len(job), 0)}"
        lines.append(line)
    return lines


def _kept(verdicts: Sequence[Verdict]) -> float:
    return 100.0 * float(np.mean([verdict.kept for verdict in verdicts]))


def _dollars(option: Option) -> float:
    return option.cost_of(option.seconds)


def _seconds(option: Option) -> float:
    return option.seconds


def _against_optex(verdicts: Sequence[Verdict], value: Callable[[Option], float]) -> float:
    """Per cent more than OptEx, of the sums."""
    own = sum(value(verdict.chosen) for verdict in verdicts)
    return 100.0 * (own / sum(value(verdict.optex) for verdict in verdicts) - 1.0)


def _against(verdicts: Sequence[Verdict]) -> list[str]:
    """Whether the goals are met, and what speaks against ours."""
    of_ours = {
        name: [verdict for verdict in verdicts if verdict.rule == name] for name in map(ours, CONFIDENCES)
    }
    lines = [line for name, own in of_ours.items() for line in _goals(name, own)]
    surest = of_ours[JUDGED]
    missed = [verdict for verdict in surest if not verdict.kept]
    dearer = [v for v in surest if v.question.kind == DEADLINE and v.kept and _times_dearer(v) > 1.0]
    dearer.sort(key=_times_dearer, reverse=True)
    count = f"{len(dearer)}, the first {MOST_SHOWN}" if len(dearer) > MOST_SHOWN else f"{len(dearer)}"
    return [
        *lines,
        f"missed by {JUDGED}: {len(missed)}",
        *map(_told, missed),
        f"deadlines kept by {JUDGED} for more than OptEx's choice: {count}",
        *map(_told, dearer[:MOST_SHOWN]),
        "",
    ]


def _goals(rule: str, own: Sequence[Verdict]) -> list[str]:
    """For deadlines, in a line; none where no deadline was judged."""
    deadlines = [verdict for verdict in own if verdict.question.kind == DEADLINE]
    if not deadlines:
        return []
    kept, printed = _kept(deadlines), 100.0 * float(np.mean([each.optex_kept for each in deadlines]))
    dearer = _against_optex(deadlines, _dollars)
    return [
        f"goals, {rule}: deadlines kept {kept:.0f} % (OptEx {printed:.0f}), at least {LEAST_KEPT:.0f}: "
        f"{_met(kept >= LEAST_KEPT)}; dollars against OptEx {dearer:+.1f} %, at most 0: {_met(dearer <= 0)}"
    ]


def _met(met: bool) -> str:
    return "met" if met else "missed"


def _times_dearer(verdict: Verdict) -> float:
    return _dollars(verdict.chosen) / _dollars(verdict.optex)


def _told(verdict: Verdict) -> str:
    limit = f"{verdict.question.limit:g} {'s' if verdict.question.kind == DEADLINE else '$'}"
    iterations = f"{verdict.iterations} iterations, " if verdict.iterations > 1 else ""
    chosen, optex = verdict.chosen, verdict.optex
    return (
        f"  {verdict.job}, {iterations}{limit}: {chosen.machines} machines, "
        f"{chosen.seconds:.0f} s, {_dollars(chosen):.3f} $; OptEx {optex.machines}, {optex.seconds:.0f} s, "
        f"{_dollars(optex):.3f} ${'' if verdict.optex_kept else ', missed'}"
    )
