"""The past runs of a job, read before its sample runs are designed."""

from datetime import UTC, datetime, timedelta

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.documents.base import new_stamp
from airflow_provider_ernest.documents.models import ModelMark
from airflow_provider_ernest.documents.runs import InputFingerprint, Observation, RunConditions
from airflow_provider_ernest.history import scan as scanning
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators.read_history import ReadHistoryOperator
from airflow_provider_ernest.settings import EventLogs
from airflow_provider_ernest.store.store import ModelStore
from tests import examples
from tests.unit.history.test_observations import past_run
from tests.unit.operators.stated import rendered, sampled, spark_job

CONDITIONS = RunConditions(spark="3.5.1", input=InputFingerprint(total_bytes=1000, partitions=10))
TYPES = [{"instance_type": "m5.large", "executor_cores": "2"}]


class Scanned(list):
    """What a scan gives, with its figures."""

    logs = 3
    unread = scanning.Counter({"it is no event log": 1})

    def close(self):
        pass


@pytest.fixture
def logged(monkeypatch):
    """Runs that a scan finds; and what it was asked for."""
    runs, asked = Scanned(), {}

    def scan(logs, **options):
        asked.update(options, logs=logs)
        return runs

    monkeypatch.setattr(scanning, "Scan", scan)
    return runs, asked


def recent(days, **fields):
    began = datetime.now(UTC) - timedelta(days=days)
    own = {"job": "enrich", "main": "job.py", "started_at": began.isoformat()}
    return past_run(days, **{**own, **fields})


def read(context, tmp_path, history=None, *, types=TYPES, conf=None, **job):
    application = tmp_path / "job.py"
    application.write_text("abc")
    operator = ReadHistoryOperator(
        task_id="read_history",
        history=history or EventLogs("/logs"),
        job=spark_job(str(application), conf=conf or {}, **job),
        input=sampled("/data/flights"),
        types=types,
        conditions={each["instance_type"]: CONDITIONS.to_dict() for each in types},
        artifact_sha256=examples.ARTIFACT_SHA256,
    )
    return rendered(operator).execute(context)


def observations(found, instance_type="m5.large"):
    return [Observation.from_dict(each) for each in found[instance_type]["observations"]]


def test_runs_of_the_job_become_observations(context, tmp_path, logged):
    runs, asked = logged
    runs += [
        recent(1, seconds=90.0),
        recent(2, job="another"),
        recent(3, executors=8, failure="it was killed"),
    ]
    found = read(context, tmp_path)

    (run,) = observations(found)
    assert (run.executors, run.scale, run.seconds, run.from_history) == (4, 1.0, 90.0, True)
    assert found["m5.large"]["left_out"] == {"it was killed": 1}
    assert asked["logs"] == ["/logs"]
    assert timedelta(days=89) < datetime.now(UTC) - asked["since"] < timedelta(days=91)


def test_each_type_has_the_runs_of_its_machines(context, tmp_path, logged):
    logged[0].extend([recent(1), recent(2, instance_type="c5.xlarge", executor_cores=4)])
    types = [*TYPES, {"instance_type": "c5.xlarge", "executor_cores": 4}]
    found = read(context, tmp_path, types=types)

    assert [run.application_id for run in observations(found)] == ["app-1"]
    assert [run.application_id for run in observations(found, "c5.xlarge")] == ["app-2"]


def test_the_user_may_tell_the_machines_where_the_logs_do_not(context, tmp_path, logged):
    logged[0].extend([recent(1, instance_type=None), recent(2, instance_type="c5.large")])
    found = read(context, tmp_path, EventLogs("/logs", instance_type="m5.large"))

    assert [run.application_id for run in observations(found)] == ["app-1"]
    assert found["m5.large"]["left_out"] == {"its machines were c5.large and are m5.large": 1}


def test_a_users_name_of_the_machines_is_not_compared_with_what_logs_call_them(context, tmp_path, logged):
    logged[0].append(recent(1))
    found = read(context, tmp_path, types=[{"instance_type": "our yarn", "is_name": True}])

    assert [run.instance_type for run in observations(found, "our yarn")] == ["our yarn"]


def test_a_pattern_tells_the_job(context, tmp_path, logged):
    logged[0].append(recent(1))
    read(context, tmp_path, EventLogs("/logs", job_pattern="nightly-.*"))

    assert logged[1]["names"].job_of("nightly-2026") == "enrich"


@pytest.mark.parametrize("name", ["enrich", "enrich-v3", "enrich-v9"])
def test_versions_of_the_job_are_runs_of_it(context, tmp_path, logged, name):
    runs, _ = logged
    runs += [recent(9 - number, job=f"enrich-v{number}") for number in range(4)]
    runs.append(recent(10, job="enrich-all"))
    assert len(observations(read(context, tmp_path, EventLogs("/logs", job=name)))) == 4


def test_todays_properties_count_but_for_templates(context, tmp_path, logged):
    logged[0].append(recent(1))
    conf = {"spark.sql.shuffle.partitions": "{{ params.partitions }}"}

    assert observations(read(context, tmp_path, conf=conf))
    assert not observations(read(context, tmp_path, conf={"spark.sql.shuffle.partitions": "7"}))


def test_runs_of_other_iterations_do_not_count(context, tmp_path, logged):
    logged[0].append(recent(1))
    found = read(context, tmp_path, iterations=100, sample_iterations=5)

    assert not observations(found)
    assert "other iterations" in found["m5.large"]["notes"][0]


def production(number, **fields):
    return examples.production_run(
        number,
        **{
            "job": "enrich",
            "instance_type": "m5.large",
            "at": datetime.now(UTC).isoformat(),
            "executors": 6,
            "seconds": 120.0,
            "run_seconds": 100.0,
            "startup_seconds": 20.0,
            "artifact_sha256": examples.ARTIFACT_SHA256,
            "application_id": f"app-{number}",
            "conditions": RunConditions(input=InputFingerprint(total_bytes=500, partitions=5)),
            **fields,
        },
    )


def test_what_production_has_recorded_counts_without_logs(context, tmp_path):
    store = ModelStore(store_root())
    store.save(production(1))
    store.save(production(2, artifact_sha256="cd" * 32))
    store.save(production(3, run_seconds=None))
    found = read(context, tmp_path, EventLogs())

    (run,) = observations(found)
    assert (run.executors, run.scale, run.seconds, run.startup_seconds) == (6, 0.5, 100.0, 20.0)
    reasons = " ".join(found["m5.large"]["left_out"])
    assert "the application has changed" in reasons
    assert "how much of its time was start-up is not known" in reasons


def test_a_recorded_run_whose_log_is_there_counts_once(context, tmp_path, logged):
    logged[0].append(recent(1))
    ModelStore(store_root()).save(production(1))

    assert len(observations(read(context, tmp_path))) == 1


def test_what_ran_before_a_model_held_no_longer_does_not_count(context, tmp_path, logged):
    logged[0].append(recent(1))
    store = ModelStore(store_root())
    store.save(
        ModelMark(
            **new_stamp(), job="enrich", instance_type="m5.large", model_id="m", cause="code", reason="."
        )
    )
    found = read(context, tmp_path)

    assert not observations(found)
    assert "when a model of the job no longer held" in next(iter(found["m5.large"]["left_out"]))


def test_a_place_that_is_not_there_fails_before_anything_is_paid_for(context, tmp_path):
    with pytest.raises(AirflowFailException, match="nowhere"):
        read(context, tmp_path, EventLogs(str(tmp_path / "nowhere")))
