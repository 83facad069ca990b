"""Code, data, settings and machines are told apart by what is known of the runs."""

import pytest

from airflow_provider_ernest.documents import (
    CLUSTER,
    CODE,
    DATA,
    SETTINGS,
    UNEXPLAINED,
    ClusterBandwidth,
    InputFingerprint,
    RunConditions,
    TrainedMachine,
    TrainingCluster,
)
from airflow_provider_ernest.learning.drift_cause import cause_of, causes_of
from tests import examples

THEN = RunConditions(
    spark="4.2.0",
    settings={"spark.sql.shuffle.partitions": "aa"},
    input=InputFingerprint(partitions=100, total_bytes=12_800_000_000, columns=20, format="parquet"),
)


def bandwidth(memory, network=1.2):
    return ClusterBandwidth(memory_gigabytes_per_second=memory, network_gigabytes_per_second=network)


def trained_on(*memory, network=1.2):
    machines = [
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
        cores_per_machine=2,
        machines=(*machines, slow, master),
    )


MODEL = examples.model(conditions=THEN, cluster=trained_on(19.0, 20.0, 21.0))


def runs(count=3, **fields):
    return [examples.production_run(number, seconds=90.0, **fields) for number in range(count)]


def now(**changes):
    shape = {"partitions": 100, "total_bytes": 12_800_000_000, "columns": 20, "format": "parquet"}
    settings = changes.pop("settings", THEN.settings)
    spark = changes.pop("spark", "4.2.0")
    return RunConditions(spark=spark, settings=settings, input=InputFingerprint(**{**shape, **changes}))


def test_another_application_is_the_cause():
    cause, sentence = cause_of(MODEL, [*runs(2), *runs(2, artifact_sha256="cd" * 32)])

    assert cause == CODE
    assert "cdcdcdcdcdcd" in sentence
    assert "abababababab" in sentence
    assert "Make the sample runs again with the application as it is now." in sentence


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"total_bytes": 25_600_000_000}, "256 MB and held 128 MB"),
        ({"columns": 30}, "30 columns and had 20"),
        ({"format": "csv"}, "csv and was parquet"),
    ],
)
def test_data_of_another_shape_is_the_cause(changes, said):
    cause, sentence = cause_of(MODEL, runs(conditions=now(**changes)))

    assert cause == DATA
    assert said in sentence
    assert "on the data as it is now" in sentence


def test_more_data_of_the_same_shape_is_none():
    more = now(partitions=200, total_bytes=25_600_000_000)

    assert cause_of(MODEL, runs(conditions=more))[0] == UNEXPLAINED


@pytest.mark.parametrize(
    "changes", [{"spark": "4.3.0"}, {"settings": {"spark.sql.shuffle.partitions": "bb"}}]
)
def test_other_settings_are_the_cause(changes):
    cause, sentence = cause_of(MODEL, runs(conditions=now(**changes)))

    assert cause == SETTINGS
    assert "with the settings as they are now" in sentence


def test_the_last_run_that_tells_its_conditions_counts():
    changed, same = now(columns=30), now()

    assert (
        cause_of(MODEL, [*runs(2, conditions=changed), *runs(1, conditions=same), *runs(1)])[0] == UNEXPLAINED
    )


@pytest.mark.parametrize(
    ("production", "said"),
    [
        (bandwidth(15.0), "memory bandwidth is 15 GB/s, 25% below the 20 GB/s"),
        (bandwidth(20.0, network=0.6), "network bandwidth is 0.6 GB/s, 50% below the 1.2 GB/s"),
    ],
)
def test_slower_machines_are_the_cause(production, said):
    cause, sentence = cause_of(MODEL, runs(bandwidth=production))

    assert cause == CLUSTER
    assert said in sentence
    assert "Get machines like those of the sample runs" in sentence


@pytest.mark.parametrize(
    "production",
    [bandwidth(17.5), bandwidth(25.0), bandwidth(20.0, network=None), None],
    ids=["within tolerance", "faster", "network unknown", "unknown"],
)
def test_machines_that_are_as_fast_or_unknown_are_none(production):
    cause, sentence = cause_of(MODEL, runs(bandwidth=production))

    assert cause == UNEXPLAINED
    assert "Nothing that is known" in sentence
    assert "Make the sample runs again" in sentence


def test_all_causes_are_told_the_most_direct_first():
    everything = runs(
        artifact_sha256="cd" * 32, conditions=now(spark="4.3.0", columns=30), bandwidth=bandwidth(10.0)
    )

    assert [each.cause for each in causes_of(MODEL, everything)] == [CODE, DATA, SETTINGS, CLUSTER]
    cause, sentence = cause_of(MODEL, everything)
    assert cause == CODE
    for said in ("application", "columns", "Spark", "bandwidth"):
        assert said in sentence


def test_what_the_model_does_not_know_is_no_cause():
    model = examples.model(artifact_sha256=None)
    everything = runs(conditions=now(columns=30), bandwidth=bandwidth(1.0))

    assert cause_of(model, everything)[0] == UNEXPLAINED
    assert cause_of(MODEL, [])[0] == UNEXPLAINED
