import logging
import time

import pytest
from upath import UPath

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store.deployment import FILE, deployment_of_store


def test_of_two_first_launches_on_an_object_store_both_take_the_id_that_stays(tmp_path, monkeypatch):
    """Both have found none; the other one's comes a moment later, and replaces the first."""
    root = UPath(f"memory://{tmp_path}/store")
    monkeypatch.setattr(time, "sleep", lambda seconds: (root / FILE).write_text("0th3r"))
    assert deployment_of_store(root) == "0th3r"
    monkeypatch.undo()
    assert deployment_of_store(root) == "0th3r"


def test_an_id_that_only_this_host_may_know_is_warned_of_once(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        made = deployment_of_store(tmp_path / "store")
        assert deployment_of_store(tmp_path / "store") == made
    (record,) = caplog.records
    assert made in record.getMessage()
    assert "set [ernest] deployment" in record.getMessage()


def test_where_no_id_can_be_kept_it_is_said_how_to_need_none(tmp_path):
    (tmp_path / "store").write_text("no folder")
    with pytest.raises(StoreError, match=r"set \[ernest\] deployment"):
        deployment_of_store(tmp_path / "store")
