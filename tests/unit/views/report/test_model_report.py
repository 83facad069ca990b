"""The report on a model, and the prediction that it shows."""

import hashlib
import re
from base64 import b64encode
from dataclasses import replace

import pytest

from airflow_provider_ernest.decision import choice
from airflow_provider_ernest.decision.choice import choose
from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents import Billing, InputFingerprint, Model, RunConditions
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.predict import predict_seconds
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.views.prediction import START_UP, prediction_alone
from airflow_provider_ernest.views.report.model import learned_from, render, trained_under
from tests.unit.views.report.conftest import observations
from tests.unit.views.report.parsed_page import Page, reaches_out, same_shape

PRICED = Billing(price_per_hour=0.5)


def html_of(model: Model, **options: object) -> str:
    prediction = prediction_alone(model, **{"machines": range(1, 17), **options})  # type: ignore[arg-type]
    return render(model, prediction, goal=options.get("goal"))  # type: ignore[arg-type]


def page_of(model: Model, **options: object) -> Page:
    return Page(html_of(model, **options))


def test_times_include_the_start_up_and_their_parts_add_up(model: Model):
    curve = prediction_alone(model, machines=[8, 4], scale=0.5).curve
    assert [each.machines for each in curve] == [4, 8]
    expected = predict_seconds(model, machines=[4, 8], scale=0.5) + 5.0
    for each, seconds in zip(curve, expected, strict=True):
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
    told = prediction_alone(model, machines=range(1, 13), goal=goal, billing=billing)
    decision = choose(Offer(model=model, machines=range(1, 13), billing=billing), goal=goal).to_dict()
    assert told.decision == {key: value for key, value in decision.items() if key != "alternatives"}
    assert len(told.alternatives) == 12
    assert told.latest_seconds == 180


@pytest.mark.parametrize("deadline", [1.0, 500.0])
def test_nothing_is_computed_twice(model: Model, deadline: float, monkeypatch: pytest.MonkeyPatch):
    asked = []
    forecast = choice.OfferForecast
    monkeypatch.setattr(choice, "OfferForecast", lambda *a, **k: asked.append(a) or forecast(*a, **k))
    prediction_alone(model, machines=range(1, 9), goal=Goal(deadline_seconds=deadline), billing=PRICED)
    assert len(asked) == 1


def test_what_cannot_be_reported(model: Model):
    with pytest.raises(InvalidParameterError, match="price_per_hour=None is missing"):
        prediction_alone(model, machines=[4], goal=Goal(deadline_seconds=100))
    with pytest.raises(InvalidParameterError, match="is empty"):
        prediction_alone(model, machines=[])


def test_the_file_needs_nothing_and_runs_only_the_scripts_that_it_was_written_with(model: Model):
    html = html_of(model, billing=PRICED)
    page = Page(html)
    assert reaches_out(page) == []
    assert not re.search(r"@import|url\(", "".join(page.scripts[2:]))
    scripts = page.scripts[1:]
    digests = [b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts]
    known = " ".join(f"'sha256-{digest}'" for digest in digests)
    assert len(scripts) == 2
    assert page.policy == f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {known}"
    assert len(html) < 1_500_000, "it is sent by mail"


HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>\u2028\u2029&amp;",
    '"><img src=x onerror=alert(1)>',
    "</title></style><svg onload=alert(1)>",
    "'; DROP TABLE jobs; --&lt;b&gt;",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_whatever_the_user_wrote_stays_text(model: Model, hostile: str):
    named = replace(
        model,
        job=hostile,
        instance_type=hostile,
        artifact=hostile,
        input_path=hostile,
        id=hostile,
        warnings=(hostile,),
        observations=tuple(observations(application_id=hostile, event_log=hostile)),
        terms=tuple(replace(term, meaning=hostile) for term in model.terms),
    )
    page = page_of(named)
    assert same_shape(page, page_of(model))
    assert page.texts.count(hostile) >= 5, "shown as it was written"
    assert page.data["observations"][0]["application_id"] == hostile
    assert not set("<>&") & set(page.scripts[0])


def test_each_chart_has_its_numbers_without_scripts(model: Model):
    page = page_of(model, billing=PRICED, goal=Goal(deadline_seconds=200))
    assert page.columns("time")[:2] == ["machines", "seconds"]
    assert page.columns("shares")[:2] == ["machines", "s of 1"], "a term is called machines, too"
    assert page.columns("cost") == ["machines", "seconds", "dollars", "keeps the goal", "remark"]
    assert page.columns("folds")[-1] == "error"
    assert page.data["prediction"]["decision"]["config"]["machines"]


def test_the_chosen_cluster_stands_first(model: Model):
    goal = Goal(deadline_seconds=200)
    told = prediction_alone(model, machines=range(1, 17), billing=PRICED, goal=goal)
    assert told.decision is not None
    text = page_of(model, billing=PRICED, goal=goal).text
    chosen = f"Chosen\n{told.decision['config']['machines']} machines\ncheapest within 200 s"
    assert text.index(chosen) < text.index("Time against machines")


def test_it_says_how_surely_the_goal_is_kept(model: Model):
    seconds = prediction_alone(model, machines=[8]).curve[0].seconds
    close = Goal(deadline_seconds=seconds, confidence=0.4)
    far = Goal(deadline_seconds=5 * seconds, confidence=0.9)
    probable = re.compile(r"Probability to keep the goal\n(.+?) %\nasked for: (\d+) %")
    near, sure = (
        probable.search(page_of(model, machines=[8], billing=PRICED, goal=goal).text) for goal in (close, far)
    )
    assert near
    assert sure
    assert 40 <= float(near[1]) <= 60
    assert (near[2], sure[1], sure[2]) == ("40", "over 99.9", "90")


def test_what_is_billed_besides_the_machines_is_told(model: Model):
    billing = Billing(price_per_hour=0.5, master_price_per_hour=1.0, training_dollars=3.0, expected_runs=100)
    page = page_of(model, billing=billing, goal=Goal(deadline_seconds=300))
    words = r"at \$0\.50 for a machine and hour; of it \$0\.\d+ for the master, \$0\.03 for training"
    assert re.search(words, page.text)


def test_a_goal_out_of_reach_is_told_and_what_things_cost_all_the_same(model: Model):
    page = page_of(model, billing=PRICED, goal=Goal(deadline_seconds=1))
    assert "No allowed configuration ends within 1 s" in page.text
    assert "The most probable is" in page.text
    assert "Chosen" not in page.text
    assert "Cost against time" in page.text
    assert page.data["prediction"]["most_probable"] in page.data["prediction"]["alternatives"]


def test_a_deadline_that_the_boot_uses_up_has_no_place_in_a_picture(model: Model):
    billing = Billing(price_per_hour=0.5, boot_seconds=60)
    told = prediction_alone(model, machines=[4], goal=Goal(deadline_seconds=50), billing=billing)
    assert told.latest_seconds is None


def test_without_a_price_there_is_no_cost(model: Model):
    assert "Cost against time" not in page_of(model).text


def test_the_origin_is_told(model: Model):
    learned = replace(
        model,
        base_model_id="20260101T000000",
        learned_from=("a", "b"),
        conditions=RunConditions(spark="4.2.0 <b>"),
    )
    text = page_of(learned).text
    origin = (model.id, model.at, "ab" * 32, "m5.large")
    for fact in (*origin, "2 production runs", "Spark 4.2.0 <b>"):
        assert fact in text
    assert "learned from" not in page_of(model).text


def test_a_term_of_the_users_own_is_shown():
    model = train(observations(), job="grep", terms=("1", "scale/machines", "max(machines - 4, 0)"))
    assert "max(machines - 4, 0)\na term of your own" in page_of(model).text


def test_the_same_contents_give_the_same_page(model: Model):
    assert html_of(model) == html_of(model)


@pytest.mark.parametrize("method", ["relative", "classic"])
def test_every_method_can_be_reported_on(method: str):
    model = train(observations()[:5], job="grep", method=method)
    page = page_of(model, machines=[1, 64, 512], billing=PRICED)
    assert "non-negative least squares" in page.text


def test_intervals_without_bounds_are_no_numbers_to_draw(model: Model):
    told = prediction_alone(model, machines=[4, 8])
    endless = tuple(replace(each, nearly_certain_seconds=(0.0, float("inf"))) for each in told.curve)
    page = Page(render(model, replace(told, curve=endless)))
    assert page.data["prediction"]["curve"][0]["nearly_certain_seconds"] == [0.0, None]


def test_iterations_and_scale_are_told():
    model = train(observations(iterations=5), job="grep")
    assert "200 % of the input, 50 iterations" in page_of(model, scale=2.0, iterations=50).text


def test_what_it_has_learned_from(model: Model):
    assert learned_from(model) is None
    learned = replace(model, base_model_id="20260101T000000", learned_from=("a", "b"))
    told = "2 production runs, which are among its runs; it goes on from 20260101T000000"
    assert learned_from(learned) == told


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        (None, None),
        (RunConditions(), None),
        (RunConditions(spark="4.2.0", settings={}), "Spark 4.2.0; 0 settings compared"),
        (
            RunConditions(
                spark="emr-7.5.0",
                settings={"a": "1"},
                cores_per_machine=4,
                input=InputFingerprint(
                    partitions=640, total_bytes=320_000_000_000, columns=14, format="parquet"
                ),
            ),
            "Spark emr-7.5.0; 1 setting compared; 4 cores of a machine; "
            "input of 640 partitions of 500 MB, 14 columns, parquet",
        ),
        (RunConditions(input=InputFingerprint(total_bytes=1500)), "input of 1.50 kB"),
        (RunConditions(input=InputFingerprint(partitions=1)), "input of 1 partition"),
    ],
)
def test_what_it_was_trained_under(conditions: RunConditions | None, words: str | None):
    assert trained_under(conditions) == words
