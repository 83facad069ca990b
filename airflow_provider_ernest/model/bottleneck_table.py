"""A report of bottlenecks as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_ernest.model.bottlenecks import BottleneckReport, ReplayOpinion, TwoOpinions

LEAST_PERCENT = 0.5
"""Less is not worth a line."""

MOST_NAMED = 5
"""Of more numbers of machines the others are counted."""


def bottleneck_table(report: BottleneckReport) -> list[str]:
    """What binds the job, what could be won, and the two opinions side by side.

    Args:
        report: of a training.
    """
    lines = [report.headline]
    lines += [
        f"  without waiting for {limit.resource}: {limit.seconds_without:.1f} s, "
        f"{limit.improvement_percent:.0f} % less at most"
        for limit in report.limits
        if limit.improvement_percent >= LEAST_PERCENT
    ]
    lines += [
        f"  {_stragglers(cause.tasks)} ({cause.cause}): {cause.excess_seconds:.1f} s over the stage's median"
        for cause in report.straggler_causes
    ]
    lines += [f"  {advice.text} ({advice.figure})" for advice in report.advice]
    if report.replay is not None:
        lines += _opinions(report.replay)
    return lines


def _stragglers(tasks: int) -> str:
    return "1 straggler" if tasks == 1 else f"{tasks} stragglers"


def disagreement(opinion: ReplayOpinion) -> str:
    """Where the two opinions disagree, as a sentence; empty where they do not."""
    apart = opinion.disagreements
    if not apart:
        return ""
    worst = max(apart, key=_relative_distance)
    low, high = worst.nearly_certain_seconds or (0.0, 0.0)
    error = (
        f" For the other sample runs the replay was wrong by {opinion.error_percent:.0f} % (median)."
        if opinion.error_percent is not None
        else ""
    )
    return (
        f"The replay of the sample runs contradicts the model on {_counts(apart)}: on {worst.machines} it "
        f"gives {worst.replayed_seconds:.1f} s, and the model is nearly certain (95 %) of {low:.1f} to "
        f"{high:.1f} s.{error} One of them is wrong; watch the first production run."
    )


def _counts(sizes: Sequence[TwoOpinions]) -> str:
    named = ", ".join(str(size.machines) for size in sizes[:MOST_NAMED])
    left_out = len(sizes) - MOST_NAMED
    return f"{named} and {left_out} more numbers of machines" if left_out > 0 else f"{named} machines"


def _relative_distance(size: TwoOpinions) -> float:
    if not size.model_seconds:
        return 0.0
    return abs(size.replayed_seconds - size.model_seconds) / size.model_seconds


def _opinions(opinion: ReplayOpinion) -> list[str]:
    if not opinion.sizes:
        return [f"no second opinion: {opinion.problem}"] if opinion.problem else []
    of = f"{100 * opinion.from_scale:.3g} %" if opinion.from_scale is not None else "one run"
    lines = [f"second opinion by replay of the run on {of} of the input, at scale {opinion.scale:g}:"]
    lines.append(f"{'machines':>10} {'model s':>10} {'nearly certain s':>20} {'replay s':>10}")
    for size in opinion.sizes:
        model = f"{size.model_seconds:.1f}" if size.model_seconds is not None else "-"
        interval = size.nearly_certain_seconds
        between = f"{interval[0]:.1f} .. {interval[1]:.1f}" if interval else "-"
        remark = "  disagrees" if size.disagrees else ""
        lines.append(f"{size.machines:>10} {model:>10} {between:>20} {size.replayed_seconds:>10.1f}{remark}")
    return lines
