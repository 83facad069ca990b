import pytest

from airflow_provider_ernest.store.catalogue import Catalogue
from airflow_provider_ernest.store.pruning import Prune
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.model.sample_records import a_model
from tests.unit.model.stored_examples import NOW, decision, model, observation, save_all


class Killed(BaseException):
    """What a process cannot catch."""


@pytest.fixture
def store(tmp_path) -> ModelStore:
    return save_all(ModelStore(tmp_path), model(0, 3), observation("o", 3))


def killed_before_listing(monkeypatch, work):
    """Do some work, and die before the catalogue is told of it."""

    def die(*args, **kwargs):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Catalogue, "add", die)
        patch.setattr(Catalogue, "remove", die)
        with pytest.raises(Killed):
            work()


def pruned(store, **options):
    prune = Prune(store=ModelStore(store.root), now=NOW, older_than_days=90, keep_models=1, **options)
    prune.carry_out()
    return prune


def listed(store):
    return [entry.id for entry in ModelStore(store.root).catalogue.entries()]


def test_what_a_killed_writer_did_not_list_is_listed(store, monkeypatch):
    killed_before_listing(monkeypatch, lambda: store.save(model(1, 2)))
    assert listed(store) == [a_model(0).model_id]
    prune = pruned(store)
    assert listed(store) == [a_model(0).model_id, a_model(1).model_id]
    assert "Listed 1 documents whose writers were killed before" in prune.lines()
    assert pruned(store).summary()["listed"] == 0


def test_what_a_killed_remover_did_not_take_off_the_list_is(store, monkeypatch):
    old = decision(0, 200)
    store.save_decision(old)
    killed_before_listing(monkeypatch, lambda: pruned(store))
    assert old.decision_id in listed(store)
    prune = pruned(store)
    assert listed(store) == [a_model(0).model_id]
    assert prune.summary()["listed_no_more"] == 1
    # It can come back, as by an import.
    store.save_any(old)
    assert old.decision_id in listed(store)


def test_what_was_not_listed_and_goes_is_not_listed(store, monkeypatch):
    killed_before_listing(monkeypatch, lambda: store.save_decision(decision(0, 200)))
    pruned(store)
    assert listed(store) == [a_model(0).model_id]


def test_what_others_write_and_remove_meanwhile_is_left_to_them(store):
    store.save_decision(decision(0, 1))
    prune = Prune(store=store, now=NOW, older_than_days=90, keep_models=1)
    other = ModelStore(store.root)
    other.save(model(1, 0))
    other.remove("decision", job="pca", instance_type="m5.large", document_id=decision(0, 1).decision_id)
    prune.carry_out()
    assert (prune.summary()["listed"], prune.summary()["listed_no_more"]) == (0, 0)
    assert listed(store) == [a_model(0).model_id, a_model(1).model_id]


def test_a_document_that_cannot_be_read_stays_listed(store):
    """One of a newer version, say: its entry is all that is known of it."""
    path = store.save_decision(decision(0, 1))
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 99', 1))
    assert pruned(store).summary()["listed_no_more"] == 0
    assert decision(0, 1).decision_id in listed(store)
