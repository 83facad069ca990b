"""How what a store holds is written in lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clarity.bottleneck_report import bottleneck_table
from airflow_provider_ernest.cli.command import UNKNOWN, aligned, number, when
from airflow_provider_ernest.documents import (
    BottleneckReport,
    Decision,
    DecisionRecord,
    Model,
    ModelMark,
    ObservationRecord,
    ProductionRun,
    ProfileRecord,
)
from airflow_provider_ernest.views.tables import decision_table, model_table, observations_table
from airflow_provider_ernest.words import counted, machines

if TYPE_CHECKING:
    from airflow_provider_ernest.cli.store_groups import Group
    from airflow_provider_ernest.documents import Origin, RunConditions
    from airflow_provider_ernest.learning.drift import Evidence
    from airflow_provider_ernest.learning.freshness import State
    from airflow_provider_ernest.run_profile import RunProfile
    from airflow_provider_ernest.store.catalogue import CatalogueEntry
    from airflow_provider_ernest.store.store import ModelStore


# ---------------------------------------------------------------------------
# Where the time of a stored run went, in lines.


MOST_STAGES = 20
"""So many stages are shown, those that took longest."""

LEAST_PERCENT = 0.5
"""Less is not worth a line."""


def profile_lines(profile: RunProfile) -> list[str]:
    """What the run was bound by, its phases and its longest stages."""
    return [
        profile.headline,
        *(f"{name}: {value}" for name, value in _profile_facts(profile) if value),
        *_stages(profile),
        *(f"{advice.text} ({advice.figure})" for advice in profile.advice),
        *(f"warning: {warning}" for warning in profile.warnings),
    ]


def _profile_facts(profile: RunProfile) -> Iterator[tuple[str, str]]:
    yield "Spark application", profile.application_id
    yield "event log", profile.event_log or ""
    yield "Spark", profile.spark or ""
    yield "category", profile.category
    yield "machines", f"{profile.machines}, {profile.slots} tasks at once"
    yield "scale", f"{profile.scale:g}"
    yield "took", f"{profile.seconds:.1f} s, after a start-up of {profile.startup_seconds:.1f} s"
    yield "no task ran in", f"{profile.driver_seconds:.1f} s of it"
    yield "replayed", f"{profile.replayed_seconds:.1f} s ({profile.replay_error_percent:+.1f} %)"
    for limit in profile.limits:
        if limit.improvement_percent >= LEAST_PERCENT:
            yield (
                f"without waiting for {limit.resource}",
                f"{limit.seconds_without:.1f} s, {limit.improvement_percent:.0f} % less at most",
            )
    for cause in profile.straggler_causes:
        yield f"stragglers by {cause.cause}", f"{cause.tasks}, {cause.seconds_without:.1f} s without them"
    for size in profile.sizes:
        yield f"replayed on {machines(size.machines)}", f"{size.seconds:.1f} s"
    for what_if in profile.what_ifs:
        yield what_if.change, f"{what_if.seconds:.1f} s ({what_if.change_percent:+.1f} %)"


def _stages(profile: RunProfile) -> list[str]:
    if not profile.stages:
        return []
    longest = sorted(profile.stages, key=lambda stage: stage.seconds, reverse=True)[:MOST_STAGES]
    shown = [stage for stage in profile.stages if stage in longest]
    lines = aligned(
        ("stage", "name", "began", "took", "tasks", "tasks' time", "bound by", "stragglers"),
        (
            (
                f"{stage.stage_id}.{stage.attempt}",
                stage.name,
                number(stage.began_seconds, "{:.1f} s"),
                number(stage.seconds, "{:.1f} s"),
                f"{stage.tasks:,}",
                number(stage.task_seconds, "{:.1f} s"),
                stage.bottleneck or UNKNOWN,
                f"{stage.stragglers:,}",
            )
            for stage in shown
        ),
        right="began, took, tasks, tasks' time, stragglers",
    )
    left_out = len(profile.stages) - len(shown) + profile.stages_left_out
    return lines + ([f"and {left_out:,} stages more"] if left_out else [])


# ---------------------------------------------------------------------------
# One document of a store in lines.


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
        ("made", model.at),
        ("by", _task(model.origin)),
        ("goes on from model", model.base_model_id),
        ("learned from production runs", ", ".join(model.learned_from)),
        ("application", model.artifact),
        ("its SHA-256", model.artifact_sha256),
        ("input at scale 1", model.input_path),
    ]
    return [
        f"model {model.id} of {model.job} on {model.instance_type}",
        *_facts(facts),
        *condition_lines(model.conditions),
        *model_table(model),
        *observations_table(model.observations),
        *(f"warning: {warning}" for warning in model.warnings),
    ]


@document_lines.register
def _(record: DecisionRecord) -> list[str]:
    facts: Facts = [
        ("made", record.at),
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
        f"decision {record.id} for {record.job} on {record.instance_type}",
        *_facts(facts),
        *_decided(record.decision),
        *(f"warning: {warning}" for warning in record.decision.warnings),
    ]


@document_lines.register
def _(run: ProductionRun) -> list[str]:
    facts: list[tuple[str, object]] = [
        ("recorded", run.at),
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
        f"production run {run.id} of {run.job} on {run.instance_type}",
        *_facts(facts),
        *condition_lines(run.conditions),
    ]


@document_lines.register
def _(record: ObservationRecord) -> list[str]:
    run = record.observation
    facts: Facts = [
        ("recorded", record.at),
        ("by", _task(run.origin)),
        ("application's SHA-256", record.artifact_sha256),
        ("event log", run.event_log),
        ("hosts", ", ".join(run.hosts)),
    ]
    return [
        f"sample run {record.id} of {record.job} on {record.instance_type}",
        *_facts(facts),
        *condition_lines(record.conditions),
        *observations_table([run]),
    ]


@document_lines.register
def _(mark: ModelMark) -> list[str]:
    facts: Facts = [
        ("made", mark.at),
        ("by", _task(mark.origin)),
        ("of model", mark.model_id),
        ("cause", mark.cause),
        ("reason", mark.reason),
        ("application's SHA-256", mark.artifact_sha256),
    ]
    return [f"mark {mark.id} of {mark.job} on {mark.instance_type}", *_facts(facts)]


@document_lines.register
def _(record: ProfileRecord) -> list[str]:
    return [
        f"run profile {record.id} of {record.job} on {record.instance_type}",
        *_facts(
            [
                ("recorded", record.at),
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
        ("made", report.at),
        ("by", _task(report.origin)),
        ("beside model", report.model_id),
        ("by run profiles", ", ".join(report.profile_ids)),
        ("Spark application", report.application_id),
        ("its scale", f"{report.scale:g}"),
        ("its machines", report.machines),
    ]
    return [
        f"bottleneck report {report.id} of {report.job} on {report.instance_type}",
        *_facts(facts),
        *bottleneck_table(report),
        *(f"warning: {warning}" for warning in report.warnings),
    ]


def _decided(decision: Decision) -> list[str]:
    """The table of what was considered; what documents of other makers leave out is left out here."""
    if decision.predicted_seconds is None or decision.predicted_cost is not None:
        return decision_table(decision)
    chosen = f"{machines(decision.config.machines)}: {decision.predicted_seconds:.1f} s"
    return [f"goal: {decision.goal}", chosen]


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


# ---------------------------------------------------------------------------
# All that became of a job on a type of machine.


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
        from airflow_provider_ernest.store.catalogue import MARK, MODEL

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
        from airflow_provider_ernest.store.catalogue import MARK, MODEL

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
                    counted(entry.learned_from, "run"),
                    "yes" if entry.id in marked else "no",
                )
                for entry in self._newest(MODEL)
            ),
            right="sample runs, error, learned from",
        )

    def _mark_lines(self) -> list[str]:
        from airflow_provider_ernest.store.catalogue import MARK

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
        decided = {record.id for record in self.decisions}
        return aligned(
            ("id", "by decision", "by model", "machines", "predicted", "actual", "error"),
            (
                (
                    run.id,
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
        from airflow_provider_ernest.clarity.bottleneck_report import bottleneck_table

        report = self.bottlenecks
        return [f"by report {report.id}", *bottleneck_table(report)] if report else []

    def _run_of(self, record: DecisionRecord) -> ProductionRun | None:
        """The last run by a decision."""
        runs = (run for run in reversed(self.productions) if run.decision_id == record.id)
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
    from airflow_provider_ernest.learning.freshness import evidence_against

    model = group.model
    reports = store.newest(BottleneckReport, group.job, group.instance_type, limit=1)
    return Life(
        group=group,
        newest=None if model is None else store.load(Model, group.job, group.instance_type, model.id),
        decisions=store.newest(DecisionRecord, group.job, group.instance_type, limit=limit),
        productions=store.newest(ProductionRun, group.job, group.instance_type, limit=limit),
        evidence=None if model is None else evidence_against(model, others=group.of_job),
        bottlenecks=next(iter(reports), None),
        limit=limit,
    )


def _outcome(record: DecisionRecord, run: ProductionRun | None) -> dict[str, Any]:
    """A decision beside the run that it was made for."""
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


# ---------------------------------------------------------------------------
# The documents of a store in a line each.


def rows_of(
    store: ModelStore, groups: Iterable[Group], *, kind: str, limit: int | None
) -> list[dict[str, Any]]:
    """The documents of a kind, oldest first, each with what it says.

    Args:
        store: that they are in.
        groups: only of these.
        kind: see `store_text.PLURALS`.
        limit: at most so many of a group, the newest, where the catalogue does not list the kind.

    Raises:
        StoreError: the store cannot be read.
    """
    rows = []
    for group in groups:
        of = group.job, group.instance_type
        if kind == "observation":
            rows += [_of_observation(record) for record in store.newest(ObservationRecord, *of, limit=limit)]
        elif kind == "profile":
            rows += [_of_profile(record) for record in store.newest(ProfileRecord, *of, limit=limit)]
        elif kind == "bottlenecks":
            rows += [_of_report(report) for report in store.newest(BottleneckReport, *of, limit=limit)]
        else:
            rows += [_of_entry(entry) for entry in group.of_kind(kind)]
    return sorted(rows, key=lambda row: (row["at"], row["id"]))


def _of_entry(entry: CatalogueEntry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "job": entry.job,
        "instance_type": entry.instance_type,
        "id": entry.id,
        "at": entry.at,
        "model_id": None if entry.model_id == entry.id else entry.model_id,
        "says": ", ".join(_said(entry)),
    }


def _said(entry: CatalogueEntry) -> Iterator[str]:
    """What a document says, in a few words."""
    if entry.reason:
        yield f"{entry.cause}: {entry.reason}"
    if entry.method:
        yield f"{entry.method}, {counted(entry.observations - entry.learned_from, 'sample run')}"
        yield f"error {number(entry.median_error_percent)} %"
    if entry.learned_from:
        yield f"learned from {counted(entry.learned_from, 'production run')}"
    if entry.machines is not None:
        yield machines(entry.machines)
    if entry.predicted_seconds is not None:
        yield f"predicted {entry.predicted_seconds:.1f} s"
    if entry.seconds is not None:
        yield f"took {entry.seconds:.1f} s"
    if entry.is_unusual or entry.is_unlikely:
        yield f"outside the {'95' if entry.is_unusual else '80'} % interval"


def _of_observation(record: ObservationRecord) -> dict[str, Any]:
    run = record.observation
    return {
        "kind": "observation",
        "job": record.job,
        "instance_type": record.instance_type,
        "id": record.id,
        "at": record.at,
        "model_id": None,
        "says": f"{machines(run.machines)}, scale {run.scale:.4g}, took {run.seconds:.1f} s",
    }


def _of_profile(record: ProfileRecord) -> dict[str, Any]:
    run = record.profile
    return {
        "kind": "profile",
        "job": record.job,
        "instance_type": record.instance_type,
        "id": record.id,
        "at": record.at,
        "model_id": None,
        "says": f"{record.purpose} run, {machines(run.machines)}, scale {run.scale:.4g}, took "
        f"{run.seconds:.1f} s: {run.headline}",
    }


def _of_report(report: BottleneckReport) -> dict[str, Any]:
    return {
        "kind": "bottlenecks",
        "job": report.job,
        "instance_type": report.instance_type,
        "id": report.id,
        "at": report.at,
        "model_id": report.model_id,
        "says": report.headline,
    }
