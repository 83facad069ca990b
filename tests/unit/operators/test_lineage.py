"""What operators tell OpenLineage, and what they tell the Spark applications that they start."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.apache.spark.operators import spark_submit
from airflow.sdk import BaseOperator
from openlineage.client.serde import Serde

from airflow_provider_ernest.documents.decisions import Configuration, Decision
from airflow_provider_ernest.documents.models import AGE, ModelMark
from airflow_provider_ernest.lineage import FACETS as FACETS_OF
from airflow_provider_ernest.lineage import (
    FOUND_MODELS,
    STALE_MODELS,
    EmitsLineage,
    input_dataset,
    lineage_of,
)
from airflow_provider_ernest.operators.recording import notify
from tests.examples import decision_record, mark, model, production_run
from tests.unit.operators.submissions import events, handle, production

PARENT = {"spark.openlineage.parentRunId": "run-7"}


class Told(EmitsLineage, BaseOperator):
    """Tells in two steps, as some operators do."""

    def execute(self, context: Any) -> None:
        self.add_lineage(model(), inputs=["s3://lake/data", None])
        self.add_lineage(decision_record(), found=[model(1)])


def test_what_is_added_in_several_steps_comes_together():
    operator = Told(task_id="told")
    operator.execute({})
    told = operator.get_openlineage_facets_on_complete(None)

    assert sorted(told.run_facets) == ["ernest_decision", "ernest_foundModels", "ernest_model"]
    assert [each.name for each in told.outputs] == ["ernest/pca/m5.large"]
    assert ("s3://lake", "data") in [(each.namespace, each.name) for each in told.inputs]
    silent = Told(task_id="silent").get_openlineage_facets_on_complete(None)
    of_another = [*silent.run_facets, *silent.inputs, *silent.outputs]
    assert not of_another


def test_what_the_stock_operator_tells_is_kept():
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import Dataset

    class Stock(BaseOperator):
        def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage:
            return OperatorLineage(inputs=[Dataset(namespace="db", name=task_instance)])

    class Both(EmitsLineage, Stock):
        pass

    operator = Both(task_id="both")
    operator.add_lineage(model())
    told = operator.get_openlineage_facets_on_complete("table")

    assert "ernest_model" in told.run_facets
    assert ("db", "table") in [(each.namespace, each.name) for each in told.inputs]


def test_a_sample_run_tells_what_it_read_and_how_it_went(tmp_path, submissions, context, sample_run):
    operator = sample_run()
    submissions.writes_log("app-7", events("app-7", executors=2))

    operator.execute(context)

    told = operator.get_openlineage_facets_on_complete(None)
    observed = told.run_facets["ernest_observation"]
    assert (observed.executors, observed.seconds) == (2, pytest.approx(100.0))
    assert observed.applicationId == "app-7"
    assert [each.name for each in told.inputs] == [str(tmp_path / "input")]


def test_production_on_a_cluster_knows_its_parent_too(submissions, context, monkeypatch):
    """The stock operator sees to that, before the properties of the cluster are added."""
    monkeypatch.setattr(
        spark_submit,
        "inject_parent_job_information_into_spark_properties",
        lambda properties, context: {**properties, **PARENT},
    )
    production(cluster=handle(), openlineage_inject_parent_job_info=True).execute(context)

    assert submissions.conf()["spark.openlineage.parentRunId"] == "run-7"
    assert submissions.conf()["spark.driver.host"] == "127.0.0.1"


def test_operators_are_parsed_without_openlineage():
    names = ("choose_config", "find_model", "fit_model", "record_run", "sample_run")
    program = "import sys\n" + "".join(f"import airflow_provider_ernest.operators.{name}\n" for name in names)
    program += "print(*sys.modules)"
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root
    )

    assert not [name for name in done.stdout.split() if name.startswith("openlineage")]


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


def test_models_and_decisions_tell_how_sure_they_are_and_why_without_credentials():
    made = facet(model(), "ernest_model")
    assert (made["medianErrorPercent"], made["maxErrorPercent"]) == (3.0, 9.0)
    assert (made["artifactSha256"], made["warnings"]) == ("ab" * 32, ["look out"])

    decision = Decision(
        config=Configuration(executors=3, instance_type="m5.large"),
        goal="fastest",
        likely_seconds=(1.0, 2.0),
        fallback_reason="jdbc:x://db?password=1234 failed",
    )
    sent = facet(decision_record(decision=decision, reuse="The same code and data."), "ernest_decision")
    assert (sent["executors"], sent["likelySeconds"]) == (3, [1.0, 2.0])
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


PAGE = (Path(__file__).parents[3] / "docs" / "explanation" / "lineage.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `(ernest_\w+)` \| (.*) \|$", PAGE.partition("## OpenLineage")[2], re.MULTILINE))
FACETS = {name: set(fields) for name, fields in FACETS_OF.values()}
FACETS |= {FOUND_MODELS: {"models"}, STALE_MODELS: {"models"}}


def test_the_page_names_all_facets_with_their_fields_and_no_other():
    # What stands in brackets are the fields of what a field lists, and remarks.
    told = {name: set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", row))) for name, row in ROWS.items()}
    assert told == FACETS


def test_the_examples_of_messages_work(capsys, caplog):
    names: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(example, names)
    note, _mail = names["on_stale"]
    stale = mark(job="enrich", cause=AGE, reason="It is old.")
    told = {"ti": SimpleNamespace(), "ernest_mark": stale}
    notify(note, told, what="that its model is stale", log=logging.getLogger("task"))

    assert capsys.readouterr().out == "enrich on m5.large: It is old.\n"
    assert not caplog.messages


def test_the_page_names_all_that_a_mark_tells():
    (row,) = re.findall(r"^\| `ernest_mark` \| (.*) \|$", PAGE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) - {"ModelMark"} <= set(ModelMark.__dataclass_fields__)
