"""What pruning leaves, and how it removes the rest."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import ProfileRecord
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError, StoreError
from airflow_provider_ernest.learning.freshness import Lineage
from airflow_provider_ernest.store.catalogue import entry_of
from airflow_provider_ernest.store.pruning import LogFolder, Removed, carry_out, items_of, plan_retention
from airflow_provider_ernest.store.store import ModelStore
from tests.examples import (
    NOW,
    bottleneck_report,
    decision_record,
    mark,
    model,
    observation_record,
    production_run,
    profile_record,
    run_profile,
)
from tests.unit.store.store_samples import save_all


def plan(*documents, older_than_days=90, keep_models=1):
    return plan_retention(
        items_of(documents), now=NOW, older_than_days=older_than_days, keep_models=keep_models
    )


def gone(*documents, **limits):
    """Kinds and numbers of what goes, in order."""
    return [(item.kind, item.id) for item in plan(*documents, **limits).removed]


def id_of(number):
    return model(number).id


def test_what_is_old_goes_and_what_is_young_stays():
    assert gone(
        model(0, days=200),
        model(1, days=10),
        decision_record(0, days=200),
        production_run(0, days=200),
        observation_record(id="o", days=91),
    ) == [
        ("production", production_run(0).id),
        ("decision", decision_record(0).id),
        ("model", id_of(0)),
        ("observation", "o"),
    ]
    assert not gone(
        model(1, days=10),
        decision_record(0, days=89),
        production_run(0, days=89),
        observation_record(id="o", days=89),
        older_than_days=90,
    )


@pytest.mark.parametrize(("keep", "left"), [(1, [9]), (3, [7, 8, 9]), (99, range(10))])
def test_the_newest_models_of_each_job_and_type_stay_however_old(keep, left):
    kinds = [{"job": "pca"}, {"job": "sums"}, {"instance_type": "c5.large"}]
    models = [
        replace(model(number, days=400 - number), id=f"{index}-{number}", **fields)
        for index, fields in enumerate(kinds)
        for number in range(10)
    ]
    removed = {name for _, name in gone(*models, keep_models=keep)}
    assert {each.id for each in models} - removed == {f"{i}-{n}" for i in range(3) for n in left}


def test_a_decision_that_stays_keeps_all_models_that_it_considered():
    considered = (id_of(0), id_of(1))
    kept = plan(
        *(model(number, days=300 - number) for number in range(4)),
        decision_record(0, days=10, model_id=id_of(0), model_ids=considered),
    )
    assert [item.id for item in kept.removed] == [id_of(2)]
    assert "refers to it" in kept.kept_because["model", id_of(1)]


def test_a_production_run_that_stays_keeps_its_decision_and_that_its_model():
    assert not gone(
        model(0, days=300),
        model(1, days=200),
        decision_record(0, days=100, model_id=id_of(0)),
        production_run(0, days=89, model_id=None),
    )[1:]


def test_a_learned_model_keeps_the_one_that_it_goes_on_from_but_not_the_runs_that_are_in_it():
    run = production_run(0, days=200, model_id=None, decision_id=None)
    learned = model(2, days=150, base_model_id=id_of(0), learned_from=(run.id,))
    assert gone(model(0, days=300), model(1, days=250), run, learned) == [
        ("production", run.id),
        ("model", id_of(1)),
    ]


def test_learned_models_go_before_the_ones_that_they_go_on_from():
    learned = model(1, days=250, base_model_id=id_of(0))
    assert gone(model(0, days=300), learned, model(2, days=10)) == [
        ("model", id_of(1)),
        ("model", id_of(0)),
    ]


def test_a_mark_stays_and_goes_with_its_model():
    documents = [model(0, days=300), model(1, days=200)]
    marks = [
        mark(id="of-old", days=5, cause="data", model_id=id_of(0)),
        mark(id="of-newest", days=150, cause="data", model_id=id_of(1)),
    ]
    assert gone(*documents, *marks) == [("model", id_of(0)), ("mark", "of-old")]


def test_a_mark_of_no_model_goes_by_its_own_age():
    marks = [
        mark(id="old", days=91, cause="data", model_id="gone"),
        mark(id="young", days=89, cause="data", model_id="gone"),
    ]
    assert gone(model(0, days=10), *marks) == [("mark", "old")]


def test_a_mark_against_another_model_of_a_lineage_that_stays_stays_with_that():
    """Without it the lineage would be fresh again: see freshness.Lineage."""
    first = model(1, days=250, base_model_id=id_of(0))
    second = model(2, days=200, base_model_id=id_of(0))
    assert not gone(
        model(0, days=300),
        first,
        second,
        mark(id="of-first", days=240, cause="data", model_id=id_of(1)),
    )


def test_a_run_that_tells_of_other_code_than_the_newest_models_stays():
    unlike = {"artifact_sha256": "cd" * 32, "model_id": None, "decision_id": None}
    runs = [production_run(0, days=250, **unlike), production_run(1, days=200, **unlike)]
    assert gone(model(0, days=300), *runs) == [("production", runs[0].id)]
    alike = [replace(run, artifact_sha256=model(0, days=0).artifact_sha256) for run in runs]
    assert len(gone(model(0, days=300), *alike)) == 2


def test_what_does_not_say_when_it_was_made_stays():
    assert not gone(model(1, days=10), replace(model(0, days=300), at="some day"))


def test_documents_of_one_id_stay_if_any_of_them_does():
    old = decision_record(0, days=300, job="sums", model_id=None)
    assert not gone(
        old,
        decision_record(0, days=10, model_id=id_of(0)),
        model(0, days=300),
        model(1, days=200),
    )


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"older_than_days": -1}, "older_than_days=-1"),
        ({"older_than_days": float("nan")}, "older_than_days=nan"),
        ({"keep_models": 0}, r"keep_models=0 would leave jobs without their newest model"),
    ],
)
def test_limits_that_cannot_be_are_named(limits, named):
    with pytest.raises(InvalidParameterError, match=named):
        plan(model(0, days=10), **limits)


def test_event_logs_go_that_only_removed_documents_name():
    def run(log):
        return Observation(index=0, machines=1, scale=0.1, seconds=1.0, event_log=log)

    kept = plan(
        model(0, days=300, observations=(run("/logs/of-both-old"), run("/logs/of-newest-too"))),
        model(1, days=200, observations=(run("/logs/of-newest-too"),)),
        observation_record(id="o", days=300, observation=run("/logs/of-both-old")),
        production_run(0, days=300, event_log="/logs/of-production"),
    )
    assert kept.event_logs == {
        ("observation", "o"): ("/logs/of-both-old",),
        ("production", production_run(0).id): ("/logs/of-production",),
    }


def test_a_model_that_learns_from_each_run_does_not_drive_the_others_out():
    """After a change back of the application its model of last year is wanted again."""
    last_year = model(0, days=400)
    learned = [model(number, days=200 - number, base_model_id=id_of(1)) for number in range(2, 50)]
    removed = {name for _, name in gone(last_year, model(1, days=300), *learned, keep_models=2)}
    assert removed == {each.id for each in learned[:-1]}


def test_a_run_that_tells_of_a_change_back_stays_with_the_mark():
    changed = mark(id="k", days=250, model_id=id_of(0), cause="code", artifact_sha256="cd" * 32)
    back = production_run(0, days=200, decision_id=None, artifact_sha256=model(0, days=0).artifact_sha256)
    documents = [model(0, days=300), changed, back]
    assert not gone(*documents)
    assert Lineage(entry_of(model(0, days=300)), map(entry_of, documents)).state().name == "fresh"


def profile_id(number):
    return profile_record(number).id


def report_id(number):
    return bottleneck_report(number).id


@pytest.mark.parametrize(
    "fields", [{"job": "sums"}, {"instance_type": "c5.large"}, {"purpose": "production"}]
)
def test_the_newest_profiles_of_each_kind_of_run_stay_however_old(fields):
    profiles = [profile_record(number, days=900 - number, **fields) for number in range(5)]
    others = [profile_record(10 + number, days=800 - number) for number in range(3)]
    assert gone(*profiles, *others) == [("profile", profile_id(0)), ("profile", profile_id(1))]


def test_what_binds_the_job_of_a_model_that_stays_is_told_as_long_as_it_stays_and_by_what_runs():
    """Of each model that stays the newest report, with its profiles; not of those that go."""
    profiles = [profile_record(number, days=400 - number) for number in range(8)]
    reports = [
        bottleneck_report(0, days=300, model_id=id_of(0), profile_ids=(profile_id(0),)),
        bottleneck_report(1, days=299, model_id=id_of(1), profile_ids=(profile_id(1),)),
        bottleneck_report(2, days=298, model_id=id_of(1), profile_ids=(profile_id(2), profile_id(3))),
    ]
    kept = plan(model(0, days=350), model(1, days=349), *profiles, *reports)
    assert {item.id for item in kept.removed} == {
        id_of(0),
        report_id(0),
        report_id(1),
        profile_id(0),
        profile_id(1),
        profile_id(4),
    }
    assert (
        kept.kept_because["bottlenecks", report_id(2)] == "it tells what binds the job of a model that stays"
    )
    assert kept.kept_because["profile", profile_id(2)].endswith("refers to it")


def test_a_report_goes_before_its_profiles_and_the_newest_one_stays_where_there_is_no_model():
    profiles = [profile_record(number, days=400 - number) for number in range(5)]
    reports = [
        bottleneck_report(number, days=300 - number, profile_ids=(profile_id(number),)) for number in range(2)
    ]
    assert gone(*profiles, *reports) == [("bottlenecks", report_id(0)), ("profile", profile_id(0))]


def test_a_young_report_keeps_its_old_profiles():
    profiles = [profile_record(number, days=400 - number) for number in range(5)]
    told = bottleneck_report(0, days=1, profile_ids=(profile_id(0),))
    assert gone(*profiles, told) == [("profile", profile_id(1))]


def test_the_event_log_of_a_profile_goes_with_it_and_not_before():
    old = [
        profile_record(number, days=400 - number, profile=run_profile(event_log=f"/logs/{number % 4}"))
        for number in range(5)
    ]
    kept = plan(*old)
    assert [item.id for item in kept.removed] == [profile_id(0), profile_id(1)]
    assert kept.event_logs == {("profile", profile_id(1)): ("/logs/1",)}, "the fifth names the first's, too"


OLD = [
    model(0, days=300),
    model(1, days=250, base_model_id=model(0).id),
    decision_record(0, days=200),
    production_run(0, days=200),
    mark(id="k", days=200, cause="data", model_id=model(1).id),
    observation_record(id="o", days=200),
    profile_record(0, days=200),
    profile_record(1, days=200),
    bottleneck_report(0, days=200, profile_ids=(profile_record(0).id, profile_record(1).id)),
]
NEWEST = model(9, days=100)
KEPT = [
    NEWEST,
    bottleneck_report(9, days=100, profile_ids=(profile_record(7).id,)),
    *(profile_record(number, days=100) for number in (7, 8, 9)),
]


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return save_all(ModelStore(tmp_path / "store"), *OLD, *KEPT)


def plan_of(store: ModelStore):
    return plan_retention(items_of(store.all_documents()), now=NOW, older_than_days=90, keep_models=1)


def by_id(document):
    return document.kind, document.id


def needs_met(store: ModelStore) -> bool:
    """Whether all that documents refer to is there, marks apart: they may outlive their model."""
    items = list(items_of(store.all_documents()))
    there = {item.key for item in items}
    return all(need in there for item in items if item.kind != "mark" for need in item.needs)


def test_only_what_stays_is_there_and_listed(store):
    done = carry_out(store, plan_of(store))
    assert len(done.removed) == len(OLD)
    assert sorted(store.all_documents(), key=by_id) == sorted(KEPT, key=by_id)
    assert [entry.id for entry in ModelStore(store.root).catalogue.entries()] == [NEWEST.id]
    assert not plan_of(store).removed, "a second time nothing is left to do"


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
            carry_out(store, plan_of(store))
    assert len(list(store.all_documents())) == len(OLD) + len(KEPT) - removals
    assert needs_met(store)
    carry_out(store, plan_of(store))
    assert sorted(store.all_documents(), key=by_id) == sorted(KEPT, key=by_id)


def test_what_a_task_decided_by_meanwhile_stays(store):
    plan = plan_of(store)
    ModelStore(store.root).save(decision_record(5, days=0, model_id=model(1).id))
    done = carry_out(store, plan)
    assert needs_met(store)
    assert {item.id for item in done.spared} == {model(1).id, model(0).id, "k"}


def test_another_process_may_prune_at_the_same_time(store):
    plan = plan_of(store)
    carry_out(ModelStore(store.root), plan)
    done = carry_out(store, plan)
    assert (done.removed, done.failed) == ([], [])


def test_what_cannot_be_removed_stays_with_all_that_it_needs(store, monkeypatch):
    remove = store.remove

    def refuse(kind, **names):
        if kind == "decision":
            raise StoreError("read only")
        return remove(kind, **names)

    monkeypatch.setattr(store, "remove", refuse)
    done = carry_out(store, plan_of(store))
    assert [(item.kind, problem) for item, problem in done.failed] == [("decision", "read only")]
    assert needs_met(store)
    assert {item.kind for item in done.removed} == {
        "production",
        "model",
        "mark",
        "observation",
        "profile",
        "bottlenecks",
    }
    assert store.load(Model, "pca", "m5.large", model(0).id)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Event logs as runs leave them, and a file that is none of theirs."""
    for name in ("nightly/run-1/sample-try1/app-1", "nightly/run-1/sample-try1/app-2", "outside"):
        path = tmp_path / ("logs" if name != "outside" else "") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    rolling = tmp_path / "logs/nightly/run-2/sample-try1/eventlog_v2_app-3"
    rolling.mkdir(parents=True)
    (rolling / "events_1_app-3").write_text("{}")
    return tmp_path / "logs"


def test_a_log_goes_with_the_folders_that_are_empty_then(logs):
    folder, done = LogFolder(logs), Removed()
    folder.remove(str(logs / "nightly/run-1/sample-try1/app-1"), done)
    assert (logs / "nightly/run-1/sample-try1/app-2").exists()
    folder.remove((logs / "nightly/run-1/sample-try1/app-2").as_uri(), done)
    folder.remove(str(logs / "nightly/run-2/sample-try1/eventlog_v2_app-3"), done)
    assert [path.name for path in done.event_logs] == ["app-1", "app-2", "eventlog_v2_app-3"]
    assert [path.name for path in logs.rglob("*")] == ["nightly"]


@pytest.mark.parametrize(
    "location",
    [
        "{logs}/../outside",
        "{logs}/nightly/../../outside",
        "file://{logs}/%2e%2e/outside",
        "{logs}/way-out/outside",
        "{logs}/link",
        "{logs}",
        "{logs}/nightly",
        "{logs}/nightly/run-1/sample-try1",
        "outside",
        "s3://bucket{logs}/nightly/run-1/sample-try1/app-1",
        "file://elsewhere{logs}/nightly/run-1/sample-try1/app-1",
        "{logs}/nightly/run-1/sample-try1/app-1\0",
        "{logs}/gone",
        "",
    ],
)
def test_nothing_else_is_removed_whatever_a_document_names(logs, tmp_path, monkeypatch, location):
    monkeypatch.chdir(tmp_path)
    (logs / "way-out").symlink_to(tmp_path)
    (logs / "link").symlink_to(tmp_path / "outside")
    before, done = sorted(tmp_path.rglob("*")), Removed()
    LogFolder(logs).remove(location.format(logs=logs), done)
    assert (sorted(tmp_path.rglob("*")), done.event_logs) == (before, [])


def test_logs_are_found_through_a_link_to_their_folder(logs, tmp_path):
    (tmp_path / "alias").symlink_to(logs)
    done = Removed()
    LogFolder(tmp_path / "alias").remove(str(logs / "nightly/run-1/sample-try1/app-1"), done)
    LogFolder(logs).remove(str(tmp_path / "alias/nightly/run-1/sample-try1/app-2"), done)
    assert len(done.event_logs) == 2


def test_a_folder_that_is_none_is_named(tmp_path):
    with pytest.raises(MissingResourceError, match=r"event logs '.*gone' cannot be read"):
        LogFolder(tmp_path / "gone")


def test_tasks_may_write_meanwhile(store):
    """Eight writers record decisions and runs while the store is pruned, again and again."""
    base = [model(20 + number, days=200) for number in range(8)]
    save_all(store, *base)

    def write(number: int) -> None:
        own, by = ModelStore(store.root), NEWEST.id
        for turn in range(5):
            name = 1_000 + 10 * number + turn
            chosen = decision_record(name, days=0, model_id=by)
            own.save(chosen)
            own.save(production_run(name, days=0, model_id=by, decision_id=chosen.id))

    with ThreadPoolExecutor(9) as pool:
        writers = [pool.submit(write, number) for number in range(8)]
        while not all(writer.done() for writer in writers):
            pruned = ModelStore(store.root)
            assert not carry_out(pruned, plan_of(pruned)).failed
        for writer in writers:
            writer.result()
    carry_out(store, plan_of(store))
    kinds = Counter(item.kind for item in items_of(store.all_documents()))
    assert kinds == {"decision": 40, "production": 40, **Counter(item.kind for item in items_of(KEPT))}
    assert needs_met(store)
    assert len(ModelStore(store.root).catalogue.entries()) == 81


def test_profiles_that_a_task_has_just_reported_on_stay(store):
    planned = plan_of(store)
    store.save(bottleneck_report(20, days=0, profile_ids=(profile_record(0).id,)))
    done = carry_out(store, planned)
    assert [item.id for item in done.spared] == [profile_record(0).id]
    assert needs_met(store)
    assert store.load(ProfileRecord, "pca", "m5.large", profile_record(0).id)
