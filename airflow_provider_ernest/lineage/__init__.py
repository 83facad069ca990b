"""Lineage for OpenLineage, if its provider is installed.

A task's events carry what it has made (`EmitsLineage`), and the Spark applications that it starts know which
task is their parent (`with_lineage`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Context
    from openlineage.client.event_v2 import Dataset
    from openlineage.client.facet_v2 import RunFacet

    from airflow_provider_ernest.documents.base import Document
    from airflow_provider_ernest.documents.models import Model


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

        Args:
            documents: that the task has made: a `Model`, `DecisionRecord`, `Observation`, `ProductionRun` or
                `ModelMark`.
            inputs: paths or addresses of what it has read.
            found: stored models that it goes on with.
        """
        self._lineage_documents = (*self._lineage_documents, *documents)
        self._lineage_inputs = (*self._lineage_inputs, *(path for path in inputs if path))
        self._lineage_found = (*self._lineage_found, *found)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Dataset, RunFacet]:
        """What OpenLineage's listener asks for after the task, also after one that has failed."""
        from airflow_provider_ernest.lineage.events import lineage_of

        own = lineage_of(self._lineage_documents, inputs=self._lineage_inputs, found=self._lineage_found)
        inherited = getattr(super(), "get_openlineage_facets_on_complete", None)
        of_others = inherited(task_instance) if inherited else None
        return own.merge(of_others) if of_others else own


def with_lineage(conf: Mapping[Any, Any] | None, *, context: Context, log: Any) -> dict[str, str]:
    """Spark properties with those that tell an application's OpenLineage listener of this task.

    As in the stock `SparkSubmitOperator`, with ``[openlineage] spark_inject_parent_job_info`` and
    ``spark_inject_transport_info``. Properties that are set stay. A failure is a warning.
    """
    properties = {str(key): str(value) for key, value in (conf or {}).items()}
    from airflow.providers.common.compat.sdk import conf as configuration
    from airflow.sdk.log import mask_secret

    from airflow_provider_ernest.privacy import names_a_secret

    parent, transport = (
        configuration.getboolean("openlineage", f"spark_inject_{what}_info", fallback=False)
        for what in ("parent_job", "transport")
    )
    if not parent and not transport:
        return properties
    injected: dict[Any, Any] = properties
    try:
        from airflow.providers.common.compat.openlineage.utils.spark import (
            inject_parent_job_information_into_spark_properties,
            inject_transport_information_into_spark_properties,
        )

        if parent:
            injected = inject_parent_job_information_into_spark_properties(injected, context)
        if transport:
            injected = inject_transport_information_into_spark_properties(injected, context)
    # Of the provider, its client and their configuration. None is worth the run.
    except Exception as error:
        log.warning("The application does not know its parent: %s: %s", type(error).__name__, error)
        return properties
    for key, value in injected.items():
        # Headers may be called anything, and are there to authenticate; the log has the command line.
        if key not in properties and (names_a_secret(key) or ".headers." in key):
            mask_secret(str(value))
    return {str(key): str(value) for key, value in injected.items()}
