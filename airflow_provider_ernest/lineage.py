"""What tasks tell OpenLineage, if its provider is installed; docs/explanation/lineage.md lists it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.version import __version__

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from openlineage.client.event_v2 import Dataset
    from openlineage.client.facet_v2 import RunFacet

    from airflow_provider_ernest.documents.base import Document
    from airflow_provider_ernest.documents.models import Model

PRODUCER = f"pkg:pypi/airflow-provider-ernest@{__version__}"
"""A package URL: events may come from a fork of anybody's."""

STALE_MODELS = "ernest_staleModels"
FOUND_MODELS = "ernest_foundModels"

Fields = dict[str, str]
"""Of a facet: each field's place in the document."""

_MODEL: Fields = {
    "modelId": "id",
    "job": "job",
    "instanceType": "instance_type",
    "createdAt": "at",
    "medianErrorPercent": "validation.median_error_percent",
    "artifactSha256": "artifact_sha256",
}

_RUN: Fields = {
    "executors": "executors",
    "instanceType": "instance_type",
    "scale": "scale",
    "seconds": "seconds",
    "applicationId": "application_id",
}

FACETS: Mapping[str, tuple[str, Fields]] = {
    "Model": (
        "ernest_model",
        {
            **_MODEL,
            "maxErrorPercent": "validation.max_error_percent",
            "method": "method",
            "warnings": "warnings",
        },
    ),
    "DecisionRecord": (
        "ernest_decision",
        {
            "decisionId": "id",
            "job": "job",
            "executors": "decision.config.executors",
            "instanceType": "decision.config.instance_type",
            "scale": "scale",
            "goal": "decision.goal",
            "predictedSeconds": "decision.predicted_seconds",
            "likelySeconds": "decision.likely_seconds",
            "predictedCostDollars": "decision.predicted_cost",
            "confidence": "decision.confidence",
            "probability": "decision.probability",
            "modelId": "model_id",
            "reuse": "reuse",
            "fallbackReason": "decision.fallback_reason",
            "warnings": "decision.warnings",
        },
    ),
    "Observation": ("ernest_observation", _RUN),
    "ProductionRun": (
        "ernest_productionRun",
        {
            **_RUN,
            "productionId": "id",
            "job": "job",
            "predictedSeconds": "predicted_seconds",
            "errorPercent": "error_percent",
            "costDollars": "cost",
            "modelId": "model_id",
            "decisionId": "decision_id",
        },
    ),
}
"""Name and fields of the facet for each kind of document, by its class."""

_STALE: Fields = {
    "modelId": "model_id",
    "job": "job",
    "instanceType": "instance_type",
    "cause": "cause",
    "reason": "reason",
}


class EmitsLineage:
    """Base of operators whose OpenLineage events carry what they have made.

    Put it before the other bases, and call `add_lineage` in ``execute``.
    """

    _lineage_documents: tuple[Document, ...] = ()
    _lineage_inputs: tuple[str, ...] = ()
    _lineage_found: tuple[Model, ...] = ()

    def add_lineage(
        self, *documents: Document, inputs: Iterable[str | None] = (), found: Iterable[Model] = ()
    ) -> None:
        """Remember what the event of the task is to carry; may be called several times.

        That is documents of `FACETS` and marks that it has made, paths or addresses of what it has read, and
        stored models that it goes on with.
        """
        self._lineage_documents = (*self._lineage_documents, *documents)
        self._lineage_inputs = (*self._lineage_inputs, *(path for path in inputs if path))
        self._lineage_found = (*self._lineage_found, *found)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Dataset, RunFacet]:
        """What OpenLineage's listener asks for after the task, also after one that has failed."""
        own = lineage_of(self._lineage_documents, inputs=self._lineage_inputs, found=self._lineage_found)
        inherited = getattr(super(), "get_openlineage_facets_on_complete", None)
        of_others = inherited(task_instance) if inherited else None
        return own.merge(of_others) if of_others else own


def lineage_of(
    documents: Iterable[Document], *, inputs: Iterable[str] = (), found: Iterable[Model] = ()
) -> OperatorLineage[Dataset, RunFacet]:
    """Facets and datasets of what a task has made, read and found; of two documents of a kind the last."""
    from airflow.providers.openlineage.extractors import OperatorLineage

    of_kind: dict[str, list[Any]] = {"found": [*found]}
    for document in documents:
        of_kind.setdefault(type(document).__name__, []).append(document)
    facets = {
        name: _facet(name, _values(of_kind[kind][-1], fields))
        for kind, (name, fields) in FACETS.items()
        if kind in of_kind
    }
    for kind, name, fields in (("ModelMark", STALE_MODELS, _STALE), ("found", FOUND_MODELS, _MODEL)):
        if of_kind.get(kind):
            facets[name] = _facet(name, {"models": [_values(each, fields) for each in of_kind[kind]]})
    models = of_kind.get("Model", [])
    # Models that decisions are by, and that production runs were predicted by.
    by_model = [*of_kind.get("DecisionRecord", []), *of_kind.get("ProductionRun", [])]
    read = dict.fromkeys(path for path in (*inputs, *(model.input_path for model in models)) if path)
    return OperatorLineage(
        inputs=[
            *map(input_dataset, read),
            *(_model_dataset(model, model.id) for model in of_kind["found"]),
            *(_model_dataset(each, each.model_id) for each in by_model if each.model_id),
        ],
        outputs=[_model_dataset(model, model.id) for model in models],
        run_facets=facets,
    )


def _facet(name: str, values: Mapping[str, Any]) -> RunFacet:
    import attrs
    from openlineage.client.facet_v2 import RunFacet

    kind = attrs.make_class(name, list(values), bases=(RunFacet,), kw_only=True)
    facet: RunFacet = kind(producer=PRODUCER, **values)
    return facet


def _values(document: Any, fields: Fields) -> dict[str, Any]:
    return {name: _plain(attrgetter(source)(document)) for name, source in fields.items()}


def _plain(value: Any) -> Any:
    """Lists, not tuples, since that is what OpenLineage's client writes; and no credentials."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return without_credentials(value) if isinstance(value, str) else value


def input_dataset(path: str) -> Dataset:
    """A path or address by OpenLineage's naming: scheme and host, and what is below them.

    "s3a" is "s3", and objects have no slash before their key, as in the events of Spark.
    """
    from openlineage.client.event_v2 import Dataset

    parts = urlsplit(without_credentials(path))
    if parts.scheme in ("", "file"):
        return Dataset(namespace="file", name=str(Path(parts.path).absolute()))
    scheme = "s3" if parts.scheme in ("s3a", "s3n") else parts.scheme
    below = parts.path.rstrip("/")
    name = below.lstrip("/") if scheme in ("s3", "gs") else below
    return Dataset(namespace=f"{scheme}://{parts.netloc}", name=name or "/")


def _model_dataset(of: Any, model_id: str) -> Dataset:
    """The model of a job on a type of machine: one dataset, whose version each new model is."""
    from airflow.providers.openlineage import conf
    from openlineage.client.event_v2 import Dataset
    from openlineage.client.facet_v2 import dataset_version_dataset

    version = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=model_id, producer=PRODUCER)
    return Dataset(
        namespace=conf.namespace(), name=f"ernest/{of.job}/{of.instance_type}", facets={"version": version}
    )
