"""What is removed is gone for everyone, and stays gone; what comes back is listed again."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from airflow_provider_ernest.documents import Configuration
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError
from airflow_provider_ernest.store import catalogue
from airflow_provider_ernest.store.catalogue import FOLDER, Catalogue, StoreScan, entry_of
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.store.stored_documents import MODELS, with_digest
from tests.unit.model.sample_records import a_model, an_entry
from tests.unit.model.store_samples import KINDS, LISTED, MADE, all_of, id_of, remove


def ids(root):
    return [entry.id for entry in Catalogue(root).entries()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_is_removed_and_no_other(root, kind):
    store = ModelStore(root)
    for each in KINDS:
        for number in range(2):
            store.save_any(MADE[each](number))

    assert remove(store, kind, MADE[kind](1))

    for each in KINDS:
        assert all_of(store, each) == [MADE[each](number) for number in range(1 if each == kind else 2)]
    assert len(ids(root)) == 2 * len(LISTED) - (kind in LISTED)
    assert not remove(store, kind, MADE[kind](1))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_missing_is_not_removed(root, kind):
    assert not remove(ModelStore(root), kind, MADE[kind]())
    ModelStore(root).save(a_model(7))
    assert not remove(ModelStore(root), kind, MADE[kind]())
    assert ids(root) == [a_model(7).model_id]


@pytest.mark.parametrize(
    "name", ["..", "../../escape", "/etc/passwd", "a/b", "a\0b", ".catalogue", "x" * 5000]
)
def test_hostile_names_remove_nothing_outside(tmp_path, name):
    root = tmp_path / "models"
    outside = tmp_path / "escape.json"
    outside.write_text("mine")
    store, model = ModelStore(root), a_model(job=name, instance_type=name, model_id=name)
    store.save(model)
    store.save(a_model())

    assert remove(store, "model", model)

    assert outside.read_text() == "mine"
    assert ids(root) == [a_model().model_id]
    assert not remove(store, "model", model)


def test_a_kind_that_is_none_is_refused(tmp_path):
    with pytest.raises(InvalidParameterError, match=r"kind='song' .* production, mark, observation"):
        ModelStore(tmp_path).remove("song", job="pca", instance_type="m5.large", document_id="1")
    with pytest.raises(InvalidParameterError, match="model_id"):
        ModelStore(tmp_path).remove("model", job="pca", instance_type="m5.large", document_id="")


def test_readers_that_go_on_see_it_go(root):
    store, reader = ModelStore(root), ModelStore(root)
    for number in range(3):
        store.save(a_model(number))
    assert len(reader.catalogue.entries()) == 3

    remove(ModelStore(root), "model", a_model(1))

    assert [entry.id for entry in reader.catalogue.entries()] == [a_model(0).model_id, a_model(2).model_id]


def test_removing_and_adding_again_and_again(root):
    reader = Catalogue(root)
    for _ in range(3):
        ModelStore(root).save_any(a_model())
        assert len(reader.entries()) == len(ids(root)) == 1
        assert remove(ModelStore(root), "model", a_model())
        assert reader.entries() == ids(root) == []


def test_a_store_that_has_seen_it_go_lists_it_again_by_any_way_of_saving(root):
    store = ModelStore(root)
    store.save(a_model())
    remove(store, "model", a_model())

    store.save(a_model())

    assert ids(root) == [a_model().model_id]


@pytest.mark.parametrize("ahead", ["the adder's clock", "the remover's clock"])
def test_clocks_that_differ_change_nothing_for_those_that_know_of_each_other(root, ahead, monkeypatch):
    def set_clock(hours):
        class Clock(datetime):
            @classmethod
            def now(cls, tz=None):
                return datetime.now(tz) + timedelta(hours=hours)

        monkeypatch.setattr(catalogue, "datetime", Clock)

    set_clock(2 if ahead == "the adder's clock" else 0)
    ModelStore(root).save(a_model())
    set_clock(0 if ahead == "the adder's clock" else 2)
    remove(ModelStore(root), "model", a_model())
    assert ids(root) == []
    set_clock(0)
    ModelStore(root).save_any(a_model())
    assert ids(root) == [a_model().model_id]


def test_merging_keeps_what_is_gone_gone(root, monkeypatch):
    monkeypatch.setattr(catalogue, "MOST_LOOSE", 4)
    monkeypatch.setattr(catalogue, "MOST_SEGMENTS", 2)
    reader = Catalogue(root)
    for number in range(30):
        ModelStore(root).save(a_model(number))
        if number % 3:
            remove(ModelStore(root), "model", a_model(number))
        expected = [a_model(each).model_id for each in range(0, number + 1, 3)]
        assert [entry.id for entry in reader.entries()] == ids(root) == expected


def segments(root):
    return [path for path in (root / FOLDER).iterdir() if path.name.startswith("segment-")]


def merge_all(root, monkeypatch):
    """Let the next writer merge all there is."""
    with monkeypatch.context() as patched:
        patched.setattr(catalogue, "MOST_SEGMENTS", -1)
        patched.setattr(catalogue, "MOST_LOOSE", -1)
        Catalogue(root).add(an_entry("merger"))
    (segment,) = segments(root)
    return segment.read_text()


def test_merging_forgets_the_entry_at_once_and_the_removal_after_a_month(root, monkeypatch):
    store, reader = ModelStore(root), Catalogue(root)
    store.save(a_model())
    assert len(reader.entries()) == 1
    remove(store, "model", a_model())

    first = merge_all(root, monkeypatch)
    assert [json.loads(line).get("is_removed", False) for line in sorted(first.splitlines())].count(True) == 1
    assert len(first.splitlines()) == 2
    monkeypatch.setattr(catalogue, "REMOVALS_KEPT", timedelta(0))
    second = merge_all(root, monkeypatch)

    assert len(second.splitlines()) == 1
    assert ids(root) == [entry.id for entry in reader.entries()] == ["merger"]


def test_a_merger_that_read_before_brings_nothing_back(root):
    """It holds the line that lists the thing while another one removes it."""
    store = ModelStore(root)
    store.save(a_model())
    (path,) = [path for path in (root / FOLDER).iterdir() if path.name.endswith(".json")]
    line = path.read_text().strip()
    remove(store, "model", a_model())

    store.catalogue._lines.write_segment([line])

    assert ids(root) == []


def test_a_scan_that_read_before_brings_nothing_back(root, monkeypatch):
    ModelStore(root).save(a_model())
    ModelStore(root).save(a_model(1))
    for path in list((root / FOLDER).iterdir()):
        path.unlink()
    real = StoreScan.scan

    def remove_meanwhile(self, known):
        scan = real(self, known)
        monkeypatch.setattr(StoreScan, "scan", real)
        path = MODELS.path(root, "pca", "m5.large", a_model().model_id)
        path.unlink()
        key = entry_of(a_model()).key
        other = Catalogue(root)
        other.remove(key, at=catalogue.time_after(None))
        return scan

    monkeypatch.setattr(StoreScan, "scan", remove_meanwhile)

    Catalogue(root).entries()
    assert ids(root) == [a_model(1).model_id]


def test_the_first_scan_of_a_store_does_not_bring_back_what_was_removed_before(root):
    for number in range(3):
        ModelStore(root).save(a_model(number))
    (root / FOLDER / "complete").unlink()
    remove(ModelStore(root), "model", a_model(1))

    assert ids(root) == [a_model(0).model_id, a_model(2).model_id]


@pytest.mark.parametrize("damage", ["the folder was deleted", "it cannot be written"])
def test_a_document_is_removed_where_the_catalogue_is_broken(tmp_path, damage, caplog, monkeypatch):
    store, reader = ModelStore(tmp_path), Catalogue(tmp_path)
    for number in range(2):
        store.save(a_model(number))
    assert len(reader.entries()) == 2
    if damage == "it cannot be written":

        def refuse(self, name, line):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(catalogue.MergedLines, "add", refuse)
            assert remove(store, "model", a_model())
        assert "No space left" in caplog.text
        assert str(tmp_path / FOLDER) in caplog.text or FOLDER in caplog.text
    for path in list((tmp_path / FOLDER).iterdir()):
        path.unlink()
    if damage == "the folder was deleted":
        assert remove(store, "model", a_model())

    expected = [a_model(1).model_id]
    assert [entry.id for entry in store.catalogue.entries()] == expected
    assert ids(tmp_path) == [entry.id for entry in reader.entries()] == expected


def test_what_could_not_be_unlisted_is_when_it_is_removed_again(tmp_path, monkeypatch):
    ModelStore(tmp_path).save(a_model())
    MODELS.path(tmp_path, "pca", "m5.large", a_model().model_id).unlink()
    assert len(ids(tmp_path)) == 1

    assert remove(ModelStore(tmp_path), "model", a_model())

    assert ids(tmp_path) == []
    assert not remove(ModelStore(tmp_path), "model", a_model())


def test_a_catalogue_that_cannot_be_read_hinders_no_removal(tmp_path, caplog):
    store = ModelStore(tmp_path)
    (tmp_path / FOLDER).write_text("in the way")
    path = store.save(a_model())
    caplog.clear()

    assert remove(store, "model", a_model())

    assert not path.exists()
    assert str(path) in caplog.text
    (tmp_path / FOLDER).unlink()
    assert ids(tmp_path) == []


def test_what_may_not_be_deleted_is_an_error_and_stays_listed(tmp_path, monkeypatch):
    store = ModelStore(tmp_path)
    store.save(a_model())

    def refuse(self, *arguments, **options):
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        with pytest.raises(StoreError, match=r"cannot be deleted.*Permission denied"):
            remove(store, "model", a_model())

    assert ids(tmp_path) == [a_model().model_id]


def test_readers_of_a_catalogue_that_was_made_again_begin_anew(root):
    """Whoever made it again knew nothing of what was removed in the meantime."""
    store, reader = ModelStore(root), Catalogue(root)
    for number in range(2):
        store.save(a_model(number))
    assert len(reader.entries()) == 2
    for path in list((root / FOLDER).iterdir()):
        path.unlink()
    MODELS.path(root, "pca", "m5.large", a_model().model_id).unlink()
    assert ids(root) == [a_model(1).model_id]

    assert [entry.id for entry in reader.entries()] == [a_model(1).model_id]


def test_all_documents_come_job_by_job(root, caplog):
    store = ModelStore(root)
    assert list(store.all_documents()) == []
    documents = [
        MADE[kind](number, job=job) for job in ("join", "pca") for kind in KINDS for number in (0, 1)
    ]
    for document in reversed(documents):
        store.save_any(document)
    misplaced = MODELS.path(root, "pca", "m5.large", "misplaced")
    misplaced.write_text(json.dumps(with_digest(a_model(9, job="join"))))
    (root / "notes.txt").write_text("no job")

    found = list(store.all_documents())

    assert sorted(map(repr, found)) == sorted(map(repr, documents))
    assert [document.job for document in found] == [
        job for job in ("join", "pca") for _ in range(2 * len(KINDS))
    ]
    assert "misplaced.json" in caplog.text
    assert {document.job for document in store.all_documents()} == {"join", "pca"}


@pytest.mark.parametrize("kind", KINDS)
def test_any_document_is_saved_where_its_kind_lies(root, kind):
    store = ModelStore(root)

    path = store.save_any(MADE[kind]())

    assert path.name == f"{id_of(kind, MADE[kind]())}.json"
    assert all_of(ModelStore(root), kind) == [MADE[kind]()]
    assert store.save_any(MADE[kind]()) == path
    assert len(ids(root)) == (kind in LISTED)


def test_what_no_store_keeps_is_refused(tmp_path):
    with pytest.raises(InvalidDocumentError, match="keeps no Configuration"):
        ModelStore(tmp_path).save_any(Configuration(machines=1))


def test_an_earlier_version_of_the_package_lists_nothing_by_a_removal(tmp_path):
    """It knows entries only, and must not take the removal for one."""
    from airflow_provider_ernest.store.catalogue import CatalogueEntry

    line = catalogue.Line(entry_of(a_model()).key, datetime.now(UTC).isoformat(), None)

    with pytest.raises(InvalidDocumentError):
        CatalogueEntry.from_dict(json.loads(catalogue.line_text(line)))


def test_any_document_is_saved_where_the_catalogue_cannot_be_read(tmp_path, caplog):
    (tmp_path / FOLDER).write_text("in the way")

    path = ModelStore(tmp_path).save_any(a_model())

    assert ModelStore(tmp_path).latest("pca", "m5.large") == a_model()
    assert str(path) in caplog.text
