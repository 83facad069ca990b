"""The JSON API of the stored models."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from airflow_provider_ernest.links.spark_history import configured_history_server
from airflow_provider_ernest.plugin.access import AccessDep
from airflow_provider_ernest.plugin.clarity_page import clarity_page
from airflow_provider_ernest.plugin.clarity_responses import Clarity
from airflow_provider_ernest.plugin.configured_store import StoreDep
from airflow_provider_ernest.plugin.found_model import FoundDep
from airflow_provider_ernest.plugin.json_answer import JsonAnswer
from airflow_provider_ernest.plugin.life_responses import ProductionRuns, UntrainedRuns
from airflow_provider_ernest.plugin.model_list import MOST_ROWS, SORTS, STATES, list_models
from airflow_provider_ernest.plugin.model_responses import ModelPage
from airflow_provider_ernest.plugin.prediction_parameters import prediction_request
from airflow_provider_ernest.plugin.prediction_request import PredictionRequest
from airflow_provider_ernest.plugin.prediction_responses import Prediction, SameCost
from airflow_provider_ernest.plugin.production_page import MOST_PRODUCTION_RUNS, production_page
from airflow_provider_ernest.plugin.responses import Models, answers
from airflow_provider_ernest.plugin.sample_runs import application_link
from airflow_provider_ernest.plugin.untrained_runs import untrained_runs
from airflow_provider_ernest.plugin.visible import visible_entries

router = APIRouter(prefix="/api", tags=["Models"])


@router.get("/models", summary="The newest model of each job and instance type", **answers(Models))
def list_all(
    store: StoreDep,
    access: AccessDep,
    search: Annotated[
        str,
        Query(
            max_length=500,
            description="Words that all occur in job, instance type, DAG, terms or artifact, in any case.",
        ),
    ] = "",
    sort: Annotated[
        str,
        Query(
            description="Ties are sorted by job and instance type.", json_schema_extra={"enum": list(SORTS)}
        ),
    ] = "created_at",
    descending: bool = True,
    state: Annotated[
        str | None,
        Query(description="Only models in this state.", json_schema_extra={"enum": list(STATES)}),
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
        )
    )


@router.get("/model", summary="One model and all that is known of it", **answers(ModelPage))
def one(store: StoreDep, found: FoundDep) -> Response:
    """A model with its observations, design, cluster, versions, decisions and production runs."""
    from airflow_provider_ernest.plugin.model_page import model_page

    history_server = configured_history_server()
    return JsonAnswer(
        model_page(store, found.model, found.entries, readable=found.readable, history_server=history_server)
    )


@router.get("/production", summary="Production runs beside their predictions", **answers(ProductionRuns))
def production(
    store: StoreDep,
    found: FoundDep,
    offset: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_PRODUCTION_RUNS)] = MOST_PRODUCTION_RUNS,
) -> Response:
    """The production runs of a job on a type of machine, newest first, whichever version predicted them."""
    of_type = [entry for entry in found.entries if entry.instance_type == found.model.instance_type]
    return JsonAnswer(
        production_page(
            store,
            visible_entries(of_type, found.readable),
            readable=found.readable,
            link=application_link(configured_history_server()),
            offset=offset,
            limit=limit,
        )
    )


@router.get("/clarity", summary="Why the job takes as long as it does", **answers(Clarity))
def clarity(store: StoreDep, found: FoundDep) -> Response:
    """What the event logs of the job's runs tell: what binds it, and what it would take on other machines."""
    return JsonAnswer(
        clarity_page(
            store,
            found.model,
            entries=found.entries,
            readable=found.readable,
            link=application_link(configured_history_server()),
        )
    )


@router.get("/untrained_runs", summary="Sample runs that are in no model", **answers(UntrainedRuns))
def untrained(store: StoreDep, found: FoundDep) -> Response:
    """How many of the newest sample runs no model was fitted to: their training failed, or goes on."""
    return JsonAnswer(
        untrained_runs(
            store,
            job=found.model.job,
            instance_type=found.model.instance_type,
            entries=found.entries,
            readable=found.readable,
        )
    )


@router.get("/prediction", summary="What a model predicts and would choose", **answers(Prediction))
def predict(
    store: StoreDep,
    found: FoundDep,
    request: Annotated[PredictionRequest, Depends(prediction_request)],
) -> Response:
    """The curve of time against machines and, with a price, what each configuration costs.

    With a deadline, a budget or an objective it chooses, too, as the task that chooses does: among all types
    of machines that the job was trained on, by models that the user may read.
    """
    # The mathematics is loaded by the first prediction, not by the start of the API server.
    from airflow_provider_ernest.plugin.prediction_page import prediction

    return JsonAnswer(prediction(store, found.model, request, entries=found.entries, readable=found.readable))


@router.get("/same_cost", summary="Types of machines at the same dollars per hour", **answers(SameCost))
def compare(
    store: StoreDep, found: FoundDep, request: Annotated[PredictionRequest, Depends(prediction_request)]
) -> Response:
    """What each type of machine that the job was trained on makes of the same dollars per hour.

    Deadline, budget and confidence do not matter here: it is not a choice.
    """
    from airflow_provider_ernest.plugin.same_cost_page import compared_at_same_cost

    return JsonAnswer(
        compared_at_same_cost(store, found.model, request, entries=found.entries, readable=found.readable)
    )
