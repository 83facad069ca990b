"""The JSON API of the model store: models, and surveys of event logs."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import lru_cache
from inspect import Parameter, Signature
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Depends, HTTPException, Query
from starlette.responses import Response

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.hooks.store_location import configured, store_root
from airflow_provider_ernest.links.spark_history import configured_link
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.settings.billing import BESIDE_THE_PRICE
from airflow_provider_ernest.store.catalogue import MODEL, CatalogueEntry
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.clarity import clarity_page
from airflow_provider_ernest.views.loaded import Readable, is_gone, load_model, newest_of
from airflow_provider_ernest.views.model import model_page
from airflow_provider_ernest.views.models import FILTERS, MOST_ROWS, SORTS, list_models
from airflow_provider_ernest.views.prediction_request import PredictionRequest
from airflow_provider_ernest.views.survey import survey_page
from airflow_provider_ernest.web.access import AccessDep
from airflow_provider_ernest.web.answers import JsonAnswer, answers


@lru_cache(maxsize=4)
def _store_at(root: str) -> ModelStore:
    return ModelStore(store_root(root))


def model_store() -> ModelStore | StoreError:
    """The configured store, always the same object because of its cache; or why there is none."""
    try:
        return _store_at(configured("store"))
    # Object stores' libraries raise errors of their own, or are not installed.
    except Exception as error:
        problem = StoreError(f"The model store cannot be opened: {type(error).__name__}: {error}")
        problem.__cause__ = error
        return problem


def readable_store(store: Annotated[ModelStore | StoreError, Depends(model_store)]) -> ModelStore:
    """The configured store; raises StoreError if it cannot be opened."""
    if isinstance(store, StoreError):
        raise store
    return store


StoreDep = Annotated[ModelStore, Depends(readable_store)]


log = logging.getLogger(__name__)

NO_MODEL = (
    "There is no such model in the store that these pages show, [ernest] store of Airflow's configuration. "
    "Choose one on the page of all models."
)
NO_MODEL_TO_READ = (
    "There is no such model that you may read. Choose one on the page of all models, or ask your Airflow "
    "administrator for the right to read the DAG that made it."
)


@dataclass(frozen=True, kw_only=True)
class FoundModel:
    """The model that a request is about, and its job's entries without models whose files are gone."""

    model: Model
    entries: Sequence[CatalogueEntry]
    readable: Readable


def found_model(
    store: StoreDep,
    access: AccessDep,
    job: Annotated[str, Query(min_length=1, description="The job's name.")],
    instance_type: Annotated[str, Query(min_length=1, description="The machines' type.")],
    model_id: Annotated[
        str | None,
        Query(min_length=1, description="A version; without it, the newest that the user may read."),
    ] = None,
) -> FoundModel:
    """The model that the address names; without a version, the newest that the user may read.

    Raises:
        HTTPException: 404 if there is none and the user may read all DAGs. Others get 403, whether they may
            not read it or it does not exist, so that guessing tells them nothing.
    """
    entries = store.catalogue.entries(job)
    readable = access.readable({entry.dag_id for entry in entries})
    wanted = [
        entry
        for entry in newest_of(entries, MODEL, limit=len(entries))
        if entry.instance_type == instance_type and model_id in (None, entry.id) and readable(entry.dag_id)
    ]
    for entry in wanted:
        try:
            model = load_model(store, job, instance_type, entry.id)
        except StoreError as error:
            if not is_gone(error):
                raise
            log.warning("Model %s of %r on %s is listed and gone", entry.id, job, instance_type)
            entries = [each for each in entries if each is not entry]
        else:
            return FoundModel(model=model, entries=entries, readable=readable)
    raise HTTPException(404, NO_MODEL) if access.may_read_all() else HTTPException(403, NO_MODEL_TO_READ)


FoundDep = Annotated[FoundModel, Depends(found_model)]


def _parameters(settings: Any, names: Collection[str]) -> Iterator[Parameter]:
    """A query parameter for each of these fields of settings."""
    types = get_type_hints(settings)
    for one in fields(settings):
        if one.name in names:
            # After the semicolon come defaults that do not hold for an address.
            says = one.metadata["says"].partition(";")[0]
            described = Query(description=f"{says[0].upper()}{says[1:]}.")
            yield Parameter(
                one.name,
                Parameter.KEYWORD_ONLY,
                default=one.default,
                annotation=Annotated[types[one.name], described],
            )


def asked(**values: Any) -> PredictionRequest:
    """The request of an address, which has a parameter for each field of it and of its billing."""
    billing = Billing(**{name: values.pop(name) for name in BESIDE_THE_PRICE})
    return PredictionRequest(billing=billing, **values)


IN_ADDRESS = [one.name for one in fields(PredictionRequest) if one.name != "billing"]
asked.__signature__ = Signature(  # type: ignore[attr-defined]
    [*_parameters(PredictionRequest, IN_ADDRESS), *_parameters(Billing, BESIDE_THE_PRICE)]
)

router = APIRouter(prefix="/api", tags=["Models"])


@router.get("/models", summary="What each job runs on, takes and costs", **answers("Models"))
def list_all(
    store: StoreDep,
    access: AccessDep,
    search: Annotated[
        str,
        Query(max_length=500, description="Words that all occur in job, instance type or DAG, in any case."),
    ] = "",
    sort: Annotated[
        str,
        Query(
            description="Ties are sorted by the dollars of a month, then of a run, then by job and type.",
            json_schema_extra={"enum": list(SORTS)},
        ),
    ] = "need",
    descending: bool = True,
    state: Annotated[
        str | None,
        Query(
            description="Only models in this state, or that need attention.",
            json_schema_extra={"enum": list(FILTERS)},
        ),
    ] = None,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = 25,
) -> Response:
    """A page of the list of models. Models of DAGs that the user may not read are not counted either."""
    entries = store.catalogue.entries()
    return JsonAnswer(
        list_models(
            entries,
            readable=access.readable({entry.dag_id for entry in entries}),
            search=search,
            sort=sort,
            descending=descending,
            state=state,
            offset=offset,
            limit=limit,
            now=datetime.now(UTC),
            survey=store.newest_survey() if access.may_read_all() else None,
        )
    )


@router.get("/model", summary="One model and all that is known of it", **answers("ModelPage"))
def one(store: StoreDep, found: FoundDep, access: AccessDep) -> Response:
    """A model with its observations, design, cluster, versions, decisions and production runs."""
    page = model_page(
        store,
        found.model,
        found.entries,
        readable=found.readable,
        may_trigger=access.may_trigger,
        link=configured_link(),
    )
    return JsonAnswer(page)


@router.get("/clarity", summary="Why the job takes as long as it does", **answers("Clarity"))
def clarity(store: StoreDep, found: FoundDep) -> Response:
    """What the event logs of the job's runs tell: what binds it, and what it would take on other machines."""
    return JsonAnswer(clarity_page(store, found.model, readable=found.readable, link=configured_link()))


@router.get("/prediction", summary="What a model predicts and would choose", **answers("Prediction"))
def predict(
    store: StoreDep, found: FoundDep, request: Annotated[PredictionRequest, Depends(asked)]
) -> Response:
    """The curve of time against machines and, with a price, what each configuration costs.

    With a deadline, a budget or an objective it chooses, too, as the task that chooses does: among all types
    of machines that the job was trained on, by models that the user may read. The training is billed only
    where it is said how many runs share it.
    """
    # The mathematics is loaded by the first prediction, not by the start of the API server.
    from airflow_provider_ernest.views.prediction import prediction

    return JsonAnswer(prediction(store, found.model, request, entries=found.entries, readable=found.readable))


surveys = APIRouter(prefix="/api", tags=["Surveys"])

NO_SURVEY = (
    "There is no such survey in the store that these pages show. Make one of Spark's event logs: "
    "`ernest survey LOGS --store`."
)
NO_SURVEY_TO_READ = (
    "You may not read surveys: their jobs may be those of any DAG. Ask your Airflow administrator for the "
    "right to read all DAGs."
)


@surveys.get("/survey", summary="What jobs take and could save, by their event logs", **answers("SurveyPage"))
def survey(
    store: StoreDep,
    access: AccessDep,
    survey_id: Annotated[
        str | None, Query(min_length=1, description="Which one; without it, the newest that can be read.")
    ] = None,
) -> Response:
    """A survey of event logs. Its jobs are of no DAG, so it takes the right to read all of them."""
    if not access.may_read_all():
        raise HTTPException(403, NO_SURVEY_TO_READ)
    try:
        found = store.newest_survey() if survey_id is None else store.load_survey(survey_id)
    except StoreError as error:
        if survey_id is None or not is_gone(error):
            raise
        found = None
    if found is None:
        raise HTTPException(404, NO_SURVEY)
    return JsonAnswer(survey_page(found, store.survey_ids()))
