"""The JSON API of a real Airflow, as its description says."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.site import RUN_DAG, Site, of

pytestmark = pytest.mark.airflow

ANSWERS = ("api/models", "api/model", "api/prediction", "api/run")


@pytest.fixture(scope="module")
def description(site: Site) -> dict[str, Any]:
    return site.answer("openapi.json")


@pytest.mark.parametrize("path", ANSWERS)
def test_answers_are_as_described(site: Site, description: dict[str, Any], path: str):
    from jsonschema import Draft202012Validator

    run = {"dag_id": RUN_DAG, "run_id": site.run_id, "task_id": "ernest.fit_model"}
    parameters = {"api/models": {}, "api/run": run}.get(path, of(site.seeded.nightly_join))
    answer = site.answer(path, **parameters)
    content = description["paths"][f"/{path}"]["get"]["responses"]["200"]["content"]
    schema = {**content["application/json"]["schema"], "components": description["components"]}
    Draft202012Validator(schema).validate(answer)


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
