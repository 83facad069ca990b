from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.history.jobs import A_QUERY, DID_NOTHING, NO_NAME, JobNames, by_job
from airflow_provider_ernest.history.observations import observations_of
from tests.unit.history.past_jobs import FIRST, daily

OF_EACH_RUN = """\
2024-01-31 | 20240131123456 | 2024-01-31T12:34:56.789+00:00 | 31.01.2024 | 2024/01/31 12:30 | 2024年1月31日
31 Jan 2024 | Jan 31 | January 31, 2024 | 2024-W05 | Q1 2024 | 2024_January | 12:30
scheduled__2024-01-31T00:00:00+00:00 | manual__2024-01-31T00:00:00.123456+00:00_aB3xYz12
#17 | (17) | run 3 | attempt_2 | part 3 of 5 | 1.2.3 | 01HX5ZK3J6Q2V8W9Y0ABCDEFGH
7f9c24e5-1111-2222-3333-444455556666 | 7f9c24e51111222233334444 | application_1706659200000_0017"""


@pytest.mark.parametrize("ending", OF_EACH_RUN.replace("\n", " | ").split(" | "))
def test_what_differs_from_run_to_run_is_no_part_of_the_name(ending: str):
    assert JobNames().job_of(f"etl {ending}") == JobNames().job_of(f"etl-{ending}") == "etl"
    assert JobNames().job_of("nativespark-etl-jr_0123456789abcdef0123456789") == "etl"


@pytest.mark.parametrize(
    "name",
    [
        "q21",
        "s3-load",
        "日次集計",
        "team-blue/etl",
        "I/O test",
    ],
)
def test_what_tells_jobs_apart_stays(name: str):
    assert JobNames().job_of(name) == name
    assert JobNames().job_of("marketing-2024") == "marketing", "a word that holds a month is none"


NO_NAMES = """\
 | Spark shell | PySparkShell | Databricks Shell | Spark SQL::10.0.0.1 | Thrift JDBC/ODBC Server
SparkConnectServer | kyuubi_USER_SPARK_SQL_joe_default_7f9c24e5-1111-2222-3333-444455556666
Apache Zeppelin | remotesparkmagics | livy-session-12 | arrow-spark
2024-01-31 | 17 | select * from secrets where a = 1"""


@pytest.mark.parametrize("name", NO_NAMES.replace("\n", " | ").split(" | "))
def test_where_the_name_says_nothing_the_program_does(name: str):
    assert JobNames().job_of(name, "etl.py") == "etl.py"


def test_where_nothing_tells_the_job_there_is_still_a_name():
    assert (JobNames().job_of(""), JobNames().job_of("Spark shell")) == (NO_NAME, "Spark shell")


@pytest.mark.parametrize(
    "text",
    [
        "select * from secrets where a = 1",
        "-- nightly\nselect card from customers",
        "/* a * b */ (select card from customers) q",
        "  ((\n--x\n/**/with card as (select 1) select * from card",
    ],
)
def test_comments_and_brackets_hide_no_query(text: str):
    assert JobNames().job_of(text) == A_QUERY
    assert JobNames().told_job_of(text) == ""
    assert JobNames().job_of("/*" * 200 + "**/" * 30 + text[:9])  # in no time


def test_arguments_and_folders_in_a_name_are_not_shown():
    for name in ("load --card 4711 --full", "load --card=4711", "load --full --card 4711"):
        assert JobNames().job_of(name) == "load"
    for name in (
        "/home/joe/etl.py",
        "s3://b/key/etl.py 2024-01-31",
        "joe/etl.py",
        "~/etl.py",
        r"..\joe\etl.py",
    ):
        assert JobNames().job_of(name) == "etl.py"


@pytest.mark.parametrize(
    "name", ["x\n\x1b[31m\x00y", "a" * 100_000, "\ud800etl", "../../etc/passwd", "<b>x</b>"]
)
def test_hostile_names_become_short_lines(name: str):
    told = JobNames().job_of(name)
    assert told.isprintable()
    assert 0 < len(told) <= 120
    assert "/etc" not in told
    assert "hunter2" not in JobNames().job_of("etl password=hunter2")


def test_a_mapping_and_then_a_pattern_name_jobs():
    names = JobNames(mapping={"^etl": "Load", r"report\.py$": "Report"}, pattern=r"^team-(\w+)/")
    assert names.job_of("etl 17") == "Load"
    assert names.job_of("Spark shell", "report.py") == "Report"
    assert names.job_of("team-blue/load of monday") == "blue"
    assert names.job_of("load 17") == "load", "by rule where neither tells it"


@pytest.mark.parametrize(
    "stated", [{"pattern": "etl"}, {"pattern": "(etl"}, {"mapping": {"(": "x"}}, {"mapping": {"x": " "}}]
)
def test_what_cannot_name_jobs_is_refused(stated):
    with pytest.raises(InvalidParameterError):
        JobNames(**stated)


def runs_named(names: Sequence[str], *, hours: float = 24.0) -> list[PastRun]:
    """A run of each name, one after the other."""
    return [
        PastRun(
            job=name,
            application_id=f"app-{place}",
            event_log=f"/logs/app-{place}",
            started_at=(FIRST + timedelta(hours=hours * place)).isoformat(),
            executors=2,
            executor_cores=2,
            seconds=100.0,
        )
        for place, name in enumerate(names)
    ]


@pytest.mark.parametrize(
    ("name", "job"),
    [
        ("churn-v{}", "churn"),
        ("V{}_churn", "churn"),
        ("churn version{} (nightly)", "churn (nightly)"),
        ("ChurnModel{}", "ChurnModel"),
    ],
)
def test_names_of_which_nearly_each_run_has_another_number_are_one_job(name, job):
    runs = runs_named([name.format(number) for number in (9, 10, 11, 11, 12)])
    jobs = by_job(runs)
    assert list(jobs.runs) == [job]
    assert [run.application_id for run in jobs.runs[job]] == [run.application_id for run in runs]
    assert {run.job for run in jobs.runs[job]} == {job}
    assert jobs.joined == {job: tuple(name.format(number) for number in (9, 10, 11, 12))}


@pytest.mark.parametrize(
    "names",
    [
        ["etl v1"] * 40 + ["etl v2"] * 30,
        ["etl v1", "etl v2", "etl v3"],
        [f"etl v{version}" for version in (1, 2, 3, 4, 5) for _ in range(3)],
        ["s3-load", "h2-load", "p4-load", "m5-load"],
        [f"load dim{table}" for _ in range(2) for table in range(8)],  # tables, each night
    ],
    ids=["versions that last", "three numbers", "three runs of each", "words", "numbers that come again"],
)
def test_numbers_that_tell_jobs_apart_stay(names):
    jobs = by_job(runs_named(names))
    assert set(jobs.runs) == set(names)
    assert not jobs.joined


def test_the_queries_of_a_benchmark_that_are_run_at_once_stay_apart():
    assert len(by_job(runs_named([f"tpch-q{number}" for number in range(1, 23)], hours=0.02)).runs) == 22


def test_names_that_the_user_gave_and_trials_beside_a_job_that_is_called_so_are_not_joined():
    names = [f"churn-v{number}" for number in range(6)]
    assert list(by_job(runs_named(names), stated=names).runs) == names
    jobs = by_job([*runs_named([f"etl-v{number}" for number in range(5)]), *runs_named(["etl"] * 9)])
    assert {job: len(runs) for job, runs in jobs.runs.items()} == {"etl": 9, "etl (numbered)": 5}


def test_logs_of_the_same_run_in_two_places_count_once():
    runs = runs_named(["daily", "daily"])
    cut_off = [replace(run, failure="its log has no end") for run in runs]
    jobs = by_job([*cut_off, *runs, *cut_off, replace(runs[0], job="other")])
    assert list(jobs.runs) == ["daily", "other"]
    assert [run.failure for run in jobs.runs["daily"]] == ["", ""]


RANDOM = ["load-7ur8vjhh", "load-kq02mzx1", "load-abqwrtzp", "load-x9x8c7vb", "load-0plmokn2"]


def test_names_with_an_ending_of_each_run_are_one_job_and_words_and_names_that_come_again_stay():
    """As SparkKubernetesOperator gives its applications."""
    for names in (RANDOM, [*RANDOM, "load"]):
        jobs = by_job(runs_named(names))
        assert {job: len(runs) for job, runs in jobs.runs.items()} == {"load": len(names)}
        assert jobs.joined["load"][0] == "load-0plmokn2"
    words = [f"load-{word}" for word in ("orders", "tables", "models", "events")]
    for names in (words, [name for name in RANDOM for _ in range(3)], RANDOM[:3]):
        assert set(by_job(runs_named(names)).runs) == set(names)


def test_programs_of_one_name_are_jobs_of_their_own():
    runs = [replace(run, main=f"com.acme.{'AB'[at % 2]}") for at, run in enumerate(runs_named(["load"] * 6))]
    runs[0] = replace(runs[0], main=None)
    parted = by_job(runs).runs
    assert {job: len(of_job) for job, of_job in parted.items()} == {
        "load": 1,
        "load (com.acme.A)": 2,
        "load (com.acme.B)": 3,
    }
    assert list(by_job(runs, stated=["load"]).runs) == list(by_job(runs, by_program=False).runs) == ["load"]


@pytest.mark.parametrize(
    "mains", ["com.acme.Etl etl.jar", "etl-1.0.jar etl-1.1.jar", "tmp1a.py tmp2b.py tmp3c.py tmp4d.py"]
)
def test_one_program_that_is_told_otherwise_is_one_job(mains):
    runs = [replace(runs_named(["load"])[0], main=main, application_id=main) for main in mains.split()]
    assert list(by_job(runs).runs) == ["load"]


def in_folders(*folders: str) -> list[PastRun]:
    runs = runs_named(["etl"] * len(folders))
    return [
        replace(run, main="main.py", main_folder=folder) for run, folder in zip(runs, folders, strict=True)
    ]


def test_programs_of_one_name_that_run_by_turns_in_two_folders_are_two_jobs():
    jobs = by_job(in_folders(*["orders", "clicks"] * 4))
    assert {job: len(runs) for job, runs in jobs.runs.items()} == {
        "etl (orders/main.py)": 4,
        "etl (clicks/main.py)": 4,
    }


@pytest.mark.parametrize(
    "folders",
    [["v1", "v1", "v2", "v2", "v2"], ["blue", "green", "blue"], ["deploy-20240131", "deploy-20240201"] * 3],
)
def test_versions_of_a_program_that_follow_one_another_are_one_job(folders):
    assert list(by_job(in_folders(*folders)).runs) == ["etl"]


def test_of_two_attempts_of_yarn_both_are_paid_for():
    first, second = runs_named(["daily", "daily"])
    failed = replace(
        first, application_id="application_1_0001", failure="it lost executors", executor_seconds=40.0
    )
    good = replace(second, application_id="application_1_0001", executor_seconds=100.0)
    (run,) = by_job([good, failed]).runs["daily"]
    assert (run.failure, run.executor_seconds) == ("", 140.0)
    (again,) = by_job([good, good]).runs["daily"]
    assert again.executor_seconds == 100.0, "one log in two places"


def test_applications_of_two_clusters_may_have_the_same_id():
    """Standalone clusters, Databricks' among them, make it of the second in which it began."""
    first, second = runs_named(["daily", "daily"])
    twins = [replace(run, application_id="app-20240131030000-0000") for run in (first, second)]
    assert len(by_job(twins).runs["daily"]) == 2
    assert len(observations_of(twins).observations) == 2
    attempts = [replace(run, application_id="application_1_0001") for run in (first, second)]
    assert len(by_job(attempts).runs["daily"]) == 1


def test_a_run_that_did_nothing_of_what_the_others_did_does_not_count():
    runs, _ = daily((4, 4, 4, 4, 4))
    failed = with_work(runs[2], read=0.0, worked=0.01)
    runs[2] = failed
    assert [run.failure for run in by_job(runs).runs["daily"]] == ["", "", DID_NOTHING, "", ""]
    assert observations_of(runs).reasons == {DID_NOTHING: 1}


@pytest.mark.parametrize(("read", "worked"), [(0.02, 0.02), (0.0, 0.5), (1.0, 0.01)])
def test_a_run_with_little_input_or_little_work_counts(read, worked):
    runs, _ = daily((4, 4, 4, 4, 4))
    jobs = by_job([*runs[:4], with_work(runs[4], read=read, worked=worked)])
    assert not any(run.failure for run in jobs.runs["daily"])


def with_work(run: PastRun, *, read: float, worked: float) -> PastRun:
    """A run that read and did such a share of it."""
    metrics = replace(run.metrics, executor_run_seconds=worked * run.metrics.executor_run_seconds)
    return replace(run, input_bytes=round(read * run.input_bytes), seconds=3.0, metrics=metrics)


@pytest.mark.parametrize(
    ("told", "by_records"),
    [
        ((80_000, 0, 120_000), (80_000, 100_000, 120_000)),  # of one run no bytes were told
        ((80_000, 2_000, 120_000), (80_000, 100_000, 120_000)),  # or only those of the files' ends
        ((20, 39, 22), (20, 25, 30)),  # of all runs
        ((80_000, 110_000, 120_000), (80_000, 110_000, 120_000)),
    ],
)
def test_where_bytes_were_not_counted_records_tell_what_was_read(told, by_records):
    records = (8_000, 10_000, 12_000)
    runs = [
        replace(run, input_bytes=read, input_records=each)
        for run, read, each in zip(runs_named(["etl"] * 3), told, records, strict=True)
    ]
    found = by_job(runs).runs["etl"]
    assert [run.input_bytes for run in found] == pytest.approx(by_records, abs=1)
    runs[1] = replace(runs[1], input_records=0)
    assert [run.input_bytes for run in by_job(runs).runs["etl"]] == list(told), "a run that tells no records"
