"""What operators tell OpenLineage, and what they tell the Spark applications that they start."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.apache.spark.operators import spark_submit
from airflow.providers.common.compat.openlineage.utils import spark
from airflow.sdk import BaseOperator

from airflow_provider_ernest.lineage import EmitsLineage, with_lineage
from tests.examples import decision_record, model
from tests.unit.operators.submissions import events, handle, production

LOG = logging.getLogger("task")
PARENT = {"spark.openlineage.parentRunId": "run-7"}
TRANSPORT = {"spark.openlineage.transport.auth.apiKey": "k3y", "spark.openlineage.transport.url": "http://l"}


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


def test_one_operator_does_not_tell_what_another_has_made():
    Told(task_id="told").execute({})

    silent = Told(task_id="silent").get_openlineage_facets_on_complete(None)

    assert not silent.run_facets
    assert not silent.inputs
    assert not silent.outputs


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


def test_a_sample_run_tells_what_it_read_and_how_it_went(
    tmp_path, submissions, context, sample_run, monkeypatch
):
    operator = sample_run()
    inject(monkeypatch, parent_job=True)
    submissions.writes_log("app-7", events("app-7", machines=2))

    operator.execute(context)

    told = operator.get_openlineage_facets_on_complete(None)
    observed = told.run_facets["ernest_observation"]
    assert (observed.machines, observed.seconds) == (2, pytest.approx(100.0))
    assert observed.applicationId == "app-7"
    assert [each.name for each in told.inputs] == [str(tmp_path / "input")]
    assert submissions.conf()["spark.openlineage.parentRunId"] == "run-7"
    assert submissions.conf()["spark.executor.instances"] == "2"


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


def inject(monkeypatch, **wanted: bool) -> None:
    """Turn the options on, and stand in for what reads them from a running task."""
    for what in wanted:
        monkeypatch.setenv(f"AIRFLOW__OPENLINEAGE__SPARK_INJECT_{what.upper()}_INFO", "True")
    made = {"parent_job": PARENT, "transport": TRANSPORT}
    for what, name in {"parent_job": "parent_job", "transport": "transport"}.items():
        monkeypatch.setattr(
            spark,
            f"inject_{name}_information_into_spark_properties",
            lambda properties, context, own=made[what]: {**properties, **own},
        )


@pytest.mark.parametrize(
    ("wanted", "added"),
    [
        ({}, {}),
        ({"parent_job": True}, PARENT),
        ({"transport": True}, TRANSPORT),
        ({"parent_job": True, "transport": True}, {**PARENT, **TRANSPORT}),
    ],
    ids=["nothing", "parent", "transport", "both"],
)
def test_properties_get_what_is_configured(monkeypatch, wanted, added):
    inject(monkeypatch, **wanted)
    conf = {"spark.ui.enabled": False}

    assert with_lineage(conf, context={}, log=LOG) == {"spark.ui.enabled": "False", **added}
    assert conf == {"spark.ui.enabled": False}
    assert with_lineage(None, context={}, log=LOG) == added


def test_the_key_of_the_transport_is_masked_in_the_log(monkeypatch):
    masked = []
    monkeypatch.setattr("airflow.sdk.log.mask_secret", masked.append)
    inject(monkeypatch, parent_job=True, transport=True)

    with_lineage({"spark.hadoop.fs.s3a.secret.key": "of the user"}, context={}, log=LOG)

    assert masked == ["k3y"]


def test_what_hinders_it_is_a_warning(monkeypatch, caplog):
    def broken(properties: Any, context: Any) -> Any:
        raise KeyError("ti")

    inject(monkeypatch, parent_job=True)
    monkeypatch.setattr(spark, "inject_parent_job_information_into_spark_properties", broken)

    assert with_lineage({"spark.a": "b"}, context={}, log=LOG) == {"spark.a": "b"}
    assert "does not know its parent: KeyError" in caplog.text


def test_operators_are_parsed_without_openlineage():
    names = ("choose_config", "find_model", "fit_model", "record_run", "sample_run")
    program = "import sys\n" + "".join(f"import airflow_provider_ernest.operators.{name}\n" for name in names)
    program += "import airflow_provider_ernest.notifications.model_stale\nprint(*sys.modules)"
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root
    )

    assert not [name for name in done.stdout.split() if name.startswith("openlineage")]
