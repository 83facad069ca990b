from dataclasses import replace

import pytest

from airflow_provider_ernest.documents import Observation
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.learning.freshness import Lineage
from airflow_provider_ernest.store.catalogue import entry_of
from airflow_provider_ernest.store.pruning import items_of, plan_retention
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
