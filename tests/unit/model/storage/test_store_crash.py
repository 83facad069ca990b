"""A store after a crash at any byte: what was not hit is there, and what was hit is named."""

import logging

import pytest

from airflow_provider_ernest.store.catalogue import FOLDER, Catalogue, Line, entry_of, line_text
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.store.stored_documents import list_set_aside
from tests.unit.model.sample_records import a_model, an_entry
from tests.unit.model.store_samples import KINDS, LISTED, MADE, age, all_of, id_of, remove


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
    path = store.save_any(MADE[kind](1))
    others = {name: [MADE[name]()] for name in KINDS}
    for each in others.values():
        store.save_any(each[0])
    whole = path.read_bytes()
    for path_of_line in (tmp_path / FOLDER).glob(f"{id_of(kind, MADE[kind](1))}*"):
        # Nobody has listed it yet: so it needs not be listed no more, some thousand times.
        path_of_line.unlink()
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


def torn_at_any_byte(path):
    """Let a file end at each of its bytes, one after the other; tells how many it has, and restores it."""
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        yield content[:length]
    path.write_bytes(content)


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("which", ["a line", "a removal", "the mark"])
def test_a_file_of_the_catalogue_that_ends_at_any_byte_hides_no_other(tmp_path, which):
    store, folder = ModelStore(tmp_path), tmp_path / FOLDER
    expected = []
    for kind in LISTED:
        store.save_any(MADE[kind]())
        expected.append(entry_of(MADE[kind]()))
    hit = entry_of(MADE["model"](1))
    others = set(folder.iterdir()) - {folder / "complete"} if which == "the mark" else set(folder.iterdir())
    if which == "a line":
        store.catalogue.add(hit)
    elif which == "a removal":
        store.catalogue.remove(hit.key, at=store.catalogue.time_to_remove(hit.key))
    (path,) = set(folder.iterdir()) - others

    for content in torn_at_any_byte(path):
        listed = Catalogue(tmp_path).entries()
        assert [entry for entry in listed if entry != hit] == expected, content


@pytest.mark.usefixtures("_quiet")
def test_a_segment_that_ends_at_any_byte_keeps_the_lines_before(tmp_path):
    catalogue, folder = Catalogue(tmp_path), tmp_path / FOLDER
    entries = [an_entry(str(number)) for number in range(3)]
    catalogue._lines.write_segment([line_text(Line(entry.key, "", entry)) for entry in entries[:2]])
    (segment,) = folder.iterdir()
    catalogue.add(entries[2])
    catalogue._lines.mark()
    ends = [index for index, byte in enumerate(segment.read_bytes()) if byte == ord("\n")]

    for content in torn_at_any_byte(segment):
        # The end of a line may lack.
        whole = sum(end <= len(content) for end in ends)
        assert Catalogue(tmp_path).entries() == [*entries[:whole], entries[2]]


@pytest.mark.usefixtures("_quiet")
def test_after_a_crash_at_any_byte_of_any_file_reading_and_writing_go_on(tmp_path):
    """All of it at once: every file of the store ends too early, by the same share."""
    for share in (0.0, 0.3, 0.9):
        root = tmp_path / str(share)
        store = ModelStore(root)
        for kind in KINDS:
            store.save_any(MADE[kind]())
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
            store.save_any(MADE[kind]())
        assert read_everything(ModelStore(root)) == {kind: [MADE[kind]()] for kind in KINDS}
        assert len(ModelStore(root).catalogue.entries()) == len(LISTED)


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("hit", ["the line of a document", "the line of a removal", "a segment of both"])
def test_torn_lines_are_made_up_for_by_a_look_through_the_store(tmp_path, hit):
    """By the first reader that finds them when nobody can be writing them any more, and only by that."""
    store, folder, reader = ModelStore(tmp_path), tmp_path / FOLDER, Catalogue(tmp_path)
    for number in range(3):
        store.save(a_model(number))
    before = set(folder.iterdir())
    store.save(a_model(3))
    line_of_a_document = (set(folder.iterdir()) - before).pop()
    remove(store, "model", a_model(1))
    line_of_a_removal = (set(folder.iterdir()) - before - {line_of_a_document}).pop()
    expected = [a_model(number).model_id for number in (0, 2, 3)]
    if hit == "the line of a document":
        torn = line_of_a_document
    elif hit == "the line of a removal":
        torn = line_of_a_removal
    else:
        torn = folder / "segment-1.jsonl"
        torn.write_text(line_of_a_removal.read_text() + line_of_a_document.read_text())
        line_of_a_document.unlink()
        line_of_a_removal.unlink()
    torn.write_bytes(torn.read_bytes()[:40])

    young = [entry.id for entry in Catalogue(tmp_path).entries()]
    assert set(young) >= {a_model(0).model_id, a_model(2).model_id}
    assert torn.exists()
    age(torn)

    assert [entry.id for entry in reader.entries()] == expected
    assert not torn.exists()
    assert [entry.id for entry in Catalogue(tmp_path).entries()] == expected
    assert [entry.id for entry in store.catalogue.entries()] == expected


@pytest.mark.usefixtures("_quiet")
def test_what_came_back_is_listed_though_its_line_is_torn(tmp_path):
    """A line that removes it is left, and older."""
    store, folder = ModelStore(tmp_path), tmp_path / FOLDER
    for number in range(2):
        store.save(a_model(number))
    remove(store, "model", a_model(1))
    before = set(folder.iterdir())
    store.save_any(a_model(1))
    (torn,) = set(folder.iterdir()) - before
    torn.write_bytes(torn.read_bytes()[:40])
    age(torn)

    assert len(Catalogue(tmp_path).entries()) == len(Catalogue(tmp_path).entries()) == 2
    assert not torn.exists()
