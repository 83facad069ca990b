"""What tasks pushed, which may be anything."""

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ernest.views.dag_run import RunRecord
from airflow_provider_ernest.views.run import run_page
from airflow_provider_ernest.views.run_documents import StoredOfRun
from airflow_provider_ernest.web.answers import json_ready
from tests.unit.views.run_examples import (
    NOW,
    RUNS,
    decision,
    example_run,
)


def page(run: RunRecord) -> dict[str, Any]:
    return json_ready(run_page(run, stored=StoredOfRun(), now=NOW))


def group(run: RunRecord) -> dict[str, Any]:
    (only,) = page(run)["groups"]
    return only


class TestResultsThatNobodyCanTrust:
    @pytest.mark.parametrize(
        "value",
        [
            {},
            [],
            7,
            True,
            {"machines": 1},
            [[[[]]]],
            {"schema": 99},
            {"schema": None},
            {"index": 0, "machines": 10**400, "scale": 1, "seconds": 1},
            {"index": 0, "machines": 1, "scale": float("nan"), "seconds": 1},
            {"index": 0, "machines": -1, "scale": 1, "seconds": "<script>"},
        ],
    )
    @pytest.mark.parametrize(
        ("task", "map_index"),
        [
            ("design", -1),
            ("create_cluster", -1),
            ("sample_run", 0),
            ("fit_model", -1),
            ("choose_config", -1),
        ],
    )
    def test_are_left_out_and_named(self, task, map_index, value):
        run = example_run()
        keys = ("design",) if task == "design" else ("return_value", "record", "stored_at")
        broken = {(f"ernest.{task}", map_index, key): value for key in keys}
        told = page(replace(run, values={**run.values, **broken}))
        assert any(f"ernest.{task} cannot be read" in hint for hint in told["hints"])
        # What the others returned is there all the same.
        assert len(told["groups"][0]["branches"][0]["observations"]) >= len(RUNS) - 1

    def test_a_decision_of_absurd_numbers(self):
        run = example_run()
        absurd = {**decision().to_dict(), "predicted_cost": -1.0, "price_per_hour": -5.0}
        told = page(replace(run, values={**run.values, ("ernest.choose_config", -1, "return_value"): absurd}))
        (group,) = told["groups"]
        assert group["decision"]["predicted_cost"] == -1.0
        # The cluster's price counts.
        assert group["production"]["cost"] == pytest.approx(8 * 0.2 / 6)

    def test_a_price_that_cannot_be(self):
        run = example_run()
        cluster = dict(run.values[("ernest.create_cluster", -1, "return_value")])
        cluster["machines"] = [{"price_per_hour": -3}]
        told = page(
            replace(run, values={**run.values, ("ernest.create_cluster", -1, "return_value"): cluster})
        )
        assert told["groups"][0]["branches"][0]["cluster"] is None
        assert "price_per_hour=-3" in told["hints"][0]

    def test_what_a_custom_backend_keeps_elsewhere(self):
        run = example_run()
        kept = {("ernest.fit_model", -1, "return_value"): "s3://bucket/xcom/model.json"}
        told = page(replace(run, values={**run.values, **kept}))
        assert "[core] xcom_backend" in told["hints"][0]

    def test_a_place_of_a_model_that_is_none(self):
        run = example_run(without=("fit_model", "choose_config"))
        for place in ("", "/", "a.json", "x//.json", 7, None, "../../etc/passwd"):
            values = {**run.values, ("ernest.fit_model", -1, "stored_at"): place}
            assert group(replace(run, values=values))["branches"][0]["model"] is None
