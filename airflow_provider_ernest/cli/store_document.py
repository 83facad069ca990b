"""One document of a store in lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.store_profile import profile_lines
from airflow_provider_ernest.model.bottleneck_table import bottleneck_table
from airflow_provider_ernest.model.bottlenecks import BottleneckReport, ProfileRecord
from airflow_provider_ernest.model.records import DecisionRecord, ModelMark, ObservationRecord, ProductionRun
from airflow_provider_ernest.model.results import Decision, Model
from airflow_provider_ernest.model.tables import decision_table, model_table, observations_table

if TYPE_CHECKING:
    from airflow_provider_ernest.model.documents import Origin, RunConditions

Facts = Iterable[tuple[str, object]]


@singledispatch
def document_lines(document: Any) -> list[str]:
    """A document in lines, with the ids of those that its numbers come from.

    Raises:
        TypeError: it is of a kind that is not known.
    """
    raise TypeError(f"Nothing is known of a {type(document).__name__}.")


def condition_lines(conditions: RunConditions | None) -> list[str]:
    """What, beside the code, run times depended on."""
    if conditions is None:
        return []
    data = conditions.input
    settings = conditions.settings
    return list(
        _facts(
            [
                ("Spark", conditions.spark),
                ("cores of a machine", conditions.cores_per_machine),
                ("input partitions", data and data.partitions),
                ("input bytes", data and data.total_bytes and f"{data.total_bytes:,}"),
                ("input columns", data and data.columns),
                ("input format", data and data.format),
                ("settings (digests only)", ", ".join(sorted(settings)) if settings else None),
            ]
        )
    )


@document_lines.register
def _(model: Model) -> list[str]:
    facts: Facts = [
        ("made", model.created_at),
        ("by", _task(model.origin)),
        ("goes on from model", model.base_model_id),
        ("learned from production runs", ", ".join(model.learned_from)),
        ("application", model.artifact),
        ("its SHA-256", model.artifact_sha256),
        ("input at scale 1", model.input_path),
    ]
    return [
        f"model {model.model_id} of {model.job} on {model.instance_type}",
        *_facts(facts),
        *condition_lines(model.conditions),
        *model_table(model),
        *observations_table(model.observations),
        *(f"warning: {warning}" for warning in model.warnings),
    ]


@document_lines.register
def _(record: DecisionRecord) -> list[str]:
    facts: Facts = [
        ("made", record.decided_at),
        ("by", _task(record.origin)),
        ("by model", record.model_id),
        ("of models", ", ".join(record.model_ids)),
        ("reused, since", record.reuse),
        ("application's SHA-256", record.artifact_sha256),
        ("scale", f"{record.scale:g}"),
        ("iterations", record.iterations),
        ("machines allowed", f"{record.min_machines} to {record.max_machines}"),
    ]
    return [
        f"decision {record.decision_id} for {record.job} on {record.instance_type}",
        *_facts(facts),
        *_decided(record.decision),
        *(f"warning: {warning}" for warning in record.decision.warnings),
    ]


@document_lines.register
def _(run: ProductionRun) -> list[str]:
    facts: list[tuple[str, object]] = [
        ("recorded", run.recorded_at),
        ("by", _task(run.origin)),
        ("by decision", run.decision_id),
        ("by model", run.model_id),
        ("machines", run.machines),
        ("scale", f"{run.scale:g}"),
        ("took", f"{run.seconds:.1f} s"),
        ("start-up, part of it", _seconds(run.startup_seconds)),
        ("predicted", _seconds(run.predicted_seconds)),
        ("likely (80 %)", _interval(run.likely_seconds)),
        ("nearly certain (95 %)", _interval(run.nearly_certain_seconds)),
        ("error", None if run.error_percent is None else f"{run.error_percent:+.1f} %"),
        ("cost", None if run.cost is None else f"{run.cost:.5f} $"),
        ("application's SHA-256", run.artifact_sha256),
        ("Spark application", run.application_id),
        ("event log", run.event_log),
    ]
    if run.bandwidth is not None:
        facts += [
            ("memory of the median machine", _rate(run.bandwidth.memory_gigabytes_per_second)),
            ("network of the median machine", _rate(run.bandwidth.network_gigabytes_per_second)),
        ]
    return [
        f"production run {run.production_id} of {run.job} on {run.instance_type}",
        *_facts(facts),
        *condition_lines(run.conditions),
    ]


@document_lines.register
def _(record: ObservationRecord) -> list[str]:
    run = record.observation
    facts: Facts = [
        ("recorded", record.recorded_at),
        ("by", _task(run.origin)),
        ("application's SHA-256", record.artifact_sha256),
        ("event log", run.event_log),
        ("hosts", ", ".join(run.hosts)),
    ]
    return [
        f"sample run {record.observation_id} of {record.job} on {record.instance_type}",
        *_facts(facts),
        *condition_lines(record.conditions),
        *observations_table([run]),
    ]


@document_lines.register
def _(mark: ModelMark) -> list[str]:
    facts: Facts = [
        ("made", mark.marked_at),
        ("by", _task(mark.origin)),
        ("of model", mark.model_id),
        ("cause", mark.cause),
        ("reason", mark.reason),
        ("application's SHA-256", mark.artifact_sha256),
    ]
    return [f"mark {mark.mark_id} of {mark.job} on {mark.instance_type}", *_facts(facts)]


@document_lines.register
def _(record: ProfileRecord) -> list[str]:
    return [
        f"run profile {record.profile_id} of {record.job} on {record.instance_type}",
        *_facts(
            [
                ("recorded", record.recorded_at),
                ("by", _task(record.origin)),
                ("of a run for", record.purpose),
                ("application's SHA-256", record.artifact_sha256),
            ]
        ),
        *profile_lines(record.profile),
    ]


@document_lines.register
def _(report: BottleneckReport) -> list[str]:
    facts: Facts = [
        ("made", report.reported_at),
        ("by", _task(report.origin)),
        ("beside model", report.model_id),
        ("by run profiles", ", ".join(report.profile_ids)),
        ("Spark application", report.application_id),
        ("its scale", f"{report.scale:g}"),
        ("its machines", report.machines),
    ]
    return [
        f"bottleneck report {report.report_id} of {report.job} on {report.instance_type}",
        *_facts(facts),
        *bottleneck_table(report),
        *(f"warning: {warning}" for warning in report.warnings),
    ]


def _decided(decision: Decision) -> list[str]:
    """The table of what was considered; what documents of other makers leave out is left out here."""
    if decision.predicted_seconds is None or decision.predicted_cost is not None:
        return decision_table(decision)
    machines = f"{decision.config.machines} machines: {decision.predicted_seconds:.1f} s"
    return [f"goal: {decision.goal}", machines]


def _facts(facts: Facts) -> Iterator[str]:
    """Those that are known."""
    return (f"{name}: {value}" for name, value in facts if value not in (None, ""))


def _task(origin: Origin | None) -> str | None:
    if origin is None:
        return None
    mapped = f"[{origin.map_index}]" if origin.map_index >= 0 else ""
    return f"{origin.dag_id}, run {origin.run_id}, task {origin.task_id}{mapped}, attempt {origin.try_number}"


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f} s"


def _rate(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f} GB/s"


def _interval(bounds: tuple[float, float] | None) -> str | None:
    return None if bounds is None else f"{bounds[0]:.1f} to {bounds[1]:.1f} s"
