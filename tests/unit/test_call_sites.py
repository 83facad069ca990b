import pytest

from airflow_provider_ernest.privacy import MOST_LETTERS, call_site


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
