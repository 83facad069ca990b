"""The model store: append-only, whole files only, hostile names."""

import errno
import json
import logging
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ernest.documents import DecisionRecord, Model, ProductionRun
from airflow_provider_ernest.exceptions import InvalidParameterError, StoreError
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.store.records import sealed, with_digest
from airflow_provider_ernest.store.store import ModelStore
from benchmarks.table1 import seconds_of
from tests.examples import decision_record, observe, production_run

MACHINES, SCALE = [1, 2, 4, 8, 16, 1], [0.1, 0.1, 0.1, 0.1, 0.1, 0.02]
OBSERVATIONS = observe(
    machines=MACHINES, scale=SCALE, seconds=seconds_of("pca", machines=MACHINES, scale=SCALE)
)


def a_model(job="pca", instance_type="m5.large"):
    return train(OBSERVATIONS, job=job, instance_type=instance_type)


def test_what_was_saved_is_read_back(root):
    store, model = ModelStore(root), a_model()

    path = store.save(model)

    assert store.load(Model, "pca", "m5.large", model.id) == model
    assert store.latest("pca", "m5.large") == model
    assert path.name == f"{model.id}.json"


def test_the_history_is_in_order_of_time(root):
    store = ModelStore(root)
    models = [a_model() for _ in range(5)]
    for model in (models[3], models[0], models[4], models[1], models[2]):
        store.save(model)

    assert store.history("pca", "m5.large") == models
    assert store.latest("pca", "m5.large") == models[-1]


def test_jobs_and_instance_types_are_kept_apart(root):
    store = ModelStore(root)
    mine, others = a_model(), [a_model(instance_type="m5.xlarge"), a_model(job="sort")]
    for model in (mine, *others):
        store.save(model)

    assert store.history("pca", "m5.large") == [mine]


@pytest.mark.parametrize(
    ("form", "file"),
    [
        (Model, "models/2026.json"),
        (DecisionRecord, "decisions/2026.json"),
        (ProductionRun, "production/2026.json"),
    ],
)
def test_what_is_missing_is_told_from_what_cannot_be_read(root, form, file):
    store, path = ModelStore(root), root / "pca" / "m5.large" / file
    with pytest.raises(StoreError, match=rf"{form.words} 2026 at") as missing:
        store.load(form, "pca", "m5.large", "2026")
    path.parent.mkdir(parents=True)
    path.write_text('{"schema"')
    with pytest.raises(StoreError, match="not JSON") as torn:
        store.load(form, "pca", "m5.large", "2026")

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
        lambda: store.history("pca", "m5.large"),
        lambda: store.latest_of_jobs("m5.large", limit=5),
        lambda: store.load(Model, "pca", "m5.large", "2026"),
        lambda: store.save(decision_record()),
        store.catalogue.entries,
    ):
        with pytest.raises(StoreError, match=said):
            use()


def test_a_file_that_cannot_be_read_hides_no_other(tmp_path, monkeypatch, caplog):
    store = ModelStore(tmp_path)
    old, new = a_model(), a_model()
    store.save(old)
    path = store.save(new)
    real = Path.read_text

    def refuse(self, **options):
        if self == path:
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, **options)

    monkeypatch.setattr(Path, "read_text", refuse)

    assert store.history("pca", "m5.large") == [old]
    assert store.latest("pca", "m5.large") == old
    assert str(path) in caplog.text


def test_decisions_and_production_runs_are_kept_beside_the_models(root, caplog):
    store, model = ModelStore(root), a_model()
    folder = store.save(model).parent.parent
    decisions = [decision_record(number) for number in range(4)]
    runs = [production_run(number) for number in range(4)]
    for number in (2, 0, 3, 1):
        decided_at = store.save(decisions[number])
        recorded_at = store.save(runs[number])

    assert store.newest(DecisionRecord, "pca", "m5.large") == decisions
    assert store.newest(ProductionRun, "pca", "m5.large") == runs
    assert store.newest(DecisionRecord, "pca", "m5.large", limit=2) == decisions[-2:]
    assert store.newest(ProductionRun, "pca", "m5.large", limit=3) == runs[-3:]
    assert decided_at == folder / "decisions" / f"{decisions[1].id}.json"
    assert recorded_at == folder / "production" / f"{runs[1].id}.json"

    assert store.history("pca", "m5.large") == [model]
    assert store.latest("pca", "m5.large") == model
    assert store.latest_of_jobs("m5.large", limit=5) == [model]
    assert caplog.records == []


def test_damaged_records_are_named_and_count_for_nothing(root, caplog):
    store = ModelStore(root)
    decision, run = decision_record(), production_run()
    decisions, runs = store.save(decision).parent, store.save(run).parent
    (decisions / "99991231T000000.000000Z-torn.json").write_text('{"schema": 1')
    (runs / "99991231T000001.000000Z-foreign.json").write_text("[]")
    (runs / "99991231T000002.000000Z-decision.json").write_text(json.dumps(with_digest(decision)))

    assert store.newest(DecisionRecord, "pca", "m5.large", limit=1) == [decision]
    assert store.newest(ProductionRun, "pca", "m5.large", limit=1) == [run]

    for name in ("torn.json", "foreign.json", "-decision.json"):
        assert any(name in record.getMessage() for record in caplog.records)


def test_a_record_is_not_overwritten(root):
    store = ModelStore(root)
    store.save(decision_record())
    store.save(production_run())

    store.save(decision_record())
    with pytest.raises(StoreError, match=r"Decision 2026"):
        store.save(decision_record(scale=0.5))
    with pytest.raises(StoreError, match=r"Production run 2026"):
        store.save(production_run(seconds=1.0))


def test_an_empty_store_has_no_models(root):
    store = ModelStore(root)

    assert store.history("pca", "m5.large") == []
    assert store.latest("pca", "m5.large") is None
    assert store.newest(DecisionRecord, "pca", "m5.large") == []
    assert store.newest(ProductionRun, "pca", "m5.large") == []
    assert store.latest_of_jobs("m5.large", limit=50) == []
    with pytest.raises(StoreError, match="no readable model 2026"):
        store.load(Model, "pca", "m5.large", "2026")


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
    store, model = ModelStore(root), a_model()
    path = store.save(model)
    before = path.read_text()

    assert store.save(model) == path
    with pytest.raises(StoreError, match=model.id):
        store.save(replace(model, startup_seconds=1.0))

    assert path.read_text() == before


def test_torn_and_foreign_files_do_not_hide_the_good_ones(root, caplog):
    store = ModelStore(root)
    old, new = a_model(), a_model()
    folder = store.save(old).parent
    whole = store.save(new).read_text()
    (folder / "99991231T000000.000000Z-torn.json").write_text(whole[: len(whole) // 2])
    (folder / "99991231T000001.000000Z-other.json").write_text('{"schema": 1, "hello": "world"}')
    (folder / "99991231T000002.000000Z-newer.json").write_text(
        json.dumps(sealed({**new.to_dict(), "schema": 999}))
    )
    (folder / "notes.txt").write_bytes(b"\xff\xfe not even text")

    with caplog.at_level(logging.WARNING):
        assert store.history("pca", "m5.large") == [old, new]
        assert store.latest("pca", "m5.large") == new

    for name in ("torn.json", "other.json", "newer.json", "notes.txt"):
        assert any(name in record.getMessage() for record in caplog.records)


def test_a_model_of_another_job_in_the_folder_is_skipped(root, caplog):
    """As on file systems that do not tell upper from lower case."""
    store, mine = ModelStore(root), a_model()
    folder = store.save(mine).parent
    (folder / "99991231T000000.000000Z-x.json").write_text(json.dumps(with_digest(a_model(job="PCA"))))

    with caplog.at_level(logging.WARNING):
        assert store.latest("pca", "m5.large") == mine
    assert "'PCA'" in caplog.text


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


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_inside_the_store(tmp_path, name):
    root = tmp_path / "deep" / "models"
    store, model = ModelStore(root), a_model(job=name, instance_type=name)

    path = store.save(model)

    assert path.resolve().is_relative_to(root.resolve())
    assert len(path.relative_to(root).parts) == 4
    assert store.history(name, name) == [model]
    assert [entry.name for entry in tmp_path.iterdir()] == ["deep"]


def test_hostile_names_do_not_collide(tmp_path):
    store = ModelStore(tmp_path)
    models = [a_model(job=name) for name in HOSTILE]
    folders = {store.save(model).parent for model in models}

    assert len(folders) == len(HOSTILE)
    assert [store.history(model.job, "m5.large") for model in models] == [[model] for model in models]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_ids_stay_inside_their_folder(tmp_path, name):
    store = ModelStore(tmp_path)
    decision, run = decision_record(id=name), production_run(id=name)
    folder = tmp_path / "pca" / "m5.large"

    assert store.save(decision).parent == folder / "decisions"
    assert store.save(run).parent == folder / "production"

    assert store.newest(DecisionRecord, "pca", "m5.large") == [decision]
    assert store.newest(ProductionRun, "pca", "m5.large") == [run]
    assert [entry.id for entry in store.catalogue.entries()] == [name, name]


@pytest.mark.parametrize("which", ["job", "instance_type"])
def test_empty_names_are_refused(tmp_path, which):
    names = {"job": "pca", "instance_type": "m5.large", which: ""}

    with pytest.raises(InvalidParameterError, match=which):
        ModelStore(tmp_path).history(**names)
    with pytest.raises(InvalidParameterError, match=which):
        ModelStore(tmp_path).save(a_model(**names))


def test_many_writers_at_once_lose_nothing(root):
    store = ModelStore(root)
    models = [a_model() for _ in range(24)]

    with ThreadPoolExecutor(max_workers=8) as pool:
        list(pool.map(store.save, models))

    assert store.history("pca", "m5.large") == models
    assert all(not path.name.startswith(".") for path in store.save(models[0]).parent.iterdir())


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
    assert ModelStore(tmp_path).history("pca", "m5.large") == [rivals[won.index(True)]]


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


def test_a_root_that_is_a_file_is_a_store_error(tmp_path):
    in_the_way = tmp_path / "models"
    in_the_way.write_text("")

    with pytest.raises(StoreError, match="models"):
        ModelStore(in_the_way).save(a_model())


def test_a_folder_that_is_a_file_is_a_store_error(tmp_path):
    (tmp_path / "pca" / "m5.large").mkdir(parents=True)
    (tmp_path / "pca" / "m5.large" / "models").write_text("")

    with pytest.raises(StoreError, match="cannot be read"):
        ModelStore(tmp_path).history("pca", "m5.large")


def test_a_file_system_without_hard_links_will_do(tmp_path, monkeypatch):
    def refuse(self, target):
        raise PermissionError(errno.EPERM, "Operation not permitted", str(self))

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    store, model = ModelStore(tmp_path), a_model()

    folder = store.save(model).parent

    assert store.history("pca", "m5.large") == [model]
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


@pytest.mark.parametrize("content", ["[]", "\N{SNOWMAN}", '{"schema": 999}'])
def test_what_is_no_document_is_not_overwritten_either(tmp_path, content):
    store, model = ModelStore(tmp_path), a_model()
    path = store.save(model)
    path.write_text(content, encoding="utf-16" if content == "\N{SNOWMAN}" else "utf-8")
    before = path.read_bytes()

    with pytest.raises(StoreError, match="exists") as refused:
        store.save(model)

    assert isinstance(refused.value.__cause__, FileExistsError)
    assert path.read_bytes() == before
