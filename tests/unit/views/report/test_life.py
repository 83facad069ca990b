"""The lines of the report about a model's life."""

from dataclasses import replace

import pytest

from airflow_provider_ernest.documents import InputFingerprint, Model, RunConditions
from airflow_provider_ernest.views.report.contents import learned_from, trained_under


def test_what_it_has_learned_from(model: Model):
    assert learned_from(model) is None
    learned = replace(model, base_model_id="20260101T000000", learned_from=("a", "b"))
    told = learned_from(learned)
    assert told == "2 production runs, which are among its runs; it goes on from 20260101T000000"


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        (None, None),
        (RunConditions(), None),
        (RunConditions(spark="4.2.0", settings={}), "Spark 4.2.0; 0 settings compared"),
        (
            RunConditions(
                spark="emr-7.5.0",
                settings={"a": "1"},
                cores_per_machine=4,
                input=InputFingerprint(
                    partitions=640, total_bytes=320_000_000_000, columns=14, format="parquet"
                ),
            ),
            "Spark emr-7.5.0; 1 setting compared; 4 cores of a machine; "
            "input of 640 partitions of 500 MB, 14 columns, parquet",
        ),
        (RunConditions(input=InputFingerprint(total_bytes=1500)), "input of 1.50 kB"),
        (RunConditions(input=InputFingerprint(partitions=1)), "input of 1 partition"),
    ],
)
def test_what_it_was_trained_under(conditions: RunConditions | None, words: str | None):
    assert trained_under(conditions) == words
