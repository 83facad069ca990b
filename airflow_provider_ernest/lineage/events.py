"""The facets and datasets of OpenLineage's events, as docs/explanation/lineage.md lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs
from airflow.providers.openlineage import conf
from airflow.providers.openlineage.extractors import OperatorLineage
from openlineage.client.event_v2 import Dataset
from openlineage.client.facet_v2 import RunFacet, dataset_version_dataset

from airflow_provider_ernest.documents.decisions import DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import Model, ModelMark
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airflow_provider_ernest.documents.base import Document

PRODUCER = f"pkg:pypi/airflow-provider-ernest@{__version__}"
"""A package URL: events may come from a fork of anybody's."""

MOST_OBSERVATIONS = 100
"""Events are small; the model store has all of them."""

STALE_MODELS = "ernest_staleModels"
FOUND_MODELS = "ernest_foundModels"

Fields = Mapping[str, str | Callable[[Any], Any]]
"""Of a facet: each field's place in the document, or how it is made."""


def _runs(model: Model) -> list[dict[str, Any]]:
    return [
        {"machines": run.machines, "scale": run.scale, "seconds": run.seconds}
        for run in model.observations[:MOST_OBSERVATIONS]
    ]


def _terms(model: Model) -> list[dict[str, Any]]:
    return [
        {"name": term.name, "coefficient": term.coefficient, "probability": term.probability}
        for term in model.terms
    ]


def _parts(record: DecisionRecord) -> list[dict[str, Any]]:
    parts = record.decision.composition or (record.decision.config,)
    return [{"machines": part.machines, "instanceType": part.instance_type} for part in parts]


FACETS: Mapping[type, tuple[str, Fields]] = {
    Model: (
        "ernest_model",
        {
            "modelId": "id",
            "job": "job",
            "instanceType": "instance_type",
            "createdAt": "at",
            "method": "method",
            "terms": _terms,
            "medianErrorPercent": "validation.median_error_percent",
            "maxErrorPercent": "validation.max_error_percent",
            "observationCount": lambda model: len(model.observations),
            "observations": _runs,
            "startupSeconds": "startup_seconds",
            "noise": "noise",
            "artifactSha256": "artifact_sha256",
            "baseModelId": "base_model_id",
            "learnedFromRuns": lambda model: len(model.learned_from),
            "spark": lambda model: model.conditions.spark if model.conditions else None,
            "warnings": "warnings",
        },
    ),
    DecisionRecord: (
        "ernest_decision",
        {
            "decisionId": "id",
            "job": "job",
            "machines": "decision.config.machines",
            "instanceType": "decision.config.instance_type",
            "composition": _parts,
            "scale": "scale",
            "goal": "decision.goal",
            "predictedSeconds": "decision.predicted_seconds",
            "likelySeconds": "decision.likely_seconds",
            "nearlyCertainSeconds": "decision.nearly_certain_seconds",
            "predictedCostDollars": "decision.predicted_cost",
            "confidence": "decision.confidence",
            "probability": "decision.probability",
            "deadlineSeconds": "deadline_seconds",
            "budgetDollars": "budget_dollars",
            "medianErrorPercent": "decision.error_percent",
            "modelId": "model_id",
            "modelIds": "model_ids",
            "artifactSha256": "artifact_sha256",
            "reuse": "reuse",
            "fallbackReason": "decision.fallback_reason",
            "warnings": "decision.warnings",
        },
    ),
    Observation: (
        "ernest_observation",
        {
            "machines": "machines",
            "instanceType": "instance_type",
            "scale": "scale",
            "seconds": "seconds",
            "startupSeconds": "startup_seconds",
            "waitedSeconds": "waited_seconds",
            "applicationId": "application_id",
        },
    ),
    ProductionRun: (
        "ernest_productionRun",
        {
            "productionId": "id",
            "job": "job",
            "machines": "machines",
            "instanceType": "instance_type",
            "scale": "scale",
            "seconds": "seconds",
            "predictedSeconds": "predicted_seconds",
            "likelySeconds": "likely_seconds",
            "nearlyCertainSeconds": "nearly_certain_seconds",
            "errorPercent": "error_percent",
            "costDollars": "cost",
            "modelId": "model_id",
            "decisionId": "decision_id",
            "artifactSha256": "artifact_sha256",
            "applicationId": "application_id",
        },
    ),
}
"""Name and fields of the facet for each kind of document."""

STALE: Fields = {
    "modelId": "model_id",
    "job": "job",
    "instanceType": "instance_type",
    "cause": "cause",
    "reason": "reason",
}

FOUND: Fields = {
    name: FACETS[Model][1][name]
    for name in ("modelId", "job", "instanceType", "createdAt", "medianErrorPercent", "artifactSha256")
}


def lineage_of(
    documents: Sequence[Document], *, inputs: Iterable[str] = (), found: Sequence[Model] = ()
) -> OperatorLineage[Dataset, RunFacet]:
    """Facets and datasets of what a task has made, read and found; of two documents of a kind the last."""
    run_facets: dict[str, RunFacet] = {}
    for document in documents:
        if type(document) in FACETS:
            name, fields = FACETS[type(document)]
            run_facets[name] = _facet(name, _values(document, fields))
    marks = [document for document in documents if isinstance(document, ModelMark)]
    for name, listed, fields in ((STALE_MODELS, marks, STALE), (FOUND_MODELS, found, FOUND)):
        if listed:
            run_facets[name] = _facet(name, {"models": [_values(each, fields) for each in listed]})
    models = [document for document in documents if isinstance(document, Model)]
    # Those that decisions are by, and that production runs were predicted by.
    used = [
        model_dataset(each.job, each.instance_type, each.model_id)
        for each in documents
        if isinstance(each, DecisionRecord | ProductionRun) and each.model_id
    ]
    stored = [model_dataset(model.job, model.instance_type, model.id) for model in found]
    read = {path: None for path in (*inputs, *(model.input_path for model in models)) if path}
    return OperatorLineage(
        inputs=[*map(input_dataset, read), *stored, *used],
        outputs=[model_dataset(made.job, made.instance_type, made.id) for made in models],
        run_facets=run_facets,
    )


def _facet(name: str, values: Mapping[str, Any]) -> RunFacet:
    kind = attrs.make_class(name, list(values), bases=(RunFacet,), kw_only=True)
    facet: RunFacet = kind(producer=PRODUCER, **values)
    return facet


def _values(document: Document, fields: Fields) -> dict[str, Any]:
    return {
        name: _plain(source(document) if callable(source) else attrgetter(source)(document))
        for name, source in fields.items()
    }


def _plain(value: Any) -> Any:
    """Lists, not tuples, since that is what OpenLineage's client writes; and no credentials."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return without_credentials(value) if isinstance(value, str) else value


def input_dataset(path: str) -> Dataset:
    """A path or address by OpenLineage's naming: scheme and host, and what is below them.

    "s3a" is "s3", and objects have no slash before their key, as in the events of Spark.
    """
    parts = urlsplit(without_credentials(path))
    if parts.scheme in ("", "file"):
        return Dataset(namespace="file", name=str(Path(parts.path).absolute()))
    scheme = "s3" if parts.scheme in ("s3a", "s3n") else parts.scheme
    below = parts.path.rstrip("/")
    name = below.lstrip("/") if scheme in ("s3", "gs") else below
    return Dataset(namespace=f"{scheme}://{parts.netloc}", name=name or "/")


def model_dataset(job: str, instance_type: str, model_id: str) -> Dataset:
    """The model of a job on a type of machine: one dataset, whose version each new model is."""
    version = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=model_id, producer=PRODUCER)
    return Dataset(
        namespace=conf.namespace(), name=f"ernest/{job}/{instance_type}", facets={"version": version}
    )
