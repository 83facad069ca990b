"""The Spark properties of a production run: the job's own and, over them, those that were decided on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, cast

from airflow.sdk import XComArg
from airflow.sdk.definitions.xcom_arg import PlainXComArg

from airflow_provider_ernest.addresses import names_a_secret
from airflow_provider_ernest.downstream.memory import own_sizes
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.spark.sizing import kept_sizes, sizing_conf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from airflow.sdk import Context

    from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator

PROPERTIES = ("spark_conf", "yarn_conf", "kubernetes_conf")
"""The keys of XComs that are Spark properties."""

MOST_NAMES = 3
"""So many properties are named in a warning."""


# Of the plain kind, since Airflow can keep the DAG of a mapped task that is given it by no other.
class JobConf(PlainXComArg):
    """For the ``conf`` of whatever submits the job: put together when the task runs.

    What is decided comes by XCom, which holds nothing of the job's own properties; these come from the DAG
    file. A task that is given it waits for the decision.

    Args:
        choose: the task that decides, whose `conf` are the job's own properties.
        key: one of `PROPERTIES`.
    """

    def __init__(self, choose: ChooseConfigOperator, key: str) -> None:
        super().__init__(choose, key)

    def __repr__(self) -> str:
        """The same at each parse, and without the properties: Airflow keeps it."""
        return f"JobConf({self.operator.task_id!r}, {self.key!r})"

    __str__ = __repr__

    def __getitem__(self, item: Any) -> NoReturn:
        """Refuse what would be another XCom of the same task.

        Raises:
            InvalidParameterError: always.
        """
        raise InvalidParameterError(
            "job_conf()", item, "is no part that can be taken", remedy="Give conf all of it: conf=job_conf()."
        )

    def resolve(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Both, with the job's own rendered for the task that asks.

        Raises:
            XComNotFound: nothing was decided.
        """
        decided = super().resolve(context)
        choose = cast("ChooseConfigOperator", self.operator)
        own = choose.render_template(dict(choose.conf or {}), cast("Context", context))
        _mask_secrets(own)
        return {**own, **decided}


def submission_warnings(choose: ChooseConfigOperator) -> list[str]:
    """What keeps tasks of the DAG that submit a job from running it as it was decided.

    Known are operators that submit as the stock one does, and take their conf from this decision.

    Args:
        choose: the task that decides.
    """
    dag = choose.get_dag()
    return [
        warning
        for task in (dag.tasks if dag else ())
        for key in _taken_by(task, choose)
        for warning in _warnings(task, key, choose.conf or {})
    ]


def _taken_by(task: Any, choose: ChooseConfigOperator) -> list[str]:
    references = XComArg.iter_xcom_references(getattr(task, "conf", None))
    return [key for of, key in references if of.task_id == choose.task_id and key in PROPERTIES]


def _warnings(task: Any, key: str, conf: Mapping[str, Any]) -> Iterator[str]:
    kept = kept_sizes(task)
    if kept:
        yield (
            f"Task {task.task_id} keeps {' and '.join(kept)}, which spark-submit prefers to what is decided "
            "here: leave it out."
        )
    decided = {*own_sizes(conf), *sizing_conf(machines=1, cores_per_machine=1)}
    own = [str(name) for name in conf if name not in decided]
    if own and not isinstance(task.conf, JobConf):
        more = f" and {len(own) - MOST_NAMES} more" if len(own) > MOST_NAMES else ""
        yield (
            f"Task {task.task_id} takes {key} alone, which sizes the run, and lacks "
            f"{', '.join(own[:MOST_NAMES])}{more} of the job's conf: give it job_conf({key!r}), with both."
        )


def _mask_secrets(conf: Mapping[str, Any]) -> None:
    """Keep secrets out of the log and of what Airflow keeps of rendered templates."""
    from airflow.sdk.log import mask_secret

    for name, value in conf.items():
        # A switch, such as "…credentials.enabled", is none, and would be masked wherever its word stands.
        if names_a_secret(name) and str(value).lower() not in ("true", "false"):
            mask_secret(str(value))
