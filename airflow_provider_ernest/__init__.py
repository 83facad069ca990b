"""Sizes Spark clusters from Airflow by optimal experiment design (Ernest, NSDI 2016).

A DAG file imports from here what it needs: ``from airflow_provider_ernest import ErnestTaskGroup, SparkJob``.
Each name is imported when it is first asked for (PEP 562): a DAG file pays for what it uses, and no more.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from airflow_provider_ernest.version import __version__ as __version__

if TYPE_CHECKING:
    from airflow_provider_ernest.assets import application_changed as application_changed
    from airflow_provider_ernest.clusters.ec2.spec import EC2ClusterSpec as EC2ClusterSpec
    from airflow_provider_ernest.clusters.emr.spec import EmrJobFlow as EmrJobFlow
    from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec as LocalClusterSpec
    from airflow_provider_ernest.operators.bottleneck_report import (
        BottleneckReportOperator as BottleneckReportOperator,
    )
    from airflow_provider_ernest.operators.choose_config import ChooseConfigOperator as ChooseConfigOperator
    from airflow_provider_ernest.operators.cluster import EmrJobFlowOperator as EmrJobFlowOperator
    from airflow_provider_ernest.operators.cluster import LocalClusterOperator as LocalClusterOperator
    from airflow_provider_ernest.operators.cluster import ReapClustersOperator as ReapClustersOperator
    from airflow_provider_ernest.operators.cluster import TerminateClusterOperator as TerminateClusterOperator
    from airflow_provider_ernest.operators.ec2_cluster import EC2ClusterOperator as EC2ClusterOperator
    from airflow_provider_ernest.operators.ec2_cluster import EC2PreflightOperator as EC2PreflightOperator
    from airflow_provider_ernest.operators.existing_cluster import (
        ExistingClusterOperator as ExistingClusterOperator,
    )
    from airflow_provider_ernest.operators.experiment_design import (
        ExperimentDesignOperator as ExperimentDesignOperator,
    )
    from airflow_provider_ernest.operators.experiment_design import NextRunsOperator as NextRunsOperator
    from airflow_provider_ernest.operators.find_model import FindModelOperator as FindModelOperator
    from airflow_provider_ernest.operators.fit_model import FitModelOperator as FitModelOperator
    from airflow_provider_ernest.operators.prune_store import PruneStoreOperator as PruneStoreOperator
    from airflow_provider_ernest.operators.read_history import ReadHistoryOperator as ReadHistoryOperator
    from airflow_provider_ernest.operators.record_run import RecordRunOperator as RecordRunOperator
    from airflow_provider_ernest.operators.sample_run import SampleRunOperator as SampleRunOperator
    from airflow_provider_ernest.operators.spark_submit import (
        ErnestSparkSubmitOperator as ErnestSparkSubmitOperator,
    )
    from airflow_provider_ernest.operators.survey import SurveyOperator as SurveyOperator
    from airflow_provider_ernest.sensors.jar_hash import JarHashSensor as JarHashSensor
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
    from airflow_provider_ernest.task_group import ErnestTaskGroup as ErnestTaskGroup

_NAMES = {
    "assets": "application_changed",
    "clusters.ec2.spec": "EC2ClusterSpec",
    "clusters.emr.spec": "EmrJobFlow",
    "clusters.local_spec": "LocalClusterSpec",
    "operators.bottleneck_report": "BottleneckReportOperator",
    "operators.choose_config": "ChooseConfigOperator",
    "operators.cluster": "EmrJobFlowOperator LocalClusterOperator "
    "ReapClustersOperator TerminateClusterOperator",
    "operators.ec2_cluster": "EC2ClusterOperator EC2PreflightOperator",
    "operators.existing_cluster": "ExistingClusterOperator",
    "operators.experiment_design": "ExperimentDesignOperator NextRunsOperator",
    "operators.find_model": "FindModelOperator",
    "operators.fit_model": "FitModelOperator",
    "operators.prune_store": "PruneStoreOperator",
    "operators.read_history": "ReadHistoryOperator",
    "operators.record_run": "RecordRunOperator",
    "operators.sample_run": "SampleRunOperator",
    "operators.spark_submit": "ErnestSparkSubmitOperator",
    "operators.survey": "SurveyOperator",
    "sensors.jar_hash": "JarHashSensor",
    "settings": "Billing ConnectedCluster DesignBounds EventLogs ExpectedInput Exploration ModelSettings "
    "Reuse SampledInput SizingGoal SparkJob",
    "task_group": "ErnestTaskGroup",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
