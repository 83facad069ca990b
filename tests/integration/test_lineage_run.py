"""What Airflow sends to OpenLineage of a run, and that a run is the same without OpenLineage."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.integration.airflow_homes import run_in_home

DAGS = Path(__file__).parents[1] / "lineage_dags"


@dataclass
class Ran:
    """Runs of the DAG `sized` on an Airflow of their own.

    Attributes:
        home: of that Airflow.
        tasks: of each run the states of the tasks.
        events: that were sent, in their order.
    """

    home: Path
    tasks: list[dict[str, str]]
    events: list[dict[str, Any]] = field(default_factory=list)

    def of(self, task_id: str, kind: str = "COMPLETE") -> list[dict[str, Any]]:
        name = f"sized.{task_id}"
        return [each for each in self.events if each["job"]["name"] == name and each["eventType"] == kind]


def run(home: Path, *, times: int, **environment: str) -> Ran:
    events, answer = home / "events.jsonl", home / "answer.json"
    run_in_home(
        home,
        DAGS / "sized.py",
        str(answer),
        str(times),
        AIRFLOW__OPENLINEAGE__NAMESPACE="our-airflow",
        AIRFLOW__OPENLINEAGE__TRANSPORT=json.dumps(
            {"type": "file", "log_file_path": str(events), "append": True}
        ),
        **environment,
    )
    return Ran(
        home=home,
        tasks=json.loads(answer.read_text()),
        events=[json.loads(line) for line in events.read_text().splitlines()] if events.exists() else [],
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Two runs; the second finds the model of the first."""
    return run(tmp_path_factory.mktemp("airflow"), times=2)


def test_the_fit_tells_its_model(ran: Ran):
    (event,) = ran.of("ernest.fit_model")
    model = event["run"]["facets"]["ernest_model"]

    assert (model["job"], model["instanceType"], model["method"]) == ("enrich", "m5.large", "averaging")
    assert model["medianErrorPercent"] >= 0
    assert len(model["artifactSha256"]) == 64


def test_the_model_comes_from_the_input_and_is_a_version_of_a_data_set(ran: Ran):
    (event,) = ran.of("ernest.fit_model")
    (read,) = event["inputs"]
    (made,) = event["outputs"]

    assert (read["namespace"], read["name"]) == ("file", str(ran.home / "input.csv"))
    assert (made["namespace"], made["name"]) == ("our-airflow", "ernest/enrich/m5.large")
    model_id = event["run"]["facets"]["ernest_model"]["modelId"]
    assert made["facets"]["version"]["datasetVersion"] == model_id


def test_the_choice_tells_its_decision(ran: Ran):
    (event, _) = ran.of("ernest.choose_config")
    decision = event["run"]["facets"]["ernest_decision"]
    low, high = decision["likelySeconds"]

    assert 1 <= decision["executors"] <= 4
    assert decision["instanceType"] == "m5.large"
    assert low < decision["predictedSeconds"] < high
    assert decision["predictedCostDollars"] > 0
    assert decision["probability"] >= decision["confidence"] == 0.8
    assert decision["goal"]
    assert decision["reuse"] == ""
    (read,) = event["inputs"]
    assert read["facets"]["version"]["datasetVersion"] == decision["modelId"]


def test_a_run_that_trains_nothing_tells_the_model_that_it_found_and_why(ran: Ran):
    _, found = ran.of("ernest.find_model")
    _, choice = ran.of("ernest.choose_config")
    (model,) = found["run"]["facets"]["ernest_foundModels"]["models"]
    decision = choice["run"]["facets"]["ernest_decision"]

    assert ran.tasks[1]["ernest.fit_model"] == "skipped"
    assert model["modelId"] == decision["modelId"]
    assert decision["reuse"]


def test_facets_say_who_made_them_in_the_form_that_all_facets_have(ran: Ran):
    ours = [
        facet
        for event in ran.events
        for name, facet in event["run"]["facets"].items()
        if name.startswith("ernest_")
    ]

    assert len(ours) >= 4
    assert all(facet["_producer"].startswith("pkg:pypi/airflow-provider-ernest@") for facet in ours)
    assert all(facet["_schemaURL"].startswith("https://openlineage.io/spec/") for facet in ours)


def test_without_openlineage_everything_runs(tmp_path: Path):
    ran = run(tmp_path, times=1, WITHOUT_OPENLINEAGE="1")

    assert set(ran.tasks[0].values()) == {"success"}
    assert not ran.events
