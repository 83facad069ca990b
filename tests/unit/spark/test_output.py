"""What spark-submit prints, in a task's log: folded, and read for the exception that ended the driver."""

from __future__ import annotations

import logging

import pytest

from airflow_provider_ernest.exceptions import SampleRunError
from airflow_provider_ernest.privacy import exception_line
from airflow_provider_ernest.spark.submit import END, GROUP, ErnestSubmitHook, FoldedOutput

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
REFUSED = """\
javax.security.sasl.SaslException: DIGEST-MD5: digest response format violation. Mismatched response.
\tat org.apache.spark.network.sasl.SparkSaslServer.response(SparkSaslServer.java:121)
Traceback (most recent call last):
  File "/jobs/job.py", line 3, in <module>
java.lang.IllegalArgumentException: requirement failed: Can only be called on a running MetricsSystem
"""


def logged(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def read(text: str) -> FoldedOutput:
    output = FoldedOutput(logging.getLogger("test"))
    list(output.lines(text.splitlines(keepends=True)))
    return output


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (PYTHON, "ValueError: unknown zone 'Europe/Nowhere' in /data/in"),
        (JVM, "java.io.FileNotFoundException: /data/in"),
        (SUBMITTED, "KeyError: 'station'"),
        ("26/01/01 10:00:00 ERROR Executor: java.lang.OutOfMemoryError: Java heap space\n", ""),
        ("nothing of interest\n", ""),
    ],
    ids=["python", "jvm", "python, then the exit code", "of an executor", "none"],
)
def test_the_exception_that_ended_the_driver_is_found(text, told):
    assert read(text).failure == told


def test_the_output_is_folded_and_progress_stands_outside(caplog):
    caplog.set_level(logging.INFO)
    log = logging.getLogger("test")
    output = FoldedOutput(log)
    for number, line in enumerate(output.lines(["one", "two", "three"])):
        log.info(line)
        if number == 1:
            output.info("Running for %s", "10 s")
    assert logged(caplog) == [GROUP, "one", "two", END, "Running for 10 s", GROUP, "three", END]


def test_without_output_there_is_no_group(caplog):
    caplog.set_level(logging.INFO)
    list(FoldedOutput(logging.getLogger("test")).lines([]))
    assert logged(caplog) == []


def test_a_failed_run_names_its_exception_without_literals_and_arguments(spark_submit):
    spark_submit.program.write_text("#!/bin/sh\ncat <<'END'\n" + PYTHON + "END\nexit 1\n")
    hook = ErnestSubmitHook(
        master_url="spark://127.0.0.1:7077", conf={}, application_args=["--in=/data/in"], name="job"
    )
    with pytest.raises(SampleRunError) as failure:
        hook.run("job.py")
    assert failure.value.message == "job.py failed: ValueError: unknown zone ... in ..."


def test_a_refused_secret_is_told_whatever_the_driver_failed_by_then(spark_submit):
    """By which of its calls a driver fails whose context was stopped meanwhile, is a race."""
    spark_submit.program.write_text("#!/bin/sh\ncat <<'END'\n" + REFUSED + "END\nexit 1\n")
    hook = ErnestSubmitHook(master_url="spark://127.0.0.1:7077", conf={}, application_args=[], name="job")
    with pytest.raises(SampleRunError, match="refused its shared secret"):
        hook.run("job.py")


def test_a_program_that_printed_no_exception_is_told_of_by_its_exit_code(spark_submit):
    spark_submit.behave(exit_code=3)
    hook = ErnestSubmitHook(master_url="spark://127.0.0.1:7077", conf={}, application_args=[], name="job")
    with pytest.raises(SampleRunError, match=r"failed: spark-submit ended with exit code 3\."):
        hook.run("job.py")


def test_an_exception_keeps_no_secret():
    line = "ValueError: token=abc123 of s3://me:secret@bucket/x for --password hunter2 " + "x" * 400
    told = exception_line(line, arguments=["1"])
    assert told.startswith("ValueError: token=... of s3://bucket/x for --password ... xxx")
    assert len(told) == 300
