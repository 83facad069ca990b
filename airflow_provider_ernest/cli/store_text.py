"""What ``ernest store list`` and ``show`` say: of jobs, of records, and of what became of a job."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clarity.bottleneck_report import bottleneck_table
from airflow_provider_ernest.cli.analyze_text import profile_lines
from airflow_provider_ernest.cli.command import age, aligned, when
from airflow_provider_ernest.documents import (
    RECORDS,
    BottleneckReport,
    ClusterBandwidth,
    DecisionRecord,
    InputFingerprint,
    Model,
    ModelMark,
    ObservationRecord,
    ProductionRun,
    ProfileRecord,
    Record,
)
from airflow_provider_ernest.learning.freshness import State, evidence_against, state_of
from airflow_provider_ernest.store.catalogue import LISTED, CatalogueEntry
from airflow_provider_ernest.store.files import files, safe_name, store_errors
from airflow_provider_ernest.store.records import FOLDERS, Kept, newest_first, read_or_skip
from airflow_provider_ernest.views.tables import decision_table, model_table, observations_table
from airflow_provider_ernest.words import (
    UNKNOWN,
    bandwidth,
    counted,
    deviation,
    dollars,
    error,
    machines,
    seconds,
    seconds_between,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.documents import Observation, Origin, RunConditions
    from airflow_provider_ernest.learning.drift import Evidence
    from airflow_provider_ernest.run_profile import RunProfile
    from airflow_provider_ernest.store.records import SetAside
    from airflow_provider_ernest.store.store import ModelStore


@dataclass(frozen=True, kw_only=True)
class Group:
    """A job on a type of machine.

    Attributes:
        store: that it is in.
        job: the user's name of the job.
        instance_type: the machines' type.
        entries: of the catalogue, oldest first.
        of_job: those of the job on all types.
    """

    store: ModelStore
    job: str
    instance_type: str
    entries: Sequence[CatalogueEntry]
    of_job: Sequence[CatalogueEntry]

    def listed(self, form: type[Record]) -> list[CatalogueEntry]:
        """Its entries of a class of records that the catalogue lists, oldest first."""
        return [entry for entry in self.entries if entry.kind == form.kind]

    def ids(self, form: type[Record]) -> list[str]:
        """The ids of its records of any class, oldest first.

        Raises:
            StoreError: they cannot be listed.
        """
        if form in LISTED:
            return [entry.id for entry in self.listed(form)]
        return self.store.ids(form, self.job, self.instance_type)[::-1]

    def newest(self, form: type[Kept], *, limit: int | None) -> list[Kept]:
        """Its newest records of a class, oldest first.

        Raises:
            StoreError: they cannot be read.
        """
        return self.store.newest(form, self.job, self.instance_type, limit=limit)

    @property
    def model(self) -> CatalogueEntry | None:
        """Its newest model; None where there is none."""
        return max(self.listed(Model), key=lambda entry: (entry.at, entry.id), default=None)

    @cached_property
    def state(self) -> State | None:
        """Of its newest model; None where there is none."""
        return state_of(self.model, others=self.of_job) if self.model else None


def groups_of(store: ModelStore, *, job: str | None = None, instance_type: str | None = None) -> list[Group]:
    """All that a store holds, or what it holds of a job or on a type of machine, by name.

    Raises:
        StoreError: the store cannot be read.
    """
    of_job: dict[str, list[CatalogueEntry]] = defaultdict(list)
    of_group: dict[tuple[str, str], list[CatalogueEntry]] = defaultdict(list)
    for entry in store.catalogue.entries():
        of_job[entry.job].append(entry)
        of_group[entry.job, entry.instance_type].append(entry)
    with store_errors(f"The store in {store.root} cannot be read"):
        for name in _unlisted(store, of_group):
            of_group[name] = []
    return [
        Group(
            store=store,
            job=name[0],
            instance_type=name[1],
            entries=of_group[name],
            of_job=of_job[name[0]],
        )
        for name in sorted(of_group)
        if job in (None, name[0]) and instance_type in (None, name[1])
    ]


def _unlisted(store: ModelStore, known: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Jobs of which there is nothing yet that the catalogue lists. Their names are in the records only."""
    listed = {(safe_name("job", job), safe_name("instance_type", name)) for job, name in known}
    for job_folder in files(store.root):
        if not job_folder.is_dir():
            continue
        for folder in files(job_folder):
            if (str(job_folder.name), str(folder.name)) in listed:
                continue
            found = (
                read_or_skip(store.root, form, path)
                for form in RECORDS
                if form not in LISTED
                for path in newest_first(folder / FOLDERS[form])
            )
            record = next((each for each in found if each is not None), None)
            if record is not None:
                yield record.job, record.instance_type


def counted_by_kind(counts: Mapping[str, int]) -> str:
    """How many records of each kind, in words."""
    parts = [
        f"{counts[form.kind]:,} {form.words}{'s' if counts[form.kind] != 1 else ''}"
        for form in RECORDS
        if counts.get(form.kind)
    ]
    return ", ".join(parts) or "nothing"


_COUNTED = (Model, DecisionRecord, ProductionRun, ObservationRecord)


def group_row(group: Group) -> dict[str, Any]:
    """The newest model of a job on a type of machine, its state, and how many records there are."""
    model, state = group.model, group.state
    return {
        "job": group.job,
        "instance_type": group.instance_type,
        "id": model.id if model else None,
        "at": model.at if model else None,
        "state": state.name if state else None,
        "cause": state.cause if state else "",
        "reason": state.reason if state else "",
        "median_error_percent": model.median_error_percent if model else None,
        **{f"{form.kind}s": len(group.ids(form)) for form in (*_COUNTED, ModelMark)},
    }


def group_table(rows: Iterable[dict[str, Any]], *, now: datetime) -> list[str]:
    """The rows of `group_row` for people."""
    numbers = ("age", "error", *(f"{form.words}s" for form in _COUNTED))
    return aligned(
        ("job", "type", "state", "newest model", *numbers),
        (
            (
                row["job"],
                row["instance_type"],
                (row["state"] or UNKNOWN) + (f" ({row['cause']})" if row["cause"] else ""),
                row["id"] or UNKNOWN,
                age(row["at"] or "", now=now),
                error(row["median_error_percent"]),
                *(str(row[f"{form.kind}s"]) for form in _COUNTED),
            )
            for row in rows
        ),
        right=", ".join(numbers),
    )


def record_rows(groups: Iterable[Group], form: type[Record], *, limit: int | None) -> list[dict[str, Any]]:
    """The records of a class, oldest first, each with what it says in a few words.

    Args:
        groups: only of these.
        form: the class.
        limit: at most so many of a group, the newest, where the catalogue does not list them.

    Raises:
        StoreError: the store cannot be read.
    """
    rows = []
    for group in groups:
        found: Iterable[CatalogueEntry | Record] = (
            group.listed(form) if form in LISTED else group.newest(form, limit=limit)
        )
        for each in found:
            model_id = getattr(each, "model_id", None)
            rows.append(
                {
                    "kind": each.kind,
                    "job": each.job,
                    "instance_type": each.instance_type,
                    "id": each.id,
                    "at": each.at,
                    "model_id": None if model_id == each.id else model_id,
                    "says": _says(each),
                }
            )
    return sorted(rows, key=lambda row: (row["at"], row["id"]))


def record_table(rows: Iterable[dict[str, Any]], *, now: datetime) -> list[str]:
    """The rows of `record_rows` for people."""
    return aligned(
        ("id", "job", "type", "age", "model", "says"),
        (
            (
                row["id"],
                row["job"],
                row["instance_type"],
                age(row["at"], now=now),
                row["model_id"] or UNKNOWN,
                row["says"],
            )
            for row in rows
        ),
        right="age",
    )


def _says(found: CatalogueEntry | Record) -> str:
    if isinstance(found, CatalogueEntry):
        return ", ".join(_said(found))
    if isinstance(found, ObservationRecord):
        return _ran(found.observation)
    if isinstance(found, ProfileRecord):
        return f"{found.purpose} run, {_ran(found.profile)}: {found.profile.headline}"
    return found.headline if isinstance(found, BottleneckReport) else ""


def _said(entry: CatalogueEntry) -> Iterator[str]:
    if entry.reason:
        yield f"{entry.cause}: {entry.reason}"
    if entry.method:
        yield f"{entry.method}, {counted(entry.observations - entry.learned_from, 'sample run')}"
        yield f"error {error(entry.median_error_percent)}"
    if entry.learned_from:
        yield f"learned from {counted(entry.learned_from, 'production run')}"
    if entry.machines is not None:
        yield machines(entry.machines)
    if entry.predicted_seconds is not None:
        yield f"predicted {seconds(entry.predicted_seconds)}"
    if entry.seconds is not None:
        yield f"took {seconds(entry.seconds)}"
    if entry.is_unusual or entry.is_unlikely:
        yield f"outside the {'95' if entry.is_unusual else '80'} % interval"


def _ran(run: Observation | RunProfile) -> str:
    return f"{machines(run.machines)}, scale {run.scale:.4g}, took {seconds(run.seconds)}"


MOST_SET_ASIDE = 5
"""So many files that were set aside are named in the text."""


def set_aside_lines(torn: Sequence[SetAside]) -> list[str]:
    """The files of a store that were set aside."""
    if not torn:
        return []
    found = "file that was damaged was" if len(torn) == 1 else "files that were damaged were"
    lines = [f"{len(torn):,} {found} set aside:"]
    lines += [f"  {each.path}: {each.problem}" for each in torn[:MOST_SET_ASIDE]]
    if len(torn) > MOST_SET_ASIDE:
        lines.append(f"  and {len(torn) - MOST_SET_ASIDE:,} more, which --json lists")
    return lines


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
            "input bytes": None if data.total_bytes is None else f"{data.total_bytes:,}",
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
    chosen = f"{machines(decision.config.machines)}: {seconds(decision.predicted_seconds)}"
    return _lines(
        record,
        {
            "by model": record.model_id,
            "of models": ", ".join(record.model_ids),
            "reused, since": record.reuse,
            "scale": f"{record.scale:g}",
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
            "scale": f"{run.scale:g}",
            "took": seconds(run.seconds),
            "start-up, part of it": seconds(run.startup_seconds),
            "predicted": seconds(run.predicted_seconds),
            "likely (80 %)": seconds_between(run.likely_seconds),
            "nearly certain (95 %)": seconds_between(run.nearly_certain_seconds),
            "error": deviation(run.error_percent),
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
        {"of a run for": record.purpose, "scale": f"{run.scale:g}", "event log": run.event_log},
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
            "its scale": f"{report.scale:g}",
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
        return None if model is None else evidence_against(model, others=self.group.of_job)

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
                    error(entry.median_error_percent),
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
                    seconds(row["predicted_seconds"]),
                    seconds(row["actual_seconds"]),
                    deviation(row["error_percent"]),
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
                    seconds(run.predicted_seconds),
                    seconds(run.seconds),
                    deviation(run.error_percent),
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
