"""What the user of an Ernest task group states, by subject: job, bounds, history, goal, billing.

Plain data, light to import, since DAG files build them. Texts may hold Jinja templates where the operators'
fields do. What a field says of itself is also the help of the command line's option of its name. The words
that a user chooses among are in the modules: settings, mathematics and command line have them from there.
"""

from airflow_provider_ernest.settings.billing import Billing
from airflow_provider_ernest.settings.bounds import DesignBounds, ModelSettings
from airflow_provider_ernest.settings.goal import SizingGoal, UntrainedType
from airflow_provider_ernest.settings.history import EventLogs, Reuse
from airflow_provider_ernest.settings.job import ConnectedCluster, SampledInput, SparkJob

__all__ = [
    "Billing",
    "ConnectedCluster",
    "DesignBounds",
    "EventLogs",
    "ModelSettings",
    "Reuse",
    "SampledInput",
    "SizingGoal",
    "SparkJob",
    "UntrainedType",
]
