"""The answer on the page of a model: figures, the caution that matters most, rows to compare, checks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ernest.documents.base import Record
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import BottleneckReport, ReplayOpinion, TwoOpinions
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.answer import Answer
from airflow_provider_ernest.views.prediction import Prediction, prediction
from airflow_provider_ernest.views.prediction_request import PredictionRequest
from tests import examples
from tests.unit.views.stored import beside, decided, everything, marked, model, not_secret, produced, shared

IN_TIME, LATE = 290.0, 330.0


@pytest.fixture(scope="module")
def trained() -> Model:
    return model(method="averaging", days=20)


def ask(store: ModelStore, of: Model, *, readable: Any = everything, **asked: Any) -> Prediction:
    request = PredictionRequest(**{"price_per_hour": 0.5, "max_executors": 12, "scale": 1.0, **asked})
    return prediction(store, of, request, entries=store.catalogue.entries(), readable=readable)


def plain(words: str) -> str:
    return words.replace("\u00a0", " ")


def checks_of(answer: Answer) -> dict[str, bool | None]:
    return {each.name: each.passed for each in answer.checks}


def checks(shown: Prediction) -> dict[str, bool | None]:
    return checks_of(shown.answer)


def keep_replay(store: ModelStore, by: Model, *, dag_id: str = "sizing", **seconds: float) -> None:
    """Beside a model, of sizes m4=..., each with the seconds that replay gives."""
    sizes = tuple(
        TwoOpinions(executors=int(name[1:]), replayed_seconds=taken, model_seconds=1.0)
        for name, taken in seconds.items()
    )
    told = beside(by, days=1.0, dag_id=dag_id, task_id="bottleneck_report")
    replay = ReplayOpinion(scale=1.0, sizes=sizes, error_percent=6.0)
    store.save(examples.bottleneck_report(**told, model_id=by.id, profile_ids=(), replay=replay))


def keep_drifting(store: ModelStore, of: Model) -> None:
    """Production runs of a model that take seven times as long as it says."""
    for number in range(4):
        store.save(produced(of, days=2 - number / 2, seconds=2000.0))


class TestSentence:
    def test_a_shared_cluster_is_sized_in_executors(self, store: ModelStore, trained: Model):
        told = ask(store, shared(trained), deadline_seconds=300.0).answer
        assert " executors of m5.large" in told.sentence
        (tried,) = (check.words for check in told.checks if check.name == "size")
        assert "executors" in tried
        assert "machine" not in str(told)

    def test_todays_size_the_dollars_of_a_month_and_the_deadlines_kept(
        self, store: ModelStore, trained: Model
    ):
        new = ask(store, trained, deadline_seconds=300.0).answer
        assert (new.today, new.facts) == (None, ())
        assert "; the deadline of 5 min holds in " in plain(new.sentence)
        decision = decided(trained, days=12, deadline_seconds=300.0)
        store.save(decision)
        store.save(produced(trained, days=10.0, seconds=LATE, decision_id=decision.id))
        late = ask(store, trained, deadline_seconds=300.0).answer
        assert late.facts == ("Deadlines kept: 0 of 1, the last one not",)
        for days in (5.0, 0.0):
            store.save(produced(trained, days=days, seconds=IN_TIME, decision_id=decision.id, cost=2.0))
        told = ask(store, trained, deadline_seconds=300.0).answer
        assert told.facts[-1] == "Deadlines kept: 2 of 3, the last one too"
        assert told.facts[0] == "Paid about $12.17 a month, by 6 runs"
        assert (told.today.executors, told.today.seconds) == (4, IN_TIME)
        assert plain(told.sentence).startswith("Today 4 machines, 4 min 50 s, $2.00. ")

    def test_fewer_kept_than_asked_is_a_caution(self, store: ModelStore, trained: Model):
        decision = decided(trained, days=12, deadline_seconds=300.0, confidence=0.9)
        store.save(decision)
        for days in (5.0, 4.0):
            store.save(produced(trained, days=days, seconds=LATE, decision_id=decision.id))
        caution = ask(store, trained, deadline_seconds=300.0).answer.caution
        assert (caution.tone, caution.about) == ("bad", "history")
        assert caution.words == "Fewer deadlines were kept than asked: 0 of 2."

    def test_without_a_goal_there_is_no_chance_and_without_a_price_no_cost(
        self, store: ModelStore, trained: Model
    ):
        assert "holds in" not in ask(store, trained).answer.sentence
        told = ask(store, trained, price_per_hour=None)
        assert "$" not in told.answer.sentence
        assert " would be the cheapest tried, in " in told.answer.sentence
        assert {row.cost for row in told.answer.rows} == {None}

    def test_without_a_question_todays_size_is_shown_else_the_cheapest_that_was_tried(
        self, store: ModelStore, trained: Model
    ):
        asked = {"max_executors": 60}
        shown = ask(store, trained, **asked).answer
        assert " would be the cheapest tried, in " in shown.sentence
        assert checks_of(shown)["size"] is True
        assert {row.extrapolates for row in shown.rows} == {""}
        store.save(produced(trained, days=1, executors=7))
        today = ask(store, trained, **asked).answer
        assert today.sentence.startswith("Today 7 machines, ")
        assert " The same would take " in today.sentence


class TestRows:
    def test_at_most_five_with_the_chosen_one_marked_and_the_last_run_as_it_was(
        self, store: ModelStore, trained: Model
    ):
        store.save(produced(trained, days=1, seconds=LATE))
        rows = ask(store, trained, deadline_seconds=300.0).answer.rows
        assert len(rows) <= 5
        assert [row.is_chosen for row in rows].count(True) == 1
        roles = [role for row in rows for role in row.roles]
        assert roles.count("Chosen") == roles.count("Cheapest that meets it") == roles.count("Fastest") == 1
        last = rows[-1]
        assert (last.roles, last.executors, last.seconds, last.is_actual) == (("Today",), 4, LATE, True)

    def test_no_configuration_stands_there_twice(self, store: ModelStore, trained: Model):
        rows = ask(store, trained, deadline_seconds=3000.0, max_executors=1).answer.rows
        assert [row.roles for row in rows] == [("Cheapest that meets it", "Chosen", "Fastest")]


class TestCaution:
    def test_a_goal_out_of_reach_comes_first_with_the_nearest_that_could_be_asked(
        self, store: ModelStore, trained: Model
    ):
        keep_replay(store, trained, m12=9999.0)
        shown = ask(store, trained, deadline_seconds=30.0)
        caution = shown.answer.caution
        assert (caution.about, caution.tone) == ("question", "bad")
        assert "Possible: a deadline of " in caution.words
        assert plain(shown.answer.sentence).startswith("The deadline of 30 s is out of reach: ")

    @pytest.mark.parametrize("scale", [1.0, 1.02, 0.98])
    def test_a_replay_that_breaks_the_deadline_leads_also_a_step_of_the_scale_away(
        self, store: ModelStore, trained: Model, scale: float
    ):
        chosen = ask(store, trained, deadline_seconds=300.0, scale=scale).decision
        keep_replay(store, trained, **{f"m{chosen.executors}": 340.0})
        shown = ask(store, trained, deadline_seconds=300.0, scale=scale)
        assert shown.answer.caution.about == "replay"
        assert "(deadline 5 min)" in shown.answer.caution.words
        assert checks(shown)["replay"] is False
        store.save(marked(trained, days=1))
        stale = ask(store, trained, deadline_seconds=300.0, scale=scale).answer.caution
        assert stale.about == "conditions", "what has changed is known, the replay is an estimate"

    @pytest.mark.parametrize(
        ("runs", "fields", "is_silent"),
        [
            (3, {}, True),
            (2, {}, False),
            (3, {"seconds": 390.0}, False),
            (3, {"executors": 24}, False),
            (3, {"predicted_seconds": 2000.0}, False),
        ],
        ids=["shown", "too few", "not as predicted", "another size", "another input"],
    )
    def test_a_replay_is_silent_where_production_has_shown_the_truth(
        self, store: ModelStore, trained: Model, runs: int, fields: dict[str, Any], is_silent: bool
    ):
        chosen = ask(store, trained, deadline_seconds=300.0).decision
        keep_replay(store, trained, **{f"m{chosen.executors}": 340.0})
        for number in range(runs):
            told = {"executors": chosen.executors, "predicted_seconds": chosen.predicted_seconds, **fields}
            store.save(produced(trained, days=9 - number, **told))
        shown = ask(store, trained, deadline_seconds=300.0)
        (check,) = [each for each in shown.answer.checks if each.name == "replay"]
        assert check.passed is is_silent
        assert check.words.startswith("3 production runs of about this size") == is_silent
        assert (shown.answer.caution is None or "Replay" not in shown.answer.caution.words) or not is_silent

    @pytest.mark.parametrize(
        ("beside", "share", "asked", "passed"),
        [
            ((0,), 1.0, {}, True),
            ((-1, 1), 2.0, {}, False),
            ((-1, 1), 2.0, {"max_executors": 1}, None),
            ((-1, 0, 1), 1.0, {"scale": 0.5}, None),
        ],
        ids=["it agrees", "interpolated", "beyond what was replayed", "far less input"],
    )
    def test_replay_is_a_check_where_it_says_something(
        self, store: ModelStore, trained: Model, beside: Any, share: float, asked: Any, passed: bool | None
    ):
        chosen = ask(store, trained, deadline_seconds=300.0).decision
        seconds = {f"m{chosen.executors + each}": share * chosen.predicted_seconds for each in beside}
        keep_replay(store, trained, **seconds)
        shown = ask(store, trained, deadline_seconds=300.0, **asked)
        assert checks(shown)["replay"] is passed
        assert passed is False or shown.answer.caution is None or shown.answer.caution.about != "replay"

    def test_a_drifting_and_a_stale_model_carry_theirs_at_the_decision(
        self, store: ModelStore, trained: Model
    ):
        store.save(marked(trained, days=3))
        stale = ask(store, trained, deadline_seconds=300.0).answer.caution
        assert (stale.about, stale.tone) == ("conditions", "warning")
        keep_drifting(store, trained)
        drifting = ask(store, trained, deadline_seconds=300.0)
        assert (drifting.answer.caution.about, drifting.answer.caution.tone) == ("drift", "bad")
        assert checks(drifting)["drift"] is False
        assert " By predictions that no longer hold, " in drifting.answer.sentence

    def test_a_drift_is_said_before_a_replay_and_a_goal_out_of_reach(self, store: ModelStore, trained: Model):
        chosen = ask(store, trained, deadline_seconds=300.0).decision
        keep_replay(store, trained, **{f"m{chosen.executors}": 340.0})
        keep_drifting(store, trained)
        shown = ask(store, trained, deadline_seconds=300.0)
        assert (shown.answer.caution.about, shown.answer.caution.tone) == ("drift", "bad")
        assert shown.answer.caution.words.startswith("Predictions for m5.large no longer hold. ")
        unreachable = ask(store, trained, deadline_seconds=30.0).answer
        assert unreachable.caution.about == "drift"
        assert "is out of reach" in unreachable.sentence

    def test_a_drift_of_the_pages_type_is_said_also_where_another_is_shown(
        self, store: ModelStore, trained: Model
    ):
        other = model(days=2, instance_type="r5.large", price=0.01, method="averaging")
        store.save(other)
        keep_drifting(store, trained)
        shown = ask(store, trained, deadline_seconds=300.0)
        assert shown.decision.instance_type == "r5.large"
        assert (shown.answer.caution.about, shown.answer.caution.tone) == ("history", "bad")
        words = "Predictions for m5.large no longer hold. The answer is of r5.large. "
        assert shown.answer.caution.words.startswith(words)
        assert checks(shown)["drift"] is None
        assert not [fact for fact in shown.answer.facts if fact.startswith("Deadlines kept")]

    def test_another_type_whose_predictions_no_longer_hold_is_not_offered(
        self, store: ModelStore, trained: Model
    ):
        other = model(days=2, instance_type="r5.large", price=0.01, method="averaging")
        store.save(other)
        keep_drifting(store, other)
        shown = ask(store, trained, deadline_seconds=300.0)
        assert shown.decision.instance_type == "m5.large"
        assert "no longer hold" in shown.skipped_types["r5.large"]

    def test_checks_and_footnotes_are_of_the_type_that_is_shown_and_name_it(
        self, store: ModelStore, trained: Model
    ):
        most = max(run.executors for run in trained.observations)
        other = model(days=2, instance_type="r5.large", price=0.01, method="averaging")
        kept = tuple(run for run in other.observations if run.executors < most)
        store.save(replace(other, observations=kept))
        shown = ask(store, trained, deadline_seconds=300.0, max_executors=most).answer
        (size,) = [each.words for each in shown.checks if each.name == "size"]
        assert size.startswith("r5.large: ")
        assert f"to {max(run.executors for run in kept)} machines were tried" in size
        footnotes = [row for row in shown.rows if row.extrapolates]
        assert all(row.extrapolates.startswith(f"{row.instance_type}: ") for row in footnotes)

    def test_a_goal_out_of_reach_says_why_and_advises_what_would_help(
        self, store: ModelStore, trained: Model
    ):
        floor = ask(store, trained, deadline_seconds=2.0, min_executors=2).answer.caution.words
        assert "No number of machines of m5.large ends before about " in floor
        assert "fixed work" in floor
        assert "allow more" not in floor
        assert "less certainty" not in floor
        few = ask(store, trained, deadline_seconds=300.0, max_executors=2).answer.caution.words
        assert few.endswith(" Allow more machines.")

    def test_a_size_beyond_what_was_tried_says_so(self, store: ModelStore, trained: Model):
        shown = ask(store, trained, deadline_seconds=300.0, min_executors=30, max_executors=32)
        assert shown.answer.caution.about == "size"
        assert checks(shown)["size"] is False


class TestReplays:
    def types(self, store: ModelStore, shown: Model) -> list[str]:
        return [each.instance_type for each in ask(store, shown, readable=not_secret).replays]

    def test_of_other_types_by_their_newest_models(self, store: ModelStore, trained: Model):
        other = model(days=2, instance_type="r5.large")
        hidden = model(days=2, instance_type="x1.large", dag_id="secret")
        for each, dag_id in ((other, "sizing"), (hidden, "secret")):
            store.save(each)
            keep_replay(store, each, dag_id=dag_id, m4=50.0)
        keep_replay(store, trained, m4=50.0)
        assert self.types(store, trained) == ["m5.large", "r5.large"]
        store.save(model(days=1, instance_type="r5.large", name="newer"))
        assert self.types(store, trained) == ["m5.large"]

    def test_those_that_cannot_be_read_do_no_harm(
        self, store: ModelStore, trained: Model, monkeypatch: pytest.MonkeyPatch
    ):
        store.save(model(days=2, instance_type="r5.large"))
        keep_replay(store, trained, m4=50.0)
        read = store.newest_first

        def unreachable(form: type[Record], job: str, instance_type: str, **asked: Any) -> Any:
            if form is BottleneckReport and instance_type == "r5.large":
                raise StoreError("the network is down")
            return read(form, job, instance_type, **asked)

        monkeypatch.setattr(store, "newest_first", unreachable)
        assert self.types(store, trained) == ["m5.large"]
