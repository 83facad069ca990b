"""Names that moved between the Airflows that are supported, for tests."""

import airflow

try:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.sdk.log import redact
    from airflow.serialization.serialized_objects import DagSerialization
except ImportError:  # before Airflow 3.2
    from airflow.models.dagbag import DagBag
    from airflow.sdk._shared.secrets_masker import redact
    from airflow.serialization.serialized_objects import SerializedDAG as DagSerialization

MASKS_RENDERED_VALUES = not airflow.__version__.startswith("3.1.")
"""Airflow 3.1 hides of rendered templates what has a telling name, and no value that was named a secret."""

__all__ = ["MASKS_RENDERED_VALUES", "DagBag", "DagSerialization", "redact"]
