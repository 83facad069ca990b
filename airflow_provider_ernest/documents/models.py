"""Models as documents, with everything that they came from and what is believed before any run."""

from __future__ import annotations

import math
from collections.abc import Callable

import airflow_provider_ernest.words as words
from airflow_provider_ernest.documents.base import Document, Key, Record, keys, not_negative
from airflow_provider_ernest.documents.runs import Design, Observation, RunConditions
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.billing import HOUR_SECONDS
from airflow_provider_ernest.settings.goal import in_words


class TrainedMachine(Document):
    """A machine of the cluster that the sample runs were made on, or one that was tried and let go."""

    host: str
    instance_id: str | None = None  # the cloud's name of it
    memory_gigabytes_per_second: float | None = None  # None where it was not measured
    network_gigabytes_per_second: float | None = None  # between it and the others
    score: float | None = None  # by what it was ranked among them, higher is better
    culled_because: str = ""  # why it was let go before the runs; empty where it was kept
    price_per_hour: float | None = None  # dollars; None where it is not known
    is_master: bool = False  # whether it ran the master only, and so no part of any run


class TrainingCluster(Document):
    """The cluster that the sample runs were made on."""

    kind: str  # what kind of cluster, such as "local" or "ec2"
    name: str
    instance_type: str
    executor_cores: int
    price_per_hour: float | None = None  # dollars for one worker and hour; None where it is not known
    machines: tuple[TrainedMachine, ...] = ()  # kept and culled, and the master if it has one of its own
    executor_memory_megabytes: int | None = None  # that each offers to executors
    master_price_per_hour: float | None = None  # 0 without a machine of its own, None where it is not known
    market: str | None = None  # in which its machines are bought; there may be several
    # how many each machine holds; None where a shared cluster places them as it likes
    executors_per_machine: int | None = 1

    @property
    def kept_machines(self) -> list[TrainedMachine]:
        """The workers that the sample runs were made on."""
        return [machine for machine in self.machines if not machine.culled_because and not machine.is_master]


class AmdahlState(Document):
    """All that `ExtendedAmdahl` remembers; its size depends on the degree alone."""

    degree: int  # k, of the polynomial
    base_processors: int = 0  # the lowest processor count seen; the polynomial is of the times on it
    # predictor values are kept in units of 2**unit_exponent, so that the largest is between 0.5 and 1 and no
    # power of it grows
    unit_exponent: int = 0
    # the sums of u^j over the points on `base_processors`, j = 0..2k; X^T X has them
    power_sums: tuple[float, ...]
    time_sums: tuple[float, ...]  # the sums of u^j * seconds, j = 0..k; this is X^T y
    distinct_x: tuple[float, ...] = ()  # up to k + 1 different predictor values of these points
    # p of the highest point, the one with the most processors and of those with the largest predictor value
    highest_processors: int = 0
    highest_x: float = 0.0  # x of it
    highest_points: int = 0  # how many points lay there
    highest_mean_seconds: float = 0.0  # the mean of their times

    def __post_init__(self) -> None:
        """Refuse sums of another degree, and NaN."""
        for name, length in (("power_sums", 2 * self.degree + 1), ("time_sums", self.degree + 1)):
            sums = getattr(self, name)
            if len(sums) != length:
                raise InvalidParameterError(name, sums, f"must have {length} values for degree {self.degree}")
            not_negative(**{f"{name}[{index}]": value for index, value in enumerate(sums)})
        not_negative(highest_x=self.highest_x, highest_mean_seconds=self.highest_mean_seconds)


class TermBelief(Document):
    """What is believed of one term before any run."""

    name: str
    probability: float  # that it is part of a job's model
    # about its largest coefficient (the standard deviation of a half-normal distribution), where that is a
    # matter of the cluster and not of the job's length; as many times more in runs longer than
    # `LONG_RUN_SECONDS` as they are longer
    largest_seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse certainty: no run could then say otherwise."""
        if not 0 < self.probability < 1:
            raise InvalidParameterError(
                f"probability of {self.name!r}",
                self.probability,
                "is not between 0 and 1",
                remedy="To leave a term out, do not name it among the terms.",
            )
        if self.largest_seconds is not None and not self.largest_seconds > 0:
            raise InvalidParameterError("largest_seconds", self.largest_seconds, "is not above 0")


BELIEFS: tuple[TermBelief, ...] = (
    TermBelief(name="1", probability=0.9, largest_seconds=50.0),
    TermBelief(name="scale/executors", probability=0.95),
    TermBelief(name="scale", probability=0.15),
    TermBelief(name="scale/sqrt(executors)", probability=0.03),
    TermBelief(name="log(executors)", probability=0.5, largest_seconds=2.0),
    TermBelief(name="executors", probability=0.5, largest_seconds=0.1),
)


LONG_RUN_SECONDS = 300.0
"""From here on `largest_seconds` is a share of the observed runs' time (their geometric mean): long jobs do
more of everything. Below, seconds are what they are: a shorter job's executor is not scheduled sooner."""


class AveragingPrior(Document):
    """What is believed of a job before any of its runs: the prior of the averaging of terms.

    The numbers say what is known of Spark jobs in general: fixed and parallel work are nearly always there, a
    executor costs tenths of a second and not minutes. They were chosen with public traces
    (docs/evidence/accuracy.md) and are round on purpose. Weights in a tuple need not be normalised.
    """

    beliefs: tuple[TermBelief, ...] = BELIEFS  # what is believed of the terms, by name
    other_probability: float = 0.15  # the probability of terms not named there
    largest_share: float = 0.5  # of a run's time, by one term: standard deviation of a half-normal
    least_fixed_seconds: float = 0.0  # of a run whatever executors and data, as the runs' logs tell it
    # the probability that one of those counted does no work because the driver or the application master
    # has it. 0 where Spark's registered executors were counted
    driver_share: float = 0.5
    # relative standard deviations of a run's time that are considered, and how much each is believed
    noise: tuple[float, ...] = (0.01, 0.02, 0.04, 0.08, 0.16)
    noise_weights: tuple[float, ...] = (1.0, 2.0, 2.0, 1.0, 0.5)
    noise_seconds: float = 0.0  # standard deviation of a run's time besides, of whatever length it is
    # relative standard deviations of a smooth deviation of the job from all terms
    discrepancy: tuple[float, ...] = (0.0, 0.05, 0.15, 0.4)
    discrepancy_weights: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    executors_octaves: float = 2.0  # doublings of the executors over which such a deviation changes
    scale_octaves: float = 4.0  # doublings of the scale over which it changes
    own_deviation: float = 0.01  # the share of its variance that each number of executors has of its own
    # shares of the work on a row that may grow with the data in it: 0 where only the number of rows counts, 1
    # where all data counts alike
    row_shares: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    row_share_weights: tuple[float, ...] = (1.0, 2.0, 3.0, 2.0, 1.0)
    row_discrepancy: float = 0.1  # by how much rows of twice the data may deviate from any share
    # the probabilities that the runs with the most, and with the two most, data per executor were in another
    # regime (short of memory)
    memory_cut: tuple[float, ...] = (0.07, 0.03)
    disturbed_run: float = 0.025  # the probability that a conspicuous run was disturbed
    disturbed_spread: float = 0.7  # the relative standard deviation of runs in another regime or disturbed
    # the probability that executors beyond the observed ones help less than the terms say; how much less they
    # do is in `prediction.averaging`
    plateau: float = 0.15
    plateau_observed: float = 0.1  # that from some number within the observed ones on more helped less
    # the probability that inputs beyond the observed ones consist of other rows, likewise. 0 where all are
    # samples of one input, or where it is told what they consist of
    other_shape: float = 0.65
    other_shape_spread: float = 0.6  # standard deviation of log(seconds) between inputs of different shapes

    def __post_init__(self) -> None:
        """Refuse what is no probability, what is no width and levels without weights."""
        shares = ("disturbed_run", "own_deviation", "plateau", "plateau_observed", "other_shape")
        spreads = ("disturbed_spread", "other_shape_spread", "noise", "noise_weights", "discrepancy_weights")
        widths = ("largest_share", "executors_octaves", "scale_octaves", *spreads)
        least_0, inf = ("least_fixed_seconds", "noise_seconds", "discrepancy"), math.inf
        self._require("is no probability", lambda value: 0 <= value <= 1, "driver_share")
        self._require("is not between 0 and 1", lambda value: 0 < value < 1, "other_probability")
        self._require("is not at least 0 and below 1", lambda value: 0 <= value < 1, *shares, "memory_cut")
        self._require("is not a finite number above 0", lambda value: 0 < value < inf, *widths)
        self._require("is not a finite number of at least 0", lambda value: 0 <= value < inf, *least_0)
        for name in ("noise", "discrepancy"):
            levels, weights = getattr(self, name), getattr(self, f"{name}_weights")
            if len(levels) != len(weights) or not levels:
                problem = f"has {len(weights)} values for {len(levels)} levels"
                raise InvalidParameterError(f"{name}_weights", weights, problem)

    def _require(self, problem: str, fits: Callable[[float], bool], *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if not all(map(fits, value if isinstance(value, tuple) else (value,))):
                raise InvalidParameterError(name, value, problem)

    def belief_in(self, term: str) -> TermBelief:
        """What is believed of the term."""
        known = {belief.name: belief for belief in self.beliefs}
        return known.get(term) or TermBelief(name=term, probability=self.other_probability)


class FittedTerm(Document):
    """One term of a model."""

    name: str  # the formula, in executors and scale
    meaning: str  # what the time that it explains is spent on
    coefficient: float  # seconds per unit of the term; the mean where terms are averaged over
    probability: float = 1.0  # that the job has this term at all; 1 where the terms were given


class Fold(Document):
    """One fold of the leave-one-out cross-validation: an observation predicted from all the others."""

    index: int
    executors: int
    scale: float
    seconds: float
    predicted_seconds: float

    @property
    def error_percent(self) -> float:
        """Signed error: positive where the prediction is too high."""
        return 100.0 * (self.predicted_seconds - self.seconds) / self.seconds


class Validation(Document):
    """Leave-one-out cross-validation of a model (Ernest, section 3.3)."""

    folds: tuple[Fold, ...]  # one for each observation
    residual_sum_of_squares: float  # over the folds, in seconds squared
    # median of the folds' absolute percentage errors, and the largest; None without folds
    median_error_percent: float | None
    max_error_percent: float | None


NOT_VALIDATED = Validation(
    folds=(), residual_sum_of_squares=0.0, median_error_percent=None, max_error_percent=None
)
"""Of runs of one configuration, which leave nothing to predict one from others."""


class Replays(Document):
    """A run replayed on other numbers of executors and with other amounts of input."""

    executors: tuple[int, ...]  # ascending
    scales: tuple[float, ...]  # ascending
    # clean, for each scale by number of executors; scaled so that at scale 1.0 they meet today's runs
    seconds: tuple[tuple[float, ...], ...]
    met: tuple[int, ...]  # numbers of executors at which it takes as long as runs did
    noise: float  # standard deviation of log(seconds) of a single run there
    spread: float  # that of the replay for each doubling of executors or input from there


class HistoryBasis(Document):
    """What a model of past runs alone goes by beside its terms; see `history.sizes`."""

    executors: int  # on which the job runs today
    is_modelled: bool  # whether the terms can predict; else the model only holds the runs
    is_determined: bool  # whether they also tell of numbers of executors on which no run was made
    replays: Replays | None = None  # None where no run can be replayed
    input_noise: float = 0.0  # standard deviation of log(seconds) that inputs add which differ by run
    next_input: str = ""  # what the next run reads, and how that is known, in a sentence


class Model(Record):
    """A fitted model with everything that it came from."""

    kind = words = "model"

    # with coefficients. With "relative" and "classic" a prediction is the sum of coefficient times term; with
    # "averaging" it is computed anew from the observations
    terms: tuple[FittedTerm, ...]
    validation: Validation  # leave-one-out errors
    observations: tuple[Observation, ...]  # all that it was fitted to
    method: str = "relative"  # "averaging", "relative" or "classic"; see `training.METHODS`
    prior: AveragingPrior | None = None  # what "averaging" believed before the observations
    driver_share: float = 0.0  # the probability that one of the executors does no work
    noise: float = 0.0  # relative standard deviation of a single run, of one as long as the observed
    startup_seconds: float = 0.0  # median start-up of the runs, not part of what the terms predict
    artifact: str | None = None  # path of the job's JAR or .py file
    artifact_sha256: str | None = None  # hash of its content
    input_path: str | None = None  # the target input that scale 1.0 stands for
    trained_iterations: int | None = None  # iterations of the sample runs, for iterative jobs
    warnings: tuple[str, ...] = ()  # what a user should know before trusting it
    design: Design | None = None  # that its observations were planned by
    basis: HistoryBasis | None = None  # of a model of past runs alone, where these may be too few for terms
    cluster: TrainingCluster | None = None  # the cluster that they were made on
    conditions: RunConditions | None = None  # what, beside the code, the run times depend on, as it was then
    base_model_id: str | None = None  # of the model of sample runs alone that it goes on from, if any
    learned_from: tuple[str, ...] = ()  # ids of the production runs that it has learned from
    amdahl: AmdahlState | None = None  # a second opinion: running sums over all runs
    # how far the newest production runs, oldest first, lay from what was predicted of them before they were
    # learned from: on the logarithm, in standard deviations of intervals as they were without what this says
    # of them (see `prediction.calibration`)
    standardised_errors: tuple[float, ...] = ()

    def __hash__(self) -> int:
        """By its id alone: there may be a thousand observations, and what is fitted is kept by model."""
        return hash(self.id)

    @property
    def executors_per_machine(self) -> int | None:
        """How many a machine holds in its runs; None where a shared cluster places them as it likes."""
        return self.observations[0].executors_per_machine if self.observations else 1

    @property
    def known_by(self) -> str:
        """What a model of past runs alone knows of sizes, in a sentence; empty of one of sample runs."""
        if self.basis is None:
            return ""
        sizes = tuple(sorted({run.executors for run in self.observations}))
        unit = words.unit(self.executors_per_machine)
        on = words.counted(sizes[0], unit) if len(sizes) == 1 else f"{in_words(sizes)} {unit}s"
        runs, is_replayed = words.counted(len(self.observations), "past run"), self.basis.replays is not None
        if self.basis.is_determined:
            by = f"{', and by replay of one of them' if is_replayed else ''}."
        else:
            by = f": other sizes {'by replay alone' if is_replayed else 'not at all: none can be replayed'}."
        return f"Known by {runs} on {on}{by} {self.basis.next_input}".rstrip()

    @property
    def lineage(self) -> str:
        """The id of the model of sample runs alone that it goes on from, or its own."""
        return self.base_model_id or self.id

    @property
    def references(self) -> tuple[Key, ...]:
        """The model that it goes on from."""
        return keys(Model, self.base_model_id)


CODE, DATA, SETTINGS = "code", "data", "settings"
CLUSTER, UNEXPLAINED, AGE = "cluster", "unexplained", "age"
"""Why a model no longer holds: another application, other data, another Spark or other properties, slower
machines, times that nothing known explains, or its age."""


class ModelMark(Record):
    """A note, beside a model, that it no longer holds for its job. Models themselves are never changed."""

    kind = words = "mark"

    model_id: str
    cause: str  # `CODE`, `DATA`, `SETTINGS`, `CLUSTER`, `UNEXPLAINED` or `AGE`
    reason: str  # a sentence that says why, and one that says what to do
    artifact_sha256: str | None = None  # of the application that was seen instead, where that is the cause

    @property
    def references(self) -> tuple[Key, ...]:
        """Its model."""
        return keys(Model, self.model_id)


def sample_runs(model: Model) -> tuple[Observation, ...]:
    """The runs made to train a model: no past ones, and none of production that it learned from."""
    made = model.observations[: len(model.observations) - len(model.learned_from)]
    return tuple(run for run in made if not run.from_history)


def training_dollars(model: Model) -> float | None:
    """Dollars for the machines over the time of the sample runs; None where prices are not known.

    All machines of the cluster are paid for during each run, however many it uses. The start of the cluster
    and its culled machines are left out.
    """
    samples = sample_runs(model)
    if not samples:
        return 0.0
    if model.cluster is None:
        return None
    kept = [machine for machine in model.cluster.machines if not machine.culled_because]
    fallback = model.cluster.price_per_hour
    prices = [
        machine.price_per_hour if machine.price_per_hour is not None or machine.is_master else fallback
        for machine in kept
    ]
    if not prices or any(price is None for price in prices):
        return None
    seconds = sum(run.startup_seconds + run.seconds for run in samples)
    return sum(price for price in prices if price is not None) * seconds / HOUR_SECONDS
