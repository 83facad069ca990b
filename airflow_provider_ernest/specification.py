"""What the user of an Ernest task group states: the job, its input, the bounds of the search, the goal.

Plain data, light to import, since DAG files build them. Texts may hold Jinja templates where the
operators' fields do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ernest.sizing_goal import BillingTerms as BillingTerms
from airflow_provider_ernest.sizing_goal import Number as Number
from airflow_provider_ernest.sizing_goal import SizingGoal as SizingGoal
from airflow_provider_ernest.sizing_goal import UntrainedType as UntrainedType


@dataclass(frozen=True, kw_only=True)
class SparkJob:
    """The application to size: the same one, with the same arguments, as in production.

    Attributes:
        name: names the job in the model store; models are kept per job and instance type.
        application: path of the JAR or .py file.
        application_args: its arguments. ``{{ sample.input }}``, ``{{ sample.scale }}``,
            ``{{ sample.machines }}``, ``{{ sample.partitions }}`` and ``{{ sample.iterations }}`` stand for
            what the sample run at hand reads.
        conf: Spark properties of samples and production alike; production takes them by
            ``ErnestTaskGroup.job_conf``. None but the sizes of executors and driver goes into XComs. The DAG
            file is no place for a secret either: write a template, such as ``{{ conn.lake.password }}``, or
            leave it to the Spark connection, the machines' role or the cluster's own configuration.
        submit_options: further arguments of `SparkSubmitHook`: java_class, jars, py_files, packages, ...
        iterations: iterations of the production run, for iterative jobs.
        sample_iterations: iterations to train with (the paper: 5 % of them).
    """

    name: str
    application: str
    application_args: Sequence[str] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    submit_options: Mapping[str, Any] = field(default_factory=dict)
    iterations: int | None = None
    sample_iterations: int | None = None


@dataclass(frozen=True, kw_only=True)
class SampledInput:
    """The production input and the way to take samples of it.

    Attributes:
        path: file or folder that scale 1.0 stands for.
        partitions: the number of partitions (files, blocks) that Spark reads of it; None for its number of
            files.
        sampling: "files", "first_rows" or "argument"; see `spark.sampling`.
        header: each file begins with a header line ("first_rows" only).
        seed: the same seed takes the same samples.
    """

    path: str
    partitions: Number | None = None
    sampling: str = "files"
    header: bool = False
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class ConnectedCluster:
    """A cluster that somebody else starts and ends, to take the sample runs; see `ExistingClusterOperator`.

    Attributes:
        spark_conn_id: the Airflow connection of its master.
        machines: how many it has at least.
        cores_per_machine: that each offers to an executor.
        memory_megabytes_per_machine: heap of an executor on one; None for what a standalone master tells.
            YARN and Kubernetes do not tell it.
        instance_type: name of its machines' type, under which the model is stored; None for `spark_conn_id`.
        web_url: http address of a standalone master's page; None to try port 8080 of its host.
        price_per_hour: dollars for a machine and hour.
    """

    spark_conn_id: str
    machines: int
    cores_per_machine: int
    memory_megabytes_per_machine: int | None = None
    instance_type: str | None = None
    web_url: str | None = None
    price_per_hour: float | None = None


@dataclass(frozen=True, kw_only=True)
class DesignBounds:
    """What the sample runs may be.

    Attributes:
        max_machines, min_machines: machines of a sample run.
        max_scale, min_scale: share of the input that a sample run reads. By default at least 0.01, or 0.001
            where the runs may cost only a share of production.
        budget: bound on the summed cost of the runs, in units of `cost`; None for a sensible one.
        budget_share: the same as a share of what one production run is predicted to cost (0.05 is 5 %), by
            "machine_seconds", "dollars" or the goal's deadline; instead of `budget`. Without either it is 5 %
            where production takes 20 minutes or more by its deadline, or as much more as the runs need.
        cost: "relative_time" (the paper's scale/machines), "seconds", "machine_seconds" or "dollars";
            see `model.design.costs`.
        cost_options: what the cost needs to know, such as full_seconds_on_one_machine.
        criterion: what makes a design good: "bayesian I", "bayesian D", "A" (the paper's) and others, see
            `model.design.criteria`; None for the one that suits the model's method.
        min_runs, max_runs: how many runs; None for defaults that suit the number of terms.
    """

    max_machines: Number
    min_machines: Number = 1
    max_scale: Number = 0.1
    min_scale: Number | None = None
    budget: Number | None = None
    budget_share: Number | None = None
    cost: str = "relative_time"
    cost_options: Mapping[str, Number] = field(default_factory=dict)
    criterion: str | None = None
    min_runs: Number | None = None
    max_runs: Number | None = None


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """How the model is made of the observations. The defaults are the most accurate known.

    Attributes:
        method: "averaging" (over all sets of terms, weighted by the runs), "relative" (all given terms;
            errors count by their share of the run time) or "classic" (the original: errors count in seconds).
        terms: names or formulas of the terms; None for those that suit the method.
        extension_terms: terms added one by one as long as the leave-one-out error is above
            `extend_above_percent`, as in the paper; for "relative" and "classic".
        extend_above_percent: see there.
        learn_from_other_jobs: let the stored models of other jobs on the same type of machine tell which
            terms jobs have there; for "averaging".
    """

    method: str = "averaging"
    terms: Sequence[str] | None = None
    extension_terms: Sequence[str] = ()
    extend_above_percent: Number = 10.0
    learn_from_other_jobs: bool = True


@dataclass(frozen=True, kw_only=True)
class Reuse:
    """How long a stored model is good for, where nothing that it depends on has changed.

    The application must have the same content, Spark, the job's settings and the machines must be the same,
    and a record and a partition of the input as large; more data is no difference.

    Attributes:
        max_age_days: train anew so many days after; None for no limit, since production runs tell when a
            model no longer holds.
        shape_tolerance: by how much a partition of the input may have grown or shrunk; 0.25 is 25 %.
        max_growth: to how many times its size the input may have grown.
        accept_unknown_application: take an application that the Airflow worker cannot read for unchanged.
    """

    max_age_days: Number | None = None
    shape_tolerance: Number = 0.25
    max_growth: Number = 4.0
    accept_unknown_application: bool = False
