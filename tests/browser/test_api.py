"""The JSON API as its description says, and as a program meets it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.browser.site import RUN_DAG, Site, of

pytestmark = pytest.mark.airflow

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
ANSWERS = ("api/models", "api/model", "api/prediction", "api/run")


def resolved(node: Any, document: dict[str, Any]) -> Any:
    """What a reference of the description refers to."""
    for part in node["$ref"].removeprefix("#/").split("/"):
        document = document[part]
    return document


def references(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, dict):
        own = [node] if "$ref" in node else []
        return own + [each for value in node.values() for each in references(value)]
    return [each for value in node for each in references(value)] if isinstance(node, list) else []


@pytest.fixture(scope="module")
def description(site: Site) -> dict[str, Any]:
    return site.answer("openapi.json")


def test_the_description_is_openapi(description: dict[str, Any]):
    assert description["openapi"].startswith("3.")
    assert description["info"]["title"]
    assert description["info"]["version"]
    for reference in references(description):
        assert resolved(reference, description)
    for path, operations in description["paths"].items():
        assert path.startswith("/")
        for method, operation in operations.items():
            assert method in METHODS
            assert operation["summary"]
            assert set(operation["responses"]) >= {"200", "401", "403"}


def test_the_description_covers_each_answer(description: dict[str, Any]):
    assert {f"/{path}" for path in ANSWERS} <= set(description["paths"])
    assert "/openapi.json" in description["paths"]


@pytest.mark.parametrize("path", ANSWERS)
def test_answers_are_as_described(site: Site, description: dict[str, Any], path: str):
    from jsonschema import Draft202012Validator

    run = {"dag_id": RUN_DAG, "run_id": site.run_id, "task_id": "ernest.fit_model"}
    parameters = {"api/models": {}, "api/run": run}.get(path, of(site.seeded.nightly_join))
    answer = site.answer(path, **parameters)
    content = description["paths"][f"/{path}"]["get"]["responses"]["200"]["content"]
    schema = {**content["application/json"]["schema"], "components": description["components"]}
    Draft202012Validator(schema).validate(answer)


def test_wrong_parameters_are_named(site: Site):
    model = of(site.seeded.nightly_join)
    wrong = [
        ("api/models", {"limit": 0}, "limit"),
        ("api/models", {"sort": "price"}, "sort"),
        ("api/model", {"job": "nightly_join"}, "instance_type"),
        ("api/prediction", {**model, "scale": -1}, "scale"),
        ("api/prediction", {**model, "scale": "nan"}, "scale"),
        ("api/prediction", {**model, "min_machines": 1, "max_machines": 5000}, "machines"),
        ("api/prediction", {**model, "deadline_seconds": 60, "budget_dollars": 1}, "budget"),
        ("api/run", {"dag_id": RUN_DAG}, "run_id"),
    ]
    with site.client() as client:
        for path, parameters, named in wrong:
            answer = client.get(path, params=parameters)
            assert answer.status_code == 422, (path, parameters, answer.text)
            assert named in answer.json()["detail"], answer.text


def test_what_is_not_there_is_not_found(site: Site):
    with site.client() as client:
        for path, parameters in [
            ("api/model", {"job": "no such job", "instance_type": "r3.xlarge"}),
            ("api/prediction", {**of(site.seeded.nightly_join), "model_id": "no such version"}),
            ("api/run", {"dag_id": RUN_DAG, "run_id": "no such run"}),
            ("assets/../airflow_plugin.py", {}),
            ("assets/%2e%2e/airflow_plugin.py", {}),
            ("assets/..%2fairflow_plugin.py", {}),
        ]:
            answer = client.get(path, params=parameters)
            assert answer.status_code == 404, (path, answer.text)
            assert "import" not in answer.text


def test_each_answer_forbids_what_no_page_needs(site: Site):
    with site.client() as client:
        for path in ("models", "api/models", "assets/0/models.js", "no/such/page"):
            headers = client.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self';" in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
        assert client.get("api/models").headers["cache-control"] == "no-store"


def test_what_pages_are_drawn_by_is_compressed_once_and_kept_for_good(site: Site):
    with site.client() as client:
        address = re.findall(r'"(assets/[^"]+)"', client.get("model").text)
        answers = [client.get(each) for each in address]
    assert len(answers) == 3
    for answer in answers:
        assert answer.status_code == 200
        assert answer.headers["content-encoding"] == "gzip"
        assert "immutable" in answer.headers["cache-control"]


def test_numbers_are_numbers_also_where_they_are_unknown(site: Site):
    """No NaN or Infinity, which JSON does not have and browsers refuse."""

    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is in the answer")

    with site.client() as client:
        for model in (site.seeded.nightly_join, site.seeded.without_dag, site.seeded.big_history):
            for path in ("api/model", "api/prediction"):
                text = client.get(path, params=of(model)).raise_for_status().text
                json.loads(text, parse_constant=refuse)
