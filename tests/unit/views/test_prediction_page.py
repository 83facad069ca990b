"""What the page of a model predicts, and what it considers: the types of machines that the reader may see."""

import json
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents.models import FittedTerm, Model
from airflow_provider_ernest.exceptions import FitError, InvalidParameterError
from airflow_provider_ernest.prediction.predict import predict_seconds
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.outcomes import shown_decision
from airflow_provider_ernest.views.prediction import prediction
from airflow_provider_ernest.views.prediction_request import PredictionRequest
from airflow_provider_ernest.web.answers import json_ready
from tests.choices import choice_of
from tests.examples import noisy_observations, sizing_goal
from tests.unit.views.stored import everything, model, not_secret

METHODS = ["averaging", "relative", "classic"]
UNKNOWN = FittedTerm(name="entangled(executors)", meaning="", coefficient=1.0)


@pytest.fixture(scope="module")
def trained() -> Model:
    return model(method="averaging")


def predicted(store: ModelStore, of: Model, *, readable: Any = everything, **asked: Any) -> dict[str, Any]:
    billing = Billing(**asked.pop("billing", {}))
    request = PredictionRequest(**{"max_executors": 12, "billing": billing, **asked})
    answer = json_ready(prediction(store, of, request, entries=store.catalogue.entries(), readable=readable))
    json.dumps(answer, allow_nan=False)
    return answer


def test_the_curve_adds_up_with_start_up(store: ModelStore, trained: Model):
    answer = predicted(store, trained, scale=0.5)
    expected = predict_seconds(trained, executors=list(range(1, 13)), scale=0.5) + 5.0
    assert [point["executors"] for point in answer["curve"]] == list(range(1, 13))
    for point, seconds in zip(answer["curve"], expected, strict=True):
        assert sum(point["parts"].values()) == pytest.approx(point["seconds"]) == pytest.approx(seconds)
        assert point["parts"]["start-up"] == 5.0
        (low, high), (lowest, highest) = point["likely_seconds"], point["nearly_certain_seconds"]
        assert lowest < low < point["seconds"] < high < highest
    assert answer["startup_seconds"] == 5.0
    assert (answer["alternatives"], answer["decision"], answer["goal"]) == ([], None, None)


@pytest.mark.parametrize(
    "goal",
    [
        {"deadline_seconds": 250.0, "confidence": 0.95},
        {"budget_dollars": 0.15},
        {"deadline_seconds": 300.0, "budget_dollars": 0.3, "objective": "balanced"},
        {"objective": "cheapest"},
    ],
)
def test_the_decision_is_that_of_ernest_choose(store: ModelStore, trained: Model, goal: dict[str, Any]):
    answer = predicted(store, trained, price_per_hour=0.5, scale=0.8, **goal)
    billing = Billing().completed(price_per_hour=0.5, training_dollars=None)
    offer = Offer(model=trained, executors=range(1, 13), billing=billing)
    expected = choice_of(offer, goal=sizing_goal(**goal, scale=0.8)).required()
    assert answer["decision"] == json_ready(shown_decision(expected))
    assert answer["goal"] == expected.goal
    assert (answer["out_of_reach"], answer["most_probable"]) == ("", None)
    assert answer["alternatives"] == json_ready(expected.alternatives)


def test_a_deadline_needs_no_price(store: ModelStore, trained: Model):
    answer = predicted(store, trained, deadline_seconds=300.0)
    assert answer["goal"] == "best value within 5 min in 80 % of runs"
    priced = predicted(store, trained, deadline_seconds=300.0, price_per_hour=0.5)
    assert answer["decision"]["executors"] == priced["decision"]["executors"]
    assert answer["decision"]["predicted_cost"] is None
    assert "$" not in str(answer["answer"])


def test_a_budget_without_a_price_still_shows_the_curve(store: ModelStore, trained: Model):
    answer = predicted(store, trained, budget_dollars=20.0)
    assert answer["decision"] is None
    assert "Give the dollars for one machine and hour" in answer["out_of_reach"]
    assert (len(answer["curve"]), answer["offered_types"]) == (12, {})


def test_no_more_numbers_than_a_picture_can_show(store: ModelStore, trained: Model):
    goal = {"price_per_hour": 0.5, "deadline_seconds": 500.0}
    answer = predicted(store, trained, min_executors=5, max_executors=1004, **goal)
    counts = [point["executors"] for point in answer["curve"]]
    assert len(counts) <= 200
    assert counts[:20] == list(range(5, 25)), "of few machines each number matters"
    assert counts[-1] == 1004
    assert max(after / before for before, after in pairwise(counts) if before > 50) < 1.05
    wide = predicted(store, trained, max_executors=100_000, **goal)["curve"]
    assert (len(wide) <= 200, wide[-1]["executors"]) == (True, 100_000)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"scale": 1e300}, r"scale=1e\+300 is out of range\. Give 1e-09 to 1e\+09"),
        ({"min_executors": 13}, r"max_executors=12 is less than min_executors=13"),
        ({"max_executors": 10**30}, r"is no size of a cluster"),
        ({"iterations": 3}, r"iterations=3 is asked of a model of 'join' that was trained without"),
        ({"billing": {"volume_gigabytes": 1e300}}, r"volume_gigabytes=1e\+300 is out of range"),
    ],
)
def test_what_cannot_be_asked(store: ModelStore, trained: Model, asked: dict[str, Any], problem: str):
    with pytest.raises(InvalidParameterError, match=problem):
        predicted(store, trained, **asked)


class TestModelsThatCannotPredict:
    @pytest.mark.parametrize(
        ("changes", "problem"),
        [
            ({"terms": (UNKNOWN,)}, r"entangled\(executors\).*Upgrade airflow-provider-ernest"),
            ({"method": "divination"}, r"method='divination' is unknown.*Upgrade airflow-provider-ernest"),
            ({"observations": ()}, r"cannot predict: it has no observations\. Train it again"),
        ],
    )
    def test_of_another_version_or_without_observations(
        self, store: ModelStore, trained: Model, changes: dict[str, Any], problem: str
    ):
        with pytest.raises(FitError, match=problem):
            predicted(store, replace(trained, **changes))

    def test_more_configurations_than_a_page_can_wait_for(self, store: ModelStore, trained: Model):
        noisy = enumerate(noisy_observations(101))
        runs = tuple(replace(run, scale=0.01 + index / 10_000) for index, run in noisy)
        with pytest.raises(FitError, match=r"its runs have 101 configurations.*with ernest choose"):
            predicted(store, replace(trained, observations=runs))
        by_least_squares = model(method="relative", observations=runs)
        assert len(predicted(store, by_least_squares)["curve"]) == 12


class TestModelsAtTheEdge:
    @pytest.mark.parametrize("scale", [1e-9, 1e9])
    @pytest.mark.parametrize("method", METHODS)
    def test_scales_are_computed(self, store: ModelStore, scale: float, method: str):
        answer = predicted(store, model(method=method), scale=scale, price_per_hour=1e9, deadline_seconds=1e9)
        seconds = [point["seconds"] for point in answer["curve"]]
        assert len(seconds) == 12
        assert all(0 < each < math.inf for each in seconds)

    @pytest.mark.parametrize("method", METHODS)
    def test_runs_on_one_number_of_machines_predict_with_a_warning(
        self, store: ModelStore, trained: Model, method: str
    ):
        runs = tuple(replace(run, executors=4) for run in trained.observations)
        answer = predicted(store, replace(trained, observations=runs, method=method))
        assert "only 4 machines were tried" in answer["curve"][-1]["extrapolates"]
        assert answer["curve"][3]["extrapolates"] == ""


class TestSeveralTypes:
    """The one that was asked about costs 0.5 dollars an hour; r5.large, of the same runs, a fraction."""

    @pytest.fixture
    def answer(self, store: ModelStore, trained: Model) -> dict[str, Any]:
        store.save(model(instance_type="r5.large", price=0.02, method="averaging"))
        store.save(model(instance_type="c5.large", price=None))
        store.save(model(instance_type="hidden", price=0.01, dag_id="secret"))
        goal = {"price_per_hour": 0.5, "deadline_seconds": 250.0}
        return predicted(store, trained, readable=not_secret, **goal)

    def test_the_best_of_all_is_chosen_and_named(self, answer: dict[str, Any]):
        feasible = [each for each in answer["alternatives"] if each["feasible"]]
        cheapest = min(feasible, key=lambda each: each["cost"] / each["probability"])
        chosen = {"executors": cheapest["executors"], "instance_type": "r5.large"}
        assert {name: answer["decision"][name] for name in chosen} == chosen
        assert answer["decision"]["price_per_hour"] == 0.02
        assert answer["instance_type"] == "m5.large"
        assert set(answer["offered_types"]) == {"m5.large", "r5.large"}

    def test_what_the_reader_may_not_see_is_not_named(self, answer: dict[str, Any]):
        (skipped,) = answer["skipped_types"].items()
        assert skipped[0] == "c5.large"
        assert "not known" in skipped[1]
        assert "hidden" not in str(answer)

    @pytest.mark.parametrize(
        ("other", "reason"),
        [
            ({"artifact_sha256": "bb"}, "another JAR"),
            ({"artifact_sha256": "aa", "terms": (UNKNOWN,)}, "entangled(executors)"),
            ({"price": 1e308}, "too high or too low"),
        ],
    )
    def test_one_that_cannot_be_compared_says_why(
        self, store: ModelStore, trained: Model, other: dict[str, Any], reason: str
    ):
        store.save(model(instance_type="r5.large", **other))
        shown = replace(trained, artifact_sha256="aa")
        answer = predicted(store, shown, price_per_hour=0.5, deadline_seconds=300.0)
        (skipped,) = answer["skipped_types"].items()
        assert skipped[0] == "r5.large"
        assert reason in skipped[1]
        assert {each["instance_type"] for each in answer["alternatives"]} == {"m5.large"}
        assert answer["decision"]["instance_type"] == "m5.large"
