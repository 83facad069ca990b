"""What the user of an Ernest task group states: the job, its input, the bounds of the search, the goal.

Plain data, light to import, since DAG files build them. Texts may hold Jinja templates where the
operators' fields do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ernest.choices import (
    AVERAGING,
    COST_OPTIONS,
    COST_UNITS,
    CRITERIA,
    DOLLARS,
    FILES,
    METHODS,
    PAPERS_COST,
    SAMPLINGS,
)
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.sizing_goal import BillingTerms as BillingTerms
from airflow_provider_ernest.sizing_goal import Number as Number
from airflow_provider_ernest.sizing_goal import SizingGoal as SizingGoal
from airflow_provider_ernest.sizing_goal import UntrainedType as UntrainedType
from airflow_provider_ernest.stated import (
    NOTHING,
    Reader,
    count,
    flag,
    is_template,
    line,
    listed_texts,
    mapping,
    not_negative,
    number,
    one_of,
    optional,
    positive,
    price,
    read_fields,
    refuse_unknown,
    truth,
    whole_number,
)


def _conf(parameter: str, value: Any) -> Mapping[str, Any]:
    """Spark properties: each a text, or what is told as one."""
    for name, each in mapping(parameter, value).items():
        if not isinstance(each, str | int | float) and not is_template(each):
            raise InvalidParameterError(
                f"{parameter}[{name!r}]", each, "is no text", remedy="Write Spark's properties in quotes."
            )
    return {**value}


def _share(parameter: str, value: Any) -> float:
    """A share of the input, above 0 and at most all of it."""
    if positive(parameter, value) > 1:
        raise InvalidParameterError(
            parameter, value, "is more than the whole input", remedy="Use at most 1.0."
        )
    return number(parameter, value)


def _at_least_once(parameter: str, value: Any) -> float:
    """A factor that does not make less of anything."""
    if number(parameter, value) < 1:
        raise InvalidParameterError(parameter, value, "is not a number of at least 1")
    return number(parameter, value)


def _cost_options(parameter: str, value: Any) -> dict[str, float]:
    refuse_unknown(parameter, mapping(parameter, value), COST_OPTIONS)
    readers: dict[str, Reader] = dict.fromkeys(COST_OPTIONS, not_negative)
    return read_fields(value, {**readers, "full_seconds_on_one_machine": positive, "price_per_hour": price})


def _terms(parameter: str, value: Any) -> tuple[Any, ...]:
    if value is not None and not value:
        raise InvalidParameterError(parameter, value, "is empty", remedy="Leave it out, or name some terms.")
    return listed_texts(parameter, value)


_JOB_READERS: Mapping[str, Reader] = {
    "name": line,
    "application": line,
    "iterations": optional(count),
    "sample_iterations": optional(count),
}

_INPUT_READERS: Mapping[str, Reader] = {
    "path": line,
    "partitions": optional(count),
    "sampling": one_of(SAMPLINGS),
    "seed": whole_number,
}

_CONNECTED_READERS: Mapping[str, Reader] = {
    "spark_conn_id": line,
    "machines": count,
    "cores_per_machine": count,
    "memory_megabytes_per_machine": optional(count),
    "instance_type": optional(line),
    "web_url": optional(line),
    "price_per_hour": optional(price),
}

_BOUNDS_READERS: Mapping[str, Reader] = {
    "max_machines": count,
    "min_machines": count,
    "max_scale": _share,
    "min_scale": optional(_share),
    "budget": optional(positive),
    "budget_share": optional(positive),
    "cost": one_of(tuple(COST_UNITS)),
    "cost_options": _cost_options,
    "criterion": optional(one_of(CRITERIA)),
    "min_runs": optional(count),
    "max_runs": optional(count),
}

_MODEL_READERS: Mapping[str, Reader] = {
    "method": one_of(METHODS),
    "terms": optional(_terms),
    "extension_terms": listed_texts,
    "extend_above_percent": positive,
}

REUSE_READERS: Mapping[str, Reader] = {
    "max_age_days": optional(positive),
    "shape_tolerance": not_negative,
    "max_growth": _at_least_once,
    "accept_unknown_application": truth,
}
"""How the fields of `Reuse` are read."""


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

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    name: str
    application: str
    application_args: Sequence[str] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    submit_options: Mapping[str, Any] = field(default_factory=dict)
    iterations: Number | None = None
    sample_iterations: Number | None = None

    def __post_init__(self) -> None:
        """Refuse what could not be submitted, or not be predicted."""
        read_fields(vars(self), _JOB_READERS)
        listed_texts("application_args", self.application_args)
        _conf("conf", self.conf)
        mapping("submit_options", self.submit_options)
        if self.iterations not in NOTHING and self.sample_iterations in NOTHING:
            raise InvalidParameterError(
                "iterations",
                self.iterations,
                "cannot be predicted from sample runs of an unknown number",
                remedy="Give sample_iterations, too: those that {{ sample.iterations }} stands for.",
            )


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

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    path: str
    partitions: Number | None = None
    sampling: str = FILES
    header: bool = False
    seed: Number = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be sampled."""
        read_fields(vars(self), _INPUT_READERS)
        flag("header", self.header)


@dataclass(frozen=True, kw_only=True)
class ConnectedCluster:
    """A cluster that somebody else starts and ends, to take the sample runs; see `ExistingClusterOperator`.

    Attributes:
        spark_conn_id: the Airflow connection of its master.
        machines: how many it has at least. YARN and Kubernetes do not tell it: there production gets no more,
            and a goal that allows more is refused by the decision.
        cores_per_machine: that each offers to an executor.
        memory_megabytes_per_machine: heap of an executor on one; None for what a standalone master tells.
            YARN and Kubernetes do not tell it.
        instance_type: name of its machines' type, under which the model is stored; None for `spark_conn_id`.
        web_url: http address of a standalone master's page; None to try port 8080 of its host.
        price_per_hour: dollars for a machine and hour.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    spark_conn_id: str
    machines: int
    cores_per_machine: int
    memory_megabytes_per_machine: int | None = None
    instance_type: str | None = None
    web_url: str | None = None
    price_per_hour: float | None = None

    def __post_init__(self) -> None:
        """Refuse machines that cannot be. What runs are designed for is known before: no templates."""
        for name, read in _CONNECTED_READERS.items():
            read(name, getattr(self, name))
        if self.web_url is not None and not self.web_url.startswith(("http://", "https://")):
            raise InvalidParameterError(
                "web_url", self.web_url, "is no http address", remedy="Write http://HOST:8080, say."
            )


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

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    max_machines: Number
    min_machines: Number = 1
    max_scale: Number = 0.1
    min_scale: Number | None = None
    budget: Number | None = None
    budget_share: Number | None = None
    cost: str = PAPERS_COST
    cost_options: Mapping[str, Number] = field(default_factory=dict)
    criterion: str | None = None
    min_runs: Number | None = None
    max_runs: Number | None = None

    def __post_init__(self) -> None:
        """Refuse bounds that leave nothing between them, and a cost that lacks what it is reckoned by."""
        read = read_fields(vars(self), _BOUNDS_READERS)
        for least, most in (
            ("min_machines", "max_machines"),
            ("min_scale", "max_scale"),
            ("min_runs", "max_runs"),
        ):
            low, high = read.get(least), read.get(most)
            if low is not None and high is not None and low > high:
                raise InvalidParameterError(
                    least, getattr(self, least), f"is more than {most}={getattr(self, most)}"
                )
        self._check_budget(read)

    def _check_budget(self, read: Mapping[str, Any]) -> None:
        if read.get("budget") is not None and read.get("budget_share") is not None:
            raise InvalidParameterError(
                "(budget, budget_share)",
                (self.budget, self.budget_share),
                "is two budgets",
                remedy="Give one of them.",
            )
        cost = read.get("cost", PAPERS_COST)
        needed = ["full_seconds_on_one_machine"] if cost != PAPERS_COST else []
        needed += ["price_per_hour"] if cost == DOLLARS else []
        for name in needed:
            if not is_template(self.cost_options) and name not in self.cost_options:
                raise InvalidParameterError(
                    "cost_options",
                    dict(self.cost_options),
                    f'lacks {name}, and cost="{cost}" needs it',
                    remedy=f"Give it, or use cost={PAPERS_COST!r}.",
                )


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

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    method: str = AVERAGING
    terms: Sequence[str] | None = None
    extension_terms: Sequence[str] = ()
    extend_above_percent: Number = 10.0
    learn_from_other_jobs: bool = True

    def __post_init__(self) -> None:
        """Refuse what no model can be made by. Whether formulas are terms, the design of the runs tells."""
        read = read_fields(vars(self), _MODEL_READERS)
        flag("learn_from_other_jobs", self.learn_from_other_jobs)
        if self.extension_terms and read.get("method") == AVERAGING:
            raise InvalidParameterError(
                "extension_terms",
                self.extension_terms,
                'cannot be with method="averaging", which weighs all its terms by itself',
                remedy="Name them among its terms.",
            )


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

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    max_age_days: Number | None = None
    shape_tolerance: Number = 0.25
    max_growth: Number = 4.0
    accept_unknown_application: bool = False

    def __post_init__(self) -> None:
        """Refuse what no model could be judged by."""
        read_fields(vars(self), REUSE_READERS)
