"""The catalogue lists what the store holds, whoever wrote it and whatever lies about."""

import json
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from upath import UPath

from airflow_provider_ernest.exceptions import InvalidParameterError, StoreError
from airflow_provider_ernest.store import catalogue as merged_lines
from airflow_provider_ernest.store.catalogue import FOLDER, Catalogue, StoreScan, entry_of
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.store.stored_documents import MODELS, Shelf
from tests.unit.model.sample_records import a_decision, a_model, a_production_run, an_entry


def listed(root):
    """What someone sees who looks for the first time."""
    return Catalogue(root).entries()


def without_catalogue(root):
    """As an earlier version of the package leaves a store."""
    for path in (root / FOLDER).iterdir():
        path.unlink()
    (root / FOLDER).rmdir()


def names_in(folder):
    return sorted(str(path.name) for path in folder.iterdir())


def test_an_empty_store_lists_nothing(root):
    assert listed(root) == []
    assert not root.exists()


def test_what_is_saved_is_listed_oldest_first(root):
    store = ModelStore(root)
    documents = [a_model(), a_model(1, job="sort"), a_decision(), a_production_run()]
    for document in reversed(documents[:2]):
        store.save(document)
    store.save_decision(documents[2])
    store.save_production(documents[3])

    expected = [entry_of(document) for document in documents]
    assert store.catalogue.entries() == listed(root) == expected
    assert store.catalogue is store.catalogue


def test_a_reader_sees_what_others_add_later(root):
    reader = Catalogue(root)
    for number in range(4):
        ModelStore(root).save(a_model(number))
        assert len(reader.entries()) == number + 1


def test_saving_again_lists_once(root):
    for _ in range(3):
        ModelStore(root).save(a_model())

    assert listed(root) == [entry_of(a_model())]


def test_ids_need_only_be_unique_among_their_kind_and_job(root):
    store = ModelStore(root)
    store.save(a_model(model_id="same"))
    store.save(a_model(model_id="same", job="sort"))
    store.save(a_model(model_id="same", instance_type="m5.xlarge"))
    store.save_decision(a_decision(decision_id="same"))
    store.save_production(a_production_run(production_id="same"))

    assert len(listed(root)) == 5


def test_merging_changes_nothing_that_is_seen(root, monkeypatch):
    monkeypatch.setattr(merged_lines, "MOST_LOOSE", 5)
    entries = [an_entry(f"{number:02d}") for number in range(30)]
    reader = Catalogue(root)
    for entry in entries:
        Catalogue(root).add(entry)
        assert entry in reader.entries()

    assert reader.entries() == listed(root) == entries
    assert len(names_in(root / FOLDER)) < 15


def test_the_first_reader_of_a_store_from_before_the_catalogue_reads_its_documents(root):
    store = ModelStore(root)
    documents = [a_model(), a_model(1, job="../x"), a_decision(), a_production_run()]
    saves = [store.save, store.save, store.save_decision, store.save_production]
    paths = [save(document) for document, save in zip(documents, saves, strict=True)]
    without_catalogue(root)
    expected = [entry_of(document) for document in documents]
    reader = Catalogue(root)

    assert reader.entries() == expected

    # Nobody reads them again.
    for path in paths:
        path.unlink()
    assert listed(root) == reader.entries() == expected


def test_a_document_that_cannot_be_read_now_hides_no_other_and_is_listed_later(tmp_path, monkeypatch, caplog):
    path = ModelStore(tmp_path).save(a_model())
    ModelStore(tmp_path).save(a_model(1))
    without_catalogue(tmp_path)
    clock = [0.0]
    reader = Catalogue(tmp_path, clock=lambda: clock[0])
    real = Path.read_text

    def refuse(self, **options):
        if self == path:
            raise OSError(5, "Input/output error", str(self))
        return real(self, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_text", refuse)
        assert reader.entries() == [entry_of(a_model(1))]
        assert str(path) in caplog.text

    clock[0] = 61.0
    assert reader.entries() == listed(tmp_path) == [entry_of(a_model()), entry_of(a_model(1))]


def test_a_folder_that_cannot_be_listed_now_hides_no_other_and_is_listed_later(tmp_path, monkeypatch, caplog):
    ModelStore(tmp_path).save(a_model())
    ModelStore(tmp_path).save(a_model(1, job="sort"))
    without_catalogue(tmp_path)
    real = Path.iterdir

    def refuse(self):
        if self.parent.name == "pca":
            raise PermissionError(13, "Permission denied", str(self))
        return real(self)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "iterdir", refuse)
        assert listed(tmp_path) == [entry_of(a_model(1, job="sort"))]
        assert "pca" in caplog.text

    assert len(listed(tmp_path)) == 2


def test_a_writer_reads_no_documents_but_its_own(root, monkeypatch):
    for number in range(5):
        ModelStore(root).save(a_model(number))
    without_catalogue(root)
    read = []
    real = Shelf.decode
    monkeypatch.setattr(Shelf, "decode", lambda self, text: read.append(text) or real(self, text))

    ModelStore(root).save(a_model(5))

    assert len(read) == 1, "to see that what it writes can be read"
    assert len(listed(root)) == 6


def test_an_old_store_is_listed_whole_after_its_writers_have_merged(root, monkeypatch):
    """A segment says that somebody merged, not that somebody looked through the store."""
    monkeypatch.setattr(merged_lines, "MOST_LOOSE", 2)
    ModelStore(root).save(a_model())
    without_catalogue(root)
    for number in range(1, 9):
        ModelStore(root).save(a_model(number))
    assert any(name.startswith("segment-") for name in names_in(root / FOLDER))

    assert listed(root) == [entry_of(a_model(number)) for number in range(9)]


def test_of_a_new_store_no_reader_reads_the_documents(root):
    paths = [ModelStore(root).save(a_model(number)) for number in range(3)]
    for path in paths:
        path.write_text("damaged")

    assert len(listed(root)) == 3


@pytest.mark.parametrize("save", ["save_decision", "save_production"])
def test_a_store_may_begin_with_any_document(root, save):
    path = getattr(ModelStore(root), save)(a_decision() if save == "save_decision" else a_production_run())
    path.write_text("damaged")

    assert len(listed(root)) == 1


def test_deleting_the_catalogue_heals_it_for_readers_that_go_on(root):
    store, clock = ModelStore(root), [0.0]
    store.save(a_model())
    reader = Catalogue(root, clock=lambda: clock[0])
    assert len(reader.entries()) == 1
    # Its writer dies before it has listed it.
    MODELS.write(root, a_model(1))
    assert len(reader.entries()) == 1

    without_catalogue(root)

    assert len(reader.entries()) == len(listed(root)) == 2
    # Again, and what the reader remembers is still there for others.
    without_catalogue(root)
    clock[0] = 61.0
    assert len(reader.entries()) == len(listed(root)) == 2
    MODELS.path(root, "pca", "m5.large", a_model().model_id).unlink()
    assert len(listed(root)) == 2, "others read what that reader wrote"


def test_a_store_that_may_only_be_read_is_looked_through_once_a_minute(tmp_path, monkeypatch, caplog):
    ModelStore(tmp_path).save(a_model())
    without_catalogue(tmp_path)

    def refuse(self, *arguments, **options):
        raise OSError(30, "Read-only file system", str(self))

    clock, looked = [0.0], []
    real = StoreScan.scan
    monkeypatch.setattr(StoreScan, "scan", lambda self, known: looked.append(clock[0]) or real(self, known))
    reader = Catalogue(tmp_path, clock=lambda: clock[0])
    with monkeypatch.context() as patched:
        patched.setattr(Path, "mkdir", refuse)
        for clock[0] in (0.0, 1.0, 59.0, 60.0, 61.0, 120.0):
            assert reader.entries() == [entry_of(a_model())]

    assert looked == [0.0, 60.0, 120.0]
    assert ["Read-only file system" in record.getMessage() for record in caplog.records] == [True]


def test_many_first_writers_at_once_list_everything_once(root):
    old = [a_model(number) for number in range(5)]
    for model in old:
        ModelStore(root).save(model)
    without_catalogue(root)
    new = [a_model(number) for number in range(5, 20)]

    with ThreadPoolExecutor(max_workers=5) as pool:
        list(pool.map(lambda model: ModelStore(root).save(model), new))

    assert listed(root) == [entry_of(model) for model in [*old, *new]]


def test_damaged_and_misplaced_documents_of_an_old_store_are_named(root, caplog):
    store = ModelStore(root)
    path = store.save(a_model())
    other = store.save(a_model(1, job="sort"))
    (path.parent / "misplaced.json").write_text(other.read_text())
    (path.parent / "torn.json").write_text('{"schema": 1')
    (root / "notes.txt").write_text("not a job")
    (root / "pca" / "notes.txt").write_text("not a type")
    without_catalogue(root)

    reader = Catalogue(root)
    for _ in range(2):
        assert [entry.job for entry in reader.entries()] == ["pca", "sort"]

    for name in ("misplaced.json", "torn.json"):
        assert len([record for record in caplog.records if name in record.getMessage()]) == 1


def test_damaged_files_of_the_catalogue_are_named_and_hide_nothing(root, caplog):
    ModelStore(root).save(a_model())
    ModelStore(root).save(a_model(1))
    folder = root / FOLDER
    whole = json.dumps(entry_of(a_model(2)).to_dict())
    (folder / "torn.json").write_text(whole[: len(whole) // 2])
    (folder / "newer.json").write_text(json.dumps({**json.loads(whole), "schema": 999}))
    (folder / "foreign.json").write_text('{"hello": "world"}\n')
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "segment-torn.jsonl").write_text(f"{whole}\n{whole[:20]}")

    assert listed(root) == [entry_of(a_model(number)) for number in range(3)]

    for name in ("torn.json", "newer.json", "foreign.json", "deep.json", "segment-torn.jsonl"):
        assert any(name in record.getMessage() for record in caplog.records)


def test_entries_that_can_be_of_no_document_hinder_no_scan(root):
    ModelStore(root).save(a_model())
    without_catalogue(root)
    for number, fields in enumerate([{"job": ""}, {"kind": "song"}, {"instance_type": ""}]):
        Catalogue(root).add(an_entry(str(number), **fields))

    assert len(listed(root)) == 4


@pytest.mark.parametrize("name", [".catalogue", "decisions", "production", "segment-1.jsonl", "..", "a/b"])
def test_no_job_lies_where_the_catalogue_or_the_records_lie(root, name):
    store = ModelStore(root)
    model = a_model(job=name, instance_type=name, model_id=name)
    decision = a_decision(job=name, instance_type=name, decision_id=name)
    run = a_production_run(job=name, instance_type=name, production_id=name)

    store.save(model)
    store.save_decision(decision)
    store.save_production(run)

    assert store.history(name, name) == [model]
    assert store.decisions(name, name) == [decision]
    assert store.productions(name, name) == [run]
    assert len(listed(root)) == 3
    without_catalogue(root)
    assert len(listed(root)) == 3


def test_an_entry_without_an_id_is_refused(tmp_path):
    with pytest.raises(InvalidParameterError, match="model_id"):
        ModelStore(tmp_path).save(a_model(model_id=""))
    assert listed(tmp_path) == []


def test_text_that_no_file_can_hold_is_refused(tmp_path):
    with pytest.raises(StoreError, match=r"cannot be written"):
        Catalogue(tmp_path).add(an_entry("1", job="\ud800"))


def test_a_document_is_saved_where_the_catalogue_cannot_be_written(tmp_path, caplog):
    (tmp_path / FOLDER).write_text("in the way")

    path = ModelStore(tmp_path).save(a_model())

    assert ModelStore(tmp_path).history("pca", "m5.large") == [a_model()]
    (record,) = caplog.records
    assert str(path) in record.getMessage()
    assert str(tmp_path / FOLDER) in record.getMessage()
    (tmp_path / FOLDER).unlink()
    assert listed(tmp_path) == [entry_of(a_model())]


@pytest.mark.parametrize("paths", ["of fsspec", "of Airflow"])
def test_a_file_system_that_remembers_listings_shows_what_others_write(tmp_path, monkeypatch, paths):
    """As those of object stores do, until they are told to forget."""
    new_path = UPath if paths == "of fsspec" else pytest.importorskip("airflow.sdk").ObjectStoragePath
    remembered = {}
    real = MemoryFileSystem.ls

    def remember(self, path, detail=True, **options):
        if (path, detail) not in remembered:
            remembered[path, detail] = real(self, path, detail=detail, **options)
        return remembered[path, detail]

    monkeypatch.setattr(MemoryFileSystem, "ls", remember)
    monkeypatch.setattr(MemoryFileSystem, "invalidate_cache", lambda self, path=None: remembered.clear())
    root = new_path(f"memory://bucket-{tmp_path.name}/models")
    reader = ModelStore(root)

    for number in range(3):
        before = dict(remembered)
        ModelStore(root).save(a_model(number))
        # Another process wrote that: this one still remembers what it saw before.
        remembered.clear()
        remembered.update(before)
        assert len(reader.catalogue.entries()) == number + 1
        assert len(reader.history("pca", "m5.large")) == number + 1


def test_a_folder_that_another_process_makes_at_that_moment_is_listed(tmp_path, monkeypatch):
    """Paths of URLs look whether it is a folder, and say later that it is none."""
    ModelStore(tmp_path).save(a_model())
    real, asked = Path.iterdir, []

    def not_yet(self):
        asked.append(self)
        if len(asked) == 1:
            raise NotADirectoryError(str(self))
        return real(self)

    monkeypatch.setattr(Path, "iterdir", not_yet)

    assert len(listed(tmp_path)) == 1


def test_threads_may_share_a_catalogue(tmp_path):
    # Not on fsspec's file system in memory: it shows files that are still being written, as no store does.
    catalogue = Catalogue(tmp_path)

    def add_and_look(number):
        entry = an_entry(f"{number:02d}")
        catalogue.add(entry)
        return entry in catalogue.entries()

    with ThreadPoolExecutor(max_workers=6) as pool:
        assert all(pool.map(add_and_look, range(30)))
    assert len(catalogue.entries()) == 30


def save(root, writer, count):
    merged_lines.MOST_LOOSE, merged_lines.MOST_SEGMENTS = 6, 3
    for number in range(count):
        ModelStore(Path(root)).save(a_model(model_id=f"{writer}-{number:03d}", job=f"job {number % 5}"))


def test_processes_that_save_at_once_into_an_old_store_list_everything_once(tmp_path):
    ModelStore(tmp_path).save(a_model(model_id="old"))
    without_catalogue(tmp_path)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=save, args=(str(tmp_path), writer, 30)) for writer in range(4)]
    for process in processes:
        process.start()
    reader = Catalogue(tmp_path)
    while any(process.is_alive() for process in processes):
        ids = [entry.id for entry in reader.entries()]
        assert len(set(ids)) == len(ids)
        processes[0].join(0.05)
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]

    expected = sorted(["old", *(f"{writer}-{number:03d}" for writer in range(4) for number in range(30))])
    assert [entry.id for entry in listed(tmp_path)] == [entry.id for entry in reader.entries()] == expected


def test_of_two_entries_of_one_thing_one_is_listed(tmp_path):
    entry = an_entry("1")
    Catalogue(tmp_path).add(entry)
    Catalogue(tmp_path).add(replace(entry, warnings=3))

    assert len(listed(tmp_path)) == 1
