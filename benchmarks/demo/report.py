"""What the demo prints at its end: every step's document as a table, and the prediction put to the test."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ernest.clarity.bottleneck_report import bottleneck_table
from airflow_provider_ernest.eventlog.run_facts import run_seconds
from airflow_provider_ernest.views.tables import decision_table, design_table, model_table
from airflow_provider_ernest.words import input_share, tenths
from benchmarks.demo.session import WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow_provider_ernest.documents.decisions import Decision
    from airflow_provider_ernest.documents.models import Model
    from airflow_provider_ernest.documents.profiles import BottleneckReport
    from airflow_provider_ernest.documents.runs import Design, Observation
    from airflow_provider_ernest.eventlog.tables import EventLog


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """All that a finished run of the example DAG produced; the production task's seconds are Airflow's."""

    design: Design
    model: Model
    decision: Decision
    production: EventLog
    production_task_seconds: float
    bottlenecks: BottleneckReport | None


def report_lines(outcome: Outcome) -> list[str]:
    """The whole report, line by line."""
    decision = outcome.decision
    warnings = [line for warning in decision.warnings for line in _wrapped(f"! {warning}")]
    return [
        *section("The design", design_table(outcome.design)),
        *section("The observations", _observations(outcome.model.observations)),
        *section("The model", model_table(outcome.model)),
        *section("The decision", [*decision_table(decision), *warnings]),
        *section("Why it takes this long", _bottlenecks(outcome.bottlenecks)),
        *section("Predicted against actual", _comparison(outcome)),
    ]


def _observations(observations: Sequence[Observation]) -> list[str]:
    """What each run really did."""
    lines = ["run  machines    scale  seconds  start-up  waited  tasks  application"]
    for run in sorted(observations, key=lambda run: run.index):
        tasks = run.metrics.tasks if run.metrics else 0
        lines.append(
            f"{run.index:3d}  {run.executors:8d}  {input_share(run.scale):>7s}  {tenths(run.seconds):>7s}  "
            f"{tenths(run.startup_seconds):>8s}  {tenths(run.waited_seconds):>6s}  {tasks:5d}  "
            f"{run.application_id or ''}"
        )
    return lines


def _bottlenecks(report: BottleneckReport | None) -> list[str]:
    if report is None:
        return ["The log of the task bottleneck_report tells why that is not known."]
    told = [line for text in bottleneck_table(report) for line in _wrapped(text)]
    return [*told, *(line for warning in report.warnings for line in _wrapped(f"! {warning}"))]


def _comparison(outcome: Outcome) -> list[str]:
    decision, production = outcome.decision, outcome.production
    executors = decision.config.executors
    hosts = ", ".join(executor.worker for executor in production.executors)
    ran = f"production ran as {production.application_id} on {len(production.executors)} machines: {hosts}"
    lines = [
        *_wrapped(ran),
        f"{'seconds':34s}  predicted   actual    error  80 % interval          95 % interval",
    ]
    if decision.run_seconds is None or decision.predicted_seconds is None:
        return [*lines, "no prediction: the fallback was taken"]
    intervals = [each for each in (decision.likely_seconds, decision.nearly_certain_seconds) if each]
    startup = decision.startup_seconds or 0.0
    without_startup = [(low - startup, high - startup) for low, high in intervals]
    ran_seconds = run_seconds(production, executors)
    task_seconds = outcome.production_task_seconds
    return [
        *lines,
        _row("all machines there, to the end", decision.run_seconds, ran_seconds, without_startup),
        _row("whole task, start-up included", decision.predicted_seconds, task_seconds, intervals),
    ]


def _row(what: str, predicted: float, actual: float, intervals: Sequence[tuple[float, float]]) -> str:
    error = 100 * (predicted - actual) / actual
    verdicts = [
        f"{low:.1f} to {high:.1f} {'held' if low <= actual <= high else 'missed'}" for low, high in intervals
    ]
    shown = "  ".join(f"{verdict:21s}" for verdict in verdicts).rstrip()
    return f"{what:34s}  {predicted:9.1f}  {actual:7.1f}  {error:+6.1f}%  {shown}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ")


def section(title: str, lines: list[str]) -> list[str]:
    """Lines below a title."""
    return ["", title, "-" * len(title), *lines]
