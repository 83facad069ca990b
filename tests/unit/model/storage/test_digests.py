"""A stored document says no other than what was stored, whatever a disk or a hand has changed in its file."""

import json

import pytest

from airflow_provider_ernest.cli.main import main
from airflow_provider_ernest.documents import Model
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store.records import DIGEST, list_set_aside, read_or_skip
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import model
from tests.unit.model.store_samples import KINDS, MADE, age


@pytest.mark.parametrize("kind", KINDS)
def test_no_flipped_bit_makes_another_document(tmp_path, kind):
    document = MADE[kind]()
    content = ModelStore(tmp_path).save(document).read_bytes()

    # All of a file goes into one digest: a byte of each neighbourhood of a long one is enough.
    for position in range(0, len(content), 1 | len(content) // 600):
        flipped = bytearray(content)
        flipped[position] ^= 1 << position % 8
        path = tmp_path / "flipped.json"
        path.write_bytes(flipped)
        read = read_or_skip(tmp_path, type(document), path)
        assert read is None or read == document, bytes(flipped)


def test_a_document_that_was_changed_is_set_aside_and_can_be_stored_anew(tmp_path, caplog):
    store = ModelStore(tmp_path)
    old, new = model(), model(1)
    store.save(old)
    path = store.save(new)
    path.write_text(path.read_text().replace('"machines": 2', '"machines": 3'))
    age(path)

    assert store.latest("pca", "m5.large") == old
    assert f"{path} was set aside: Its content does not agree with its digest" in caplog.text
    (aside,) = list_set_aside(tmp_path)
    assert "`ernest store import" in aside.problem
    assert [entry.id for entry in store.catalogue.entries()] == [old.id]
    store.save(new)
    assert store.latest("pca", "m5.large") == new


def test_a_file_without_a_digest_is_named_and_left_to_its_owner(tmp_path, caplog):
    store = ModelStore(tmp_path)
    path = store.save(model())
    path.write_text(json.dumps(model().to_dict()))
    age(path)

    assert store.latest("pca", "m5.large") is None
    with pytest.raises(StoreError, match="ernest store import"):
        store.load(Model, "pca", "m5.large", model().id)
    assert path.exists()
    assert "bears no digest" in caplog.text


def test_an_edited_document_comes_into_the_store_by_import(tmp_path, capsys):
    store, file = ModelStore(tmp_path / "store"), tmp_path / "edited.json"
    store.save(model())
    assert main(["store", "show", model().id, "--store", str(store.root), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert DIGEST not in shown
    file.write_text(json.dumps({**shown, "id": "20270101T000000.000000Z-ab", "startup_seconds": 9.0}))

    assert main(["store", "import", str(file), "--store", str(store.root)]) == 0

    assert store.latest("pca", "m5.large").startup_seconds == 9.0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"startup_second": 9.0}, "'startup_second' is unknown"),
        ({"observations": [{"index": 0, "machines": 2, "scale": 0.1, "secs": 5.0}]}, "'observations.secs'"),
        ({"startup_seconds": "inf"}, "startup_seconds=inf is not a finite number"),
        ({"terms": [{"name": "machmnes", "meaning": "?", "coefficient": 0.1}]}, "'machmnes'"),
        ({DIGEST: "0" * 64}, "does not agree with its digest"),
    ],
)
def test_an_edited_document_with_a_mistake_is_refused_by_name(tmp_path, change, problem, capsys):
    file = tmp_path / "edited.json"
    file.write_text(json.dumps({**model().to_dict(), **change}))

    assert main(["store", "import", str(file), "--store", str(tmp_path / "store")]) == 1

    assert problem in capsys.readouterr().err
    assert ModelStore(tmp_path / "store").latest("pca", "m5.large") is None
