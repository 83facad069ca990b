"""What the user of an Ernest task group states, by subject: job, bounds, history, goal, billing.

Plain data, light to import, since DAG files build them. Texts may hold Jinja templates where the operators'
fields do. What a field says of itself is also the help of the command line's option of its name. The words
that a user chooses among are in the modules: settings, mathematics and command line have them from there.
"""

from airflow_provider_ernest.settings.billing import Billing as Billing
from airflow_provider_ernest.settings.bounds import DesignBounds as DesignBounds
from airflow_provider_ernest.settings.bounds import ModelSettings as ModelSettings
from airflow_provider_ernest.settings.goal import Exploration as Exploration
from airflow_provider_ernest.settings.goal import SizingGoal as SizingGoal
from airflow_provider_ernest.settings.job import ConnectedCluster as ConnectedCluster
from airflow_provider_ernest.settings.job import EventLogs as EventLogs
from airflow_provider_ernest.settings.job import ExpectedInput as ExpectedInput
from airflow_provider_ernest.settings.job import Reuse as Reuse
from airflow_provider_ernest.settings.job import SampledInput as SampledInput
from airflow_provider_ernest.settings.job import SparkJob as SparkJob
