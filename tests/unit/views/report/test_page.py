import re
from dataclasses import replace

import pytest

from airflow_provider_ernest.decision.goals import Goal
from airflow_provider_ernest.documents import Billing, Model, RunConditions
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.views.report.contents import gather
from airflow_provider_ernest.views.report.page import POLICY, render
from tests.unit.views.report.conftest import observations
from tests.unit.views.report.parsed_page import Page


def page_of(model: Model, **options: object) -> Page:
    return Page(render(gather(model, **{"machines": range(1, 17), **options})))  # type: ignore[arg-type]


def test_the_page_needs_nothing_and_may_load_nothing(model: Model):
    html = render(gather(model, machines=range(1, 17), billing=Billing(price_per_hour=0.5)))
    page = Page(html)
    policies = [
        meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == [POLICY]
    assert POLICY == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert not {tag for tag, _ in page.elements} & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "form",
        "a",
        "base",
    }
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on")} | (names & {"src", "href", "style"})
    assert not re.search(r"https?:|@import|url\(", html)


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "</title></style><svg onload=alert(1)>",
        "'; DROP TABLE jobs; --&lt;b&gt;",
    ],
)
def test_whatever_the_user_wrote_stays_text(model: Model, hostile: str):
    harmless = page_of(model)
    runs = observations(application_id=hostile, event_log=hostile)
    named = replace(
        model,
        job=hostile,
        instance_type=hostile,
        artifact=hostile,
        input_path=hostile,
        id=hostile,
        warnings=(hostile,),
        observations=tuple(runs),
        terms=tuple(replace(term, meaning=hostile) for term in model.terms),
    )
    page = page_of(named)
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in harmless.elements} | {"li", "ul"}
    assert {name for _, attributes in page.elements for name in attributes} == {
        name for _, attributes in harmless.elements for name in attributes
    }
    assert page.texts.count(hostile) >= 5, "shown as it was written"


def test_a_term_of_the_users_own_is_shown_as_text():
    terms = ("1", "scale/machines", "max(machines - 4, 0)")
    model = train(observations(), job="grep", terms=terms)
    assert "max(machines - 4, 0)\na term of your own" in page_of(model).text


def test_every_chart_is_described_and_has_its_numbers(model: Model):
    page = page_of(model, billing=Billing(price_per_hour=0.5), goal=Goal(deadline_seconds=200))
    charts = page.all("svg")
    figures = len(page.all("figure"))
    assert figures == len(page.all("details")) == 4
    assert len(charts) == 2 * figures, "one for wide and one for narrow screens"
    for chart in charts:
        assert chart["role"] == "img"
        assert chart["aria-label"]
    assert {chart["class"] for chart in charts} == {"chart wide", "chart narrow"}


def test_charts_are_drawn_within_their_frame(model: Model):
    page = page_of(model, billing=Billing(price_per_hour=0.5), goal=Goal(budget_dollars=0.01))
    assert page.outside_of_frames() == []


def test_the_chosen_cluster_stands_first(model: Model):
    contents = gather(
        model,
        machines=range(1, 17),
        billing=Billing(price_per_hour=0.5),
        goal=Goal(deadline_seconds=200),
    )
    assert contents.decision is not None
    text = Page(render(contents)).text
    chosen = f"Chosen\n{contents.decision.config.machines} machines\ncheapest within 200 s"
    assert chosen in text
    assert text.index(chosen) < text.index("Time against machines")


def test_it_says_how_surely_the_goal_is_kept(model: Model):
    billing, seconds = Billing(price_per_hour=0.5), gather(model, machines=[8]).predictions[0].seconds
    close = Goal(deadline_seconds=seconds, confidence=0.4)
    far = Goal(deadline_seconds=5 * seconds, confidence=0.9)
    probable = re.compile(r"Probability to keep the goal\n(.+?) %\nasked for: (\d+) %")
    told = [
        probable.search(page_of(model, machines=[8], billing=billing, goal=goal).text)
        for goal in (close, far)
    ]
    assert told[0]
    assert 40 <= float(told[0][1]) <= 60
    assert told[1]
    assert told[1][1] == "over 99.9"
    assert [each[2] for each in told if each] == ["40", "90"]


def test_what_is_billed_besides_the_machines_is_told(model: Model):
    billing = Billing(price_per_hour=0.5, master_price_per_hour=1.0, training_dollars=3.0, expected_runs=100)
    page = page_of(model, billing=billing, goal=Goal(deadline_seconds=300))
    assert re.search(
        r"at \$0\.50 for a machine and hour; of it \$0\.\d+ for the master, \$0\.03 for training", page.text
    )


def test_the_boot_is_taken_off_the_deadline(model: Model):
    billing = Billing(price_per_hour=0.5, boot_seconds=45)
    page = page_of(model, billing=billing, goal=Goal(deadline_seconds=300))
    assert "deadline 5 min less 45 s to boot" in page.text


def test_a_deadline_and_a_budget_are_both_drawn(model: Model):
    goal = Goal(deadline_seconds=300, budget_dollars=0.2, objective="balanced")
    page = page_of(model, billing=Billing(price_per_hour=0.5), goal=goal)
    assert "deadline and budget" in page.text
    assert "balanced within 300 s and 0.2 $" in page.text


def test_a_goal_out_of_reach_is_told(model: Model):
    page = page_of(model, billing=Billing(price_per_hour=0.5), goal=Goal(deadline_seconds=1))
    assert "No allowed configuration ends within 1 s" in page.text
    assert "The most probable is" in page.text
    assert "Chosen" not in page.text


def test_without_a_price_there_is_no_cost(model: Model):
    assert "Cost against time" not in page_of(model).text


def test_the_origin_is_told(model: Model):
    text = page_of(model).text
    for fact in (model.id, model.at, "ab" * 32, "m5.large"):
        assert fact in text


def test_what_it_learned_from_and_was_trained_under_is_told(model: Model):
    learned = replace(
        model,
        base_model_id="20260101T000000",
        learned_from=("a", "b"),
        conditions=RunConditions(spark="4.2.0 <b>"),
    )
    text = page_of(learned).text
    assert "2 production runs" in text
    assert "Spark 4.2.0 <b>" in text
    assert "learned from" not in page_of(model).text


def test_the_same_contents_give_the_same_page(model: Model):
    pages = {render(gather(model, machines=range(1, 17))) for _ in range(2)}
    assert len(pages) == 1


@pytest.mark.parametrize("method", ["relative", "classic"])
def test_every_method_can_be_reported_on(method: str):
    model = train(observations()[:5], job="grep", method=method)
    page = page_of(model, machines=[1, 64, 512], billing=Billing(price_per_hour=0.5))
    assert "non-negative least squares" in page.text


def test_intervals_without_bounds_are_drawn_to_the_edge(model: Model):
    contents = gather(model, machines=[4, 8])
    endless = [replace(each, nearly_certain_seconds=(0.0, float("inf"))) for each in contents.predictions]
    page = render(replace(contents, predictions=tuple(endless)))
    assert not re.search(r"\bnan\b", page, re.IGNORECASE)


def test_iterations_and_scale_are_told():
    model = train(observations(iterations=5), job="grep")
    page = page_of(model, scale=2.0, iterations=50)
    assert "200 % of the input, 50 iterations" in page.text
