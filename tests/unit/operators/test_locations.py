from pathlib import Path

import pytest

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators.locations import attempt_path, event_logs, path_name
from airflow_provider_ernest.operators.task_context import origin_of


def test_attempts_of_one_task_never_share_a_folder(ti, context):
    first = event_logs(context)
    ti.try_number = 2
    second = event_logs(context)
    ti.map_index = 3

    assert first.is_dir()
    assert second.is_dir()
    assert len({first, second, event_logs(context)}) == 3


def test_paths_hold_nothing_that_hadoop_refuses(context):
    assert not set(str(attempt_path(context))) & set(":+ %")


def test_different_run_ids_that_look_alike_stay_apart():
    assert path_name("a:b") != path_name("a+b")
    assert path_name("../../etc") not in ("..", "../../etc")
    assert "/" not in path_name("../../etc")
    assert path_name("plain_name-1") == "plain_name-1"


def test_store_lies_below_airflows_home_unless_configured(context, tmp_path, monkeypatch):
    assert store_root() == tmp_path / "airflow" / "ernest" / "store"
    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", str(tmp_path / "elsewhere"))
    assert store_root() == tmp_path / "elsewhere"
    assert store_root("/given") == Path("/given")


@pytest.mark.parametrize("root", ["nonsense://models", "~nobody-of-this-name/models"])
def test_a_store_of_no_known_kind_is_a_store_error(root):
    with pytest.raises(StoreError, match=rf"{root}.* cannot be opened"):
        store_root(root)


def test_store_may_be_an_object_store():
    assert str(store_root("file:///shared/models")) == "file:///shared/models"


def test_a_task_that_is_not_mapped_has_no_index(ti, context):
    ti.map_index = None
    assert origin_of(context).map_index == -1
