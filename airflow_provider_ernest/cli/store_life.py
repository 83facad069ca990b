"""All that became of a job on a type of machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.store_document import condition_lines
from airflow_provider_ernest.cli.store_text import UNKNOWN, aligned, number, when
from airflow_provider_ernest.model.bottleneck_table import bottleneck_table
from airflow_provider_ernest.model.life.drift import Evidence
from airflow_provider_ernest.model.life.freshness import State, evidence_against
from airflow_provider_ernest.model.storage.catalogue_entry import MARK, MODEL, CatalogueEntry

if TYPE_CHECKING:
    from airflow_provider_ernest.cli.store_groups import Group
    from airflow_provider_ernest.model.bottlenecks import BottleneckReport
    from airflow_provider_ernest.model.records import DecisionRecord, ProductionRun
    from airflow_provider_ernest.model.results import Model
    from airflow_provider_ernest.model.store import ModelStore


@dataclass(frozen=True, kw_only=True)
class Life:
    """A job on a type of machine.

    Attributes:
        group: what the catalogue says of it.
        newest: its newest model; None where there is none.
        decisions: the newest, oldest first.
        productions: the newest, oldest first.
        evidence: of drift, against the newest model; None where there is none.
        bottlenecks: the newest report of what binds it; None where there is none.
        limit: how many models and marks are shown.
    """

    group: Group
    newest: Model | None
    decisions: Sequence[DecisionRecord]
    productions: Sequence[ProductionRun]
    evidence: Evidence | None
    bottlenecks: BottleneckReport | None
    limit: int

    @property
    def state(self) -> State | None:
        """Of the newest model."""
        return self.group.state

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        state, evidence = self.state, self.evidence
        return {
            "instance_type": self.group.instance_type,
            "state": asdict(state) if state else None,
            "evidence": None
            if evidence is None
            else {**asdict(evidence), "is_drift": evidence.is_drift, "sentence": evidence.sentence},
            "newest_model": self.newest.to_dict() if self.newest else None,
            "models": [entry.to_dict() for entry in self._newest(MODEL)],
            "marks": [entry.to_dict() for entry in self._newest(MARK)],
            "decisions": [
                {**_outcome(record, self._run_of(record)), "record": _without_alternatives(record)}
                for record in self.decisions
            ],
            "productions": [run.to_dict() for run in self.productions],
            "observations": self.group.unlisted_ids("observation"),
            "profiles": self.group.unlisted_ids("profile"),
            "bottlenecks": self.bottlenecks.to_dict() if self.bottlenecks else None,
        }

    def lines(self) -> list[str]:
        """The same for people."""
        state = self.state
        lines = [f"{self.group.job} on {self.group.instance_type}: {state.name if state else 'no model'}"]
        if state and state.reason:
            lines.append(f"  {state.reason}")
        if self.evidence is not None and self.evidence.runs:
            lines.append(f"  {self.evidence.sentence}")
        lines += _section("models", self._model_lines())
        if self.newest is not None:
            conditions = condition_lines(self.newest.conditions)
            lines += _section("the newest was trained under", conditions, most_empty=0)
        lines += _section("marks", self._mark_lines())
        lines += _section("decisions, and what came of them", self._decision_lines())
        lines += _section("production runs by no decision shown", self._other_run_lines())
        lines += _section("what binds it", self._bottleneck_lines(), most_empty=0)
        profiles = self.group.unlisted_ids("profile")
        lines.append(f"sample runs kept by themselves: {len(self.group.unlisted_ids('observation'))}")
        lines += [f"run profiles: {len(profiles)}, the newest {profiles[-1]}"] if profiles else []
        return lines

    def _newest(self, kind: str) -> list[CatalogueEntry]:
        return self.group.of_kind(kind)[-self.limit :]

    def _model_lines(self) -> list[str]:
        marked = {entry.model_id for entry in self.group.of_kind(MARK)}
        return aligned(
            ("id", "made (UTC)", "method", "sample runs", "error", "goes on from", "learned from", "marked"),
            (
                (
                    entry.id,
                    when(entry.at),
                    entry.method,
                    str(entry.observations - entry.learned_from),
                    number(entry.median_error_percent, "{:.1f} %"),
                    entry.base_model_id or UNKNOWN,
                    f"{entry.learned_from} runs",
                    "yes" if entry.id in marked else "no",
                )
                for entry in self._newest(MODEL)
            ),
            right="sample runs, error, learned from",
        )

    def _mark_lines(self) -> list[str]:
        return aligned(
            ("id", "of model", "cause", "reason"),
            (
                (entry.id, entry.model_id or UNKNOWN, entry.cause, entry.reason)
                for entry in self._newest(MARK)
            ),
        )

    def _decision_lines(self) -> list[str]:
        rows = [_outcome(record, self._run_of(record)) for record in self.decisions]
        return aligned(
            ("id", "by model", "machines", "predicted", "actual", "error", "production run"),
            (
                (
                    row["decision_id"],
                    row["model_id"] or UNKNOWN,
                    str(row["machines"]),
                    number(row["predicted_seconds"], "{:.1f} s"),
                    number(row["actual_seconds"], "{:.1f} s"),
                    number(row["error_percent"], "{:+.1f} %"),
                    row["production_id"] or UNKNOWN,
                )
                for row in rows
            ),
            right="machines, predicted, actual, error",
        )

    def _other_run_lines(self) -> list[str]:
        decided = {record.decision_id for record in self.decisions}
        return aligned(
            ("id", "by decision", "by model", "machines", "predicted", "actual", "error"),
            (
                (
                    run.production_id,
                    run.decision_id or UNKNOWN,
                    run.model_id or UNKNOWN,
                    str(run.machines),
                    number(run.predicted_seconds, "{:.1f} s"),
                    f"{run.seconds:.1f} s",
                    number(run.error_percent, "{:+.1f} %"),
                )
                for run in self.productions
                if run.decision_id not in decided
            ),
            right="machines, predicted, actual, error",
        )

    def _bottleneck_lines(self) -> list[str]:
        report = self.bottlenecks
        return [f"by report {report.report_id}", *bottleneck_table(report)] if report else []

    def _run_of(self, record: DecisionRecord) -> ProductionRun | None:
        """The last run by a decision."""
        runs = (run for run in reversed(self.productions) if run.decision_id == record.decision_id)
        return next(runs, None)


def life_of(store: ModelStore, group: Group, *, limit: int) -> Life:
    """What became of a job on a type of machine.

    Args:
        store: that it is in.
        group: what the catalogue says of it.
        limit: at most so many documents of each kind, the newest.

    Raises:
        StoreError: the store cannot be read.
    """
    model = group.model
    reports = store.bottlenecks(group.job, group.instance_type, limit=1)
    return Life(
        group=group,
        newest=None if model is None else store.load(group.job, group.instance_type, model.id),
        decisions=store.decisions(group.job, group.instance_type, limit=limit),
        productions=store.productions(group.job, group.instance_type, limit=limit),
        evidence=None if model is None else evidence_against(model, others=group.of_job),
        bottlenecks=next(iter(reports), None),
        limit=limit,
    )


def _outcome(record: DecisionRecord, run: ProductionRun | None) -> dict[str, Any]:
    """A decision beside the run that it was made for."""
    return {
        "decision_id": record.decision_id,
        "decided_at": record.decided_at,
        "model_id": record.model_id,
        "machines": record.decision.config.machines,
        "predicted_seconds": run.predicted_seconds if run else record.decision.predicted_seconds,
        "actual_seconds": run.seconds if run else None,
        "error_percent": run.error_percent if run else None,
        "production_id": run.production_id if run else None,
    }


def _without_alternatives(record: DecisionRecord) -> dict[str, Any]:
    """Hundreds of them would hide the rest; the document by itself has them."""
    told = record.to_dict()
    told["decision"].pop("alternatives")
    return told


def _section(title: str, lines: Sequence[str], *, most_empty: int = 1) -> list[str]:
    """A title over lines; nothing where there are only so many: a table's heading."""
    return [f"{title}:", *(f"  {line}" for line in lines)] if len(lines) > most_empty else []
