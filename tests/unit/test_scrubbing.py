"""What is secret in addresses, messages and call sites goes; what names a place stays."""

import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.privacy import (
    LEFT_OUT,
    MOST_LETTERS,
    call_site,
    names_a_secret,
    without_addresses,
    without_credentials,
)


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("s3://AKIA1:sec/ret+x@bucket/data", "s3://bucket/data"),
        ("s3a://AKIA1:secret@bucket/data", "s3a://bucket/data"),
        ("s3://AKIA1%3Asecret@bucket/data", "s3://bucket/data"),
        ("https://user:pw@host:8443/x", "https://host:8443/x"),
        ("https://user:p@w@host/x", "https://host/x"),
        ("https://user:@host/x", "https://host/x"),
        ("https://user:p'w@host/x", "https://host/x"),
        ("https://user:p?w#x@host/x", "https://host/x"),
        ("https://ghp_16C7e42F292c6912E7710c838347@github.example/x.jar", "https://github.example/x.jar"),
        ("https://user:pw@[::1]:8080/x", "https://[::1]:8080/x"),
        ("mongodb+srv://user:pw@host/db", "mongodb+srv://host/db"),
        ("https://host/x?token=t0k&part=2", "https://host/x?part=2"),
        ("https://host/x?part=2&token=t0k", "https://host/x?part=2"),
        ("https://host/x?part=2&token=t0k&z=1#top", "https://host/x?part=2&z=1#top"),
        ("https://host/x#access_token=t0k", "https://host/x"),
        ("https://host/x?pass%77ord=t0k", "https://host/x"),
        (
            "https://b.s3.example/x?X-Amz-Date=2026&X-Amz-Credential=AK%2F1&X-Amz-Signature=abc"
            "&X-Amz-Security-Token=t0k",
            "https://b.s3.example/x?X-Amz-Date=2026",
        ),
        ("wasbs://c@a.blob.example/x?sv=2024&sig=abc%3D", "wasbs://c@a.blob.example/x?sv=2024"),
        ("jdbc:postgresql://host/db?user=me&password=pw", "jdbc:postgresql://host/db?user=me"),
        (
            "jdbc:sqlserver://host;user=me;password=pw;encrypt=true",
            "jdbc:sqlserver://host;user=me;encrypt=true",
        ),
        ("jdbc:oracle:thin:scott/tiger@//host:1521/x", "jdbc:oracle:thin://host:1521/x"),
        ("jdbc:oracle:thin:scott/tiger@host:1521:x", "jdbc:oracle:thin:host:1521:x"),
        ("k8s://https://user:pw@host:6443", "k8s://https://host:6443"),
        ("spark://user:pw@h1:7077,h2:7077", "spark://h1:7077,h2:7077"),
        ("s3://a:b@x/1,s3://c:d@y/2", "s3://x/1,s3://y/2"),
    ],
)
def test_credentials_go(address, kept):
    assert without_credentials(address) == kept
    assert without_credentials(kept) == kept


@pytest.mark.parametrize(
    "address",
    [
        "s3://conn_id@bucket/data",
        "abfss://container@account.dfs.core.windows.net/data",
        "hdfs://namenode:8020/user/me@home/x",
        "http://host:8080?mail=me@home",
        "http://[::1]:8080/me@home",
        "spark://h1:7077,h2:7077",
        "k8s://https://host:6443/me@home",
        "file:///data/flights",
        "/data/token=5/part-1",
        "s3://bucket/token=5/key=3/part-1",
        "https://host/x?partition_column=day&monkey=1",
        "C:\\data\\flights",
        "relative/path",
        "mapreduce:streaming",
        "",
    ],
)
def test_what_names_a_place_stays(address):
    assert without_credentials(address) == address


def test_a_message_keeps_its_words():
    told = "Reading 's3://k:s@b/x' failed: https://h/x?sig=abc answered 403 (a: b@c)."
    assert without_credentials(told) == "Reading 's3://b/x' failed: https://h/x answered 403 (a: b@c)."


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("spark.hadoop.fs.s3a.secret.key", True),
        ("AWSAccessKeyId", True),
        ("db.passwd", True),
        ("sig", True),
        ("partitionKey", False),
        ("spark.sql.shuffle.partitions", False),
    ],
)
def test_names_of_secrets(name, is_secret):
    assert names_a_secret(name) is is_secret


def test_a_sentence_without_its_addresses():
    told = (
        "The input s3://lake/x of 10.0.3.7:7077 (ip-10-0-3-7.ec2.internal), once /data/flights/2026, has "
        "grown 4.5 times; scale/executors and (a)/b/c stay. Spark 4.2.0.1 ran."
    )
    shown = without_addresses(told)
    for gone in ("lake", "10.0.3.7", "ec2.internal", "/data"):
        assert gone not in shown
    assert "4.5 times; scale/executors and (a)/b/c stay." in shown
    assert shown.count("(address left out)") >= 4


def test_errors_do_not_tell_what_is_secret_in_addresses():
    error = InvalidParameterError("input_path", "s3://key:secret/part@bucket/data", "does not exist")

    assert "secret" not in str(error)
    assert "s3://bucket/data" in str(error)
    assert "secret" not in error.message


def test_a_long_word_does_not_hold_it_up():
    """Each letter of it could begin a scheme; a regular expression that tries them all takes minutes."""
    word = "a" * 1_000_000

    assert without_credentials(f"{word} http://user:secret@host/") == f"{word} http://host/"
    assert without_addresses(f"{word} http://host/") == f"{word} {LEFT_OUT}"


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("count at job.py:12", "count at job.py:12"),
        ("reduceByKey at /home/me/clients/acme/job.py:12", "reduceByKey at job.py:12"),
        (r"collect at C:\Users\me\my job.py:3", "collect at my job.py:3"),
        ("csv at NativeMethodAccessorImpl.java:0", "csv at NativeMethodAccessorImpl.java:0"),
        (
            "$anonfun$withThreadLocalCaptured$1 at FutureTask.java:264",
            "$anonfun$withThreadLocalCaptured$1 at FutureTask.java:264",
        ),
        ("mapPartitions at GraphImpl.scala:208", "mapPartitions at GraphImpl.scala:208"),
        ("collect at <ipython-input-3-5e1f>:2", "collect at <ipython-input-3-5e1f>:2"),
        ("", ""),
        ("runs:\n\t at  noon", "runs: at noon"),
    ],
)
def test_a_call_site_stays_and_the_folders_go(told, kept):
    assert call_site(told) == kept


@pytest.mark.parametrize(
    "told",
    [
        "SELECT * FROM people WHERE name = 'planted' AND id > 3",
        'load "planted" at job.py:3',
        "read https://me:planted@lake.example/x?token=planted at job.py:3",
        "read at s3://lake/x?X-Amz-Signature=planted:7",
        "login password=planted at job.py:3",
        "db.password: planted",
        "error: token=planted at job.py:3",
        "Authorization: Bearer planted",
        "run --api-token planted at job.py:3",
        "export AWS_SECRET_ACCESS_KEY=planted",
        "run at /planted/planted/job.py:12",
    ],
)
def test_no_literal_and_no_secret_is_kept(told):
    assert "planted" not in call_site(told)


@pytest.mark.parametrize(
    "told",
    [
        "x" * 10_000,
        "a=b " * 10_000,
        "'" * 10_001,
        "at " * 10_000 + ":1",
        "collect at /a/job.py:12",
        "password='a b' at x:1",
        "x" * (MOST_LETTERS - 3) + " at job.py:1",
    ],
)
def test_a_name_is_short_and_stays_as_it_is_when_it_is_cleaned_again(told):
    kept = call_site(told)
    assert len(kept) <= MOST_LETTERS
    assert call_site(kept) == kept
