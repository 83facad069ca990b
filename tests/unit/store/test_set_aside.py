"""What a crash, a failing disk or a hand leaves: torn files go out of the way, and nothing else does."""

import json
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from airflow_provider_ernest.command_line import main
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.store import files, records
from airflow_provider_ernest.store.catalogue import DECISION
from airflow_provider_ernest.store.records import (
    DIGEST,
    SET_ASIDE,
    list_set_aside,
    place_of,
    read_or_skip,
    sealed,
    set_aside_if_damaged,
)
from airflow_provider_ernest.store.store import ModelStore
from tests import examples
from tests.examples import model
from tests.unit.store.store_samples import KINDS, LISTED, MADE, age, all_of

TORN = {
    "empty": b"",
    "in the middle": b'{"schema": 1, "model_id": ',
    "not UTF-8": b'{"job": "\xff\xfe"}',
    "zeros": b"\0" * 64,
    "two documents": b'{"schema": 1}{"schema": 1}',
}


@pytest.fixture
def _at_once(monkeypatch):
    """As if every file had been left alone for long: not all storages let a test change its times."""
    monkeypatch.setattr(files, "UNTOUCHED", timedelta(seconds=-60))


def tear(path, content=b'{"schema"'):
    path.write_bytes(content)


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("content", TORN.values(), ids=TORN)
def test_a_torn_file_is_moved_with_its_folders_and_named_with_the_remedy(root, content, caplog):
    store = ModelStore(root)
    old, new = examples.model(), examples.model(1)
    store.save(old)
    path = store.save(new)
    tear(path, content)

    assert store.latest("pca", "m5.large") == old

    (moved,) = (root / SET_ASIDE / "pca" / "m5.large" / "models").iterdir()
    assert str(moved.name).startswith(path.name)
    assert not path.exists()
    assert moved.read_bytes() == content
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    for said in (str(path), str(moved), "ernest store list"):
        assert said in record.getMessage()


@pytest.mark.usefixtures("_at_once")
def test_what_was_set_aside_is_listed_with_problem_and_time(root):
    store, kind = ModelStore(root), "profile"
    torn, whole = MADE[kind](1), MADE[kind]()
    store.save(whole)
    path = store.save(torn)
    tear(path)

    assert all_of(store, kind) == [whole]

    (found,) = list_set_aside(root)
    assert str(found.path.parent.name) == str(path.parent.name)
    assert str(found.path.name).startswith(path.name)
    assert "9 bytes" in found.problem
    assert "If you have an undamaged copy" in found.problem
    since = datetime.now(UTC) - datetime.fromisoformat(found.at)
    assert timedelta(seconds=-5) < since < timedelta(minutes=5)


@pytest.mark.usefixtures("_at_once")
def test_newer_foreign_and_misplaced_files_stay_where_they_are(root, caplog):
    store, model = ModelStore(root), examples.model()
    folder = store.save(model).parent
    contents = {
        "99991231T000000.000000Z-newer.json": json.dumps(sealed({**model.to_dict(), "schema": 999})),
        "99991231T000001.000000Z-foreign.json": "[]",
        "99991231T000002.000000Z-other.json": json.dumps(sealed(examples.model(job="sort").to_dict())),
        "99991231T000003.000000Z-deep.json": "[" * 100_000 + "]" * 100_000,
        "notes.txt": "not JSON",
    }
    for name, content in contents.items():
        (folder / name).write_text(content)

    assert store.history("pca", "m5.large") == [model]

    assert list_set_aside(root) == []
    for name, content in contents.items():
        assert (folder / name).read_text() == content
        assert any(name in record.getMessage() for record in caplog.records)


def test_a_file_that_may_still_be_growing_is_left_to_its_writer(tmp_path, caplog):
    """A program that copies a store writes under the final names, and not whole."""
    source, target = ModelStore(tmp_path / "one"), ModelStore(tmp_path / "two")
    content = source.save(examples.model()).read_bytes()
    path = place_of(examples.model()).path(tmp_path / "two")
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.write(content[:100])
        file.flush()

        assert target.latest("pca", "m5.large") is None
        assert list_set_aside(tmp_path / "two") == []
        assert str(path) in caplog.text
        file.write(content[100:])

    assert target.latest("pca", "m5.large") == examples.model()


def test_a_file_from_the_future_is_left_alone(tmp_path):
    """The clock of whoever writes it may be ahead."""
    path = ModelStore(tmp_path).save(examples.model())
    tear(path)
    age(path, seconds=-7200.0)

    assert ModelStore(tmp_path).latest("pca", "m5.large") is None
    assert path.exists()


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("found_by", ["its id", "the listing", "whoever reads all"])
def test_what_was_set_aside_is_listed_no_more(root, found_by):
    store, reader, kind = ModelStore(root), ModelStore(root), DECISION
    torn, whole = MADE[kind](1), MADE[kind]()
    store.save(whole)
    path = store.save(torn)
    assert len(reader.catalogue.entries()) == 2
    tear(path)

    if found_by == "its id":
        with pytest.raises(StoreError, match=r"not JSON|no readable"):
            store.load(type(torn), "pca", "m5.large", torn.id)
    elif found_by == "the listing":
        assert all_of(store, kind) == [whole]
    else:
        assert list(store.all_documents()) == [whole]

    for catalogue in (store.catalogue, reader.catalogue, ModelStore(root).catalogue):
        assert [entry.id for entry in catalogue.entries()] == [whole.id]
    # Put right again, as a copy does.
    ModelStore(root).save(torn)
    assert len(reader.catalogue.entries()) == 2
    assert all_of(store, kind) == [whole, torn]


@pytest.mark.usefixtures("_at_once")
def test_nothing_that_was_set_aside_is_overwritten(root):
    store = ModelStore(root)
    for number in range(3):
        tear(store.save(examples.model()), f'{{"torn": {number}'.encode())
        assert store.latest("pca", "m5.large") is None

    found = list_set_aside(root)
    assert sorted(each.path.read_bytes()[-1:] for each in found) == [b"0", b"1", b"2"]


@pytest.mark.usefixtures("_at_once")
def test_two_readers_at_once_set_it_aside_once(root, monkeypatch):
    store = ModelStore(root)
    path = store.save(examples.model())
    tear(path)
    real = records.move_aside

    def another_was_faster(source, folder):
        monkeypatch.setattr(records, "move_aside", real)
        assert ModelStore(root).latest("pca", "m5.large") is None
        return real(source, folder)

    monkeypatch.setattr(records, "move_aside", another_was_faster)

    assert store.latest("pca", "m5.large") is None
    assert len(list_set_aside(root)) == 1


def test_a_whole_file_that_somebody_puts_there_meanwhile_stays(tmp_path, monkeypatch):
    path = ModelStore(tmp_path).save(examples.model())
    whole = path.read_bytes()
    tear(path)
    age(path)
    real = records.move_aside

    def repaired(source, folder):
        source.write_bytes(whole)
        return real(source, folder)

    monkeypatch.setattr(records, "move_aside", repaired)

    assert not set_aside_if_damaged(tmp_path, path)
    assert ModelStore(tmp_path).latest("pca", "m5.large") == examples.model()
    assert list_set_aside(tmp_path) == []


def test_where_nothing_may_be_moved_it_is_named_only(tmp_path, monkeypatch, caplog):
    """As for a process that may only read."""
    store = ModelStore(tmp_path)
    store.save(examples.model())
    path = store.save(examples.model(1))
    tear(path)
    age(path)

    def refuse(self, *arguments, **options):
        raise OSError(30, "Read-only file system", str(self))

    for method in ("mkdir", "unlink", "rename"):
        monkeypatch.setattr(Path, method, refuse)

    assert store.latest("pca", "m5.large") == examples.model()
    assert str(path) in caplog.text
    assert path.exists()


@pytest.fixture
def _quiet(caplog):
    """Thousands of warnings are meant here."""
    caplog.set_level(logging.CRITICAL)


def read_everything(store):
    return {kind: all_of(store, kind) for kind in KINDS}


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("kind", ["model", "profile"])
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
    assert f"{path} was set aside: Its content does not match its digest" in caplog.text
    (aside,) = list_set_aside(tmp_path)
    assert "`ernest fit FILE --store`" in aside.problem
    assert [entry.id for entry in store.catalogue.entries()] == [old.id]
    store.save(new)
    assert store.latest("pca", "m5.large") == new


def test_a_file_without_a_digest_is_named_and_left_to_its_owner(tmp_path, caplog):
    store = ModelStore(tmp_path)
    path = store.save(model())
    path.write_text(json.dumps(model().to_dict()))
    age(path)

    assert store.latest("pca", "m5.large") is None
    with pytest.raises(StoreError, match="ernest fit FILE --store"):
        store.load(Model, "pca", "m5.large", model().id)
    assert path.exists()
    assert "has no digest" in caplog.text


def test_a_model_of_corrected_runs_comes_into_the_store_by_a_fit(tmp_path, capsys):
    store, file = ModelStore(tmp_path / "store"), tmp_path / "edited.json"
    runs = [
        Observation(
            index=index, machines=1 + index % 4, scale=0.1, seconds=9 + 40 / (1 + index % 4) + index % 3
        )
        for index in range(8)
    ]
    wrong = train([*runs, replace(runs[0], index=8, seconds=900.0)], job="pca")
    shown = json.loads(store.save(wrong).read_text())
    assert shown.pop(DIGEST)
    shown["observations"].pop()
    file.write_text(json.dumps(shown))

    assert main(["fit", str(file), "--job", "pca", "--store", str(store.root)]) == 0

    newest = store.latest("pca", "local")
    assert newest.id > wrong.id
    assert [run.seconds for run in newest.observations] == [run.seconds for run in runs]
    assert f"written: {store.root}/pca/local/models/{newest.id}.json" in capsys.readouterr().out


def test_temporary_files_of_killed_writers_are_never_read(tmp_path, caplog):
    store = ModelStore(tmp_path)
    for number, kind in enumerate(KINDS):
        path = store.save(MADE[kind]())
        old = path.with_name(f".{path.name}.0123456{number}")
        old.write_bytes(path.read_bytes()[:100])
        age(old)
        path.with_name(f".{path.name}.abcdef0{number}").write_text("at work")
        path.with_name(".DS_Store").write_text("a stranger's")
    # Where earlier versions kept hashes of applications.
    (tmp_path / ".artifacts" / "m5.large" / "decisions").mkdir(parents=True)
    (tmp_path / ".artifacts" / "m5.large" / "decisions" / "1.json").write_text("{}")

    for kind in KINDS:
        assert all_of(ModelStore(tmp_path), kind) == [MADE[kind]()]
    assert len(ModelStore(tmp_path).catalogue.entries()) == len(LISTED)
    assert len(list(store.all_documents())) == len(KINDS)
    assert caplog.records == []
