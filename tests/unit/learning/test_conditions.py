"""What is noticed to have changed since a model was trained, and that no secret leaves a trace."""

import re
from dataclasses import replace

import pytest

from airflow_provider_ernest.documents.models import DATA, SETTINGS
from airflow_provider_ernest.documents.runs import InputFingerprint, RunConditions
from airflow_provider_ernest.learning.conditions import differences, growth, not_compared, settings_digests
from airflow_provider_ernest.spark.sizing import event_log_conf, sizing_conf

SHAPE = InputFingerprint(partitions=100, total_bytes=100_000_000_000, columns=12, format="csv")
THEN = RunConditions(
    spark="4.2.0",
    settings={"conf spark.sql.shuffle.partitions": "aa", "argument 0": "bb"},
    input=SHAPE,
    executor_cores=4,
)


def with_input(**changes: object) -> RunConditions:
    return replace(THEN, input=replace(SHAPE, **changes))


def test_more_data_of_the_same_shape_is_growth_and_no_difference():
    grown = with_input(partitions=300, total_bytes=300_000_000_000)

    assert differences(THEN, THEN) == differences(THEN, grown) == not_compared(THEN, THEN) == []
    assert growth(THEN, THEN) == 1.0
    assert growth(THEN, grown) == pytest.approx(3.0)
    assert growth(THEN, with_input(partitions=50, total_bytes=50_000_000_000)) == pytest.approx(0.5)
    # What is tolerated is the user's.
    assert differences(THEN, grown, max_growth=2) != []
    larger = with_input(total_bytes=120_000_000_000)
    assert differences(THEN, larger) == []
    assert differences(THEN, larger, shape_tolerance=0.1) != []


@pytest.mark.parametrize(
    ("now", "cause", "words"),
    [
        (replace(THEN, spark="4.1.0"), SETTINGS, "Spark is 4.1.0 and was 4.2.0"),
        (replace(THEN, executor_cores=8), SETTINGS, "offers 8 cores and offered 4"),
        (
            replace(THEN, settings={**THEN.settings, "conf spark.sql.shuffle.partitions": "cc"}),
            SETTINGS,
            "conf spark.sql.shuffle.partitions has changed",
        ),
        (replace(THEN, settings={}), SETTINGS, "argument 0, conf spark.sql.shuffle.partitions have changed"),
        (with_input(columns=13), DATA, "has 13 columns and had 12"),
        (with_input(format="parquet"), DATA, "is parquet and was csv"),
        (with_input(partitions=50), DATA, "holds 2.00 GB and held 1.00 GB"),
        (with_input(partitions=500, total_bytes=500_000_000_000), DATA, "grown 5 times, more than 4 times"),
    ],
)
def test_what_differs_is_named_with_both_values(now, cause, words):
    (found,) = differences(THEN, now)

    assert found.cause == cause
    assert words in found.reason


def test_what_is_not_known_cannot_differ_and_is_named():
    nothing = RunConditions()

    for then, now in [(THEN, nothing), (nothing, THEN), (None, THEN), (THEN, None)]:
        assert differences(then, now) == []
        assert growth(then, now) == 1.0
        assert not_compared(then, now) == [
            "Spark's version",
            "the settings",
            "the size of the input",
        ]


def test_settings_are_named_and_only_their_digests_are_kept():
    conf = {
        "spark.sql.shuffle.partitions": 200,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.executor.extraJavaOptions": "-XX:+UseG1GC",
        "spark.memory.fraction": "0.8",
        "spark.jars.packages": "io.delta:delta-spark_2.13:4.0.0",
    }
    options = {"java_class": "com.example.Main", "env_vars": {"OMP_NUM_THREADS": "1"}}
    found = settings_digests(conf=conf, arguments=["--input", "{{ sample.input }}"], options=options)

    others = ["argument 0", "argument 1", "option env_vars OMP_NUM_THREADS", "option java_class"]
    assert sorted(found) == sorted([*others, *(f"conf {name}" for name in conf)])
    assert all(re.fullmatch(r"[0-9a-f]{16}", digest) for digest in found.values())


class Path:
    """An object that each parse of a DAG file makes anew."""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (200, "200"),
        (True, "true"),
        (Path(), Path()),
        ({"a:b:1", "c:d:2", "e:f:3"}, {"e:f:3", "c:d:2", "a:b:1"}),
    ],
    ids=["a number and its text", "a truth", "an object, wherever it lies", "a set in any order"],
)
def test_what_spark_reads_alike_has_one_digest(one, other):
    assert settings_digests(arguments=[one]) == settings_digests(arguments=[other])
    assert settings_digests(conf={"spark.x": one}) != settings_digests(conf={"spark.x": "something else"})


def test_equal_values_of_different_settings_are_not_seen_to_be_equal():
    assert len(set(settings_digests(conf={"spark.a": "7", "spark.b": "7"}, arguments=["7"]).values())) == 3


@pytest.mark.parametrize(
    "conf",
    [
        sizing_conf(executors=3, executor_cores=4),
        {"spark.dynamicAllocation.maxExecutors": "3"},
        event_log_conf("/logs"),
        {"spark.executor.memory": "4g", "spark.executor.memoryOverhead": "1g", "spark.driver.memory": "2g"},
        {"spark.master": "spark://10.0.0.7:7077", "spark.driver.host": "10.0.0.1", "spark.app.name": "a"},
        {"spark.openlineage.parentRunId": "7", "spark.openlineage.transport.auth.apiKey": "k"},
        {"spark.ui.port": "4041", "spark.yarn.queue": "night", "spark.yarn.tags": "run-7"},
    ],
    ids=lambda conf: next(iter(conf)),
)
def test_what_sizes_names_or_places_a_run_is_no_setting_of_the_job(conf):
    assert settings_digests(conf=conf) == {}


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.azure.account.key.lake",
        "spark.ssl.keyPassword",
        "spark.myApp.apiKey",
        "spark.sessionToken",
        "spark.service.CREDENTIALS",
    ],
)
def test_a_property_whose_name_tells_of_a_secret_leaves_nothing(name):
    assert settings_digests(conf={name: "1234"}, options={"env_vars": {name: "1234"}}) == {}


@pytest.mark.parametrize(
    ("with_secret", "with_another"),
    [
        ("--password=1234", "--password=5678"),
        ("jdbc:postgresql://db/lake?user=a&password=1234&ssl=true", "jdbc:postgresql://db/lake?user=a&password=5678&ssl=true"),
        ("https://anna:1234@lake/data", "https://anna:5678@lake/data"),
        ('{"api_key": "12 34", "rows": 7}', '{"api_key": "56 78", "rows": 7}'),
        ("-Djavax.net.ssl.trustStorePassword=1234 -Xss4m", "-Djavax.net.ssl.trustStorePassword=5678 -Xss4m"),
    ],
)  # fmt: skip
def test_secrets_within_a_text_are_not_part_of_its_digest(with_secret, with_another):
    assert settings_digests(arguments=[with_secret]) == settings_digests(arguments=[with_another])
    assert settings_digests(conf={"spark.x": with_secret}) == settings_digests(conf={"spark.x": with_another})


def test_what_stands_beside_a_secret_is_part_of_the_digest():
    one = "jdbc:postgresql://db/lake?password=1234&fetch_size=10"
    other = "jdbc:postgresql://db/lake?password=1234&fetch_size=1000"
    assert settings_digests(arguments=[one]) != settings_digests(arguments=[other])


def test_the_argument_after_a_flag_for_a_secret_leaves_nothing():
    found = settings_digests(arguments=["--db-password", "1234", "--mode", "full"])
    assert sorted(found) == ["argument 0", "argument 2", "argument 3"]


def test_long_arguments_take_no_time():
    assert list(settings_digests(arguments=["a" * 1_000_000, "=" * 1_000_000, '"a":' * 100_000])) == [
        "argument 0",
        "argument 1",
        "argument 2",
    ]
