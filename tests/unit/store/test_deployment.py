import logging
from pathlib import Path

import pytest
from upath import UPath

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store.deployment import deployment_of_store


def test_of_two_first_launches_both_take_the_id_of_the_first(tmp_path, monkeypatch):
    """Both have found none; the other one's comes a moment before this one's."""
    real = Path.hardlink_to

    def another_was_faster(self, target):
        monkeypatch.undo()
        self.write_text("0th3r")
        real(self, target)

    monkeypatch.setattr(Path, "hardlink_to", another_was_faster)
    assert deployment_of_store(tmp_path) == deployment_of_store(tmp_path) == "0th3r"


def test_a_storage_that_cannot_tell_who_is_first_needs_a_configured_id(tmp_path):
    with pytest.raises(StoreError, match=r"set \[ernest\] deployment.*cannot exclude other writers"):
        deployment_of_store(UPath(f"memory://{tmp_path}/store"))


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
