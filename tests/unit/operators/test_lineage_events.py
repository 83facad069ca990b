"""How documents become facets and datasets."""

from __future__ import annotations

import json

import pytest
from openlineage.client.serde import Serde

from airflow_provider_ernest.documents.decisions import Configuration, Decision
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.lineage.events import MOST_OBSERVATIONS, input_dataset, lineage_of
from tests.examples import decision_record, mark, model, production_run


def facet(document, name):
    """As it is sent."""
    return json.loads(Serde.to_json(lineage_of([document]).run_facets[name]))


@pytest.mark.parametrize(
    ("path", "namespace", "name"),
    [
        ("/data/flights", "file", "/data/flights"),
        ("file:///data/flights/", "file", "/data/flights"),
        ("s3a://lake/raw/flights/", "s3://lake", "raw/flights"),
        ("s3://lake", "s3://lake", "/"),
        ("gs://lake/raw", "gs://lake", "raw"),
        ("hdfs://names:8020/raw/flights", "hdfs://names:8020", "/raw/flights"),
        ("abfss://raw@lake.dfs.azure.net/flights", "abfss://raw@lake.dfs.azure.net", "/flights"),
        ("https://anna:1234@host/data?X-Amz-Signature=ab", "https://host", "/data"),
    ],
)
def test_inputs_are_named_as_spark_names_them(path, namespace, name):
    dataset = input_dataset(path)
    assert (dataset.namespace, dataset.name) == (namespace, name)


def test_a_model_tells_what_it_was_learned_from():
    sent = facet(
        model(base_model_id="base", learned_from=("run-1", "run-2"), input_path="/data"), "ernest_model"
    )

    assert sent["baseModelId"] == "base"
    assert sent["learnedFromRuns"] == 2
    assert sent["artifactSha256"] == "ab" * 32
    assert sent["terms"][1] == {"name": "machines", "coefficient": 0.1, "probability": 0.2}
    assert (sent["medianErrorPercent"], sent["maxErrorPercent"]) == (3.0, 9.0)
    assert sent["warnings"] == ["look out"]


def test_events_stay_small_whatever_a_model_has_seen():
    runs = tuple(Observation(index=n, machines=1 + n % 9, scale=0.1, seconds=5.0) for n in range(1_000))
    sent = facet(model(observations=runs), "ernest_model")

    assert sent["observationCount"] == 1_000
    assert len(sent["observations"]) == MOST_OBSERVATIONS


def test_a_decision_for_a_mix_tells_its_parts_and_a_fallback_why():
    parts = (
        Configuration(machines=2, instance_type="m5.large"),
        Configuration(machines=1, instance_type="c5.large"),
    )
    mixed = Decision(
        config=Configuration(machines=3, instance_type="m5.large + c5.large"),
        goal="fastest",
        composition=parts,
        likely_seconds=(1.0, 2.0),
        fallback_reason="jdbc:x://db?password=1234 failed",
    )
    sent = facet(decision_record(decision=mixed, reuse="The same code and data."), "ernest_decision")

    assert sent["composition"] == [
        {"machines": 2, "instanceType": "m5.large"},
        {"machines": 1, "instanceType": "c5.large"},
    ]
    assert sent["likelySeconds"] == [1.0, 2.0]
    assert sent["reuse"] == "The same code and data."
    assert "1234" not in sent["fallbackReason"]


def test_a_production_run_tells_how_wrong_its_prediction_was():
    run = production_run(seconds=100.0, predicted_seconds=110.0, model_id="model-1")
    told = lineage_of([run])

    assert facet(run, "ernest_productionRun")["errorPercent"] == pytest.approx(10.0)
    assert [each.facets["version"].datasetVersion for each in told.inputs] == ["model-1"]


def test_all_stale_models_are_in_one_facet_without_credentials():
    marks = [
        mark(model_id=f"model-{number}", reason="It is of https://anna:1234@host/data.")
        for number in range(2)
    ]
    sent = json.loads(Serde.to_json(lineage_of(marks).run_facets["ernest_staleModels"]))

    assert [each["modelId"] for each in sent["models"]] == ["model-0", "model-1"]
    assert "1234" not in str(sent)
