"""What Airflow reads of this provider."""

from __future__ import annotations

from typing import Any

OPERATORS = (
    "find_model",
    "read_history",
    "experiment_design",
    "cluster",
    "ec2_cluster",
    "existing_cluster",
    "sample_run",
    "fit_model",
    "bottleneck_report",
    "choose_config",
    "spark_submit",
    "record_run",
    "prune_store",
    "survey",
)
"""Modules of operators, in the order in which a DAG comes to them."""


def _option(description: str, example: str) -> dict[str, Any]:
    return {
        "description": description,
        "version_added": "0.1.0",
        "type": "string",
        "example": example,
        "default": "",
    }


def _folder(description: str, kind: str) -> dict[str, Any]:
    return _option(f"{description} Default: AIRFLOW_HOME/ernest/{kind}.", f"/var/lib/ernest/{kind}")


OPTIONS = {
    "store": _folder("Root of the model store: a path or any URL of Airflow's object storage.", "store"),
    "event_logs": _folder("Event logs of sample and production runs.", "event_logs"),
    "staging": _folder(
        "Samples of the input during their runs; machines and Airflow workers must see it.", "staging"
    ),
    "clusters": _folder("State and logs of local clusters.", "clusters"),
    "history": _folder("Cache of what was read from event logs, on each worker.", "history"),
    "deployment": _option(
        "Id of this Airflow deployment in the names and tags of its AWS resources: 1 to 40 "
        "letters, digits, '.', '_' and '-', different for each deployment in an account. "
        "Default: generated once and kept in the model store.",
        "prod-eu",
    ),
    "history_server": _option(
        "Address (http or https) of a Spark history server that reads the event logs; runs link "
        "to their applications there. Default: none.",
        "https://spark-history.example.com:18080",
    ),
}
"""Of the section ``[ernest]`` of Airflow's configuration."""


def _modules(folder: str, *names: str) -> list[dict[str, Any]]:
    modules = [f"airflow_provider_ernest.{folder}.{name}" for name in names]
    return [{"integration-name": "Ernest", "python-modules": modules}]


def get_provider_info() -> dict[str, Any]:
    """Name, modules and configuration of the provider, in the form of Airflow's provider schema."""
    return {
        "package-name": "airflow-provider-ernest",
        "name": "Ernest",
        "description": "Sizes Spark clusters by optimal experiment design and a small explainable model.",
        "integrations": [
            {
                "integration-name": "Ernest",
                "external-doc-url": "https://www.usenix.org/conference/nsdi16/technical-sessions/presentation/venkataraman",
                "tags": ["service"],
            }
        ],
        "operators": _modules("operators", *OPERATORS),
        "sensors": _modules("sensors", "jar_hash"),
        "triggers": _modules("triggers", "ec2_cluster", "jar_hash"),
        "extra-links": [
            "airflow_provider_ernest.links.spark_history.ModelFitLink",
            "airflow_provider_ernest.links.spark_history.SparkHistoryLink",
        ],
        # Airflow 3.2 and later; earlier ones ignore it.
        "cli": ["airflow_provider_ernest.command_line.get_ernest_commands"],
        "config": {
            "ernest": {
                "description": "Where airflow-provider-ernest keeps things, and where it links to.",
                "options": OPTIONS,
            }
        },
    }
