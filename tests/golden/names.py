"""Where what a user imports is found: the one place of these tests to change when it moves.

Programs and the plugin are found as pip and Airflow find them: by the entry points of pyproject.toml.
"""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGE = "airflow_provider_ernest"

SETTINGS = {
    "Billing": "settings",
    "ConnectedCluster": "settings",
    "DesignBounds": "settings",
    "EC2ClusterSpec": "clusters.ec2.spec",
    "EmrClusterSpec": "clusters.emr.spec",
    "LocalClusterSpec": "clusters.local_spec",
    "ModelSettings": "settings",
    "Reuse": "settings",
    "SampledInput": "settings",
    "SizingGoal": "settings",
    "SparkJob": "settings",
    "UntrainedType": "settings",
}
OPERATORS = {
    "BottleneckReportOperator": "operators.bottleneck_report",
    "ChooseConfigOperator": "operators.choose_config",
    "EC2ClusterOperator": "operators.ec2_cluster",
    "EC2PreflightOperator": "operators.ec2_cluster",
    "EmrClusterOperator": "operators.emr_cluster",
    "ErnestSparkSubmitOperator": "operators.spark_submit",
    "ExistingClusterOperator": "operators.existing_cluster",
    "ExperimentDesignOperator": "operators.experiment_design",
    "FindModelOperator": "operators.find_model",
    "FitModelOperator": "operators.fit_model",
    "JarHashSensor": "sensors.jar_hash",
    "LocalClusterOperator": "operators.local_cluster",
    "PruneStoreOperator": "operators.prune_store",
    "ReapClustersOperator": "operators.terminate_cluster",
    "RecordRunOperator": "operators.record_run",
    "SampleRunOperator": "operators.sample_run",
    "TerminateClusterOperator": "operators.terminate_cluster",
}
OTHERS = {
    "ErnestTaskGroup": "task_group",
    "ModelStaleNotifier": "notifications.model_stale",
    "application_changed": "assets",
    "ernest_dag": "dag",
}


def public(name: str) -> Any:
    """A class or a function that DAG files import."""
    module = {**SETTINGS, **OPERATORS, **OTHERS}[name]
    return getattr(importlib.import_module(f"{PACKAGE}.{module}"), name)


def entry_point(*keys: str) -> Any:
    """What an entry point names, by its keys below ``[project]`` in pyproject.toml."""
    found: Any = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for key in keys:
        found = found[key]
    module, _, name = found.partition(":")
    return getattr(importlib.import_module(module), name)


def program() -> Any:
    """The program ``ernest``, a function of its arguments."""
    return entry_point("scripts", "ernest")
