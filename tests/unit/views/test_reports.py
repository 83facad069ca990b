"""The reports on a model, a run and a survey: single files that can be sent."""

import hashlib
import json
import re
from base64 import b64encode
from dataclasses import replace
from functools import cache

import pytest

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import HEAP_FULL, ExecutorLoss
from airflow_provider_ernest.documents.surveys import Survey, SurveyedJob
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.views import report
from airflow_provider_ernest.views.prediction import prediction_alone
from tests.examples import noisy_observations, sizing_goal
from tests.unit.report_page import answers, around_data
from tests.unit.run_profiles import HOSTILE, hostile, network_bound

PRICED = Billing(price_per_hour=0.5)
HOSTILE_TEXTS = (
    *HOSTILE,
    "</script><script>alert(1)</script>",
    "</script><!--<script>",
    "]]>\u2028\u2029&amp;",
    "javascript:alert(1)",
)


@cache
def a_model(text: str = "grep") -> Model:
    model = train(
        noisy_observations(application_id=text, event_log=text),
        job=text,
        instance_type=text,
        artifact=text,
        artifact_sha256="0" * 64,
    )
    terms = tuple(replace(term, meaning=text) for term in model.terms)
    at = "2026-11-23T12:00:00+00:00"
    return replace(model, at=at, input_path=text, id=text, warnings=(text,), terms=terms)


def of_model(model: Model, **options: object) -> str:
    prediction = prediction_alone(model, **{"executors": range(1, 17), **options})  # type: ignore[arg-type]
    return report.of_model(model, prediction, goal=options.get("goal"))  # type: ignore[arg-type]


def a_survey(text: str = "orders", jobs: int = 1) -> Survey:
    found = SurveyedJob(job=text, runs=0, failed_runs=3, bottleneck=text, why=text, unknown=(text,))
    at = "2026-11-23T12:00:00+00:00"
    return Survey(id="s", at=at, jobs=(found,) * jobs, logs=60, goal=text, unread=((text, 1),))


REPORTS = {
    "model": lambda text: of_model(a_model(text)),
    "run": lambda text: report.of_run(hostile(text)),
    "survey": lambda text: report.of_survey(a_survey(text)),
}


@pytest.mark.parametrize("name", REPORTS)
class TestSafety:
    def test_only_its_own_scripts_run_and_nothing_is_loaded(self, name: str):
        html = REPORTS[name]("grep")
        (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', html)
        assert html.index(policy) < html.index("<script")
        scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
        digests = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
        assert policy.split("; ") == [
            "default-src 'none'",
            "style-src 'unsafe-inline'",
            "img-src data:",
            " ".join(["script-src", *(f"'sha256-{digest}'" for digest in digests)]),
        ]
        markup = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
        assert not re.search(r"\son\w+=|<(img|iframe|object|embed|form|base|svg)\b", markup)
        assert re.findall(r'(?:href|src)="([^"]*)"', markup) == ["data:,", "#content"]
        assert len(html) < 1_500_000, "it is sent by mail"

    @pytest.mark.parametrize("text", HOSTILE_TEXTS)
    def test_whatever_the_user_wrote_stays_data(self, name: str, text: str):
        html = REPORTS[name](text)
        assert around_data(html) == around_data(REPORTS[name]("grep"))
        assert json.dumps(answers(html)).count(json.dumps(text)) >= 2


class TestModel:
    def test_it_holds_what_the_page_would_ask_for(self):
        goal = sizing_goal(deadline_seconds=2000, budget_dollars=50.0, objective="fastest")
        told = answers(of_model(a_model(), billing=PRICED, goal=goal, scale=2.0))
        page, prediction = told["api/model"], told["api/prediction"]
        assert len(page["observations"]) == len(a_model().observations)
        assert page["defaults"]["budget_dollars"] == 50.0, "drawn beside the costs"
        assert prediction["goal"].startswith("fastest within 33 min 20 s")
        assert prediction["scale"] == 2.0
        assert prediction["decision"]["executors"] in [
            row["executors"] for row in prediction["answer"]["rows"]
        ]

    def test_it_claims_nothing_that_only_a_store_can_know(self):
        told = answers(of_model(a_model()))
        assert told["api/model"]["badges"] == []
        answer = told["api/prediction"]["answer"]
        assert answer["facts"] == []
        assert [check["name"] for check in answer["checks"]] == ["error", "size"]

    def test_what_cannot_be_reported(self):
        with pytest.raises(InvalidParameterError, match="price_per_hour=None does not say what"):
            prediction_alone(a_model(), executors=[4], goal=sizing_goal(budget_dollars=100))
        with pytest.raises(InvalidParameterError, match="is empty"):
            prediction_alone(a_model(), executors=[])


class TestRun:
    def test_what_the_run_lost_is_told_before_all_other_warnings(self):
        lost = ExecutorLoss(cause=HEAP_FULL, executors=("3",), failed_tasks=2, lost_seconds=9.0)
        run = answers(report.of_run(network_bound(losses=(lost,))))["api/clarity"]["sample"]
        assert run["headline"].startswith("Network-bound: up to 41 %")
        assert run["warnings"][0].startswith("1 executor ended by a full heap: 3.")
        assert run["warnings"][1:] == list(network_bound().warnings)
        assert len(run["stages"]) == len(network_bound().stages)
