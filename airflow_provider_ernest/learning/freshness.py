"""Whether a model still holds for its job: by a test of its predictions, and by all that the catalogue tells.

Where the model is right, a run lies outside the interval that is likely once in five times, and outside the
one that is nearly certain once in 20. Do production runs miss them more often? The question is asked after
every run, for as long as the job lives, and a test for a fixed number of runs that is repeated sooner or
later rejects every model. So this is a sequential one (Wald 1945), valid at any time.

Each run is one of three outcomes: inside what is likely, outside of that, outside of what is nearly certain.
An alternative is a distribution of the three that a wrong model may have; a run's likelihood ratio is its
probability there over that under a right model. No alternative has fewer misses than a right model, and each
ratio grows from outcome to outcome: so its mean is at most 1 for every model that misses as often as it says
or more seldom, whatever came before (an e-value; Ville 1939). Of each alternative a Shiryaev-Roberts
statistic is kept, (statistic + 1) times the ratio, and their mean is the evidence: an e-detector in the sense
of Shin, Ramdas, Rinaldo (2022). Its mean after n runs is at most n, so that with a right model `THRESHOLD`
runs or more pass on average until it says that there is drift. It forgets how long all was well: a late
change is seen as soon as an early one.

That a right model's misses do not depend on one another needs predictions that have learned from the
runs before, as they do here: each run is judged by what was predicted of it beforehand (Dawid 1984).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, reduce
from statistics import median
from typing import TypeAlias

from airflow_provider_ernest.documents.base import Origin, new_stamp, time_of
from airflow_provider_ernest.documents.decisions import ProductionRun
from airflow_provider_ernest.documents.models import (
    AGE,
    CLUSTER,
    CODE,
    DATA,
    SETTINGS,
    UNEXPLAINED,
    Model,
    ModelMark,
    TrainingCluster,
)
from airflow_provider_ernest.learning.conditions import (
    Difference,
    code_differences,
    differences,
    is_other_code,
    sentence_of,
    short_hash,
)
from airflow_provider_ernest.store.catalogue import DECISION, MARK, MODEL, PRODUCTION_RUN, CatalogueEntry
from airflow_provider_ernest.words import as_percent, bandwidth, counted, plain

OUTCOMES = (0.80, 0.15, 0.05)
"""How often a run of a right model is inside what is likely, outside of that, outside of nearly certain."""

ALTERNATIVES = ((0.55, 0.25, 0.20), (0.25, 0.25, 0.50), (0.04, 0.06, 0.90))
"""The same for models that are somewhat, clearly, and nearly always wrong."""

THRESHOLD = 1000.0
"""Production runs between two false alarms, on average at least: nearly three years of a nightly job. Three
runs in a row outside of what is nearly certain pass it."""

SUSPICION = 10.0
"""From this evidence on a drift may have begun, and nothing is learned until it falls or grows to drift. One
run outside of what is nearly certain passes it, and one inside what is likely takes it back below."""

NO_MATTER = 0.05
"""A run that is off by no more counts as inside. Intervals become as narrow as a job is regular, and nobody
would train anew for 3 %."""

FIRST_RUNS = 1
"""So many runs are learned from in any case: samples that are unlike the whole mislead a model from its first
run on, which learning mends, and training anew on such samples would not."""

_RATIOS = tuple(
    tuple(wrong / right for wrong, right in zip(alternative, OUTCOMES, strict=True))
    for alternative in ALTERNATIVES
)


Judged: TypeAlias = ProductionRun | CatalogueEntry


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What production runs say against a model; once that is drift, no later run takes it back."""

    statistics: tuple[float, ...] = (0.0,) * len(ALTERNATIVES)  # of each alternative
    runs: int = 0  # that were predicted, up to the one at which it was passed
    unlikely: int = 0  # those of them outside what was likely, the unusual ones among them
    unusual: int = 0  # those outside what was nearly certain

    def after(self, run: Judged) -> Evidence:
        """The evidence after the next run."""
        outcome = 2 if run.is_unusual else int(run.is_unlikely)
        if self.is_drift or (run.predicted_seconds is None and not outcome):
            return self
        told, expected = outcome, run.predicted_seconds
        if expected is not None and run.seconds is not None:
            told = 0 if abs(run.seconds - expected) <= NO_MATTER * expected else outcome
        return Evidence(
            statistics=tuple(
                (statistic + 1.0) * ratios[told]
                for statistic, ratios in zip(self.statistics, _RATIOS, strict=True)
            ),
            runs=self.runs + 1,
            unlikely=self.unlikely + (outcome > 0),
            unusual=self.unusual + (outcome > 1),
        )

    @property
    def value(self) -> float:
        """How strong it is; where it has passed the threshold, as it was then."""
        return sum(self.statistics) / len(self.statistics)

    @property
    def is_drift(self) -> bool:
        """Whether the runs miss their intervals more often than those of a right model."""
        return self.value >= THRESHOLD

    @property
    def is_suspicious(self) -> bool:
        """Whether a drift may have begun."""
        return self.value >= SUSPICION

    @property
    def sentence(self) -> str:
        """What was seen, in words."""
        if not self.runs:
            return "It has predicted no production run yet."
        # Of the range that was missed more often than it should be, by ratio.
        is_by_80 = self.unlikely > 4 * self.unusual
        missed, share = (self.unlikely, 0.2) if is_by_80 else (self.unusual, 0.05)
        if self.is_drift and missed <= share * self.runs:
            return f"The last runs fell outside the {as_percent(1 - share)} range far too often."
        if self.is_drift:
            return (
                f"By run {self.runs}, {missed} had fallen outside the {as_percent(1 - share)} range; "
                f"{plain(share * self.runs)} were expected."
            )
        within, expected = self.runs - missed, round((1 - share) * self.runs)
        told = f"{within} of {counted(self.runs, 'run')} fell within the {as_percent(1 - share)} range"
        return f"{told}, {expected} expected." + " Drift may have begun." * self.is_suspicious


def evidence_of(runs: Iterable[Judged]) -> Evidence:
    """What production runs of one lineage, oldest first, say against the model that predicted them."""
    return reduce(Evidence.after, runs, Evidence())


def may_learn(evidence: Evidence) -> bool:
    """Whether all the runs that the evidence is of may be learned from."""
    return evidence.runs <= FIRST_RUNS or not evidence.is_suspicious


def trusted(runs: Iterable[Judged]) -> int:
    """How many of the runs may be learned from: the first ones, and all up to the last without suspicion."""
    # A model that has learned from the beginning of a drift would expect it, and it would go unnoticed.
    evidence, known = Evidence(), 0
    for position, run in enumerate(runs, start=1):
        evidence = evidence.after(run)
        if may_learn(evidence):
            known = position
    return known


# Why the predictions no longer hold: other code, other data, other settings, slower machines?

SLOWER_MACHINES = 0.15
"""A cluster is slower if it lacks a larger share of the bandwidth of the sample runs. Machines of one type
differ by less, and so do two probes of the same machine."""

RECENT_RUNS = 5  # the last runs that are looked at, so that one odd cluster among them does not decide

REMEDIES = {
    CODE: "Retrain with the application as it is now.",
    DATA: "Retrain on the data as it is now.",
    SETTINGS: "Retrain with the settings as they are now.",
    CLUSTER: "Get machines like those of the sample runs, or retrain on these.",
    UNEXPLAINED: "Retrain; the event logs may show what else has changed.",
}
"""What to do, by cause."""


def cause_of(model: Model, runs: Sequence[ProductionRun]) -> tuple[str, str]:
    """Why the production runs, oldest first, are not as the model predicts; the last `RECENT_RUNS` count.

    What is not known of the model or of the runs is no cause.

    Returns:
        The first of `CODE`, `DATA`, `SETTINGS`, `CLUSTER` and `UNEXPLAINED`, the most directly seen, and a
        sentence that names all, with what to do about the first.
    """
    recent = list(runs)[-RECENT_RUNS:]
    # Of the last run that knows: changes stay.
    code = next((run.artifact_sha256 for run in reversed(recent) if run.artifact_sha256), None)
    conditions = next((run.conditions for run in reversed(recent) if run.conditions is not None), None)
    causes = [
        *code_differences(model.artifact_sha256, code),
        *sorted(
            differences(model.conditions, conditions), key=lambda each: (DATA, SETTINGS).index(each.cause)
        ),
        *_slower_machines(model.cluster, recent),
    ]
    if not causes:
        return UNEXPLAINED, (
            "Code, data, settings and machines are the same, as far as is known. " + REMEDIES[UNEXPLAINED]
        )
    return causes[0].cause, f"{sentence_of(causes)} {REMEDIES[causes[0].cause]}"


def _slower_machines(trained: TrainingCluster | None, runs: Sequence[ProductionRun]) -> list[Difference]:
    """What of the production machines' bandwidth is far below that of the sample runs' machines."""

    def usual(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return median(known) if known else None

    found = []
    for name in ("memory", "network"):
        field = f"{name}_gigabytes_per_second"
        then = usual(getattr(machine, field) for machine in (trained.kept_machines if trained else ()))
        now = usual(getattr(run.bandwidth, field) for run in runs if run.bandwidth is not None)
        if then and now is not None and now < (1.0 - SLOWER_MACHINES) * then:
            reason = (
                f"the machines' {name} bandwidth is {bandwidth(now)}, {as_percent(1.0 - now / then)} below "
                f"the {bandwidth(then)} of the sample runs' machines"
            )
            found.append(Difference(CLUSTER, reason))
    return found


# The state of a model, by the catalogue alone.

FRESH, STALE, DRIFTING = "fresh", "stale", "drifting"

SEEN_DIRECTLY = frozenset({AGE, CODE, DATA, SETTINGS})
"""Causes that are looked at anew before each reuse: what was marked for them may have been taken back."""

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class State:
    """The state of a model.

    Attributes:
        name: `FRESH`, `STALE` or `DRIFTING`.
        reason: a sentence that says why, and one that says what to do; empty where it is fresh.
        cause: of `documents.models.ModelMark`; empty where it is fresh.
    """

    name: str
    reason: str = ""
    cause: str = ""


class Lineage:
    """A model, and what was recorded of it and of those that it learned on from, or that did from it."""

    def __init__(self, model: CatalogueEntry, entries: Iterable[CatalogueEntry]) -> None:
        self.model = model
        self._of_job = [entry for entry in entries if entry.job == model.job]

    @cached_property
    def ids(self) -> frozenset[str]:
        """Of its models: the one of the sample runs alone, and those that learned on from it."""
        base = self.model.base_model_id or self.model.id
        learned = (entry.id for entry in self._of_type(MODEL) if entry.base_model_id == base)
        return frozenset((self.model.id, base, *learned))

    @cached_property
    def evidence(self) -> Evidence:
        """Of drift: the runs that it predicted, of its type of machine and, as far as known, its code."""
        runs = sorted(self._of_type(PRODUCTION_RUN), key=_order)
        return evidence_of(
            run for run in runs if run.model_id in self.ids and not self._is_of_other_code(run)
        )

    @cached_property
    def marks(self) -> list[CatalogueEntry]:
        """Its marks but for those of what was changed back since."""
        # A sign of its own code tells that of the code; a decision by it tells it of all that is looked at
        # before a model is reused.
        newest = self._newest_code
        own_code_at = _NEVER if newest is None or self._is_of_other_code(newest) else _moment(newest)
        decisions = (entry for entry in self._of_job if entry.kind == DECISION and entry.model_id in self.ids)
        decided_at = max(map(_moment, decisions), default=_NEVER)
        return [
            entry
            for entry in self._of_type(MARK)
            if entry.model_id in self.ids
            and not (entry.cause in SEEN_DIRECTLY and decided_at > _moment(entry))
            and not (entry.cause == CODE and own_code_at > _moment(entry))
        ]

    def state(self, *, passed_over: Collection[str] = ()) -> State:
        """The state of the model.

        It is stale where the newest model or production run since of the same job, on any type of machine,
        is of another JAR or .py file; drifting where the production runs that its lineage predicted missed
        their intervals more often than chance allows, see `drift`; and stale where it, or another model of
        its lineage, bears a mark. What is not known does not count against it. Causes that are passed over,
        as the caller looks at them itself, make nothing stale, and hide no other; a drift always counts.
        """
        newest = self._newest_code
        if newest is not None and self._is_of_other_code(newest) and CODE not in passed_over:
            what = "a production run" if newest.kind == PRODUCTION_RUN else "a newer model"
            trained, seen = short_hash(self.model.artifact_sha256), short_hash(newest.artifact_sha256)
            reason = (
                f"It was trained with the application {trained}, and {what} of {newest.at} is of {seen}. "
                f"{REMEDIES[CODE]}"
            )
            return State(STALE, reason, CODE)
        is_drift = self.evidence.is_drift
        counting = [mark for mark in self.marks if is_drift or mark.cause not in passed_over]
        mark = max(counting, key=_order, default=None)
        if mark is not None:
            return State(DRIFTING if is_drift else STALE, mark.reason, mark.cause)
        if is_drift:
            return State(DRIFTING, f"{self.evidence.sentence} {REMEDIES[UNEXPLAINED]}", UNEXPLAINED)
        return State(FRESH)

    def new_mark(
        self, *, cause: str, reason: str, artifact_sha256: str | None, origin: Origin | None
    ) -> ModelMark | None:
        """The mark of the model; None without a cause, or if its lineage has a mark of it already."""
        seen = artifact_sha256 if cause == CODE else None
        if not cause or (cause, seen) in {(mark.cause, mark.artifact_sha256) for mark in self.marks}:
            return None
        return ModelMark(
            **new_stamp(),
            job=self.model.job,
            instance_type=self.model.instance_type,
            model_id=self.model.id,
            cause=cause,
            reason=reason,
            artifact_sha256=seen,
            origin=origin,
        )

    def _of_type(self, kind: str) -> list[CatalogueEntry]:
        return [
            entry
            for entry in self._of_job
            if entry.kind == kind and entry.instance_type == self.model.instance_type
        ]

    @cached_property
    def _newest_code(self) -> CatalogueEntry | None:
        """The last sign, after the model, of what the job's code is."""
        since = _moment(self.model)
        signs = (
            entry
            for entry in self._of_job
            if entry.artifact_sha256 and entry.kind in (MODEL, PRODUCTION_RUN) and _moment(entry) > since
        )
        return max(signs, key=_order, default=None)

    def _is_of_other_code(self, entry: CatalogueEntry) -> bool:
        return is_other_code(self.model.artifact_sha256, entry.artifact_sha256)


def _order(entry: CatalogueEntry) -> tuple[datetime, str]:
    return _moment(entry), entry.id


def _moment(entry: CatalogueEntry) -> datetime:
    """When it was made; the beginning of time where that is not told, so that it is never the newest."""
    return time_of(entry.at) or _NEVER
