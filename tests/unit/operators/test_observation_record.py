from __future__ import annotations

import json
import logging

from airflow_provider_ernest.documents import RunConditions
from airflow_provider_ernest.operators.sample_run import keep_observation
from airflow_provider_ernest.store.store import ModelStore

LOG = logging.getLogger(__name__)


def keep(observation, root, **changes):
    arguments = {
        "job": "enrich",
        "store": str(root),
        "artifact_sha256": "ab" * 32,
        "conditions": json.dumps({"local": RunConditions(spark="4.2.0").to_dict()}),
        **changes,
    }
    keep_observation(observation, log=LOG, **arguments)


def test_an_observation_is_kept_with_what_it_was_made_of(observations, tmp_path):
    keep(observations[0], tmp_path)

    (record,) = ModelStore(tmp_path).observations("enrich", "local")
    assert record.observation == observations[0]
    assert record.artifact_sha256 == "ab" * 32
    assert record.conditions == RunConditions(spark="4.2.0")


def test_without_a_job_nothing_is_kept(observations, tmp_path):
    keep(observations[0], tmp_path / "store", job=None)

    assert not (tmp_path / "store").exists()


def test_what_hinders_the_record_does_not_fail_the_run_that_was_paid_for(observations, tmp_path, caplog):
    (tmp_path / "store").write_text("a file")
    keep(observations[0], tmp_path / "store")
    keep(observations[0], tmp_path, conditions="{")

    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "The observation is not recorded" in caplog.text
