import json
import socket
from datetime import UTC, datetime

import pytest

from airflow_provider_ernest.store.store import ModelStore
from tests.examples import ago, model, profile_record
from tests.unit.store.store_samples import save_all

TODAY = datetime.now(UTC)


@pytest.fixture
def store(tmp_path) -> ModelStore:
    """Seven models, 300 to 120 days old, an old run profile, and six new ones."""
    return save_all(
        ModelStore(tmp_path / "store"),
        *(model(number, at=ago(300 - 30 * number, since=TODAY)) for number in range(7)),
        profile_record(id="0", at=ago(200, since=TODAY)),
        *(profile_record(number, at=ago(1, since=TODAY)) for number in range(6)),
    )


@pytest.fixture
def prune(store, ernest):
    return lambda *options, code=0: ernest("store", "prune", "--store", store.root, *options, code=code)


def count(store) -> int:
    return len(list(store.all_documents()))


def test_a_dry_run_says_what_would_go_and_removes_nothing(store, prune):
    told = prune("--older-than", "90d", "--dry-run").out
    assert told.startswith("Would remove 2 models, 1 run profile older than 90 days")
    assert f"model {model(0).id} of 'pca' on m5.large" in told
    assert "--yes=False is needed to remove anything" in prune("--older-than", "90d", code=1).err
    assert count(store) == 14


def test_what_is_old_goes(store, prune):
    told = prune("--older-than", "4w", "--keep-models", 2, "--yes").out
    assert "Removed 5 models, 1 run profile older than 28 days" in told
    assert count(store) == 8


@pytest.mark.parametrize(("options", "stays"), [(["--dry-run"], True), (["--yes"], False)])
def test_samples_of_killed_runs_go(store, tmp_path, monkeypatch, options, stays, prune):
    monkeypatch.setenv("AIRFLOW__ERNEST__STAGING", str(tmp_path / "staging"))
    # No process has so high an id.
    left_over = tmp_path / "staging/d/r/t" / f"{socket.gethostname()}.{2**31 - 1}.1700000000000.abc"
    left_over.mkdir(parents=True)
    prune("--older-than", "90d", *options)
    assert left_over.exists() == stays


def test_as_json(store, prune):
    told = json.loads(prune("--older-than", "90d", "--yes", "--format", "json").out)
    assert (told["is_done"], told["removed"]) == (True, {"model": 2, "profile": 1})
    assert [each["id"] for each in told["documents"]] == [model(0).id, model(1).id, "0"]
    assert told["kept"] == {"model": 5, "profile": 6}
    assert json.loads(prune("--older-than", "90d", "--yes", "--format", "json").out)["removed"] == {}


@pytest.mark.parametrize(
    "options",
    [
        ["--older-than", "soon"],
        ["--older-than", "4w", "--keep-models", "0"],
        ["--older-than", "-1d"],
        ["--yes"],
    ],
)
def test_options_that_cannot_be_understood(misunderstood, options):
    misunderstood("store", "prune", *options)


def test_what_cannot_be_removed_is_told_and_the_exit_code_says_so(store, monkeypatch, prune):
    def refuse(self, kind, **names):
        raise PermissionError("read only")

    monkeypatch.setattr(ModelStore, "remove", refuse)
    captured = prune("--older-than", "90d", "--yes", code=1)
    assert "Removed no document" in captured.out
    assert "a document that could not be removed: " in captured.err
    assert "read only" in captured.err
