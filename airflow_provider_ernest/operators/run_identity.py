"""What a run is a run of: its application's content, and the conditions that it runs under."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.model.documents import RunConditions
from airflow_provider_ernest.model.life.run_settings import settings_digests
from airflow_provider_ernest.operators.rendered import optional_document, optional_whole_number
from airflow_provider_ernest.spark.artifact import artifact_paths, hash_where_readable
from airflow_provider_ernest.spark.input_fingerprint import input_fingerprint
from airflow_provider_ernest.triggers.s3_files import s3_opener

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_provider_ernest.operators.find_model import FindModelOperator

INSTALLED = "installed"
"""Stands for the version of Spark that comes with this worker's PySpark."""


def artifact_hash(application: str, submit_options: Mapping[str, Any], *, log: Any) -> str | None:
    """The hash of an application and what it is submitted with; None, with a warning, where there is none.

    Raises:
        MissingResourceError: the application's path is local, and cannot be read.
    """
    own, *dependencies = artifact_paths(application, submit_options)
    return hash_where_readable(own, dependencies=dependencies, log=log, open_s3=s3_opener())


def hash_of_training(
    before: str | None, application: str, submit_options: Mapping[str, Any], *, log: Any
) -> tuple[str | None, tuple[str, ...]]:
    """The hash of the application that sample runs were made with, and warnings.

    Args:
        before: as it was before them; None where nobody took it.
        application: path of the JAR or .py file.
        submit_options: what it is submitted with.
        log: the logger that tells why the hash cannot be taken.

    Raises:
        MissingResourceError: the application's path is local, and cannot be read.
    """
    after = artifact_hash(application, submit_options, log=log)
    if before is None or after is None or before == after:
        return before or after, ()
    return before, ("The application was replaced during the sample runs: they may be of two versions.",)


def run_conditions(asker: FindModelOperator, *, log: Any) -> dict[str, RunConditions]:
    """The conditions of a run by type of machine.

    Args:
        asker: the task that asks, with its templates rendered.
        log: the logger that tells what cannot be found out.
    """
    settings = settings_digests(
        conf=asker.conf or {},
        arguments=asker.application_args or (),
        options=asker.submit_options or {},
        further=asker.training_settings,
    )
    shape = input_fingerprint(
        asker.input_path,
        partitions=optional_whole_number("partitions", asker.partitions),
        header=asker.header,
        log=log,
    )
    return {
        each["instance_type"]: RunConditions(
            spark=spark_release(each.get("spark")),
            settings={**settings, **_of_machines(each)},
            input=shape,
            cores_per_machine=each.get("cores_per_machine"),
        )
        for each in asker.types
    }


def _of_machines(each: Mapping[str, Any]) -> dict[str, str]:
    return settings_digests(conf=None, arguments=None, options=None, further=each.get("settings"))


def told_conditions(value: Any, instance_type: str) -> RunConditions | None:
    """The conditions that a `FindModelOperator` has pushed for a type of machine; None where it has not.

    Args:
        value: its XCom ``conditions``, also as JSON text.
        instance_type: the type.

    Raises:
        InvalidParameterError, InvalidDocumentError: it is something else.
    """
    told = (optional_document("conditions", value) or {}).get(instance_type)
    return RunConditions.from_dict(told) if told else None


def spark_release(stated: str | None) -> str | None:
    """Spark's version, that of this worker's PySpark where so stated; None where it is not known."""
    if stated != INSTALLED:
        return stated
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return None
