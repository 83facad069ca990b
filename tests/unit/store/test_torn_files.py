"""What a crash, a failing disk or a hand leaves in a store's files."""

import json
import logging
from dataclasses import replace

import pytest

from airflow_provider_ernest.cli.main import main
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.store.catalogue import FOLDER, MOST_UNWRITTEN, Catalogue, entry_of
from airflow_provider_ernest.store.records import DIGEST, list_set_aside, read_or_skip
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import model
from tests.unit.store.store_samples import KINDS, LISTED, MADE, age, all_of


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
    assert "bears no digest" in caplog.text


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


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"startup_second": 9.0}, "'startup_second' is unknown"),
        (
            {"observations": [{"index": 0, "machines": 2, "scale": 0.1, "secs": 5.0}]},
            "missing required field `seconds` - at `$.observations[0]`",
        ),
        ({"startup_seconds": "inf"}, "startup_seconds=inf is not a finite number"),
        ({DIGEST: "0" * 64}, "does not agree with its digest"),
    ],
)
def test_an_edited_model_with_a_mistake_is_refused_by_name(tmp_path, change, problem, capsys):
    file = tmp_path / "edited.json"
    file.write_text(json.dumps({**model().to_dict(), **change}))

    assert main(["predict", str(file), "--machines", "4"]) == 1

    assert problem in capsys.readouterr().err


def test_temporary_files_of_killed_writers_are_never_read(tmp_path, caplog):
    store = ModelStore(tmp_path)
    for number, kind in enumerate(KINDS):
        path = store.save(MADE[kind]())
        old = path.with_name(f".{path.name}.0123456{number}")
        old.write_bytes(path.read_bytes()[:100])
        age(old)
        path.with_name(f".{path.name}.abcdef0{number}").write_text("at work")
        path.with_name(".DS_Store").write_text("a stranger's")

    for kind in KINDS:
        assert all_of(ModelStore(tmp_path), kind) == [MADE[kind]()]
    assert len(ModelStore(tmp_path).catalogue.entries()) == len(LISTED)
    assert len(list(store.all_documents())) == len(KINDS)
    assert caplog.records == []
