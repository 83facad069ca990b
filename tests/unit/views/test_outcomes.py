"""Whether deadlines were kept, what was paid and saved, and the badges of a model."""

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.learning.freshness import DRIFTING, FRESH, STALE, State
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.store.catalogue import PastSize, entry_of
from airflow_provider_ernest.views.outcomes import (
    Baseline,
    DeadlinesKept,
    Money,
    badges_of,
    baseline_of,
    deadlines_kept,
    decisions_by_id,
    entries_by_place,
    money,
    outcome_of,
    standing_of,
)
from tests.examples import model as example_model
from tests.examples import observation, training_cluster
from tests.unit.views.stored import decided, entry, produced


def kept(*entries: Any) -> DeadlinesKept:
    runs = [each for each in entries if each.kind == "production"]
    return deadlines_kept(runs, decisions_by_id(entries))


def sized(days: float, seconds: float, latest: float | None, **decision: Any) -> list[Any]:
    """A decision with a deadline, and the run by it."""
    choice = entry("decision", days=days, latest_seconds=latest, **decision)
    return [choice, entry("production", days=days - 0.1, seconds=seconds, decision_id=choice.id)]


def test_runs_are_judged_by_the_deadlines_of_their_decisions():
    entries = [*sized(9, 290, 300), *sized(8, 301, 300), *sized(7, 300, 300), *sized(6, 301, 400)]
    assert kept(*entries) == DeadlinesKept(kept=3, judged=4)
    assert kept(*entries).missed == 1


def test_runs_without_a_deadline_or_a_known_decision_are_not_judged():
    without_deadline = sized(9, 290, None)
    by_hand = entry("production", days=5, seconds=1.0)
    orphan = entry("production", days=4, seconds=1.0, decision_id="gone")
    assert kept(*without_deadline, by_hand, orphan) == DeadlinesKept(kept=0, judged=0)


def test_a_decision_of_another_type_than_the_run_is_found_and_that_of_another_job_is_not():
    choice, run = sized(9, 290, 300, instance_type="r5.large")
    assert kept(choice, run) == DeadlinesKept(kept=1, judged=1)
    assert kept(replace(choice, job="sort"), run) == DeadlinesKept(kept=0, judged=0)


@pytest.mark.parametrize(
    ("boot_seconds", "seconds", "latest", "is_in_time"),
    [(0.0, 290.0, 300.0, True), (20.0, 290.0, 280.0, False), (400.0, 290.0, 0.0, False)],
    ids=["no boot", "the boot is part of what the deadline allows", "no run can keep it"],
)
def test_a_run_beside_its_decision(
    trained: Model, boot_seconds: float, seconds: float, latest: float, is_in_time: bool
):
    billing = Billing(price_per_hour=0.5, boot_seconds=boot_seconds)
    choice = decided(trained, days=2, decision={"billing": billing, "probability": 0.9})
    run = produced(trained, days=1, seconds=seconds, cost=0.21, decision_id=choice.id, executors=5)
    outcome = outcome_of(run, decisions_by_id([entry_of(choice)]))
    assert (outcome.latest_seconds, outcome.kept) == (latest, is_in_time)
    assert (outcome.predicted_seconds, outcome.likely_seconds) == (280.0, (240.0, 320.0))
    assert (outcome.predicted_cost, outcome.cost, outcome.probability) == (0.2, 0.21, 0.9)
    assert outcome.executors == 5
    assert (outcome.origin, outcome.application_id) == (run.origin, "app-production")


def test_a_run_whose_decision_is_hidden_says_nothing_of_it(trained: Model):
    found = outcome_of(produced(trained, days=3, decision_id="hidden"), {})
    assert (found.kept, found.probability, found.predicted_cost) == (None, None, None)


def test_what_was_decided_for_a_type_without_a_model_is_with_the_model_that_predicted_it():
    """Of types that were not trained and of mixes there is no model."""
    old, other = entry(days=9), entry(days=9, name="other", instance_type="r5.large")
    mixed = entry("decision", days=8, instance_type="m5.large + r5.large", model_id=old.id)
    untrained = entry("production", days=7, instance_type="c5.large", model_id=other.id)
    unknown = entry("production", days=6, instance_type="i3.large", model_id="gone")
    own = entry("decision", days=5, instance_type="r5.large", model_id=old.id)
    assert entries_by_place([old, other, mixed, untrained, unknown, own]) == {
        ("join", "m5.large"): [old, mixed],
        ("join", "r5.large"): [other, untrained, own],
        ("join", "i3.large"): [unknown],
    }


def of_runs(*, before: list[float], since: list[float], training: float | None) -> Money:
    """Of runs at these costs, of which those before knew no decision."""
    entries = [entry(days=50, training_dollars=training), entry("decision", days=40)]
    entries += [entry("production", days=90 - number, cost=cost) for number, cost in enumerate(before)]
    entries += [
        entry("production", days=30 - number, cost=cost, decision_id="some")
        for number, cost in enumerate(since)
    ]
    return money(entries, baseline_of(entries))


def test_savings_are_against_what_ran_before_the_first_decision():
    known = of_runs(before=[3.0, 2.0, 9.0], since=[1.0, 2.0, 1.0], training=4.0)
    assert (known.training, known.production, known.production_runs) == (4.0, 18.0, 6)
    assert (known.baseline, known.baseline_runs) == (3.0, 3)
    assert known.saved == 5.0
    assert known.break_even_run == 3


@pytest.mark.parametrize(
    ("before", "since", "training", "saved", "even"),
    [
        ([3.0], [1.0, 2.0], 10.0, 3.0, 7),
        ([], [1.0], 4.0, None, None),
        ([1.0], [2.0, 2.0], 4.0, -2.0, None),
    ],
    ids=["not reached, but expected", "no run before", "dearer runs"],
)
def test_savings_and_the_run_that_breaks_even(before: Any, since: Any, training: Any, saved: Any, even: Any):
    known = of_runs(before=before, since=since, training=training)
    assert (known.saved, known.break_even_run) == (saved, even)


def of_logs(*, price: float | None = 0.5, days: float = 45.0) -> Any:
    """A model that knows of past runs."""
    past = PastSize(executors=8, seconds=1800.0, runs=12)
    return entry(days=days, past=past, price_per_hour=price)


def test_without_a_run_recorded_before_event_logs_tell_what_one_cost():
    since = [entry("decision", days=40), entry("production", days=39, cost=1.5, decision_id="some")]
    known = baseline_of([of_logs(), *since])
    assert known == Baseline(cost=2.0, runs=12, is_of_logs=True)
    assert money(since, known).saved == 0.5
    recorded = entry("production", days=44, cost=9.0)
    assert baseline_of([of_logs(), recorded, *since]) == Baseline(cost=9.0, runs=1)


def test_the_price_of_past_runs_is_the_models_or_that_decided_by_for_its_type():
    other = entry("decision", days=41, price_per_hour=7.0, instance_type="r5.large")
    choice = entry("decision", days=40, price_per_hour=0.25)
    assert baseline_of([of_logs(price=None), other, choice]) == Baseline(cost=1.0, runs=12, is_of_logs=True)
    assert baseline_of([of_logs(price=None), other]) is None


def test_the_size_of_past_runs_is_that_of_most_and_of_equals_the_last():
    def past(*executors: int) -> PastSize | None:
        runs = [
            observation(
                number, executors=each, seconds=10.0 * (1 + number), startup_seconds=1.0, from_history=True
            )
            for number, each in enumerate(executors)
        ]
        return entry_of(example_model(observations=(observation(99, executors=64), *runs))).past

    assert past(4, 8, 8, 2) == PastSize(executors=8, seconds=26.0, runs=2)
    assert past(4, 8) == PastSize(executors=8, seconds=21.0, runs=1)
    assert past() is None


def test_a_version_that_learned_on_did_not_pay_for_sample_runs_again(trained: Model):
    first = replace(trained, cluster=training_cluster(2, price_per_hour=0.4))
    learned = replace(first, id=f"{first.id}-2", base_model_id=first.id)
    once = money([entry_of(first)], None).training
    assert once > 0
    assert money([entry_of(first), entry_of(learned)], None).training == once


@pytest.mark.parametrize("median", [40.0, float("nan"), None])
def test_a_model_of_40_percent_error_is_never_green(median: float | None):
    holds, inaccurate = badges_of(entry(median_error_percent=median), State(FRESH))
    assert (holds.tone, inaccurate.words, inaccurate.tone) == ("", "inaccurate", "bad")


def test_a_model_that_cannot_predict_is_not_up_to_date():
    (told,) = badges_of(entry(median_error_percent=1.0, terms=("1", "entangled(n)")), State(FRESH))
    assert (told.words, told.tone) == ("cannot predict", "bad")


@pytest.mark.parametrize(
    ("name", "words", "tone"),
    [(FRESH, "up to date", "good"), (STALE, "out of date", "warning"), (DRIFTING, "drifting", "bad")],
)
def test_whether_it_still_holds(name: str, words: str, tone: str):
    (holds,) = badges_of(entry(median_error_percent=5.0), State(name, "Why. Retrain."))
    assert (holds.words, holds.tone, holds.says) == (words, tone, "Why. Retrain.")


def test_the_cause_stands_with_the_state():
    told = [badges_of(entry(), State(STALE, "Why.", cause))[0].words for cause in ("code", "unexplained")]
    assert told == ["out of date: code", "out of date"]


def test_today_is_of_the_models_own_type():
    trained = entry(days=30)
    own = entry("production", days=3, executors=4, seconds=9.0)
    other = entry("production", days=1, executors=8, seconds=7.0, instance_type="r5.large")
    today = standing_of(trained, [trained, own, other]).today
    assert (today.executors, today.seconds) == (4, 9.0)
