"""From documents to the facets and datasets of OpenLineage's events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.providers.openlineage import conf
from airflow.providers.openlineage.extractors import OperatorLineage
from attrs import define, field
from openlineage.client.event_v2 import Dataset
from openlineage.client.facet_v2 import RunFacet, dataset_version_dataset

from airflow_provider_ernest import __version__
from airflow_provider_ernest.documents import DecisionRecord, Model, ModelMark, Observation, ProductionRun
from airflow_provider_ernest.privacy import without_credentials

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airflow_provider_ernest.documents import Configuration
    from airflow_provider_ernest.json_document import Document


# ---------------------------------------------------------------------------
# The facets that this package adds to OpenLineage's events. Imports OpenLineage's client.
#
# Their schema is that of any run facet, which may have further fields; docs/lineage.md lists them. Lists,
# not
# tuples, and plain builtins, since that is what the client writes. Names are OpenLineage's style:
# camelCase.


MODEL = "ernest_model"
DECISION = "ernest_decision"
OBSERVATION = "ernest_observation"
PRODUCTION_RUN = "ernest_productionRun"
FOUND_MODELS = "ernest_foundModels"
STALE_MODELS = "ernest_staleModels"


@define(kw_only=True)
class ErnestModelRunFacet(RunFacet):
    """The model that a task has fitted, learned or found."""

    modelId: str  # noqa: N815
    job: str
    instanceType: str  # noqa: N815
    createdAt: str  # noqa: N815
    method: str
    terms: list[dict[str, Any]]
    medianErrorPercent: float  # noqa: N815
    maxErrorPercent: float  # noqa: N815
    observationCount: int  # noqa: N815
    observations: list[dict[str, Any]]
    startupSeconds: float  # noqa: N815
    noise: float
    artifactSha256: str | None = None  # noqa: N815
    baseModelId: str | None = None  # noqa: N815
    learnedFromRuns: int = 0  # noqa: N815
    spark: str | None = None
    warnings: list[str] = field(factory=list)


@define(kw_only=True)
class ErnestDecisionRunFacet(RunFacet):
    """The configuration that was chosen, and why."""

    decisionId: str  # noqa: N815
    job: str
    machines: int
    instanceType: str  # noqa: N815
    composition: list[dict[str, Any]]
    scale: float
    goal: str
    predictedSeconds: float | None = None  # noqa: N815
    likelySeconds: list[float] | None = None  # noqa: N815
    nearlyCertainSeconds: list[float] | None = None  # noqa: N815
    predictedCostDollars: float | None = None  # noqa: N815
    confidence: float | None = None
    probability: float | None = None
    deadlineSeconds: float | None = None  # noqa: N815
    budgetDollars: float | None = None  # noqa: N815
    medianErrorPercent: float | None = None  # noqa: N815
    modelId: str | None = None  # noqa: N815
    modelIds: list[str] = field(factory=list)  # noqa: N815
    artifactSha256: str | None = None  # noqa: N815
    reuse: str = ""
    fallbackReason: str | None = None  # noqa: N815
    warnings: list[str] = field(factory=list)


@define(kw_only=True)
class ErnestObservationRunFacet(RunFacet):
    """A sample run as it went."""

    machines: int
    instanceType: str  # noqa: N815
    scale: float
    seconds: float
    startupSeconds: float  # noqa: N815
    waitedSeconds: float  # noqa: N815
    applicationId: str | None = None  # noqa: N815


@define(kw_only=True)
class ErnestProductionRunFacet(RunFacet):
    """A production run as it went, beside what was predicted of it."""

    productionId: str  # noqa: N815
    job: str
    machines: int
    instanceType: str  # noqa: N815
    scale: float
    seconds: float
    predictedSeconds: float | None = None  # noqa: N815
    likelySeconds: list[float] | None = None  # noqa: N815
    nearlyCertainSeconds: list[float] | None = None  # noqa: N815
    errorPercent: float | None = None  # noqa: N815
    costDollars: float | None = None  # noqa: N815
    modelId: str | None = None  # noqa: N815
    decisionId: str | None = None  # noqa: N815
    artifactSha256: str | None = None  # noqa: N815
    applicationId: str | None = None  # noqa: N815


@define(kw_only=True)
class ErnestStaleModelsRunFacet(RunFacet):
    """The models that were noticed to speak for their job no longer."""

    models: list[dict[str, Any]]


@define(kw_only=True)
class ErnestFoundModelsRunFacet(RunFacet):
    """The stored models that a run goes on with, so that it trains none of these."""

    models: list[dict[str, Any]]


# ---------------------------------------------------------------------------


PRODUCER = f"pkg:pypi/airflow-provider-ernest@{__version__}"
"""A package URL: events may come from a fork of anybody's."""

MOST_OBSERVATIONS = 100
"""Events are small; the model store has all of them."""


def lineage_of(
    documents: Sequence[Document], *, inputs: Iterable[str] = (), found: Sequence[Model] = ()
) -> OperatorLineage[Dataset, RunFacet]:
    """Facets and datasets of what a task has made; of two documents of a kind the last.

    Args:
        documents: that it has made.
        inputs: paths or addresses of what it has read.
        found: stored models that it goes on with.
    """
    run_facets: dict[str, RunFacet] = {}
    for document in documents:
        name, facet = _FACETS.get(type(document), ("", None))
        if facet is not None:
            run_facets[name] = facet(document)
    marks = [document for document in documents if isinstance(document, ModelMark)]
    if marks:
        run_facets[STALE_MODELS] = _stale_facet(marks)
    if found:
        run_facets[FOUND_MODELS] = _found_facet(found)
    models = [document for document in documents if isinstance(document, Model)]
    read = {path: None for path in (*inputs, *(model.input_path for model in models)) if path}
    return OperatorLineage(
        inputs=[*map(input_dataset, read), *_models_read(documents, found)],
        outputs=[model_dataset(made.job, made.instance_type, made.id) for made in models],
        run_facets=run_facets,
    )


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


def _models_read(documents: Iterable[Document], found: Iterable[Model]) -> list[Dataset]:
    """The stored models, and those that decisions are by and production runs were predicted by."""
    read = [model_dataset(model.job, model.instance_type, model.id) for model in found]
    for each in documents:
        if isinstance(each, DecisionRecord | ProductionRun) and each.model_id:
            read.append(model_dataset(each.job, each.instance_type, each.model_id))
    return read


def _model_facet(model: Model) -> RunFacet:
    return ErnestModelRunFacet(
        producer=PRODUCER,
        modelId=model.id,
        job=model.job,
        instanceType=model.instance_type,
        createdAt=model.at,
        method=model.method,
        terms=[
            {"name": term.name, "coefficient": term.coefficient, "probability": term.probability}
            for term in model.terms
        ],
        medianErrorPercent=model.validation.median_error_percent,
        maxErrorPercent=model.validation.max_error_percent,
        observationCount=len(model.observations),
        observations=[
            {"machines": run.machines, "scale": run.scale, "seconds": run.seconds}
            for run in model.observations[:MOST_OBSERVATIONS]
        ],
        startupSeconds=model.startup_seconds,
        noise=model.noise,
        artifactSha256=model.artifact_sha256,
        baseModelId=model.base_model_id,
        learnedFromRuns=len(model.learned_from),
        spark=model.conditions.spark if model.conditions else None,
        warnings=_sentences(model.warnings),
    )


def _decision_facet(record: DecisionRecord) -> RunFacet:
    decision = record.decision
    return ErnestDecisionRunFacet(
        producer=PRODUCER,
        decisionId=record.id,
        job=record.job,
        machines=decision.config.machines,
        instanceType=decision.config.instance_type,
        composition=_parts(decision.composition or (decision.config,)),
        scale=record.scale,
        goal=decision.goal,
        predictedSeconds=decision.predicted_seconds,
        likelySeconds=_interval(decision.likely_seconds),
        nearlyCertainSeconds=_interval(decision.nearly_certain_seconds),
        predictedCostDollars=decision.predicted_cost,
        confidence=decision.confidence,
        probability=decision.probability,
        deadlineSeconds=record.deadline_seconds,
        budgetDollars=record.budget_dollars,
        medianErrorPercent=decision.error_percent,
        modelId=record.model_id,
        modelIds=list(record.model_ids),
        artifactSha256=record.artifact_sha256,
        reuse=without_credentials(record.reuse),
        fallbackReason=without_credentials(decision.fallback_reason) if decision.fallback_reason else None,
        warnings=_sentences(decision.warnings),
    )


def _observation_facet(run: Observation) -> RunFacet:
    return ErnestObservationRunFacet(
        producer=PRODUCER,
        machines=run.machines,
        instanceType=run.instance_type,
        scale=run.scale,
        seconds=run.seconds,
        startupSeconds=run.startup_seconds,
        waitedSeconds=run.waited_seconds,
        applicationId=run.application_id,
    )


def _production_facet(run: ProductionRun) -> RunFacet:
    return ErnestProductionRunFacet(
        producer=PRODUCER,
        productionId=run.id,
        job=run.job,
        machines=run.machines,
        instanceType=run.instance_type,
        scale=run.scale,
        seconds=run.seconds,
        predictedSeconds=run.predicted_seconds,
        likelySeconds=_interval(run.likely_seconds),
        nearlyCertainSeconds=_interval(run.nearly_certain_seconds),
        errorPercent=run.error_percent,
        costDollars=run.cost,
        modelId=run.model_id,
        decisionId=run.decision_id,
        artifactSha256=run.artifact_sha256,
        applicationId=run.application_id,
    )


def _found_facet(models: Iterable[Model]) -> RunFacet:
    return ErnestFoundModelsRunFacet(
        producer=PRODUCER,
        models=[
            {
                "modelId": model.id,
                "job": model.job,
                "instanceType": model.instance_type,
                "createdAt": model.at,
                "medianErrorPercent": model.validation.median_error_percent,
                "artifactSha256": model.artifact_sha256,
            }
            for model in models
        ],
    )


def _stale_facet(marks: Sequence[ModelMark]) -> RunFacet:
    return ErnestStaleModelsRunFacet(
        producer=PRODUCER,
        models=[
            {
                "modelId": mark.model_id,
                "job": mark.job,
                "instanceType": mark.instance_type,
                "cause": mark.cause,
                "reason": without_credentials(mark.reason),
            }
            for mark in marks
        ],
    )


_FACETS: dict[type, tuple[str, Callable[[Any], RunFacet]]] = {
    Model: (MODEL, _model_facet),
    DecisionRecord: (DECISION, _decision_facet),
    Observation: (OBSERVATION, _observation_facet),
    ProductionRun: (PRODUCTION_RUN, _production_facet),
}


def _parts(composition: Iterable[Configuration]) -> list[dict[str, Any]]:
    return [{"machines": part.machines, "instanceType": part.instance_type} for part in composition]


def _interval(bounds: tuple[float, float] | None) -> list[float] | None:
    return None if bounds is None else list(bounds)


def _sentences(texts: Iterable[str]) -> list[str]:
    return [without_credentials(text) for text in texts]
