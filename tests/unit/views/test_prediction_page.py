import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.decision.choice import choose
from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents import Billing, FittedTerm, Model
from airflow_provider_ernest.exceptions import FitError, InvalidParameterError
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.prediction import prediction
from airflow_provider_ernest.views.prediction_request import PredictionRequest
from airflow_provider_ernest.web.answers import json_ready

from .stored import everything, model, observed


@pytest.fixture(scope="module")
def trained() -> Model:
    return model(method="averaging")


@pytest.fixture
def store(tmp_path: Path, trained: Model) -> ModelStore:
    store = ModelStore(tmp_path)
    store.save(trained)
    return store


def predicted(store: ModelStore, of: Model, *, readable: Any = everything, **asked: Any) -> dict[str, Any]:
    request = PredictionRequest(**{"max_machines": 12, **asked})
    answer = prediction(store, of, request, entries=store.catalogue.entries(), readable=readable)
    json.dumps(json_ready(answer), allow_nan=False)
    return json_ready(answer)


def test_the_curve_adds_up_with_start_up(store: ModelStore, trained: Model):
    answer = predicted(store, trained, scale=0.5)
    assert [point["machines"] for point in answer["curve"]] == list(range(1, 13))
    for point in answer["curve"]:
        assert sum(point["parts"].values()) == pytest.approx(point["seconds"])
        assert point["parts"]["start-up"] == 5.0
        (low, high), (lowest, highest) = point["likely_seconds"], point["nearly_certain_seconds"]
        assert lowest < low < point["seconds"] < high < highest
    assert answer["startup_seconds"] == 5.0
    assert (answer["alternatives"], answer["decision"], answer["goal"]) == ([], None, None)


@pytest.mark.parametrize(
    "goal",
    [
        {"deadline_seconds": 200.0},
        {"deadline_seconds": 250.0, "confidence": 0.95},
        {"budget_dollars": 0.15},
        {"deadline_seconds": 300.0, "budget_dollars": 0.3, "objective": "balanced"},
        {"objective": "cheapest"},
    ],
)
def test_the_decision_is_that_of_ernest_choose(store: ModelStore, trained: Model, goal: dict[str, Any]):
    answer = predicted(store, trained, price_per_hour=0.5, scale=0.8, **goal)
    billing = Billing().completed(price_per_hour=0.5, training_dollars=None)
    offer = Offer(model=trained, machines=range(1, 13), billing=billing)
    expected = json_ready(choose(offer, goal=Goal(**goal), scale=0.8).to_dict())
    alternatives = expected.pop("alternatives")
    assert answer["decision"] == expected
    assert answer["goal"] == expected["goal"]
    assert (answer["out_of_reach"], answer["most_probable"]) == ("", None)
    for told, each in zip(answer["alternatives"], alternatives, strict=True):
        assert told.items() <= each.items()


def test_what_is_billed_is_what_ernest_choose_bills(store: ModelStore, trained: Model):
    terms = {
        "increment_seconds": 3600.0,
        "boot_seconds": 90.0,
        "master_price_per_hour": 0.2,
        "volume_gigabytes": 100.0,
        "training_dollars": 3.0,
        "expected_runs": 30,
    }
    answer = predicted(store, trained, price_per_hour=0.5, deadline_seconds=400.0, billing=Billing(**terms))
    offer = Offer(model=trained, machines=range(1, 13), billing=Billing(price_per_hour=0.5, **terms))
    expected = choose(offer, goal=Goal(deadline_seconds=400.0))
    assert answer["decision"]["config"]["machines"] == expected.config.machines
    assert answer["decision"]["predicted_cost"] == expected.predicted_cost
    assert answer["decision"]["cost_parts"]["training"] == pytest.approx(0.1)
    assert answer["latest_seconds"] == 310.0


def test_training_that_no_run_is_said_to_share_is_left_out(store: ModelStore, trained: Model):
    billing = Billing(training_dollars=100.0)
    answer = predicted(store, trained, price_per_hour=0.5, deadline_seconds=400.0, billing=billing)
    assert answer["decision"]["cost_parts"]["training"] == 0.0


def test_more_confidence_leaves_fewer_configurations(store: ModelStore, trained: Model):
    def feasible(confidence: float) -> list[int]:
        answer = predicted(store, trained, price_per_hour=0.5, deadline_seconds=180.0, confidence=confidence)
        for each in answer["alternatives"]:
            assert each["feasible"] == (each["probability"] >= confidence)
        return [each["machines"] for each in answer["alternatives"] if each["feasible"]]

    assert set(feasible(0.99)) < set(feasible(0.5))


def test_what_would_have_been_chosen_next(store: ModelStore, trained: Model):
    answer = predicted(store, trained, price_per_hour=0.5, deadline_seconds=250.0)
    chosen = answer["decision"]["config"]["machines"]
    feasible = [each for each in answer["alternatives"] if each["feasible"]]
    # Dollars for each run that keeps to the deadline.
    costs = sorted((each["cost"] / each["probability"], each["machines"]) for each in feasible)
    assert chosen == costs[0][1]
    assert [each["machines"] for each in answer["runners_up"]] == [machines for _, machines in costs[1:4]]


def test_a_goal_out_of_reach_says_what_keeps_it_most_probably(store: ModelStore, trained: Model):
    answer = predicted(store, trained, price_per_hour=0.5, deadline_seconds=100.0, confidence=0.99)
    assert answer["decision"] is None
    assert "ends within 100 s with a probability of 99 %" in answer["out_of_reach"]
    assert (len(answer["alternatives"]), answer["runners_up"]) == (12, [])
    assert not any(each["feasible"] for each in answer["alternatives"])
    assert answer["most_probable"]["probability"] == max(
        each["probability"] for each in answer["alternatives"]
    )


def test_a_goal_without_a_price_still_shows_the_curve(store: ModelStore, trained: Model):
    answer = predicted(store, trained, deadline_seconds=200.0)
    assert answer["decision"] is None
    assert "Give the dollars for one machine and hour" in answer["out_of_reach"]
    assert answer["goal"] == "cheapest within 200 s with a probability of 80 %"
    assert (len(answer["curve"]), answer["offered_types"]) == (12, [])


def test_no_more_numbers_than_a_picture_can_show(store: ModelStore, trained: Model):
    answer = predicted(
        store, trained, min_machines=5, max_machines=1004, price_per_hour=0.5, deadline_seconds=500.0
    )
    counts = [point["machines"] for point in answer["curve"]]
    assert len(counts) <= 200
    assert counts[:20] == list(range(5, 25)), "of few machines each number matters"
    assert counts[-1] == 1004
    assert max(after / before for before, after in pairwise(counts) if before > 50) < 1.05
    left_out = f"Of 1,000 numbers of machines {len(counts)} were considered, evenly spread by ratio."
    assert left_out in answer["decision"]["warnings"]


def test_one_number_of_machines(store: ModelStore, trained: Model):
    answer = predicted(store, trained, min_machines=3, max_machines=3, price_per_hour=1.0, budget_dollars=9.0)
    assert [point["machines"] for point in answer["curve"]] == [3]
    assert answer["decision"]["config"]["machines"] == 3
    assert answer["runners_up"] == []


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"scale": 0.0}, r"scale=0\.0"),
        ({"scale": math.nan}, r"scale=nan"),
        ({"scale": 1e300}, r"scale=1e\+300 is beyond all measure\. Give 1e-09 to 1e\+09"),
        ({"scale": 5e-324}, r"scale=5e-324 is beyond all measure"),
        ({"price_per_hour": 0.0}, r"price_per_hour=0\.0"),
        ({"price_per_hour": math.inf}, r"price_per_hour=inf"),
        ({"deadline_seconds": -1.0}, r"deadline_seconds=-1\.0"),
        ({"budget_dollars": 1e200}, r"budget_dollars=1e\+200 is beyond all measure"),
        ({"deadline_seconds": 1.0, "budget_dollars": 1.0}, r"is two goals"),
        ({"deadline_seconds": 1.0, "confidence": 1.0}, r"confidence=1\.0 is not between 0 and 1"),
        ({"objective": "os.system"}, r"objective='os\.system' is unknown"),
        ({"min_machines": 0}, r"min_machines=0"),
        ({"min_machines": 13}, r"max_machines=12 is less than min_machines=13"),
        ({"max_machines": 1001}, r"1,001 numbers of machines .* at most 1,000, up to 1,000 machines"),
        ({"max_machines": 10**30}, r"is no size of a cluster"),
        ({"iterations": 0}, r"iterations=0"),
        ({"iterations": 3}, r"iterations=3 is asked of a model of 'join' that was trained without"),
    ],
)
def test_what_cannot_be_asked(store: ModelStore, trained: Model, asked: dict[str, Any], problem: str):
    with pytest.raises(InvalidParameterError, match=problem):
        predicted(store, trained, **asked)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("method", ["averaging", "relative", "classic"])
def test_scales_at_the_edge_are_computed(store: ModelStore, scale: float, method: str):
    answer = predicted(store, model(method=method), scale=scale, price_per_hour=1e9, deadline_seconds=1e9)
    seconds = [point["seconds"] for point in answer["curve"]]
    assert len(seconds) == 12
    assert all(0 < each < math.inf for each in seconds)


@pytest.mark.parametrize("nonsense", [math.inf, math.nan])
def test_what_comes_to_no_number_is_no_answer(store: ModelStore, trained: Model, nonsense: float):
    damaged = replace(trained, startup_seconds=nonsense)
    for price in (None, 0.5):
        with pytest.raises(FitError, match=r"of 'join' on m5\.large cannot predict here: "):
            predicted(store, damaged, price_per_hour=price)


@pytest.mark.parametrize(
    ("terms", "problem"),
    [
        ({"boot_seconds": -1.0}, r"boot_seconds=-1\.0"),
        ({"master_price_per_hour": math.nan}, r"master_price_per_hour=nan"),
        ({"volume_gigabytes": 1e300}, r"volume_gigabytes=1e\+300 is beyond all measure"),
        ({"increment_seconds": 0.0}, r"increment_seconds=0\.0"),
        ({"expected_runs": 0}, r"expected_runs=0"),
    ],
)
def test_what_cannot_be_billed(terms: dict[str, Any], problem: str):
    with pytest.raises(InvalidParameterError, match=problem):
        PredictionRequest(billing=Billing(**terms))


def _unknown_term() -> FittedTerm:
    return FittedTerm(name="entangled(machines)", meaning="", coefficient=1.0)


def test_terms_of_another_version(store: ModelStore, trained: Model):
    newer = replace(trained, terms=(*trained.terms, _unknown_term()))
    with pytest.raises(FitError, match=r"entangled\(machines\).*Upgrade airflow-provider-ernest"):
        predicted(store, newer)


def test_a_method_of_another_version(store: ModelStore, trained: Model):
    with pytest.raises(FitError, match=r"method='divination' is unknown.*Upgrade airflow-provider-ernest"):
        predicted(store, replace(trained, method="divination"))


def test_a_model_without_observations(store: ModelStore, trained: Model):
    with pytest.raises(FitError, match=r"cannot predict here: it has no observations\. Train it again"):
        predicted(store, replace(trained, observations=()))


@pytest.mark.parametrize("method", ["averaging", "relative", "classic"])
def test_runs_on_one_number_of_machines_predict_with_a_warning(
    store: ModelStore, trained: Model, method: str
):
    runs = tuple(replace(run, machines=4) for run in observed())
    answer = predicted(store, replace(trained, observations=runs, method=method))
    assert "at most 4 were observed" in answer["curve"][-1]["extrapolates"]
    assert answer["curve"][3]["extrapolates"] == ""


def test_runs_without_applications_or_hosts(store: ModelStore, trained: Model):
    runs = tuple(observed(application_id=None, hosts=()))
    assert len(predicted(store, replace(trained, observations=runs))["curve"]) == 12


def test_more_configurations_than_a_page_can_wait_for(store: ModelStore, trained: Model):
    runs = tuple(replace(run, scale=0.01 + index / 10_000) for index, run in enumerate(observed(runs=101)))
    with pytest.raises(FitError, match=r"its runs have 101 configurations.*with ernest choose"):
        predicted(store, replace(trained, observations=runs))
    by_least_squares = model(method="relative", observations=runs)
    assert len(predicted(store, by_least_squares)["curve"]) == 12


@pytest.mark.parametrize("method", ["averaging", "relative", "classic"])
@pytest.mark.parametrize(("runs", "terms"), [(100_001, 2), (2, 1_500)])
def test_more_numbers_than_a_page_can_wait_for(store: ModelStore, trained: Model, method, runs, terms):
    large = replace(
        trained,
        method=method,
        observations=trained.observations[:1] * runs,
        terms=tuple(replace(trained.terms[0], name=f"scale^{index + 2}") for index in range(terms)),
    )
    with pytest.raises(FitError, match=r"runs and [\d,]+ terms.*with ernest choose"):
        predicted(store, large)


def test_a_model_that_was_trained_again_predicts_anew(store: ModelStore, trained: Model):
    before = predicted(store, trained)["curve"][0]["seconds"]
    slower = tuple(replace(run, seconds=3 * run.seconds) for run in trained.observations)
    after = predicted(store, replace(trained, observations=slower))["curve"][0]["seconds"]
    assert after > 2 * before
