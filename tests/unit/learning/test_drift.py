"""The test of drift: no false alarms, quick where the model is wrong; and what the runs say of the cause."""

import random
import re
from dataclasses import dataclass

import pytest

from airflow_provider_ernest.documents.decisions import ClusterBandwidth
from airflow_provider_ernest.documents.models import (
    CLUSTER,
    CODE,
    DATA,
    SETTINGS,
    UNEXPLAINED,
    TrainedMachine,
    TrainingCluster,
)
from airflow_provider_ernest.documents.runs import InputFingerprint, RunConditions
from airflow_provider_ernest.learning.freshness import (
    OUTCOMES,
    THRESHOLD,
    Evidence,
    cause_of,
    evidence_of,
    trusted,
)
from tests import examples


@dataclass(frozen=True)
class Run:
    is_unlikely: bool = False
    is_unusual: bool = False
    predicted_seconds: float | None = 50.0
    seconds: float | None = None


INSIDE, UNLIKELY, UNUSUAL = Run(), Run(is_unlikely=True), Run(is_unlikely=True, is_unusual=True)
UNPREDICTED = Run(predicted_seconds=None)


def runs_until_drift(frequencies, generator, *, at_most):
    evidence = Evidence()
    for count in range(1, at_most + 1):
        (run,) = generator.choices((INSIDE, UNLIKELY, UNUSUAL), frequencies)
        evidence = evidence.after(run)
        if evidence.is_drift:
            return count
    return at_most


def test_a_model_that_is_right_is_suspected_less_often_than_once_in_a_thousand_runs():
    generator = random.Random(1)
    lengths = [runs_until_drift(OUTCOMES, generator, at_most=10_000) for _ in range(60)]

    assert sum(lengths) / len(lengths) > THRESHOLD
    # And one whose intervals are too wide never.
    assert evidence_of([INSIDE] * 5000).value < 10.0
    assert runs_until_drift((0.95, 0.04, 0.01), random.Random(2), at_most=5000) == 5000


@pytest.mark.parametrize("before", [0, 1, 5000])
def test_a_model_that_has_become_wrong_drifts_after_three_runs_which_nothing_takes_back(before):
    runs = [INSIDE] * before + [UNUSUAL] * 3

    assert not evidence_of(runs[:-1]).is_drift
    evidence = evidence_of([*runs, *[INSIDE] * 50])
    assert evidence.is_drift
    assert (evidence.runs, evidence.unlikely, evidence.unusual) == (before + 3, 3, 3)


def test_a_model_that_is_half_wrong_is_found_out_within_tens_of_runs():
    generator = random.Random(3)
    delays = sorted(runs_until_drift((0.5, 0.2, 0.3), generator, at_most=1000) for _ in range(101))

    assert delays[50] <= 20
    assert delays[-1] < 100


@pytest.mark.parametrize(("seconds", "is_drift"), [(51.5, False), (48.0, False), (57.0, True), (44.0, True)])
def test_what_is_off_by_a_few_per_cent_is_no_drift_however_narrow_the_intervals(seconds, is_drift):
    """A job that is regular to 1 % has intervals of 2 %; nobody trains anew for 3 %."""
    runs = [Run(is_unlikely=True, is_unusual=True, seconds=seconds)] * 3
    evidence = evidence_of(runs)

    assert evidence.is_drift is is_drift
    assert (evidence.unlikely, evidence.unusual) == (3, 3), "what is counted stays what was seen"


def test_runs_without_a_prediction_do_not_count():
    assert evidence_of([UNPREDICTED] * 10) == Evidence()
    assert evidence_of([UNUSUAL, UNPREDICTED, INSIDE]) == evidence_of([UNUSUAL, INSIDE])


@pytest.mark.parametrize(
    ("seen", "learned_from"),
    [
        ([], 0),
        ([INSIDE, UNLIKELY, INSIDE], 3),
        ([INSIDE, INSIDE, UNUSUAL], 2),
        ([INSIDE, UNUSUAL, INSIDE], 3),
        ([INSIDE, UNUSUAL, UNUSUAL, UNLIKELY], 1),
        # The first is learned from whatever it is: no drift has begun.
        ([UNUSUAL], 1),
        ([UNUSUAL, UNUSUAL], 1),
    ],
)
def test_what_may_be_the_beginning_of_a_drift_is_not_learned_from_until_it_is_none(seen, learned_from):
    assert trusted(seen) == learned_from


THEN = RunConditions(
    spark="4.2.0",
    settings={"spark.sql.shuffle.partitions": "aa"},
    input=InputFingerprint(partitions=100, total_bytes=12_800_000_000, columns=20, format="parquet"),
)


def bandwidth(memory, network=1.2):
    return ClusterBandwidth(memory_gigabytes_per_second=memory, network_gigabytes_per_second=network)


def trained_on(*memory, network=1.2):
    executors = [
        TrainedMachine(
            host=f"10.0.0.{index}", memory_gigabytes_per_second=each, network_gigabytes_per_second=network
        )
        for index, each in enumerate(memory)
    ]
    slow = TrainedMachine(host="10.0.0.99", memory_gigabytes_per_second=2.0, culled_because="slowest")
    master = TrainedMachine(host="10.0.0.98", memory_gigabytes_per_second=99.0, is_master=True)
    return TrainingCluster(
        kind="ec2",
        name="c",
        instance_type="m5.large",
        executor_cores=2,
        machines=(*executors, slow, master),
    )


MODEL = examples.model(conditions=THEN, cluster=trained_on(19.0, 20.0, 21.0))


def runs(count=3, **fields):
    return [examples.production_run(number, seconds=90.0, **fields) for number in range(count)]


def now(**changes):
    shape = {"partitions": 100, "total_bytes": 12_800_000_000, "columns": 20, "format": "parquet"}
    settings = changes.pop("settings", THEN.settings)
    spark = changes.pop("spark", "4.2.0")
    return RunConditions(spark=spark, settings=settings, input=InputFingerprint(**{**shape, **changes}))


@pytest.mark.parametrize(
    ("seen", "cause", "said"),
    [
        ({"artifact_sha256": "cd" * 32}, CODE, "cdcdcdcdcdcd .*abababab.* Retrain with the application as"),
        ({"conditions": now(total_bytes=25_600_000_000)}, DATA, "256 MB and held 128 MB.* on the data as"),
        ({"conditions": now(columns=30)}, DATA, "30 columns and had 20"),
        ({"conditions": now(spark="4.3.0")}, SETTINGS, "4.3.0.* with the settings as they are now"),
        ({"bandwidth": bandwidth(15.0)}, CLUSTER, "bandwidth is 15 GB/s, 25 % below the 20 GB/s.* Get mac"),
        (
            {"bandwidth": bandwidth(20.0, network=0.6)},
            CLUSTER,
            "network bandwidth is 0.6 GB/s, 50 % below the 1.2 GB/s",
        ),
        # More data of the same shape; machines within the tolerance, faster or unknown.
        ({"conditions": now(partitions=200, total_bytes=25_600_000_000)}, UNEXPLAINED, "as far as is known"),
        ({"bandwidth": bandwidth(17.5)}, UNEXPLAINED, "as far as is known.* Retrain"),
        ({"bandwidth": bandwidth(20.0, network=None)}, UNEXPLAINED, ""),
    ],
)
def test_what_production_runs_had_otherwise_is_the_cause(seen, cause, said):
    found, sentence = cause_of(MODEL, [*runs(1), *runs(2, **seen)])

    assert found == cause
    assert re.search(said, sentence)


def test_all_causes_are_told_the_most_direct_first_by_the_last_run_that_knows():
    other = now(spark="4.3.0", columns=30)
    everything = runs(artifact_sha256="cd" * 32, conditions=other, bandwidth=bandwidth(10.0))

    cause, sentence = cause_of(MODEL, everything)
    assert cause == CODE
    said = ("application", "columns", "Spark", "bandwidth")
    assert sorted(said, key=sentence.index) == [*said]
    told = [*runs(2, conditions=other), *runs(1, conditions=now()), *runs(1)]
    assert cause_of(MODEL, told)[0] == UNEXPLAINED
    # What the model does not know is no cause.
    unknowing = runs(conditions=other, bandwidth=bandwidth(1.0))
    assert cause_of(examples.model(artifact_sha256=None), unknowing)[0] == UNEXPLAINED
    assert cause_of(MODEL, [])[0] == UNEXPLAINED
