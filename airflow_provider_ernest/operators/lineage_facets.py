"""The facets that this package adds to OpenLineage's events. Imports OpenLineage's client.

Their schema is that of any run facet, which may have further fields; docs/lineage.md lists them. Lists, not
tuples, and plain builtins, since that is what the client writes. Names are OpenLineage's style: camelCase.
"""

from __future__ import annotations

from typing import Any

from attrs import define, field
from openlineage.client.facet_v2 import RunFacet

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
