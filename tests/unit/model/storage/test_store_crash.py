"""A store after a crash at any byte: what was not hit is there, and what was hit is named."""

import logging

import pytest

from airflow_provider_ernest.store.catalogue import FOLDER, MOST_UNWRITTEN, Catalogue, entry_of
from airflow_provider_ernest.store.records import list_set_aside
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import model
from tests.unit.model.store_samples import KINDS, LISTED, MADE, age, all_of


@pytest.fixture
def _quiet(caplog):
    """Thousands of warnings are meant here."""
    caplog.set_level(logging.CRITICAL)


def read_everything(store):
    return {kind: all_of(store, kind) for kind in KINDS}


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("kind", KINDS)
def test_a_document_that_ends_at_any_byte_hides_nothing_else(tmp_path, kind):
    store = ModelStore(tmp_path)
    path = store.save(MADE[kind](1))
    others = {name: [MADE[name]()] for name in KINDS}
    for each in others.values():
        store.save(each[0])
    whole = path.read_bytes()
    path.unlink()
    for length in range(len(whole) - 1):
        torn = path.with_name(f"{length:06d}.json")
        torn.write_bytes(whole[:length])
        age(torn)

    assert all_of(ModelStore(tmp_path), kind) == others[kind]

    set_aside = list_set_aside(tmp_path)
    assert [each.path.read_bytes() for each in set_aside] == [
        whole[:length] for length in range(len(whole) - 1)
    ]
    assert len(list(path.parent.glob("0*.json"))) == 0
    # Of the last byte, which ends the last line, nothing depends.
    path.write_bytes(whole[:-1])
    age(path)
    assert read_everything(store) == {**others, kind: [*others[kind], MADE[kind](1)]}


@pytest.mark.usefixtures("_quiet")
def test_after_a_crash_at_any_byte_of_any_file_reading_and_writing_go_on(tmp_path):
    """All of it at once: every file of the store ends too early, by the same share."""
    for share in (0.0, 0.3, 0.9):
        root = tmp_path / str(share)
        store = ModelStore(root)
        for kind in KINDS:
            store.save(MADE[kind]())
        for path in [path for path in root.rglob("*") if path.is_file()]:
            content = path.read_bytes()
            path.write_bytes(content[: int(share * len(content))])
            age(path)

        store = ModelStore(root)
        assert read_everything(store) == {kind: [] for kind in KINDS}
        assert list(store.all_documents()) == []
        assert store.catalogue.entries() == []
        assert len(list_set_aside(root)) == len(KINDS)
        for kind in KINDS:
            store.save(MADE[kind]())
        assert read_everything(ModelStore(root)) == {kind: [MADE[kind]()] for kind in KINDS}
        assert len(ModelStore(root).catalogue.entries()) == len(LISTED)


def test_a_summary_that_ends_at_any_byte_hides_nothing(tmp_path):
    expected = [entry_of(model(number)) for number in range(MOST_UNWRITTEN + 1)]
    for number in range(MOST_UNWRITTEN + 1):
        ModelStore(tmp_path).save(model(number))
    assert Catalogue(tmp_path).entries() == expected
    (summary,) = (tmp_path / FOLDER).iterdir()
    content = summary.read_bytes()
    for length in (*range(0, len(content), 500), len(content) - 1):
        summary.write_bytes(content[:length])

        assert Catalogue(tmp_path).entries() == expected
        assert summary.read_bytes() == content, "it was made again"
