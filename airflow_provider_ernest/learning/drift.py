"""A sequential test of a model's predictions: do production runs miss their intervals too often, and why?

Where the model is right, a run lies outside the interval that is likely once in five times, and outside the
one that is nearly certain once in 20. The question is asked after every run, for as long as the job lives,
and a test for a fixed number of runs that is repeated sooner or later rejects every model. So this is a
sequential one (Wald 1945), valid at any time.

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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from airflow_provider_ernest.documents.decisions import ProductionRun
from airflow_provider_ernest.documents.models import (
    CLUSTER,
    CODE,
    DATA,
    SETTINGS,
    UNEXPLAINED,
    Model,
    TrainingCluster,
)
from airflow_provider_ernest.learning.conditions import Difference, code_differences, differences, sentence_of
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


class Judged(Protocol):
    """A production run, or its entry in the catalogue."""

    @property
    def seconds(self) -> float | None:
        """How long it took; None where only its outcome is known."""

    @property
    def predicted_seconds(self) -> float | None:
        """None where nothing was predicted: such a run says nothing."""

    @property
    def is_unlikely(self) -> bool:
        """Whether it was outside what was likely (80 %)."""

    @property
    def is_unusual(self) -> bool:
        """Whether it was outside what was nearly certain (95 %)."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What production runs say against a model."""

    value: float = 0.0  # where it has passed the threshold, as it was then
    threshold: float = THRESHOLD  # from which on it is drift
    runs: int = 0  # that were predicted, up to the one at which it was passed
    unlikely: int = 0  # those of them outside what was likely, the unusual ones among them
    unusual: int = 0  # those outside what was nearly certain

    @property
    def is_drift(self) -> bool:
        """Whether the runs miss their intervals more often than those of a right model."""
        return self.value >= self.threshold

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
        outside = (
            f"{missed} of {counted(self.runs, 'run')} fell outside the {as_percent(1 - share)} range; "
            f"expected {plain(share * self.runs)}."
        )
        if self.is_drift:
            return outside
        return f"{outside} Drift may have begun." if self.is_suspicious else f"{outside} No drift."


class DriftTest:
    """The test, run by run."""

    def __init__(self) -> None:
        self._statistics = [0.0] * len(ALTERNATIVES)
        self.evidence = Evidence()

    def add(self, run: Judged) -> Evidence:
        """Judge the next run. A test that has found drift has ended: no later run takes that back."""
        outcome = 2 if run.is_unusual else int(run.is_unlikely)
        if self.evidence.is_drift or (run.predicted_seconds is None and not outcome):
            return self.evidence
        told, expected = outcome, run.predicted_seconds
        if expected is not None and run.seconds is not None:
            told = 0 if abs(run.seconds - expected) <= NO_MATTER * expected else outcome
        self._statistics = [
            (statistic + 1.0) * ratios[told]
            for statistic, ratios in zip(self._statistics, _RATIOS, strict=True)
        ]
        before = self.evidence
        self.evidence = Evidence(
            value=sum(self._statistics) / len(self._statistics),
            runs=before.runs + 1,
            unlikely=before.unlikely + (outcome > 0),
            unusual=before.unusual + (outcome > 1),
        )
        return self.evidence


def evidence_of(runs: Iterable[Judged]) -> Evidence:
    """What production runs of one lineage, oldest first, say against the model that predicted them."""
    test = DriftTest()
    for run in runs:
        test.add(run)
    return test.evidence


def may_learn(evidence: Evidence) -> bool:
    """Whether all the runs that the evidence is of may be learned from."""
    return evidence.runs <= FIRST_RUNS or not evidence.is_suspicious


def trusted(runs: Iterable[Judged]) -> int:
    """How many of the runs may be learned from: the first ones, and all up to the last without suspicion."""
    # A model that has learned from the beginning of a drift would expect it, and it would go unnoticed.
    test, known = DriftTest(), 0
    for position, run in enumerate(runs, start=1):
        if may_learn(test.add(run)):
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
