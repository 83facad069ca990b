import json

import pytest

from airflow_provider_ernest.decision.forms.machines import MachineShape
from airflow_provider_ernest.decision.forms.services import outputs
from tests.unit.decision.forms.decisions import SHAPES, decision, mix

ALL = {
    "yarn_conf",
    "kubernetes_conf",
    "spark_arguments",
    "emr_instance_groups",
    "emr_serverless",
    "glue",
    "databricks_cluster",
}


def test_a_decision_on_one_type_can_be_said_to_all():
    made = outputs(decision(), SHAPES, conf={"spark.sql.shuffle.partitions": 64, "spark.speculation": True})

    assert set(made) == ALL | {"unavailable"}
    assert made["unavailable"] == {}
    assert json.loads(json.dumps(made)) == made, "as XCom keeps it"
    assert made["yarn_conf"]["spark.sql.shuffle.partitions"] == "64"


@pytest.mark.parametrize(
    ("chosen", "shapes", "missing"),
    [
        (mix(m5_large=2, m5_xlarge=1), SHAPES, {"emr_serverless", "glue", "databricks_cluster"}),
        (decision("local"), {"local": MachineShape(cores=1)}, ALL),
        (decision("unknown"), {}, ALL),
        (decision("m9.large"), {}, ALL - {"emr_instance_groups", "databricks_cluster"}),
    ],
)
def test_what_cannot_be_said_is_absent_with_the_reason(chosen, shapes, missing):
    made = outputs(chosen, shapes, conf={})

    assert set(made["unavailable"]) == missing
    assert all(reason.endswith(".") for reason in made["unavailable"].values())
    assert set(made) == ALL - missing | {"unavailable"}
    assert None not in made.values()
