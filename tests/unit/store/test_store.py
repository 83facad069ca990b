"""A model store keeps documents for good, by job and type of machine, on any storage."""

import errno
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from upath import UPath

from airflow_provider_ernest.documents.decisions import Configuration, DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError, StoreError
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.store.catalogue import Catalogue, place
from airflow_provider_ernest.store.store import ModelStore
from benchmarks.table1 import seconds_of
from tests import examples
from tests.examples import decision_record, observe, production_run
from tests.unit.store.store_samples import KINDS, LISTED, MADE, all_of, remove, save_elsewhere

MACHINES, SCALE = [1, 2, 4, 8, 16, 1], [0.1, 0.1, 0.1, 0.1, 0.1, 0.02]
OBSERVATIONS = observe(
    executors=MACHINES, scale=SCALE, seconds=seconds_of("pca", executors=MACHINES, scale=SCALE)
)


def a_model(job="pca", instance_type="m5.large"):
    return train(OBSERVATIONS, job=job, instance_type=instance_type)


def test_what_is_missing_is_told_from_what_cannot_be_read(root):
    store, path = ModelStore(root), root / "pca" / "m5.large" / "models" / "2026.json"
    with pytest.raises(StoreError, match="no readable model 2026 at") as missing:
        store.load(Model, "pca", "m5.large", "2026")
    path.parent.mkdir(parents=True)
    path.write_text('{"schema"')
    with pytest.raises(StoreError, match="not JSON") as torn:
        store.load(Model, "pca", "m5.large", "2026")

    assert isinstance(missing.value.__cause__, FileNotFoundError)
    assert not isinstance(torn.value.__cause__, FileNotFoundError)


class StrangeStorage:
    """A storage whose library has errors of its own, or is not installed."""

    name = "models"

    def __init__(self, error):
        self.error = error

    def __truediv__(self, name):
        return self

    def __str__(self):
        return "strange://models"

    def __getattr__(self, name):
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ImportError("Install s3fs to access S3"), r"Install s3fs to access S3\. Install the package"),
        (ValueError("embedded null byte"), r"ValueError: embedded null byte Check the store's address"),
        (RuntimeError("Unable to locate credentials"), r"Unable to locate credentials Check .* connection"),
    ],
)
def test_whatever_fails_in_a_storages_library_is_a_store_error(error, said):
    store = ModelStore(StrangeStorage(error))
    for use in (
        lambda: store.newest(Model, "pca", "m5.large"),
        lambda: store.latest_of_jobs("m5.large", limit=5),
        lambda: store.load(Model, "pca", "m5.large", "2026"),
        lambda: store.save(decision_record()),
        store.catalogue.entries,
    ):
        with pytest.raises(StoreError, match=said):
            use()


def test_the_newest_decisions_and_production_runs_are_given_oldest_first(root):
    store = ModelStore(root)
    for form, made in ((DecisionRecord, decision_record), (ProductionRun, production_run)):
        for number in (2, 0, 3, 1):
            store.save(made(number))
        assert store.newest(form, "pca", "m5.large") == [made(number) for number in range(4)]
        assert store.newest(form, "pca", "m5.large", limit=2) == [made(2), made(3)]


def test_an_empty_store_has_no_models(root):
    store = ModelStore(root)

    assert store.newest(Model, "pca", "m5.large") == []
    assert store.newest(DecisionRecord, "pca", "m5.large") == []
    assert store.newest(ProductionRun, "pca", "m5.large") == []
    assert store.latest_of_jobs("m5.large", limit=50) == []
    assert store.catalogue.entries() == []
    assert not root.exists()


def test_the_newest_model_of_each_job_newest_first(root):
    store = ModelStore(root)
    jobs = ["pca", "sort", "sort", "../x", "pca"]
    models = [a_model(job=job) for job in jobs]
    for model in (*models, a_model(job="join", instance_type="m5.xlarge")):
        store.save(model)
    _, _, sort, hostile, pca = models

    assert store.latest_of_jobs("m5.large", limit=50) == [pca, hostile, sort]
    assert store.latest_of_jobs("m5.large", limit=2) == [pca, hostile]
    assert store.latest_of_jobs("m5.large", limit=2, other_than="pca") == [hostile, sort]


def test_saving_again_is_allowed_and_overwriting_is_not(root):
    store, record = ModelStore(root), decision_record()
    path = store.save(record)
    before = path.read_text()

    assert store.save(record) == path
    with pytest.raises(StoreError, match=f"Decision {record.id}"):
        store.save(replace(record, scale=0.5))

    assert path.read_text() == before


HOSTILE = [
    "..",
    ".",
    "../../escape",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "a\0b",
    ".hidden",
    "größe 💥",
    "%2E%2E",
    "x" * 5000,
    "x" * 4999,
]


def test_hostile_names_stay_inside_the_store_and_do_not_collide(tmp_path):
    root = tmp_path / "deep" / "models"
    store, models = ModelStore(root), [a_model(job=name, instance_type=name) for name in HOSTILE]

    paths = [store.save(model) for model in models]

    assert all(path.resolve().is_relative_to(root.resolve()) for path in paths)
    assert {len(path.relative_to(root).parts) for path in paths} == {4}
    assert len({path.parent for path in paths}) == len(HOSTILE)
    assert [store.newest(Model, name, name) for name in HOSTILE] == [[model] for model in models]
    assert [entry.name for entry in tmp_path.iterdir()] == ["deep"]


@pytest.mark.parametrize("which", ["job", "instance_type"])
def test_empty_names_are_refused(tmp_path, which):
    names = {"job": "pca", "instance_type": "m5.large", which: ""}

    with pytest.raises(InvalidParameterError, match=which):
        ModelStore(tmp_path).newest(Model, **names)
    with pytest.raises(InvalidParameterError, match=which):
        ModelStore(tmp_path).save(a_model(**names))


def test_of_writers_of_one_id_one_wins_whole(tmp_path):
    model = a_model()
    rivals = [replace(model, startup_seconds=float(second)) for second in range(8)]

    def save(rival):
        try:
            ModelStore(tmp_path).save(rival)
        except StoreError:
            return False
        return True

    with ThreadPoolExecutor(max_workers=8) as pool:
        won = list(pool.map(save, rivals))

    assert won.count(True) == 1
    assert ModelStore(tmp_path).newest(Model, "pca", "m5.large") == [rivals[won.index(True)]]


def test_a_model_that_could_not_be_read_back_is_not_written(tmp_path):
    model = a_model()
    poisoned = replace(model, startup_seconds=float("nan"))

    with pytest.raises(StoreError, match="could not be read back"):
        ModelStore(tmp_path).save(poisoned)
    assert list(tmp_path.iterdir()) == []


def test_files_are_as_readable_as_the_users_mask_allows(tmp_path):
    path = ModelStore(tmp_path).save(a_model())

    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_a_file_system_without_hard_links_will_do(tmp_path, monkeypatch):
    def refuse(self, target):
        raise PermissionError(errno.EPERM, "Operation not permitted", str(self))

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    store, model = ModelStore(tmp_path), a_model()

    folder = store.save(model).parent

    assert store.newest(Model, "pca", "m5.large") == [model]
    assert [path.name for path in folder.iterdir()] == [f"{model.id}.json"]
    with pytest.raises(StoreError, match="exists"):
        store.save(replace(model, startup_seconds=1.0))


def test_a_full_disk_leaves_nothing_half_written(tmp_path, monkeypatch):
    def refuse(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    store, model = ModelStore(tmp_path), a_model()
    folder = store.save(model).parent
    monkeypatch.setattr(os, "fsync", refuse)

    with pytest.raises(StoreError, match="No space left"):
        store.save(a_model())
    assert [path.name for path in folder.iterdir()] == [f"{model.id}.json"]


def ids(root):
    return [entry.id for entry in Catalogue(root).entries()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_is_removed_and_no_other(root, kind):
    store = ModelStore(root)
    for each in KINDS:
        for number in range(2):
            store.save(MADE[each](number))

    assert remove(store, kind, MADE[kind](1))

    for each in KINDS:
        assert all_of(store, each) == [MADE[each](number) for number in range(1 if each == kind else 2)]
    assert len(ids(root)) == 2 * len(LISTED) - (kind in LISTED)
    assert not remove(store, kind, MADE[kind](1))


@pytest.mark.parametrize(
    "name", ["..", "../../escape", "/etc/passwd", "a/b", "a\0b", ".catalogue", "x" * 5000]
)
def test_hostile_names_remove_nothing_outside(tmp_path, name):
    root = tmp_path / "models"
    outside = tmp_path / "escape.json"
    outside.write_text("mine")
    store, model = ModelStore(root), examples.model(job=name, instance_type=name, id=name)
    store.save(model)
    store.save(examples.model())

    assert remove(store, "model", model)

    assert outside.read_text() == "mine"
    assert ids(root) == [examples.model().id]
    assert not remove(store, "model", model)


def test_what_has_no_id_is_not_removed(tmp_path):
    with pytest.raises(InvalidParameterError, match="id="):
        ModelStore(tmp_path).remove("model", job="pca", instance_type="m5.large", document_id="")


def test_what_may_not_be_deleted_is_an_error_and_stays_listed(tmp_path, monkeypatch):
    store = ModelStore(tmp_path)
    store.save(examples.model())

    def refuse(self, *arguments, **options):
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        with pytest.raises(StoreError, match=r"cannot be deleted.*Permission denied"):
            remove(store, "model", examples.model())

    assert ids(tmp_path) == [examples.model().id]


def test_all_documents_come_job_by_job(root, caplog):
    store = ModelStore(root)
    assert list(store.all_documents()) == []
    documents = [
        MADE[kind](number, job=job) for job in ("join", "pca") for kind in KINDS for number in (0, 1)
    ]
    for document in reversed(documents):
        store.save(document)
    misplaced = place(Model, "pca", "m5.large", "misplaced").path(root)
    misplaced.write_text(json.dumps(examples.model(9, job="join").to_dict()))
    (root / "notes.txt").write_text("no job")

    found = list(store.all_documents())

    assert sorted(map(repr, found)) == sorted(map(repr, documents))
    assert [document.job for document in found] == [
        job for job in ("join", "pca") for _ in range(2 * len(KINDS))
    ]
    assert "misplaced.json" in caplog.text
    assert {document.job for document in store.all_documents()} == {"join", "pca"}


def test_what_no_store_keeps_is_refused(tmp_path):
    with pytest.raises(InvalidDocumentError, match="keeps no Configuration"):
        ModelStore(tmp_path).save(Configuration(executors=1))


def test_what_another_process_wrote_since_the_listing_is_not_overwritten(tmp_path, remembered):
    store = ModelStore(UPath(f"memory://bucket-{tmp_path.name}/models"))
    store.save(examples.model(0))
    assert len(store.newest(Model, "pca", "m5.large")) == 1
    save_elsewhere(store.root, examples.model(1), remembered)
    with pytest.raises(StoreError, match="exists"):
        store.save(replace(examples.model(1), artifact="another.jar"))
    assert store.load(Model, "pca", "m5.large", examples.model(1).id) == examples.model(1)
