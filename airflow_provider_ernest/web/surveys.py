"""The JSON API of the surveys of event logs in the model store.

A survey is of the jobs of a whole folder of event logs, and none of these names a DAG. So it is for those who
may read what no DAG made, which are those who may read all DAGs.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query
from starlette.responses import Response

from airflow_provider_ernest.documents.surveys import Survey
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.loaded import is_gone
from airflow_provider_ernest.views.survey import survey_page
from airflow_provider_ernest.web.access import AccessDep
from airflow_provider_ernest.web.answers import JsonAnswer
from airflow_provider_ernest.web.description import answers
from airflow_provider_ernest.web.models import StoreDep

NO_SURVEY = (
    "There is no such survey in the store that these pages show. Make one of Spark's event logs: "
    "`ernest survey LOGS --store`."
)
NO_SURVEY_TO_READ = (
    "You may not read surveys: their jobs may be those of any DAG. Ask your Airflow administrator for the "
    "right to read all DAGs."
)

router = APIRouter(prefix="/api", tags=["Surveys"])


@router.get("/survey", summary="What jobs take and could save, by their event logs", **answers("SurveyPage"))
def one(
    store: StoreDep,
    access: AccessDep,
    survey_id: Annotated[
        str | None, Query(min_length=1, description="Which one; without it, the newest that can be read.")
    ] = None,
) -> Response:
    """A survey of event logs. Its jobs are of no DAG, so it takes the right to read all of them."""
    if not access.may_read_all():
        raise HTTPException(403, NO_SURVEY_TO_READ)
    found = _survey(store, survey_id)
    if found is None:
        raise HTTPException(404, NO_SURVEY)
    return JsonAnswer(survey_page(found, store.survey_ids()))


def _survey(store: ModelStore, survey_id: str | None) -> Survey | None:
    if survey_id is None:
        return store.newest_survey()
    try:
        return store.load_survey(survey_id)
    except StoreError as error:
        if not is_gone(error):
            raise
        return None
