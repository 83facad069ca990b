"""A survey of all jobs on a schedule: what they cost and could save, and what has changed since the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, Context

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.operators.task_context import folder, no_vain_retries
from airflow_provider_ernest.settings import EventLogs
from airflow_provider_ernest.settings.goal import CONFIDENCE, check_confidence
from airflow_provider_ernest.settings.values import (
    Number,
    as_template,
    not_negative,
    prices,
    settings_of,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.surveys import Survey
    from airflow_provider_ernest.store.store import ModelStore
    from airflow_provider_ernest.views.survey_changes import SurveyChange


class SurveyOperator(BaseOperator):
    """Survey all jobs of a folder of event logs, keep the survey, and tell what has changed.

    ``ernest survey --store`` does the same from a shell. Jobs that have a deadline by their newest decision
    are asked to keep it, and are told to be late before they are.

    Returns ``{"survey_id", "headline", "changes"}``: of each change since the survey before its ``job``,
    ``kind`` (found, saved, slower, late, new or gone), ``sentence``, and dollars and executor-hours a month.

    Args:
        history: where the event logs are; `job` and `job_pattern` of it count for nothing.
        price_per_hour: dollars for one executor and hour, or a mapping by type of machine; None for hours.
        within: by what share a run may take longer than today, where its job has no deadline.
        confidence: the share of runs that must keep to it.
        on_change: callables or Airflow notifiers, called for each change with ``ernest_change`` in the
            context, whose texts may say ``{{ ernest_change.job }}: {{ ernest_change.sentence }}``.

    Raises:
        MissingResourceError: there is no such place, no library that reads it, or no log in it.
    """

    template_fields: Sequence[str] = ("history", "price_per_hour", "within", "confidence")
    ui_color = "#e8e4cf"

    def __init__(
        self,
        *,
        history: EventLogs | Mapping[str, Any] | str,
        price_per_hour: Number | Mapping[str, Number] | None = None,
        within: Number = 0.1,
        confidence: Number = CONFIDENCE,
        on_change: Any = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.history: Any = as_template(EventLogs, history, "history")
        self.price_per_hour = price_per_hour
        self.within = within
        self.confidence = confidence
        self.on_change = on_change

    def execute(self, context: Context) -> dict[str, Any]:
        """Read, survey, keep, tell."""
        from airflow_provider_ernest.operators.recording import notify
        from airflow_provider_ernest.views.survey import leading_line
        from airflow_provider_ernest.views.survey_changes import changes_between

        with no_vain_retries():
            store = model_store()
            before, survey = store.newest_survey(), self._survey(store)
            store.save(survey)
        changes: list[SurveyChange] = changes_between(before, survey) if before else []
        self.log.info("%s", leading_line(survey))
        for change in changes:
            self.log.info("%s: %s", change.job, change.sentence)
            told: Mapping[str, Any] = {**context, "ernest_change": change}
            notify(self.on_change, told, what=f"what has changed about {change.job}", log=self.log)
        return {
            "survey_id": survey.id,
            "headline": leading_line(survey),
            "changes": [vars(change) for change in changes],
        }

    def _survey(self, store: ModelStore) -> Survey:
        from airflow_provider_ernest.history.jobs import by_job
        from airflow_provider_ernest.history.reading import in_processes
        from airflow_provider_ernest.history.scan import Scan
        from airflow_provider_ernest.history.survey import Prices, SurveyGoal, deadlines_of, survey_jobs

        logs = settings_of(EventLogs, self.history, "history")
        of_all, by_type = prices("price_per_hour", self.price_per_hour)
        goal = SurveyGoal(
            within=not_negative("within", self.within),
            confidence=check_confidence("confidence", self.confidence),
        )
        reader = in_processes(logs.processes)
        found = Scan([logs.place or ""], since=logs.since, reader=reader, cache=folder("history"))
        jobs = by_job(found, stated=found.stated)
        if not found.logs:
            raise MissingResourceError(
                f"There is no event log in {logs.place}.", remedy="Correct the place of history."
            )
        return survey_jobs(
            jobs,
            goal,
            found=found,
            prices=Prices(by_type=by_type, otherwise=of_all),
            reader=reader,
            processes=logs.processes,
            cache=folder("history"),
            deadlines=deadlines_of(store, jobs.runs),
        )
