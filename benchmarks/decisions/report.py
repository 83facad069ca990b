"""The tables that the benchmark prints, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from benchmarks.accuracy.report import number
from benchmarks.decisions.evaluation import Decided, Summary, summarise, summarise_by_probability
from benchmarks.decisions.questions import DEADLINE
from benchmarks.decisions.rules import CONFIDENCES, ORACLES, PLAIN, ours
from benchmarks.decisions.training_share import AIM, Trained

HEAD = f"{'':18s}  {'kept':>6s}  {'single runs':>11s}  {'regret':>7s}  {'of kept':>7s}  {'said':>5s}"

OURS = tuple(ours(confidence) for confidence in CONFIDENCES)

SAID_FROM = (0.0, 0.2, 0.5, 0.8, 0.95)
"""Decisions are held against what was said of them in groups, by the least of each."""

WORST = 5
"""How many of our dearest decisions are shown, and at most how many misses."""


def table(title: str, decided: Sequence[Decided]) -> list[str]:
    """What the rules came to, together and by job."""
    rules = _distinct(each.rule for each in decided)
    jobs = sorted(_distinct(each.job for each in decided))
    heads = "".join(f"  {job:>6s}" for job in jobs)
    by_job = f"  | kept: {heads[2:]} | regret: {heads[2:]}" if len(jobs) > 1 else ""
    lines = [f"== {title} ({len(decided) // len(rules)} decisions by each rule) ==", HEAD + by_job]
    for rule in rules:
        summary = summarise(each for each in decided if each.rule == rule)
        line = _figures(rule, summary)
        if len(jobs) > 1:
            of = [summarise(e for e in decided if (e.rule, e.job) == (rule, job)) for job in jobs]
            line += "  |       " + "  ".join(number(each.kept, 6) for each in of)
            line += " |         " + "  ".join(number(each.regret, 6) for each in of)
        lines.append(line)
    return [*lines, ""]


def stability_table(by_count: Mapping[int, Sequence[Decided]]) -> list[str]:
    """The same decisions with fewer and with more deadlines in each situation."""
    lines = [
        "== how far the figures depend on the number of deadlines: kept, single runs, regret ==",
        f"{'':18s}" + "".join(f"  | {count:>2d} deadlines         " for count in by_count),
    ]
    for rule in (*OURS, *ORACLES):
        line = f"{rule:18s}"
        for decided in by_count.values():
            summary = summarise(each for each in decided if each.rule == rule)
            line += f"  | {number(summary.kept, 5)}  {number(summary.runs_kept, 5)}  "
            line += number(summary.regret, 6)
        lines.append(line)
    return [*lines, ""]


def probabilities_table(decided: Mapping[str, Sequence[Decided]]) -> list[str]:
    """What was said of single runs beside how many kept to their limit, in all and by what was said.

    Args:
        decided: by title, with limits that are not chosen by what can be kept.
    """
    width = max(map(len, decided))
    ends = [*SAID_FROM[1:], 1.0]
    heads = "".join(
        f" | {f'{100 * least:.0f} to {100 * most:.0f}':^16s}"
        for least, most in zip(SAID_FROM, ends, strict=True)
    )
    lines = [
        "== probabilities: said of single runs, and how many kept to their limit, % ==",
        "deadlines from half of what the fastest option takes to twice the slowest; then by what was said",
        f"{'':{width}s}  {'':10s}   said   kept  decisions{heads}",
    ]
    for title, of_title in decided.items():
        for rule in _distinct(each.rule for each in of_title):
            own = [each for each in of_title if each.rule == rule]
            line = f"{title:{width}s}  {rule:10s}  {_said_and_kept(summarise(own))}  {len(own):9d}"
            for group in summarise_by_probability(own, SAID_FROM):
                line += f" | {_said_and_kept(group)} {f'({group.decisions})' if group.decisions else '':>5s}"
            lines.append(line.rstrip())
    return [*lines, ""]


def _said_and_kept(summary: Summary) -> str:
    return f"{number(summary.probability, 5, 0)}{number(summary.runs_kept, 5, 0)}"


def training_table(trained: Sequence[Trained]) -> list[str]:
    """What training costs beside production."""
    lines = [
        "== training beside production: Table 1's jobs, grown; 5 % noise, 20 s of start-up ==",
        "share: machine seconds of the runs / of production; bill: of the whole cluster while they run",
        f"{'%':25s}  production   runs  share   bill  largest  at most {AIM:g} |   kept  single runs  regret",
    ]
    growth = ""
    for each in trained:
        if each.growth != growth:
            growth = each.growth
            lines.append(f"{growth}:")
        summary = each.decisions
        lines.append(
            f"  {each.plan:23s}  {each.production_seconds / 60:6.0f} min  {each.runs:5.1f}  "
            f"{each.share:5.1f}  {each.bill:5.1f}  {each.largest_bill:7.1f}  {each.small_bills:9.0f} | "
            f"{number(summary.kept, 6)}  {number(summary.runs_kept, 11)}  {number(summary.regret, 6)}"
        )
    return [*lines, ""]


def unfavourable(tables: Mapping[str, Sequence[Decided]]) -> list[str]:
    """Where another rule keeps as much as ours at less regret; our misses, and our dearest decisions."""
    lines = ["== what speaks against ours =="]
    for title, decided in tables.items():
        for job in sorted(_distinct(each.job for each in decided)):
            of_job = [each for each in decided if each.job == job]
            lines += [f"  {title}, {job}: {told}" for told in _better_than_ours(of_job)]
    if len(lines) == 1:
        lines.append("  nowhere does another rule keep as much at less regret")
    for title, decided in tables.items():
        surest = [each for each in decided if each.rule == OURS[-1]]
        misses = [each for each in surest if not each.kept]
        dearest = sorted((e for e in surest if e.kept), key=lambda each: -each.regret)[:WORST]
        lines.append(f"  {title}, {OURS[-1]}: {len(misses)} missed; these, and the dearest of the others:")
        lines += [f"    {_told(each)}" for each in (*misses[:WORST], *dearest)]
    return [*lines, ""]


def as_json(decided: Sequence[Decided]) -> list[dict[str, object]]:
    """A summary for each rule, and for each job of these."""
    records: list[dict[str, object]] = []
    for rule in _distinct(each.rule for each in decided):
        chosen = [each for each in decided if each.rule == rule]
        records.append({"rule": rule, "job": None, **asdict(summarise(chosen))})
        for job in sorted(_distinct(each.job for each in chosen)):
            records.append(
                {"rule": rule, "job": job, **asdict(summarise(each for each in chosen if each.job == job))}
            )
    return records


def _figures(rule: str, summary: Summary) -> str:
    return (
        f"{rule:18s}  {number(summary.kept, 6)}  {number(summary.runs_kept, 11)}  "
        f"{number(summary.regret, 7)}  {number(summary.regret_of_kept, 7)}  {number(summary.probability, 5)}"
    )


def _better_than_ours(decided: Sequence[Decided]) -> list[str]:
    """The other rules that keep at least as much as one of ours at less regret."""
    summaries = {
        rule: summarise(each for each in decided if each.rule == rule)
        for rule in _distinct(each.rule for each in decided)
    }
    told = []
    for rule, other in summaries.items():
        for name in OURS if rule not in (*OURS, *ORACLES, PLAIN) else ():
            own = summaries[name]
            if (other.kept or 0.0) >= (own.kept or 0.0) and (other.regret or 0.0) < (own.regret or 0.0):
                told.append(
                    f"{rule} keeps {number(other.kept, 1)} % at {number(other.regret, 1)} % regret, "
                    f"{name} {number(own.kept, 1)} % at {number(own.regret, 1)} %"
                )
    return told


def _told(decided: Decided) -> str:
    question, chosen, best = decided.question, decided.chosen, decided.best
    limit = f"{question.limit:.0f} s" if question.kind == DEADLINE else f"{question.limit:.4f} $"
    return (
        f"{decided.job}, {decided.setting}, {limit}: {chosen.machines} x {chosen.instance_type} "
        f"({chosen.seconds:.0f} s) instead of {best.machines} x {best.instance_type} "
        f"({best.seconds:.0f} s), {100 * decided.regret:+.0f} %"
    )


def _distinct(names: Iterable[str]) -> list[str]:
    """In the order of their first appearance."""
    return list(dict.fromkeys(names))
