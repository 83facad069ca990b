"""What pruning leaves, and how it removes the rest."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.learning.freshness import Lineage
from airflow_provider_ernest.store.catalogue import entry_of
from airflow_provider_ernest.store.pruning import Item, Prune, what_stays
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import (
    NOW,
    bottleneck_report,
    decision_record,
    mark,
    model,
    production_run,
    profile_record,
    survey,
)
from tests.unit.store.store_samples import save_all


def gone(*documents, older_than_days=90, newest=1):
    """Kinds and ids of what goes."""
    items = [Item.of(document) for document in documents]
    kept = what_stays(items, now=NOW, older_than_days=older_than_days, newest=newest)
    return {item.key for item in items if item.key not in kept}


def keys(*documents):
    return {(document.kind, document.id) for document in documents}


def id_of(number):
    return model(number).id


MADE = [decision_record, production_run, profile_record, bottleneck_report]
LOOSE = {
    decision_record: {"model_id": None},
    production_run: {"model_id": None, "decision_id": None},
    bottleneck_report: {"profile_ids": ()},
}


@pytest.mark.parametrize("made", [model, *MADE])
def test_what_is_old_goes_and_what_is_young_or_among_the_newest_stays(made):
    documents = [made(number, days=200 - number, **LOOSE.get(made, {})) for number in range(4)]
    young = [made(5, days=89, **LOOSE.get(made, {})), made(6, days=1, **LOOSE.get(made, {}))]
    assert gone(*documents) == keys(*documents[:3])
    assert gone(*documents, newest=3) == keys(documents[0])
    assert gone(*documents, *young) == keys(*documents)


@pytest.mark.parametrize(("keep", "left"), [(1, [9]), (3, [7, 8, 9]), (99, range(10))])
def test_the_newest_models_of_each_job_and_type_stay_however_old(keep, left):
    kinds = [{"job": "pca"}, {"job": "sums"}, {"instance_type": "c5.large"}]
    models = [
        replace(model(number, days=400 - number), id=f"{number}-{index}", **fields)
        for index, fields in enumerate(kinds)
        for number in range(10)
    ]
    removed = {name for _, name in gone(*models, newest=keep)}
    assert {each.id for each in models} - removed == {f"{n}-{i}" for i in range(3) for n in left}


@pytest.mark.parametrize(
    ("referring", "needed"),
    [
        ([decision_record(0, days=10, model_id=id_of(0), model_ids=(id_of(0), id_of(1)))], [0, 1]),
        (
            [
                production_run(0, days=89, model_id=None),
                decision_record(0, days=100, model_id=id_of(1)),
                decision_record(1, days=100, model_id=None),
            ],
            [1],
        ),
        ([model(5, days=10, base_model_id=id_of(1))], [1]),
        ([mark(id="k", days=10, model_id=id_of(0), cause="data")], [0]),
    ],
    ids=["a decision's models", "a run's decision and its model", "a learned model's base", "a mark's model"],
)
def test_what_a_document_that_stays_refers_to_stays(referring, needed):
    models = [model(number, days=300 - number) for number in range(3)]
    newest = [] if referring[0].kind == Model.kind else [2]
    assert gone(*models, *referring) == keys(
        *(each for number, each in enumerate(models) if number not in (*needed, *newest))
    )


def test_a_report_keeps_its_profiles():
    profiles = [profile_record(number, days=400 - number) for number in range(3)]
    told = bottleneck_report(0, days=300, profile_ids=(profiles[1].id,))
    assert gone(*profiles, told) == keys(profiles[0])


def test_a_mark_goes_with_its_model_and_stays_with_the_last_of_its_lineage():
    """Without it the lineage would be fresh again: see freshness.Lineage."""
    old = [model(0, days=300), model(1, days=250, base_model_id=id_of(0)), model(2, days=250)]
    learned = model(3, days=200, base_model_id=id_of(0))
    marks = [
        mark(id=name, days=240 - number, cause="data", model_id=id_of(of))
        for number, (name, of) in enumerate([("a", 1), ("b", 2), ("c", 9)])
    ]
    assert gone(*old, learned, *marks) == {("model", id_of(2)), ("mark", "b")}, "the newest mark stays, too"


def test_a_stale_model_stays_stale():
    changed = mark(id="k", days=250, model_id=id_of(0), cause="code", artifact_sha256="cd" * 32)
    other = {"decision_id": None, "model_id": None, "artifact_sha256": "cd" * 32}
    runs = [production_run(number, days=260 - number, **other) for number in range(3)]
    documents = [model(0, days=300), changed, *runs]
    left = [each for each in documents if Item.of(each).key not in gone(*documents)]
    assert left == [model(0, days=300), changed, runs[-1]]
    assert Lineage(entry_of(model(0, days=300)), map(entry_of, left)).state().name == "stale"


def test_what_does_not_say_when_it_was_made_stays():
    assert not gone(model(1, days=10), replace(model(0, days=300), at="some day"))


def test_documents_of_one_id_stay_if_any_of_them_does():
    young = decision_record(0, days=10, model_id=None)
    twin, newest = (decision_record(number, days=300, job="sums", model_id=None) for number in (0, 1))
    assert not gone(young, twin, newest)


OLD = [
    model(0, days=300),
    model(1, days=250, base_model_id=id_of(0)),
    decision_record(0, days=200, model_id=id_of(1)),
    production_run(0, days=200),
    mark(id="a", days=200, cause="data", model_id=id_of(1)),
    profile_record(0, days=200),
    profile_record(1, days=200),
    bottleneck_report(0, days=200, profile_ids=(profile_record(0).id, profile_record(1).id)),
]
KEPT = [
    model(9, days=100),
    mark(id="b", days=100, cause="data", model_id=id_of(9)),
    decision_record(9, days=100, model_id=id_of(9)),
    production_run(9, days=100, model_id=id_of(9), decision_id=decision_record(9).id),
    profile_record(9, days=100),
    bottleneck_report(9, days=100, profile_ids=(profile_record(9).id,)),
]


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return save_all(ModelStore(tmp_path / "store"), *OLD, *KEPT)


def prune_of(store: ModelStore, *, older_than_days=90.0, keep_models=1) -> Prune:
    return Prune(store=store, now=NOW, older_than_days=older_than_days, keep_models=keep_models)


def prune(store: ModelStore) -> Prune:
    planned = prune_of(store)
    planned.carry_out()
    return planned


def left_in(store: ModelStore):
    return {(document.kind, document.id) for document in store.all_documents()}


def needs_met(store: ModelStore) -> bool:
    """Whether all that documents refer to is there, marks apart: they may outlive their model."""
    items = [Item.of(each) for each in store.all_documents()]
    there = {item.key for item in items}
    return all(need in there for item in items if item.kind != "mark" for need in item.needs)


def test_only_what_stays_is_there_and_listed(store):
    planned = prune_of(store)
    assert planned.items
    assert len(left_in(store)) == len(OLD) + len(KEPT), "nothing goes before it is carried out"
    planned.carry_out()
    assert planned.summary()["removed"] == Counter(each.kind for each in OLD)
    assert left_in(store) == keys(*KEPT)
    assert len(ModelStore(store.root).catalogue.entries()) == 4
    assert not prune_of(store).items, "a second time nothing is left to do"


@pytest.mark.parametrize("removals", range(len(OLD) + 1))
def test_interrupted_at_any_moment_the_store_is_consistent_and_the_rest_goes_next_time(
    store, removals, monkeypatch
):
    remove, made = store.remove, []

    def interrupted(*args, **kwargs):
        if len(made) == removals:
            raise KeyboardInterrupt
        made.append(args)
        return remove(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(store, "remove", interrupted)
        with suppress(KeyboardInterrupt):
            prune(store)
    assert len(left_in(store)) == len(OLD) + len(KEPT) - removals
    assert needs_met(store)
    prune(store)
    assert left_in(store) == keys(*KEPT)


def test_what_a_task_decided_by_meanwhile_stays(store):
    planned = prune_of(store)
    ModelStore(store.root).save(decision_record(5, days=0, model_id=id_of(1)))
    planned.carry_out()
    assert needs_met(store)
    assert {("model", id_of(1)), ("model", id_of(0)), ("mark", "a")} < left_in(store)


def test_another_process_may_prune_at_the_same_time(store):
    planned = prune_of(store)
    prune(ModelStore(store.root))
    planned.carry_out()
    assert planned.items == []


def test_what_cannot_be_removed_stays_with_all_that_it_refers_to(store, monkeypatch):
    remove = store.remove

    def refuse(kind, **names):
        if kind == "decision":
            raise StoreError("read only")
        return remove(kind, **names)

    monkeypatch.setattr(store, "remove", refuse)
    with pytest.raises(
        StoreError, match=f"could not be removed: decision {decision_record(0).id}: read only"
    ):
        prune(store)
    assert needs_met(store)
    assert left_in(store) == keys(*KEPT, *OLD) - keys(production_run(0)), "pruning ends there"


def test_an_age_from_before_the_first_year_keeps_everything(store):
    assert not prune_of(store, older_than_days=1_000_000.0).items


def test_old_surveys_go_but_the_newest(tmp_path):
    store = ModelStore(tmp_path)
    surveys = [survey(days=days) for days in (1, *range(100, 107))]
    save_all(store, *surveys)
    assert not prune_of(store, older_than_days=200).surveys
    planned = prune_of(store)
    assert f"Would remove survey {surveys[-1].id}" in planned.lines()
    planned.carry_out()
    assert planned.summary()["surveys"] == [each.id for each in surveys[5:]]
    assert store.survey_ids() == [each.id for each in surveys[:5]]


def test_tasks_may_write_meanwhile(store):
    """Eight writers record decisions and runs while the store is pruned, again and again."""
    save_all(store, *(model(20 + number, days=200) for number in range(8)))

    def write(number: int) -> None:
        own = ModelStore(store.root)
        for turn in range(5):
            name = 1_000 + 10 * number + turn
            chosen = decision_record(name, days=0, model_id=id_of(9))
            own.save(chosen)
            own.save(production_run(name, days=0, model_id=id_of(9), decision_id=chosen.id))

    with ThreadPoolExecutor(9) as pool:
        writers = [pool.submit(write, number) for number in range(8)]
        while not all(writer.done() for writer in writers):
            prune(ModelStore(store.root))
        for writer in writers:
            writer.result()
    prune(store)
    kinds = Counter(kind for kind, _ in left_in(store))
    assert (kinds["decision"], kinds["production"]) == (40, 40)
    assert needs_met(store)
