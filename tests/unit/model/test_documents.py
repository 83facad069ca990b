"""Documents survive the way through XCom and the store, and refuse what does not fit."""

import json
import math
import subprocess
import sys

import pytest

from airflow_provider_ernest.documents import (
    Alternative,
    AveragingPrior,
    BilledCost,
    Billing,
    CandidateRange,
    Configuration,
    Decision,
    Design,
    Experiment,
    FittedTerm,
    Fold,
    Model,
    Observation,
    Origin,
    RunMetrics,
    TermBelief,
    TrainedMachine,
    TrainingCluster,
    Validation,
)
from airflow_provider_ernest.exceptions import ErnestError, InvalidDocumentError
from airflow_provider_ernest.json_document import SCHEMA

from .sample_records import a_decision, a_production_run, an_entry

EXPERIMENT = Experiment(index=0, machines=4, scale=0.05, partitions=5, weight=0.7, cost=1.25, iterations=2)
METRICS = RunMetrics(
    tasks=10,
    slots=4,
    executor_run_seconds=12.5,
    garbage_collection_seconds=0.5,
    input_bytes=1 << 40,
    shuffle_read_bytes=7,
    spilled_bytes=0,
)
ORIGIN = Origin(dag_id="weird dag / größe", run_id="r", task_id="group.task", map_index=3, try_number=2)
CLUSTER = TrainingCluster(
    kind="ec2",
    name="sampling",
    instance_type="m5.large",
    cores_per_machine=2,
    price_per_hour=0.096,
    machines=(
        TrainedMachine(host="10.0.0.1", instance_id="i-1", memory_gigabytes_per_second=9.5, score=0.1 + 0.2),
        TrainedMachine(host="10.0.0.3", network_gigabytes_per_second=0.5, culled_because="slow network"),
    ),
)
OBSERVATION = Observation(
    index=3,
    machines=4,
    scale=0.05,
    seconds=12.5,
    startup_seconds=3.0,
    waited_seconds=1.0,
    instance_type="m5.large",
    application_id="app-1",
    hosts=("10.0.0.1", "10.0.0.2"),
    metrics=METRICS,
    origin=ORIGIN,
)
DESIGN = Design(
    experiments=(EXPERIMENT,),
    terms=("1", "scale/machines"),
    criterion="A",
    efficiency=0.9,
    cost=1.25,
    budget=2.0,
    cost_unit="cheapest runs",
    candidates=320,
    candidate_ranges=(CandidateRange(machines=1, lowest_scale=0.01, highest_scale=0.1, candidates=320),),
)
FOLD = Fold(index=3, machines=4, scale=0.05, seconds=10.0, predicted_seconds=12.0)
VALIDATION = Validation(
    folds=(FOLD,), residual_sum_of_squares=4.0, median_error_percent=20.0, max_error_percent=20.0
)
MODEL = Model(
    id="20260101T000000.000000Z-ab",
    job='weird "job" / größe',
    instance_type="m5.large",
    at="2026-01-01T00:00:00+00:00",
    terms=(FittedTerm(name="1", meaning="fixed work", coefficient=0.1 + 0.2),),
    method="averaging",
    prior=AveragingPrior(driver_share=0.25, beliefs=(TermBelief(name="1", probability=0.7),)),
    driver_share=0.25,
    noise=0.1 + 0.2,
    validation=VALIDATION,
    observations=(OBSERVATION,),
    warnings=("look out",),
    origin=ORIGIN,
    design=DESIGN,
    cluster=CLUSTER,
)
ALTERNATIVE = Alternative(
    machines=16,
    instance_type="4 m5.large + 12 c5.large",
    seconds=1.0,
    cost=2.0,
    feasible=True,
    likely_seconds=(0.5, 1.5),
    probability=0.1 + 0.2,
    is_pareto=True,
    memory_shortage="tasks spill to disk",
    composition=(
        Configuration(machines=4, instance_type="m5.large"),
        Configuration(machines=12, instance_type="c5.large"),
    ),
)
DECISION = Decision(
    config=Configuration(machines=16),
    goal="cheapest within 3,600 s",
    price_per_hour=0.35,
    predicted_seconds=3500.0,
    likely_seconds=(3000.0, 4000.0 / 3),
    nearly_certain_seconds=(2500.0, 4500.0),
    alternatives=(ALTERNATIVE,),
    probability=0.9,
    confidence=0.8,
    billing=Billing(price_per_hour=0.35, expected_runs=30),
    cost_parts=BilledCost(machines=1.9, training=0.1),
    composition=ALTERNATIVE.composition,
)
DOCUMENTS = [
    Configuration(machines=16, instance_type="r3.xlarge"),
    EXPERIMENT,
    DESIGN,
    ORIGIN,
    CLUSTER,
    METRICS,
    OBSERVATION,
    TermBelief(name="machines", probability=0.5, largest_seconds=0.1),
    AveragingPrior(),
    FOLD,
    VALIDATION,
    MODEL,
    DECISION,
    a_decision(),
    a_production_run(),
    an_entry("1", terms=("1", "machines"), median_error_percent=0.1 + 0.2),
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: type(document).__name__)
def test_a_document_survives_json(document):
    through_json = json.loads(json.dumps(document.to_dict(), allow_nan=False))

    assert through_json["schema"] == SCHEMA
    assert type(document).from_dict(through_json) == document


def test_numbers_may_come_as_strings_as_jinja_makes_them():
    data = {name: str(value) for name, value in EXPERIMENT.to_dict().items() if name != "schema"}

    assert Experiment.from_dict(data) == EXPERIMENT


@pytest.mark.parametrize("schema", [SCHEMA + 1, 0, "newest", None])
def test_another_schema_is_refused_with_the_remedy(schema):
    with pytest.raises(InvalidDocumentError, match=f"schema {schema}.*Upgrade"):
        Experiment.from_dict({**EXPERIMENT.to_dict(), "schema": schema})


@pytest.mark.parametrize("seconds", [math.nan, "nan", math.inf, "inf", 0, -1.0])
def test_no_measurement_that_a_model_could_be_poisoned_with(seconds):
    with pytest.raises(InvalidDocumentError, match="seconds="):
        Observation.from_dict({**OBSERVATION.to_dict(), "seconds": seconds})


@pytest.mark.parametrize(
    ("field", "value"),
    [("machines", 0), ("machines", -2), ("scale", 0.0), ("scale", math.nan), ("startup_seconds", -0.1)],
)
def test_impossible_observations_are_refused_by_name(field, value):
    with pytest.raises(InvalidDocumentError, match=f"{field}="):
        Observation.from_dict({**OBSERVATION.to_dict(), field: value})


@pytest.mark.parametrize("data", [None, "text", 3, [EXPERIMENT.to_dict()]])
def test_what_is_no_mapping_is_refused(data):
    with pytest.raises(InvalidDocumentError, match="must be a mapping"):
        Experiment.from_dict(data)


def test_a_missing_field_is_named():
    data = EXPERIMENT.to_dict()
    del data["scale"]

    with pytest.raises(InvalidDocumentError, match="scale"):
        Experiment.from_dict(data)


def test_text_that_is_no_number_is_refused():
    with pytest.raises(InvalidDocumentError, match="machines"):
        Experiment.from_dict({**EXPERIMENT.to_dict(), "machines": "many"})


def test_bad_documents_are_errors_of_this_package_and_value_errors():
    with pytest.raises(ErnestError):
        Configuration(machines=0)
    with pytest.raises(ValueError, match="machines=0"):
        Configuration(machines=0)


def test_pairs_cannot_be_passed_by_position():
    with pytest.raises(TypeError):
        Experiment(0, 0.05, 4, 5)


def test_a_fold_tells_whether_the_prediction_was_too_high():
    assert FOLD.error_percent == pytest.approx(20.0)


def test_documents_hold_only_what_json_and_xcom_hold_unchanged():
    """Airflow wraps tuples in objects of its own, which its REST API then shows."""
    document = Observation(index=0, machines=1, scale=0.1, seconds=2.0, hosts=("a", "b")).to_dict()

    assert document["hosts"] == ["a", "b"]
    assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize(
    ("document", "added"),
    [
        (OBSERVATION, {"origin": None}),
        (DESIGN, {"candidate_ranges": ()}),
        (MODEL, {"origin": None, "design": None, "cluster": None}),
        (
            ALTERNATIVE,
            {"probability": None, "is_pareto": False, "memory_shortage": "", "composition": ()},
        ),
        (
            DECISION,
            {"probability": None, "confidence": None, "billing": None, "cost_parts": None, "composition": ()},
        ),
        (a_decision(), {"confidence": None, "objective": None, "allowed_machines": (), "model_ids": ()}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_documents_of_an_earlier_version_lack_what_was_not_recorded(document, added):
    stored = {name: value for name, value in document.to_dict().items() if name not in added}

    read = type(document).from_dict(stored)

    assert {name: getattr(read, name) for name in added} == added


FIRST_READ_IN_THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import make_dataclass
from threading import Barrier
from airflow_provider_ernest.json_document import Document

sys.setswitchinterval(1e-6)
together = Barrier(6)

def read(form):
    together.wait()
    return form.from_dict({"part": {"number_3": 3}}).part.number_3

with ThreadPoolExecutor(6) as pool:
    for round in range(40):
        part = make_dataclass(f"Part{round}", [(f"number_{n}", int, 0) for n in range(20)], bases=(Document,))
        form = make_dataclass(f"Form{round}", [("part", part)], bases=(Document,))
        assert set(pool.map(read, [form] * 6)) == {3}
"""


def test_documents_may_be_read_for_the_first_time_in_several_threads_at_once():
    """The process crashed where msgspec learned the same class in two threads."""
    run = subprocess.run([sys.executable, "-c", FIRST_READ_IN_THREADS], capture_output=True, timeout=120)
    assert run.returncode == 0, run.stderr.decode()
