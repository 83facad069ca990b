"""How an application is submitted: its secret, its properties, its driver, and what it prints."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from airflow_provider_ernest.exceptions import (
    ClusterLostError,
    InvalidParameterError,
    MissingResourceError,
    SampleRunError,
)
from airflow_provider_ernest.spark.submit import ErnestSubmitHook, SecretFile, driver_conf

SECRET = "s3cr3t-of-the-cluster"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def hook(**changes) -> ErnestSubmitHook:
    fields = {"master_url": "spark://127.0.0.1:7077", "conf": {}, "application_args": [], "name": "job"}
    return ErnestSubmitHook(**{**fields, **changes})


@pytest.mark.parametrize(
    "how", [{"secret": SECRET}, {"conf": {"spark.authenticate.secret": SECRET}}], ids=["secret", "conf"]
)
def test_the_secret_is_handed_over_in_a_private_file_that_is_removed(
    spark_submit, temporary, capfd, monkeypatch, how
):
    masked: list[str] = []
    monkeypatch.setattr("airflow.sdk.log.mask_secret", masked.append)
    hook(**how).run("job.py")
    assert masked == [SECRET]
    log = "".join(capfd.readouterr())
    assert spark_submit.properties == {"spark.authenticate": "true", "spark.authenticate.secret": SECRET}
    assert "arguments: --master spark://127.0.0.1:7077" in log
    assert spark_submit.seen["modes"] == [0o600, 0o700]
    assert SECRET not in log
    assert SECRET not in str(spark_submit.arguments)
    assert SECRET not in str(spark_submit.seen["environment"])
    assert not list(temporary.glob("*/*"))


def test_the_file_is_removed_when_the_application_fails(spark_submit, temporary):
    spark_submit.behave(exit_code=1)
    with pytest.raises(SampleRunError, match="exit code 1") as failure:
        hook(secret=SECRET).run("job.py")
    assert spark_submit.was_run
    assert not list(temporary.glob("*/*"))
    assert SECRET not in str(failure.value)
    assert SECRET not in str(failure.value.__cause__)


def test_the_file_is_removed_when_the_task_is_killed(spark_submit, temporary, monkeypatch):
    submission = hook(secret=SECRET)

    def killed(*_: object, **__: object) -> None:
        assert len(list(temporary.iterdir())) == 1
        submission.end()
        assert not list(temporary.glob("*/*"))
        raise KeyboardInterrupt

    monkeypatch.setattr(submission, "submit", killed)
    with pytest.raises(KeyboardInterrupt):
        submission.run("job.py")


def test_what_was_ended_before_is_not_submitted(spark_submit):
    submission = hook()
    assert submission.end() == []
    with pytest.raises(SampleRunError, match="ended before it was submitted"):
        submission.run("job.py")
    assert not spark_submit.was_run


def test_a_kill_while_the_process_is_being_started_ends_it(spark_submit, monkeypatch):
    spark_submit.behave(seconds=60)
    submission = hook()
    build = submission._build_spark_submit_command

    def killed_meanwhile(application: str) -> list[str]:
        submission.end()
        return build(application)

    monkeypatch.setattr(submission, "_build_spark_submit_command", killed_meanwhile)
    with pytest.raises(SampleRunError, match="exit code -15"):
        submission.run("job.py")


def test_the_users_own_properties_are_carried_over(spark_submit, temporary, tmp_path):
    own = tmp_path / "own.conf"
    own.write_text("spark.authenticate.secret other\nspark.mine 1\nspark.last 2\\")
    hook(secret=SECRET, options={"properties_file": str(own)}).run("job.py")
    found = spark_submit.properties
    assert found["spark.mine"] == "1"
    assert found["spark.authenticate.secret"] == SECRET
    assert own.read_text().startswith("spark.authenticate.secret other"), "the user's file is untouched"
    with pytest.raises(MissingResourceError, match=r"properties_file='/no/such\.conf' cannot be read"):
        hook(secret=SECRET, options={"properties_file": "/no/such.conf"}).run("job.py")

    hook().run("job.py")
    assert "--properties-file" not in spark_submit.arguments


@pytest.mark.parametrize("where", ["SPARK_CONF_DIR", "SPARK_HOME", "env_vars", "beside"])
def test_spark_defaults_are_carried_over(spark_submit, temporary, tmp_path, monkeypatch, where):
    folder = tmp_path / "conf"  # the parent of bin/spark-submit is Spark's home
    folder.mkdir()
    (folder / "spark-defaults.conf").write_text("spark.default kept\n")
    options = {}
    if where == "env_vars":
        options = {"env_vars": {"SPARK_CONF_DIR": str(folder), "PATH": os.environ["PATH"]}}
    elif where != "beside":
        monkeypatch.setenv(where, str(folder if where == "SPARK_CONF_DIR" else tmp_path))
    hook(secret=SECRET, options=options).run("job.py")
    assert spark_submit.properties["spark.default"] == "kept"
    if where == "beside":
        # An installation by pip has this file beside it, and conf of the folder above is not Spark's.
        (tmp_path / "bin" / "find_spark_home.py").touch()
        hook(secret=SECRET).run("job.py")
        assert "spark.default" not in spark_submit.properties


@pytest.mark.parametrize("secret", ["", " padded", "padded ", "two\nlines"])
def test_a_secret_that_a_file_cannot_hold_is_refused_and_not_shown(secret, temporary):
    with pytest.raises(InvalidParameterError, match=r"secret='\*\*\*' is empty") as failure:
        SecretFile(secret)
    assert "padded" not in str(failure.value)
    assert "lines" not in str(failure.value)
    assert not list(temporary.glob("*/*"))


@pytest.mark.parametrize(
    ("secret", "line"),
    [
        ("with space", r"with\ space"),
        ("back\\slash", r"back\\slash"),
        ("a=b:c#d!e", "a=b:c#d!e"),
        ("schlüssel", r"schl\u00fcssel"),
    ],
)
def test_the_secret_is_written_as_java_reads_it(secret, line, temporary):
    file = SecretFile(secret)
    assert file.path.read_text().endswith(f"spark.authenticate.secret={line}\n")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    file.remove()
    file.remove()
    assert not list(temporary.glob("*/*"))


MASTER = "spark://127.0.0.1:7077"


@pytest.mark.parametrize("master", [MASTER, "spark://127.0.0.1:7077,10.255.0.1:7077"])
def test_the_driver_is_reached_at_the_address_of_the_route_to_the_first_master(master):
    assert driver_conf(master) == {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.pyspark.driver.python": sys.executable,
    }


def test_what_is_set_is_left_alone():
    given = {"spark.driver.host": "127.0.0.5", "spark.pyspark.driver.python": "/opt/python"}
    assert driver_conf(MASTER, conf=given) == {"spark.driver.bindAddress": "127.0.0.5"}
    given["spark.driver.bindAddress"] = "0.0.0.0"
    assert driver_conf(MASTER, conf=given) == {}
    behind_a_gateway = driver_conf(MASTER, conf={"spark.driver.host": "192.0.2.77"})
    assert behind_a_gateway["spark.driver.bindAddress"] == "127.0.0.1"


def test_other_masters_find_the_driver_by_themselves_and_one_without_a_way_to_it_is_told():
    for master in ("yarn", "k8s://https://10.0.0.1:6443", "local[2]"):
        assert driver_conf(master) == {"spark.pyspark.driver.python": sys.executable}
    for master in ("spark://no-such-host.invalid:7077", "spark://127.0.0.1", "spark://"):
        with pytest.raises(ClusterLostError, match="There is no way from this host to the Spark master"):
            driver_conf(master)


PYTHON = """\
26/01/01 10:00:00 INFO SparkContext: Running Spark version 4.0.0
26/01/01 10:00:01 WARN TaskSetManager: Lost task 0.0 in stage 0.0: java.io.IOException: a worker's, retried
\tat org.apache.spark.Executor.run(Executor.scala:1)
Traceback (most recent call last):
  File "/jobs/job.py", line 3, in <module>
    main()
py4j.protocol.Py4JJavaError: An error occurred while calling o46.collect.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times
\tat org.apache.spark.scheduler.DAGScheduler.failJobAndIndependentStages(DAGScheduler.scala:1)
ValueError: unknown zone 'Europe/Nowhere' in /data/in
26/01/01 10:00:02 INFO ShutdownHookManager: Shutdown hook called
java.lang.InterruptedException: at the end, of no interest
"""
JVM = """\
Exception in thread "main" org.apache.spark.sql.AnalysisException: [PATH_NOT_FOUND] Path does not exist
\tat org.apache.spark.sql.Main.main(Main.scala:1)
Caused by: java.io.FileNotFoundException: /data/in
\t... 12 more
"""
SUBMITTED = """\
Traceback (most recent call last):
KeyError: 'station'
Exception in thread "main" org.apache.spark.SparkUserAppException: User application exited with 1
"""
SECRETS = "ValueError: token=abc123 of s3://me:secret@bucket/x for --password hunter2"
REFUSED = """\
javax.security.sasl.SaslException: DIGEST-MD5: digest response format violation. Mismatched response.
\tat org.apache.spark.network.sasl.SparkSaslServer.response(SparkSaslServer.java:121)
Traceback (most recent call last):
  File "/jobs/job.py", line 3, in <module>
java.lang.IllegalArgumentException: requirement failed: Can only be called on a running MetricsSystem
"""


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (PYTHON, "ValueError: unknown zone ... in ..."),
        (JVM, "java.io.FileNotFoundException: ..."),
        (SUBMITTED, "KeyError: ..."),
        ("26/01/01 10:00:00 ERROR Executor: java.lang.OutOfMemoryError: Java heap space\n", "exit code 1."),
        ("nothing of interest\n", "exit code 1."),
        (f"Traceback (most recent call last):\n{SECRETS}\n", "of s3://bucket/x for --password ..."),
        # By which of its calls a driver fails whose context was stopped meanwhile, is a race.
        (REFUSED, "the cluster refused its shared secret (spark.authenticate.secret)"),
    ],
    ids=["python", "jvm", "python, then the exit code", "of an executor", "none", "secrets", "refused"],
)
def test_a_failed_run_names_its_exception_without_literals_and_arguments(spark_submit, printed, told):
    spark_submit.program.write_text(f"#!/bin/sh\ncat <<'END'\n{printed}END\nexit 1\n")
    with pytest.raises(SampleRunError) as failure:
        hook(application_args=["--in=/data/in"]).run("job.py")
    assert failure.value.message.rstrip(".").endswith(told.rstrip("."))
