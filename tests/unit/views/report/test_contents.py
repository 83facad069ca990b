import pytest

from airflow_provider_ernest.decision import choice
from airflow_provider_ernest.decision.choice import choose
from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents import Billing, Model
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.predict import predict_seconds
from airflow_provider_ernest.views.report.contents import START_UP, gather


def test_times_include_the_start_up_and_their_parts_add_up(model: Model):
    contents = gather(model, machines=[8, 4], scale=0.5)
    assert [each.machines for each in contents.predictions] == [4, 8]
    expected = predict_seconds(model, machines=[4, 8], scale=0.5) + 5.0
    for each, seconds in zip(contents.predictions, expected, strict=True):
        assert each.seconds == pytest.approx(seconds)
        assert sum(each.parts.values()) == pytest.approx(seconds)
        assert each.parts[START_UP] == 5.0
        lowest, highest = each.nearly_certain_seconds
        low, high = each.likely_seconds
        assert lowest < low < each.seconds < high < highest


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_decision_is_that_of_choose(model: Model, confidence: float):
    goal = Goal(deadline_seconds=200, confidence=confidence)
    billing = Billing(price_per_hour=0.5, increment_seconds=60, boot_seconds=20)
    contents = gather(model, machines=range(1, 13), goal=goal, billing=billing)
    offer = Offer(model=model, machines=range(1, 13), billing=billing)
    decision = choose(offer, goal=goal)
    assert contents.decision == decision
    assert contents.alternatives == decision.alternatives
    assert contents.chosen is not None
    assert contents.chosen.machines == decision.config.machines
    assert contents.latest_seconds == 180


def test_a_goal_out_of_reach_still_shows_what_things_cost(model: Model):
    contents = gather(
        model, machines=[4, 8], goal=Goal(deadline_seconds=1), billing=Billing(price_per_hour=0.5)
    )
    assert contents.decision is None
    assert "the fastest is 8 machines" in contents.out_of_reach
    assert contents.most_probable in contents.alternatives
    assert len(contents.alternatives) == 2


@pytest.mark.parametrize("deadline", [1.0, 500.0])
def test_nothing_is_computed_twice(model: Model, deadline: float, monkeypatch: pytest.MonkeyPatch):
    asked = []
    forecast = choice.OfferForecast
    monkeypatch.setattr(choice, "OfferForecast", lambda *a, **k: asked.append(a) or forecast(*a, **k))
    gather(
        model,
        machines=range(1, 9),
        goal=Goal(deadline_seconds=deadline),
        billing=Billing(price_per_hour=0.5),
    )
    assert len(asked) == 1


def test_a_deadline_that_the_boot_uses_up_has_no_place_in_a_picture(model: Model):
    billing = Billing(price_per_hour=0.5, boot_seconds=60)
    contents = gather(model, machines=[4], goal=Goal(deadline_seconds=50), billing=billing)
    assert contents.latest_seconds is None


def test_without_a_price_nothing_costs_anything(model: Model):
    assert gather(model, machines=[4]).alternatives == ()


def test_what_cannot_be_reported(model: Model):
    with pytest.raises(InvalidParameterError, match="price_per_hour=None is missing"):
        gather(model, machines=[4], goal=Goal(deadline_seconds=100))
    with pytest.raises(InvalidParameterError, match="is empty"):
        gather(model, machines=[])
