import gzip
import json
import sys
from dataclasses import replace

import pytest

from airflow_provider_ernest.cli.main import main
from airflow_provider_ernest.store.records import sealed
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import decision_record, model
from tests.unit.store.store_samples import save_all


@pytest.fixture
def root(tmp_path):
    models = [model(0), model(1, job="sums", input_path="/planted/x")]
    save_all(ModelStore(tmp_path / "store"), *models, decision_record(0))
    return tmp_path / "store"


@pytest.fixture
def export(ernest):
    return lambda file, root, *options, code=0: ernest(
        "store", "export", file, "--store", root, *options, code=code
    )


@pytest.fixture
def take(ernest):
    """Imports a file."""
    return lambda file, into, code=0: ernest("store", "import", file, "--store", into, code=code)


def test_there_and_back(root, tmp_path, export, take):
    archive, into = tmp_path / "store.jsonl.gz", tmp_path / "new"
    assert export(archive, root).out == f"Exported 2 models, 1 decision from {root}\n"
    assert gzip.decompress(archive.read_bytes()).count(b"\n") == 4
    assert take(archive, into).out == f"Imported 2 models, 1 decision into {into}\n"
    assert "There already: 2 models, 1 decision" in take(archive, into).out
    assert len(list(ModelStore(into).all_documents())) == 3
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_only_some_jobs_and_without_addresses(root, tmp_path, export):
    archive = tmp_path / "sums.jsonl"
    export(archive, root, "--job", "sums", "--without-addresses")
    header, line = map(json.loads, archive.read_text().splitlines())
    assert (header["without_addresses"], line["job"]) == (True, "sums")
    assert "planted" not in archive.read_text()


def test_a_file_that_is_there_is_not_overwritten(root, tmp_path, export):
    (tmp_path / "mine").write_text("mine")
    assert "exists already" in export(tmp_path / "mine", root, code=1).err
    assert (tmp_path / "mine").read_text() == "mine"
    export(tmp_path / "mine", root, "--force")
    assert "cannot be written" in export(tmp_path / "no" / "x", root, code=1).err


def test_by_standard_output_and_input(root, tmp_path, capfdbinary, monkeypatch):
    assert main(["store", "export", "-", "--store", str(root)]) == 0
    captured = capfdbinary.readouterr()
    assert captured.out.count(b"\n") == 4
    assert captured.err.startswith(b"Exported 2 models")
    (tmp_path / "stream").write_bytes(captured.out)
    with (tmp_path / "stream").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert main(["store", "import", "-", "--store", str(tmp_path / "new")]) == 0
    assert len(list(ModelStore(tmp_path / "new").all_documents())) == 3


def test_a_model_that_fit_has_written(model_json, tmp_path, take):
    assert "Imported 1 model" in take(model_json, tmp_path / "new").out
    assert ModelStore(tmp_path / "new").latest("grep", "local") is not None


def test_a_conflict_is_named_and_the_exit_code_says_so(root, tmp_path, export, take):
    other = tmp_path / "other"
    save_all(ModelStore(other), replace(model(0), noise=0.5), model(5))
    export(tmp_path / "x", other)
    said = take(tmp_path / "x", root, code=1)
    assert "Imported 1 model" in said.out
    assert f"model {model(0).id}: The store has another one of that id" in said.err
    assert "1 would have replaced other documents" in said.err


def test_a_file_that_was_cut_off(root, tmp_path, export, take):
    export(tmp_path / "x", root)
    (tmp_path / "x").write_bytes((tmp_path / "x").read_bytes()[:-10])
    said = take(tmp_path / "x", tmp_path / "new", code=1)
    assert "Imported 1 model, 1 decision" in said.out
    assert "1 of 3 are missing from the file; it ends in the middle of line 4." in said.err


def test_a_file_that_is_none(tmp_path, take):
    assert "x cannot be read" in take(tmp_path / "x", tmp_path / "new", code=1).err
    (tmp_path / "x").write_text("hello")
    assert "This is no archive" in take(tmp_path / "x", tmp_path / "new", code=1).err
    assert not (tmp_path / "new").exists()


def test_a_job_that_is_not_there_is_named_and_no_file_is_made(root, tmp_path, export):
    file = tmp_path / "store.jsonl"
    assert "job='pac' is not in the store" in export(file, root, "--job", "pac", code=1).err
    assert not file.exists()


def test_what_cannot_be_read_is_told_and_the_exit_code_says_so(root, tmp_path, export):
    newer = next((root / "sums" / "m5.large" / "models").glob("*.json"))
    newer.write_text(json.dumps(sealed({"schema": 99})))
    file = tmp_path / "store.jsonl"
    said = export(file, root, code=1)
    assert "Exported 1 model, 1 decision" in said.out
    assert f"lacks 1 of the store's files, which cannot be read; the first is {newer}" in said.err
    assert len(file.read_text().splitlines()) == 3
    # What other jobs lack is no matter.
    export(tmp_path / "pca.jsonl", root, "--job", "pca")
