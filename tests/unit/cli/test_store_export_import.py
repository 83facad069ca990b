import gzip
import json
import sys
from dataclasses import replace

import pytest

from airflow_provider_ernest.cli.main import main
from airflow_provider_ernest.store.records import sealed
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.cli.test_store import run
from tests.unit.model.sample_records import a_decision, a_model
from tests.unit.model.stored_examples import save_all


@pytest.fixture
def root(tmp_path):
    models = [a_model(0), a_model(1, job="sums", input_path="/planted/x")]
    save_all(ModelStore(tmp_path / "store"), *models, a_decision(0))
    return tmp_path / "store"


def test_there_and_back(root, tmp_path, capsys):
    archive, into = tmp_path / "store.jsonl.gz", tmp_path / "new"
    assert run(capsys, "export", archive, "--store", root) == f"Exported 2 models, 1 decision from {root}\n"
    assert gzip.decompress(archive.read_bytes()).count(b"\n") == 4
    assert run(capsys, "import", archive, "--store", into) == f"Imported 2 models, 1 decision into {into}\n"
    assert "There already: 2 models, 1 decision" in run(capsys, "import", archive, "--store", into)
    assert len(list(ModelStore(into).all_documents())) == 3
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_only_some_jobs_and_without_addresses(root, tmp_path, capsys):
    archive = tmp_path / "sums.jsonl"
    run(capsys, "export", archive, "--store", root, "--job", "sums", "--without-addresses")
    header, line = map(json.loads, archive.read_text().splitlines())
    assert (header["without_addresses"], line["job"]) == (True, "sums")
    assert "planted" not in archive.read_text()


def test_a_file_that_is_there_is_not_overwritten(root, tmp_path, capsys):
    (tmp_path / "mine").write_text("mine")
    assert "exists already" in run(capsys, "export", tmp_path / "mine", "--store", root, code=1)
    assert (tmp_path / "mine").read_text() == "mine"
    run(capsys, "export", tmp_path / "mine", "--store", root, "--force")
    assert "cannot be written" in run(capsys, "export", tmp_path / "no" / "x", "--store", root, code=1)


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


def test_a_model_that_fit_has_written(model_json, tmp_path, capsys):
    assert "Imported 1 model" in run(capsys, "import", model_json, "--store", tmp_path / "new")
    assert ModelStore(tmp_path / "new").latest("grep", "local") is not None


def test_a_conflict_is_named_and_the_exit_code_says_so(root, tmp_path, capsys):
    other = tmp_path / "other"
    save_all(ModelStore(other), replace(a_model(0), noise=0.5), a_model(5))
    run(capsys, "export", tmp_path / "x", "--store", other)
    assert main(["store", "import", str(tmp_path / "x"), "--store", str(root)]) == 1
    captured = capsys.readouterr()
    assert "Imported 1 model" in captured.out
    assert f"model {a_model(0).id}: The store has another one of that id" in captured.err
    assert "1 would have replaced other documents" in captured.err


def test_a_file_that_was_cut_off(root, tmp_path, capsys):
    run(capsys, "export", tmp_path / "x", "--store", root)
    whole = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(whole[:-10])
    assert main(["store", "import", str(tmp_path / "x"), "--store", str(tmp_path / "new")]) == 1
    captured = capsys.readouterr()
    assert "Imported 1 model, 1 decision" in captured.out
    assert "1 of 3 are missing from the file; it ends in the middle of line 4." in captured.err


def test_a_file_that_is_none(tmp_path, capsys):
    assert "x cannot be read" in run(capsys, "import", tmp_path / "x", "--store", tmp_path / "new", code=1)
    (tmp_path / "x").write_text("hello")
    assert "This is no archive" in run(capsys, "import", tmp_path / "x", "--store", tmp_path / "new", code=1)
    assert not (tmp_path / "new").exists()


def test_a_job_that_is_not_there_is_named_and_no_file_is_made(root, tmp_path, capsys):
    file = tmp_path / "store.jsonl"
    assert main(["store", "export", str(file), "--store", str(root), "--job", "pac"]) == 1
    assert "job='pac' is not in the store" in capsys.readouterr().err
    assert not file.exists()


def test_what_cannot_be_read_is_told_and_the_exit_code_says_so(root, tmp_path, capsys):
    newer = next((root / "sums" / "m5.large" / "models").glob("*.json"))
    newer.write_text(json.dumps(sealed({"schema": 99})))
    file = tmp_path / "store.jsonl"
    assert main(["store", "export", str(file), "--store", str(root)]) == 1
    told = capsys.readouterr()
    assert "Exported 1 model, 1 decision" in told.out
    assert f"lacks 1 of the store's files, which cannot be read; the first is {newer}" in told.err
    assert len(file.read_text().splitlines()) == 3
    # What other jobs lack is no matter.
    assert main(["store", "export", str(tmp_path / "pca.jsonl"), "--store", str(root), "--job", "pca"]) == 0
