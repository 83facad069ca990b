"""One record of a store, and all that became of a job, as ``ernest store show`` says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clarity.bottleneck_report import bottleneck_table
from airflow_provider_ernest.cli.analyze_text import profile_lines
from airflow_provider_ernest.cli.command import aligned, when
from airflow_provider_ernest.cli.store_list import Group
from airflow_provider_ernest.documents.base import Record
from airflow_provider_ernest.documents.decisions import ClusterBandwidth, DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, ModelMark
from airflow_provider_ernest.documents.profiles import BottleneckReport, ProfileRecord
from airflow_provider_ernest.documents.runs import InputFingerprint, ObservationRecord
from airflow_provider_ernest.learning.freshness import Lineage
from airflow_provider_ernest.store.catalogue import CatalogueEntry
from airflow_provider_ernest.views.tables import decision_table, model_table, observations_table
from airflow_provider_ernest.words import (
    UNKNOWN,
    bandwidth,
    count,
    counted,
    dollars,
    duration,
    duration_range,
    input_share,
    machines,
    percentage,
    signed_percentage,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.base import Origin
    from airflow_provider_ernest.documents.runs import RunConditions
    from airflow_provider_ernest.learning.drift import Evidence


@singledispatch
def record_lines(record: Record) -> list[str]:
    """A record in lines, with the ids of those that its numbers come from.

    Raises:
        TypeError: it is of a kind that is not known.
    """
    raise TypeError(f"Nothing is known of a {type(record).__name__}.")


def _lines(
    record: Record,
    facts: Mapping[str, object],
    *,
    origin: Origin | None = None,
    tables: Iterable[str] = (),
    warnings: Iterable[str] = (),
) -> list[str]:
    """What all kinds of records say in the same way, around what one of them says in its own."""
    of_all = {
        "recorded": record.at,
        "by": _task(origin or record.origin),
        "application's SHA-256": getattr(record, "artifact_sha256", None),
    }
    return [
        f"{record.words} {record.id} of {record.job} on {record.instance_type}",
        *_known({**of_all, **facts}),
        *condition_lines(getattr(record, "conditions", None)),
        *tables,
        *(f"warning: {warning}" for warning in warnings),
    ]


def condition_lines(conditions: RunConditions | None) -> list[str]:
    """What, beside the code, run times depended on."""
    if conditions is None:
        return []
    data = conditions.input or InputFingerprint()
    return _known(
        {
            "Spark": conditions.spark,
            "cores of a machine": conditions.cores_per_machine,
            "input partitions": data.partitions,
            "input bytes": None if data.total_bytes is None else f"{count(data.total_bytes)}",
            "input columns": data.columns,
            "input format": data.format,
            "settings (digests only)": ", ".join(sorted(conditions.settings or ())),
        }
    )


def _known(facts: Mapping[str, object]) -> list[str]:
    return [f"{name}: {value}" for name, value in facts.items() if value not in (None, "", UNKNOWN)]


def _task(origin: Origin | None) -> str | None:
    if origin is None:
        return None
    mapped = f"[{origin.map_index}]" if origin.map_index >= 0 else ""
    return f"{origin.dag_id}, run {origin.run_id}, task {origin.task_id}{mapped}, attempt {origin.try_number}"


@record_lines.register
def _(model: Model) -> list[str]:
    return _lines(
        model,
        {
            "application": model.artifact,
            "input at scale 1": model.input_path,
            "goes on from model": model.base_model_id,
            "learned from production runs": ", ".join(model.learned_from),
        },
        tables=[*model_table(model), *observations_table(model.observations)],
        warnings=model.warnings,
    )


@record_lines.register
def _(record: DecisionRecord) -> list[str]:
    decision = record.decision
    # What documents of other makers leave out is left out here.
    has_table = decision.predicted_seconds is None or decision.predicted_cost is not None
    chosen = f"{machines(decision.config.machines)}: {duration(decision.predicted_seconds)}"
    return _lines(
        record,
        {
            "by model": record.model_id,
            "of models": ", ".join(record.model_ids),
            "reused, since": record.reuse,
            "scale": input_share(record.scale),
            "iterations": record.iterations,
            "machines allowed": f"{record.min_machines} to {record.max_machines}",
        },
        tables=decision_table(decision) if has_table else [f"goal: {decision.goal}", chosen],
        warnings=decision.warnings,
    )


@record_lines.register
def _(run: ProductionRun) -> list[str]:
    measured = run.bandwidth or ClusterBandwidth()
    return _lines(
        run,
        {
            "by decision": run.decision_id,
            "by model": run.model_id,
            "machines": run.machines,
            "scale": input_share(run.scale),
            "took": duration(run.seconds),
            "start-up, part of it": duration(run.startup_seconds),
            "predicted": duration(run.predicted_seconds),
            "80 % of runs": duration_range(run.likely_seconds),
            "95 % of runs": duration_range(run.nearly_certain_seconds),
            "error": signed_percentage(run.error_percent),
            "cost": None if run.cost is None else dollars(run.cost),
            "memory of the median machine": bandwidth(measured.memory_gigabytes_per_second),
            "network of the median machine": bandwidth(measured.network_gigabytes_per_second),
            "Spark application": run.application_id,
            "event log": run.event_log,
        },
    )


@record_lines.register
def _(record: ObservationRecord) -> list[str]:
    run = record.observation
    return _lines(
        record,
        {"event log": run.event_log, "hosts": ", ".join(run.hosts)},
        origin=run.origin,
        tables=observations_table([run]),
    )


@record_lines.register
def _(mark: ModelMark) -> list[str]:
    return _lines(mark, {"of model": mark.model_id, "cause": mark.cause, "reason": mark.reason})


@record_lines.register
def _(record: ProfileRecord) -> list[str]:
    run = record.profile
    return _lines(
        record,
        {"of a run for": record.purpose, "scale": input_share(run.scale), "event log": run.event_log},
        tables=["", *profile_lines(run)],
        warnings=run.warnings,
    )


@record_lines.register
def _(report: BottleneckReport) -> list[str]:
    return _lines(
        report,
        {
            "beside model": report.model_id,
            "by run profiles": ", ".join(report.profile_ids),
            "Spark application": report.application_id,
            "its scale": input_share(report.scale),
            "its machines": report.machines,
        },
        tables=bottleneck_table(report),
        warnings=report.warnings,
    )


@dataclass(frozen=True, kw_only=True)
class Life:
    """All that became of a job on a type of machine.

    Attributes:
        group: what the store says of it.
        limit: at most so many records of each kind are shown, the newest.

    Raises:
        StoreError: where it is shown, and the store cannot be read.
    """

    group: Group
    limit: int

    @cached_property
    def newest(self) -> Model | None:
        """Its newest model; None where there is none."""
        entry, group = self.group.model, self.group
        return None if entry is None else group.store.load(Model, group.job, group.instance_type, entry.id)

    @cached_property
    def decisions(self) -> list[DecisionRecord]:
        """Oldest first."""
        return self.group.newest(DecisionRecord, limit=self.limit)

    @cached_property
    def productions(self) -> list[ProductionRun]:
        """Oldest first."""
        return self.group.newest(ProductionRun, limit=self.limit)

    @cached_property
    def evidence(self) -> Evidence | None:
        """Of drift, against the newest model; None where there is none."""
        model = self.group.model
        return None if model is None else Lineage(model, self.group.of_job).evidence

    @cached_property
    def bottlenecks(self) -> BottleneckReport | None:
        """The newest report of what binds it; None where there is none."""
        return next(iter(self.group.newest(BottleneckReport, limit=1)), None)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        state, evidence = self.group.state, self.evidence
        return {
            "instance_type": self.group.instance_type,
            "state": asdict(state) if state else None,
            "evidence": None
            if evidence is None
            else {**asdict(evidence), "is_drift": evidence.is_drift, "sentence": evidence.sentence},
            "newest_model": self.newest.to_dict() if self.newest else None,
            "models": [entry.to_dict() for entry in self._entries(Model)],
            "marks": [entry.to_dict() for entry in self._entries(ModelMark)],
            "decisions": [
                {**self._outcome(record), "record": _without_alternatives(record)}
                for record in self.decisions
            ],
            "productions": [run.to_dict() for run in self.productions],
            "observations": self.group.ids(ObservationRecord),
            "profiles": self.group.ids(ProfileRecord),
            "bottlenecks": self.bottlenecks.to_dict() if self.bottlenecks else None,
        }

    def lines(self) -> list[str]:
        """The same for people."""
        state, report, profiles = self.group.state, self.bottlenecks, self.group.ids(ProfileRecord)
        lines = [f"{self.group.job} on {self.group.instance_type}: {state.name if state else 'no model'}"]
        if state and state.reason:
            lines.append(f"  {state.reason}")
        if self.evidence is not None and self.evidence.runs:
            lines.append(f"  {self.evidence.sentence}")
        lines += _section("models", self._model_lines())
        conditions = condition_lines(self.newest.conditions) if self.newest else []
        lines += _section("the newest was trained under", conditions, most_empty=0)
        lines += _section("marks", self._mark_lines())
        lines += _section("decisions, and what came of them", self._decision_lines())
        lines += _section("production runs by no decision shown", self._other_run_lines())
        bound = [f"by report {report.id}", *bottleneck_table(report)] if report else []
        lines += _section("what binds it", bound, most_empty=0)
        lines.append(f"sample runs kept by themselves: {len(self.group.ids(ObservationRecord))}")
        lines += [f"run profiles: {len(profiles)}, the newest {profiles[-1]}"] if profiles else []
        return lines

    def _entries(self, form: type[Record]) -> list[CatalogueEntry]:
        return self.group.listed(form)[-self.limit :]

    def _model_lines(self) -> list[str]:
        marked = {entry.model_id for entry in self.group.listed(ModelMark)}
        return aligned(
            ("id", "made (UTC)", "method", "sample runs", "error", "goes on from", "learned from", "marked"),
            (
                (
                    entry.id,
                    when(entry.at),
                    entry.method,
                    str(entry.observations - entry.learned_from),
                    percentage(entry.median_error_percent),
                    entry.base_model_id or UNKNOWN,
                    counted(entry.learned_from, "run"),
                    "yes" if entry.id in marked else "no",
                )
                for entry in self._entries(Model)
            ),
            right="sample runs, error, learned from",
        )

    def _mark_lines(self) -> list[str]:
        return aligned(
            ("id", "of model", "cause", "reason"),
            (
                (entry.id, entry.model_id or UNKNOWN, entry.cause, entry.reason)
                for entry in self._entries(ModelMark)
            ),
        )

    def _decision_lines(self) -> list[str]:
        rows = [self._outcome(record) for record in self.decisions]
        return aligned(
            ("id", "by model", "machines", "predicted", "actual", "error", "production run"),
            (
                (
                    row["decision_id"],
                    row["model_id"] or UNKNOWN,
                    str(row["machines"]),
                    duration(row["predicted_seconds"]),
                    duration(row["actual_seconds"]),
                    signed_percentage(row["error_percent"]),
                    row["production_id"] or UNKNOWN,
                )
                for row in rows
            ),
            right="machines, predicted, actual, error",
        )

    def _other_run_lines(self) -> list[str]:
        decided = {record.id for record in self.decisions}
        return aligned(
            ("id", "by decision", "by model", "machines", "predicted", "actual", "error"),
            (
                (
                    run.id,
                    run.decision_id or UNKNOWN,
                    run.model_id or UNKNOWN,
                    str(run.machines),
                    duration(run.predicted_seconds),
                    duration(run.seconds),
                    signed_percentage(run.error_percent),
                )
                for run in self.productions
                if run.decision_id not in decided
            ),
            right="machines, predicted, actual, error",
        )

    def _outcome(self, record: DecisionRecord) -> dict[str, Any]:
        """A decision beside the last run by it."""
        run = next((run for run in reversed(self.productions) if run.decision_id == record.id), None)
        return {
            "decision_id": record.id,
            "decided_at": record.at,
            "model_id": record.model_id,
            "machines": record.decision.config.machines,
            "predicted_seconds": run.predicted_seconds if run else record.decision.predicted_seconds,
            "actual_seconds": run.seconds if run else None,
            "error_percent": run.error_percent if run else None,
            "production_id": run.id if run else None,
        }


def _without_alternatives(record: DecisionRecord) -> dict[str, Any]:
    """Hundreds of them would hide the rest; the document by itself has them."""
    told = record.to_dict()
    told["decision"].pop("alternatives")
    return told


def _section(title: str, lines: Sequence[str], *, most_empty: int = 1) -> list[str]:
    """A title over lines; nothing where there are only so many: a table's heading."""
    return [f"{title}:", *(f"  {line}" for line in lines)] if len(lines) > most_empty else []
