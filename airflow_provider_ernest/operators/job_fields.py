"""A `SparkJob` as operators keep it: what of it Airflow renders, keeps and shows, and what not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings import SampledInput, SparkJob
from airflow_provider_ernest.settings.templates import as_template, settings_of
from airflow_provider_ernest.settings.values import is_template
from airflow_provider_ernest.spark.artifact import dependency_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import BaseOperator, Context


class OfJob:
    """Base of operators that are given a job. What of it may be rendered is their template field ``job``.

    Not rendered for all are its arguments, which may name a sample that is not known yet, its properties, of
    which Airflow would keep and show what is rendered, and options of spark-submit that may be templates of
    the sample runs' own. Of the latter ``job`` has py_files and jars, which belong to the job's code.
    """

    job: Any
    application_args: Sequence[str] = ()
    conf: Mapping[str, Any]
    submit_options: Mapping[str, Any]

    def _keep_job(self, job: Any) -> None:
        if is_template(job):
            raise InvalidParameterError(
                "job", job, "is a template", remedy="Write job=SparkJob(...): its fields may be templates."
            )
        fields = dict(as_template(SparkJob, job, "job"))
        self.application_args = fields.pop("application_args", ())
        self.conf = fields.pop("conf", {})
        self.submit_options = fields.pop("submit_options", {})
        self.job = {**fields, "submit_options": dependency_options(self.submit_options)}

    def _rendered_job(self, **fields: Any) -> SparkJob:
        """The job, with what is never rendered only where it is given here."""
        return settings_of(SparkJob, {**self.job, **fields}, "job")


def rendered_texts(operator: BaseOperator, value: Any, context: Context) -> Any:
    """Rendered as the operator does it, but texts stay texts, also in a DAG that renders to Python's objects.

    What Spark is given is text: of "1.10" such a DAG would make 1.1, of JSON what Python prints of it.
    """
    if isinstance(value, Mapping):
        return {key: rendered_texts(operator, each, context) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [rendered_texts(operator, each, context) for each in value]
    dag = operator.get_dag()
    if dag is None or not isinstance(value, str):
        return operator.render_template(value, context)
    return dag.get_template_env(force_sandboxed=True).from_string(value).render(context)


class OfJobAndInput(OfJob):
    """Base of operators that are given its input, too."""

    input: Any

    def _keep_input(self, sampled: Any) -> None:
        self.input = as_template(SampledInput, sampled, "input")

    def _rendered_input(self) -> SampledInput:
        return settings_of(SampledInput, self.input, "input")


def as_mappings(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an operator's `partial`, with job and input as mappings.

    In mappings, not in dataclasses, Airflow finds the outputs of tasks that a mapped one waits for.
    """
    kinds = {"job": SparkJob, "input": SampledInput}
    return {
        name: as_template(kinds[name], value, name) if name in kinds else value
        for name, value in kwargs.items()
    }
