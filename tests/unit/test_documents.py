"""The documents: their JSON, what they refuse, and their names."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from airflow_provider_ernest.documents.base import SCHEMA, Origin, new_id
from airflow_provider_ernest.documents.decisions import Configuration
from airflow_provider_ernest.documents.models import (
    AveragingPrior,
    FittedTerm,
    Fold,
    Model,
    TermBelief,
    TrainedMachine,
)
from airflow_provider_ernest.documents.runs import CandidateRange, Experiment
from airflow_provider_ernest.exceptions import InvalidDocumentError
from airflow_provider_ernest.prediction.predict import predict_seconds
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.billing import BilledCost
from airflow_provider_ernest.store.catalogue import FORMS
from airflow_provider_ernest.store.files import safe_name
from tests import examples

UNEVEN = 0.1 + 0.2
EXPERIMENT = examples.experiment(weight=0.7, cost=1.25, iterations=2)
DESIGN = examples.design(
    EXPERIMENT,
    candidate_ranges=(CandidateRange(executors=1, lowest_scale=0.01, highest_scale=0.1, candidates=320),),
)
OBSERVATION = examples.observation(
    startup_seconds=3.0,
    application_id="app-1",
    hosts=("10.0.0.1", "10.0.0.2"),
    metrics=examples.metrics(input_bytes=1 << 40),
    origin=Origin(dag_id="weird dag / größe", run_id="r", task_id="group.task"),
)
FOLD = Fold(index=3, executors=4, scale=0.05, seconds=10.0, predicted_seconds=12.0)
MODEL = examples.model(
    job='weird "job" / größe',
    terms=(FittedTerm(name="1", meaning="fixed work", coefficient=UNEVEN),),
    method="averaging",
    prior=AveragingPrior(
        driver_share=0.25, beliefs=(TermBelief(name="1", probability=UNEVEN, largest_seconds=7.5),)
    ),
    driver_share=0.25,
    noise=UNEVEN,
    observations=(OBSERVATION,),
    design=DESIGN,
    cluster=replace(
        examples.training_cluster(),
        machines=(
            TrainedMachine(host="10.0.0.1", memory_gigabytes_per_second=9.5, score=UNEVEN),
            TrainedMachine(host="10.0.0.3", network_gigabytes_per_second=0.5, culled_because="slow network"),
        ),
    ),
)
ALTERNATIVE = examples.alternative(
    likely_seconds=(0.5, 1.5),
    probability=UNEVEN,
    is_pareto=True,
    memory_shortage="tasks spill to disk",
    composition=(
        Configuration(executors=4, instance_type="m5.large"),
        Configuration(executors=12, instance_type="c5.large"),
    ),
)
DECISION = examples.decision(
    price_per_hour=0.35,
    likely_seconds=(3000.0, 4000.0 / 3),
    nearly_certain_seconds=(2500.0, 4500.0),
    alternatives=(ALTERNATIVE,),
    probability=0.9,
    confidence=0.8,
    billing=Billing(price_per_hour=0.35, expected_runs=30),
    cost_parts=BilledCost(executors=1.9, training=0.1),
    composition=ALTERNATIVE.composition,
)
DOCUMENTS = [
    EXPERIMENT,
    DESIGN,
    OBSERVATION,
    MODEL,
    DECISION,
    examples.decision_record(),
    examples.production_run(),
    examples.mark(),
    examples.profile_record(),
    examples.bottleneck_report(),
    examples.catalogue_entry("1", terms=("1", "executors"), median_error_percent=UNEVEN),
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: type(document).__name__)
def test_a_document_survives_json(document):
    through_json = json.loads(json.dumps(document.to_dict(), allow_nan=False))

    assert through_json["schema"] == SCHEMA
    assert type(document).from_dict(through_json) == document
    # Airflow wraps tuples in objects of its own, which its REST API then shows.
    assert through_json == document.to_dict()


@pytest.mark.parametrize(
    "store", sorted((Path(__file__).parents[1] / "golden").glob("expected/*/store.json"))
)
def test_documents_of_stores_are_read_and_written_in_the_same_form(store: Path):
    stored = json.loads(store.read_text())["newest"]
    assert stored
    for document in stored.values():
        form = FORMS[document["kind"]]
        assert form.from_dict(document).to_dict() == document
        assert form.from_dict({**document, "digest": "ab" * 32}).to_dict() == document, "of earlier versions"


def test_documents_that_counted_machines_are_read_as_counting_executors():
    """As version 0.2 stored them: each machine had one executor."""
    stored = json.loads((Path(__file__).parent / "schema_1" / "store.json").read_text())["newest"]
    stored = {document["kind"]: document for document in stored.values()}
    read = {kind: FORMS[kind].from_dict(document) for kind, document in stored.items()}
    model, decision, run = read["model"], read["decision"], read["production"]

    assert [each.executors for each in model.observations] == [
        each["machines"] for each in stored["model"]["observations"]
    ]
    assert len(model.cluster.machines) == len(stored["model"]["cluster"]["machines"])
    assert model.cluster.executor_cores == stored["model"]["cluster"]["cores_per_machine"]
    assert {"scale/executors", "log(executors)"} <= {term.name for term in model.terms}
    assert "scale/executors" in model.design.terms
    assert predict_seconds(model, executors=[4]) == predict_seconds(
        Model.from_dict(model.to_dict()), executors=[4]
    )
    chosen = stored["decision"]["decision"]["config"]["machines"]
    assert (decision.decision.config.executors, decision.decision.config.machines) == (chosen, chosen)
    assert decision.decision.cost_parts.executors == stored["decision"]["decision"]["cost_parts"]["machines"]
    assert decision.max_executors == stored["decision"]["max_machines"]
    assert run.executors == stored["production"]["machines"]


def changed(document, **changes):
    """The JSON of a document with other fields."""
    return type(document), {**document.to_dict(), **changes}


NOT_MEASURED = [
    *(("seconds", value) for value in (math.nan, "nan", math.inf, "inf", 0, -1.0)),
    *(("executors", value) for value in (0, -2, "many")),
    *(("scale", value) for value in (0.0, math.nan)),
    ("startup_seconds", -0.1),
]
UNKNOWN_BELIEF = {"name": "1", "probability": 0.5, "likely": 1}


@pytest.mark.parametrize(
    ("form", "data", "said"),
    [
        *((Experiment, data, "must be a mapping") for data in (None, "text", 3, [EXPERIMENT.to_dict()])),
        *(
            (*changed(EXPERIMENT, schema=schema), f"schema {schema}.*Upgrade")
            for schema in (SCHEMA + 1, 0, "newest", None)
        ),
        (Experiment, {name: each for name, each in EXPERIMENT.to_dict().items() if name != "scale"}, "scale"),
        (*changed(MODEL, schemes=1), "'schemes' is unknown.*upgrade then"),
        (
            *changed(MODEL, observations=[{**OBSERVATION.to_dict(), "machine": 4}]),
            "'observations.machine' is unknown.*upgrade then",
        ),
        (*changed(MODEL, prior={"beliefs": [UNKNOWN_BELIEF]}), "'prior.beliefs.likely' is unknown.*upgrade"),
        (*changed(MODEL, prior={**AveragingPrior().to_dict(), "driver_share": 2.0}), "driver_share"),
        *(
            (*changed(ALTERNATIVE, likely_seconds=interval), "likely_seconds")
            for interval in ([1.0], [1.0, 2.0, 3.0], ["a", "b"], 5.0)
        ),
        # A model could be poisoned with them.
        *(
            (*changed(document, **{field: value}), field)
            for document in (OBSERVATION, examples.production_run())
            for field, value in NOT_MEASURED
        ),
    ],
)
def test_what_does_not_have_a_documents_form_is_refused_by_name(form, data, said):
    with pytest.raises(InvalidDocumentError, match=said):
        form.from_dict(data)


def test_numbers_may_come_as_strings_as_jinja_makes_them():
    data = {name: str(value) for name, value in EXPERIMENT.to_dict().items() if name != "schema"}

    assert Experiment.from_dict(data) == EXPERIMENT


@pytest.mark.parametrize(
    ("document", "added"),
    [
        (OBSERVATION, {"origin": None}),
        (
            MODEL,
            {
                **{"origin": None, "design": None, "cluster": None},
                **{"method": "relative", "prior": None, "driver_share": 0.0, "noise": 0.0},
            },
        ),
        (
            ALTERNATIVE,
            {"probability": None, "is_pareto": False, "memory_shortage": "", "composition": ()},
        ),
        (
            DECISION,
            {"probability": None, "confidence": None, "billing": None, "cost_parts": None, "composition": ()},
        ),
        (
            examples.decision_record(),
            {"confidence": None, "objective": None, "allowed_executors": (), "model_ids": ()},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_documents_of_an_earlier_version_lack_what_was_not_recorded(document, added):
    stored = {name: value for name, value in document.to_dict().items() if name not in added}

    read = type(document).from_dict(stored)

    assert {name: getattr(read, name) for name in added} == added


@pytest.mark.parametrize(("predicted", "error"), [(66.0, 20.0), (55.0, 0.0), (44.0, -20.0), (None, None)])
def test_an_error_is_positive_where_the_prediction_was_too_high(predicted, error):
    run = examples.production_run(predicted_seconds=predicted, likely_seconds=None)

    assert run.error_percent == pytest.approx(error)
    assert FOLD.error_percent == pytest.approx(20.0)


def test_a_run_is_unusual_outside_what_was_nearly_certain():
    for seconds, is_unusual in ((43.9, True), (44.0, False), (56.0, False), (56.1, True)):
        assert examples.production_run(seconds=seconds).is_unusual is is_unusual
        assert not examples.production_run(seconds=seconds, nearly_certain_seconds=None).is_unusual


FIRST_READ_IN_THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import make_dataclass
from threading import Barrier
from airflow_provider_ernest.documents.base import Document

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


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def test_names_differ_sort_by_time_in_any_time_zone_and_name_files_as_they_are():
    names, began = {new_id(NOON) for _ in range(100)}, "20260102T120000.000000Z-"
    assert len(names) == 100
    assert all(name.startswith(began) and safe_name("id", name) == name for name in names)
    west = timezone(timedelta(hours=-1))
    for later in (NOON + timedelta(microseconds=1), datetime(2026, 1, 2, 11, 30, tzinfo=west)):
        assert max(names) < new_id(later)
