"""What the demo prints at its end: every step's document as a table, and the prediction put to the test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ernest.model.tables import (
    decision_table,
    design_table,
    model_table,
    observations_table,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.model.documents import Decision, Design, Model
    from airflow_provider_ernest.spark.event_log import RunRecord


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """All that a finished run of the example DAG produced.

    Attributes:
        design, model, decision: the documents from XCom.
        production: the production run as its event log tells it.
        production_task_seconds: how long Airflow's production task took in all.
    """

    design: Design
    model: Model
    decision: Decision
    production: RunRecord
    production_task_seconds: float


def report_lines(outcome: Outcome) -> list[str]:
    """The whole report, line by line."""
    decision = outcome.decision
    return [
        *_section("The design", design_table(outcome.design)),
        *_section("The observations", observations_table(outcome.model.observations)),
        *_section("The model", model_table(outcome.model)),
        *_section("The decision", [*decision_table(decision), *decision.warnings]),
        *_section("Predicted against actual", _comparison(outcome)),
    ]


def _comparison(outcome: Outcome) -> list[str]:
    decision, production = outcome.decision, outcome.production
    machines = decision.config.machines
    hosts = ", ".join(executor.worker for executor in production.machines)
    lines = [
        f"production ran as {production.application_id} on {len(production.machines)} machines: {hosts}",
        f"{'seconds':34s}  {'predicted':>9s}  {'actual':>7s}  {'error':>7s}",
    ]
    if decision.run_seconds is None or decision.predicted_seconds is None:
        return [*lines, "no prediction: the fallback was taken"]
    return [
        *lines,
        _row("all machines there, to the end", decision.run_seconds, production.run_seconds(machines)),
        _row("whole task, start-up included", decision.predicted_seconds, outcome.production_task_seconds),
    ]


def _row(what: str, predicted: float, actual: float) -> str:
    return f"{what:34s}  {predicted:9.1f}  {actual:7.1f}  {100 * (predicted - actual) / actual:+6.1f}%"


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", title, "-" * len(title), *lines]
