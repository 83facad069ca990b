from __future__ import annotations

import json
import socket
from datetime import UTC, datetime

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.operators.prune_store import PruneStoreOperator
from airflow_provider_ernest.operators.task_context import staging
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import ago, model, profile_record
from tests.unit.store.store_samples import save_all

TODAY = datetime.now(UTC)


@pytest.fixture
def store(context) -> ModelStore:
    """The configured one: seven models, 300 to 120 days old, an old run profile, six new ones."""
    return save_all(
        ModelStore(store_root()),
        *(model(number, at=ago(300 - 30 * number, since=TODAY)) for number in range(7)),
        profile_record(id="0", at=ago(200, since=TODAY)),
        *(profile_record(number, at=ago(1, since=TODAY)) for number in range(6)),
    )


def prune(context, **parameters):
    return PruneStoreOperator(task_id="prune", **parameters).execute(context)


def count(store) -> int:
    return len(list(store.all_documents()))


@pytest.mark.parametrize("dry_run", [True, False])
def test_samples_of_killed_runs_go_whatever_is_kept(store, context, dry_run, capsys):
    # No process has so high an id.
    left_over = staging(context) / f"{socket.gethostname()}.{2**31 - 1}.1700000000000.abc"
    left_over.mkdir(parents=True)
    prune(context, older_than_days=9000, dry_run=dry_run)
    assert left_over.exists() == dry_run
    assert f"1 samples of killed runs {'would be' if dry_run else 'were'} removed" in capsys.readouterr().out


def test_what_is_old_goes_and_is_listed(store, context, capsys):
    summary = prune(context, older_than_days=90, keep_models=6)
    assert json.loads(json.dumps(summary)) == summary
    assert summary["removed"] == {"model": 1, "profile": 1}
    assert summary["kept"] == {"model": 6, "profile": 6}
    told = capsys.readouterr().out
    assert f"model {model(0).id} of 'pca'" in told
    again = prune(context, older_than_days=90, keep_models=6)
    assert again["removed"] == {}, "a second time nothing is left to do"


def test_parameters_may_be_texts(store, context):
    parameters = {"older_than_days": "90", "keep_models": "2"}
    assert prune(context, **parameters, dry_run="True")["removed"] == {"model": 5, "profile": 1}
    assert count(store) == 14
    assert prune(context, **parameters, dry_run="False")["removed"] == {"model": 5, "profile": 1}
    assert count(store) == 8


@pytest.mark.parametrize("stated", [{"older_than_days": 0}, {"older_than_days": 90, "keep_models": 0}])
def test_what_would_remove_too_much_is_refused(store, context, stated):
    with pytest.raises(AirflowFailException, match=r"=0"):
        prune(context, **stated)
    assert count(store) == 14


def test_what_could_not_be_removed_fails_the_task_and_may_be_tried_again(store, context, monkeypatch):
    def refuse(self, kind, **names):
        raise PermissionError("read only")

    monkeypatch.setattr(ModelStore, "remove", refuse)
    with pytest.raises(StoreError, match=r"a document that could not be removed: .*read only"):
        prune(context, older_than_days=90)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"older_than_days": "soon"}, "older_than_days='soon'"),
        ({"older_than_days": -1}, "older_than_days=-1"),
        ({"older_than_days": 9, "keep_models": 0}, "keep_models=0"),
        ({"older_than_days": 9, "dry_run": "maybe"}, "dry_run='maybe'"),
    ],
)
def test_what_cannot_be_is_named_and_not_tried_again(store, context, parameters, named):
    with pytest.raises(AirflowFailException, match=named):
        prune(context, **parameters)
    assert count(store) == 14
