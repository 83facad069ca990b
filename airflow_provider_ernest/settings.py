"""What the user of an Ernest task group states: the job, its input, the bounds of the search, the goal.

Plain data, light to import, since DAG files build them. Texts may hold Jinja templates where the
operators' fields do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.stated import (
    NOTHING,
    Reader,
    count,
    flag,
    has_template,
    in_words,
    is_template,
    line,
    listed_texts,
    machine_counts,
    mapping,
    not_negative,
    number,
    one_of,
    optional,
    positive,
    price,
    prices,
    read_fields,
    refuse_unknown,
    require_type,
    settings_of,
    texts,
    truth,
    whole_number,
)

# ---------------------------------------------------------------------------
# The words that a user chooses among, each list once: settings, mathematics and command line have them
# here.
#
# Light, for DAG files and help texts read them.


AVERAGING = "averaging"
"""The average over all sets of terms, see `model.averaging`: the most accurate, above all from few runs."""

RELATIVE = "relative"
"""Non-negative least squares on given terms; errors count by their share of the run time."""

CLASSIC = "classic"
"""The original of the paper: non-negative least squares, errors count in seconds."""

METHODS = (AVERAGING, RELATIVE, CLASSIC)
"""How a model is fitted."""

BAYESIAN = "bayesian "

CRITERIA = ("A", "D", "I", f"{BAYESIAN}A", f"{BAYESIAN}D", f"{BAYESIAN}I")
"""What makes one design better than another; see `model.design.criteria`."""

PAPERS_COST, SECONDS, MACHINE_SECONDS, DOLLARS = ("relative_time", "seconds", "machine_seconds", "dollars")

COST_UNITS = {
    PAPERS_COST: "cheapest runs",
    SECONDS: "seconds",
    MACHINE_SECONDS: "machine seconds",
    DOLLARS: "dollars",
}
"""What a sample run costs, by name, with the unit; see `model.design.costs`."""

COST_OPTIONS = ("full_seconds_on_one_machine", "run_overhead_seconds", "run_overhead", "price_per_hour")
"""What the costs may need to know."""

CHEAPEST, FASTEST, BALANCED = OBJECTIVES = ("cheapest", "fastest", "balanced")
"""What is best among the configurations. Balanced is least seconds times dollars: where all keep to the
limits as surely, that is on the Pareto front, at the point where a per cent more of one buys a per cent less
of the other."""

CONFIDENCE = 0.8
"""The probability with which a goal is kept unless another is asked for."""

FILES, FIRST_ROWS, ARGUMENT = SAMPLINGS = ("files", "first_rows", "argument")
"""How a sample of the input is taken; see `spark.sampling`."""

FAIL_TRAINING, WARN = ON_INADEQUATE = ("fail", "warn")
"""What to do about a model whose error is above the threshold."""


def require_goal(*, deadline_seconds: Any, budget_dollars: Any, objective: Any) -> None:
    """Refuse what says nothing of what is best, or two things; None is what is not stated.

    Raises:
        InvalidParameterError: without an objective there is neither a deadline nor a budget, or both.
    """
    if objective is None and (deadline_seconds is None) == (budget_dollars is None):
        raise InvalidParameterError(
            "(deadline_seconds, budget_dollars)",
            (deadline_seconds, budget_dollars),
            "is no goal" if deadline_seconds is None else "is two goals",
            remedy='Give exactly one of them, or an objective such as "cheapest".',
        )


def check_confidence(parameter: str, value: Any) -> float:
    """A probability with which a goal can be kept.

    Raises:
        InvalidParameterError: it is not between 0 and 1.
    """
    if not isinstance(value, int | float) or not 0 < value < 1:
        raise InvalidParameterError(
            parameter, value, "is not between 0 and 1", remedy="Give 0.95, say: nothing is certain."
        )
    return float(value)


# ---------------------------------------------------------------------------
# What production must keep to and may be given, as the user of an Ernest task group states it.
#
# Plain data like `specification`, from where users import it.


Number: TypeAlias = Any
"""A number, or a template that renders to one: once `stated.settings_of` has read it, a number."""

FAIL, FALLBACK, MOST_PROBABLE = REACTIONS = ("fail", "fallback", "most_probable")
"""What to do where no configuration can be chosen that keeps to the goal."""

_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


def _objective(parameter: str, value: Any) -> str:
    """The name of an objective, or what may be the path of a function; whether it is one, the task sees."""
    if not isinstance(value, str) or (value not in OBJECTIVES and not _FUNCTION.fullmatch(value)):
        raise InvalidParameterError(
            parameter,
            value,
            "is unknown",
            remedy=f"Use one of {', '.join(OBJECTIVES)}, or a function's path: my_package.module.name.",
        )
    return value


_BILLING_READERS: Mapping[str, Reader] = {
    "increment_seconds": positive,
    "minimum_seconds": not_negative,
    "boot_seconds": not_negative,
    "master_price_per_hour": optional(not_negative),
    "volume_gigabytes": not_negative,
    "volume_price_per_gigabyte_month": not_negative,
    "market": optional(line),
    "expected_runs": optional(count),
}

_UNTRAINED_READERS: Mapping[str, Reader] = {
    "instance_type": line,
    "like": line,
    "relative_speed": positive,
    "price_per_hour": price,
    "cores_per_machine": optional(count),
}


@dataclass(frozen=True, kw_only=True)
class BillingTerms:
    """What is billed for the production run beside the hours of its machines.

    Attributes:
        increment_seconds: machines are billed in whole multiples of it; 3600 where by the hour.
        minimum_seconds: the least that is billed for a machine; AWS bills a minute.
        boot_seconds: from the launch of the machines to the submission, where the run gets machines of its
            own: billed, and part of what the deadline allows. 0 where the machines are there anyway.
        master_price_per_hour: dollars for the machine of the master or driver; None for what the one of the
            training cluster costs, 0 where there is none.
        volume_gigabytes: of the disks of each machine, the master's among them.
        volume_price_per_gigabyte_month: dollars.
        market: in which the machines are bought, in a word; None for that of the training cluster.
        expected_runs: production runs that share what the sample runs cost; None to leave that out.

    Raises:
        InvalidParameterError: a value that cannot be.
    """

    readers: ClassVar[Mapping[str, Reader]] = _BILLING_READERS

    increment_seconds: Number = 1.0
    minimum_seconds: Number = 60.0
    boot_seconds: Number = 0.0
    master_price_per_hour: Number | None = None
    volume_gigabytes: Number = 0.0
    volume_price_per_gigabyte_month: Number = 0.08
    market: str | None = None
    expected_runs: Number | None = None

    def __post_init__(self) -> None:
        """Refuse what nothing could be billed by."""
        read_fields(vars(self), _BILLING_READERS)


@dataclass(frozen=True, kw_only=True)
class UntrainedType:
    """A type of machine that may be chosen although no sample run was made on it: an extrapolation.

    Attributes:
        instance_type: its name.
        like: the trained type whose model is taken for it.
        relative_speed: of it against that type for work on data, such as 2 where it has twice the cores.
        price_per_hour: dollars for one of its machines and hour.
        cores_per_machine: of it, for which production is sized. None for those of `like`, at the same speed
            only: at another one they must be said, also where they are as many.

    Raises:
        InvalidParameterError: the cores are left open.
    """

    readers: ClassVar[Mapping[str, Reader]] = _UNTRAINED_READERS

    instance_type: str
    like: str
    relative_speed: Number
    price_per_hour: Number
    cores_per_machine: int | None = None

    def __post_init__(self) -> None:
        """Refuse what could leave half of each machine idle when the DAG file is parsed."""
        where = f"untrained_types[{self.instance_type!r}]"
        named = {f"{where}.{name}": value for name, value in vars(self).items()}
        readers = {f"{where}.{name}": read for name, read in _UNTRAINED_READERS.items()}
        read = read_fields(named, readers)
        # A template may yet tell them; what is read as None does not.
        are_open = read.get(f"{where}.cores_per_machine", 1) is None
        if are_open and read.get(f"{where}.relative_speed") != 1:
            raise InvalidParameterError(
                f"{where}.cores_per_machine",
                None,
                f"leaves open how many make a machine {self.relative_speed} times as fast as {self.like}",
                remedy=f"State it, also where it is that of {self.like}: production is sized for it.",
            )


def _price(parameter: str, value: Any) -> float | dict[str, float] | None:
    of_all, by_type = prices(parameter, value)
    return by_type or of_all


def _allowed(parameter: str, value: Any) -> Any:
    if has_template(value):
        return value
    return tuple(whole_number(parameter, each) for each in texts(parameter, value))


def _billing(parameter: str, value: Any) -> BillingTerms:
    return settings_of(BillingTerms, value, parameter, within=f"{parameter}.", is_rendered=False)


def _untrained_types(parameter: str, value: Any) -> tuple[UntrainedType, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidParameterError(
            parameter, value, "is no list", remedy=f"Write {parameter}=[UntrainedType(...), ...]."
        )
    return tuple(_untrained_type(parameter, each, position) for position, each in enumerate(value))


def _untrained_type(parameter: str, value: Any, position: int) -> UntrainedType:
    name = value.get("instance_type") if isinstance(value, Mapping) else getattr(value, "instance_type", None)
    where = f"{parameter}[{name or position!r}]"
    return settings_of(UntrainedType, value, where, within=f"{where}.", is_rendered=False)


_GOAL_READERS: Mapping[str, Reader] = {
    "price_per_hour": _price,
    "max_machines": optional(count),
    "min_machines": count,
    "allowed_machines": optional(_allowed),
    "deadline_seconds": optional(positive),
    "budget_dollars": optional(positive),
    "confidence": lambda parameter, value: check_confidence(parameter, number(parameter, value)),
    "objective": optional(_objective),
    "scale": positive,
    "billing": _billing,
    "untrained_types": _untrained_types,
    "allow_mixed": truth,
    "only_in_memory": truth,
    "on_failure": optional(one_of(REACTIONS)),
    "fallback_machines": optional(count),
    "fallback_instance_type": optional(line),
    "dynamic_allocation": truth,
    "max_error_percent": positive,
    "on_inadequate": one_of(ON_INADEQUATE),
}

_GOAL_FLAGS = ("allow_mixed", "only_in_memory", "dynamic_allocation")


@dataclass(frozen=True, kw_only=True)
class SizingGoal:
    """What the production run must keep to, and what it may be given.

    Attributes:
        deadline_seconds: choose the cheapest configuration that ends in time. Either this
        budget_dollars: or the fastest one that costs no more. With an `objective` both, one or none.
        confidence: the probability with which the goal is to be kept, by the model's interval; 0.5 is by the
            median prediction.
        objective: "cheapest", "fastest", "balanced" (least seconds times dollars), or the path of a function
            ("my_package.my_module.my_function") that gives a `model.results.Alternative` a number, less being
            better. None for what the deadline or the budget says.
        price_per_hour: dollars for one machine and hour, or a mapping of them by type of machine; None, and
            for types that the mapping leaves out, for what the cluster's machines cost, where their price is
            known.
        max_machines, min_machines: machines that the production run may have.
        allowed_machines: the only numbers of machines among these, such as (4, 8, 16), also as a template of
            a list; with it `max_machines` may be left out.
        scale: the production input relative to the one that was sampled; above 1 when data has grown.
        billing: what is billed beside the hours of the machines.
        untrained_types: types of machines to consider beside those that were trained.
        allow_mixed: consider clusters of several trained types, too.
        only_in_memory: leave out machines that cannot hold the data in memory.
        on_failure: "fail", "fallback" (take `fallback_machines`) or "most_probable" where training failed or
            the goal is out of reach. "most_probable" takes the configuration that keeps to a goal out of
            reach most probably; without a model, the fallback if there is one. Each with a loud warning. None
            for "fallback" where `fallback_machines` are given, else "fail". No fallback is taken where what
            comes before the task group has failed or was skipped.
        fallback_machines: how many to take then.
        fallback_instance_type: of which type; None for the first that was to be trained. Of one that is
            neither trained nor among `untrained_types`, the cores are not known: then there are only the
            outputs that need none, such as ``machines`` and ``emr_instance_groups``.
        dynamic_allocation: have it on, bounded to the chosen machines, for clusters where it must be on: in
            ``yarn_conf``, ``kubernetes_conf``, ``spark_arguments`` and ``emr_serverless``. In ``spark_conf``,
            which is for a standalone master, it is always off.
        max_error_percent: the median leave-one-out error above which a model is inadequate.
        on_inadequate: "fail" or "warn".

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    readers: ClassVar[Mapping[str, Reader]] = _GOAL_READERS

    price_per_hour: Number | Mapping[str, Number] | None = None
    max_machines: Number | None = None
    min_machines: Number = 1
    allowed_machines: Sequence[int] | str | None = None
    deadline_seconds: Number | None = None
    budget_dollars: Number | None = None
    confidence: Number = CONFIDENCE
    objective: str | None = None
    scale: Number = 1.0
    billing: BillingTerms = field(default_factory=BillingTerms)
    untrained_types: Sequence[UntrainedType] = ()
    allow_mixed: bool = False
    only_in_memory: bool = False
    on_failure: str | None = None
    fallback_machines: Number | None = None
    fallback_instance_type: str | None = None
    dynamic_allocation: bool = False
    max_error_percent: Number = 25.0
    on_inadequate: str = "fail"

    def __post_init__(self) -> None:
        """Refuse what cannot work when the DAG file is parsed, not when the training is paid for."""
        require_type("billing", self.billing, BillingTerms)
        for each in self.untrained_types:
            require_type("untrained_types", each, UntrainedType)
        read = read_fields(vars(self), _GOAL_READERS)
        for name in _GOAL_FLAGS:
            if not is_template(getattr(self, name)):
                flag(name, getattr(self, name))
        self._check_goal()
        if not is_template(self.on_failure):
            reaction_to_failure(self.on_failure, has_fallback=self.fallback_machines is not None)
        if not has_template([self.min_machines, self.max_machines, self.allowed_machines]):
            require_fallback_among(self.machines, read.get("fallback_machines"))

    def _check_goal(self) -> None:
        goal = {name: getattr(self, name) for name in ("deadline_seconds", "budget_dollars", "objective")}
        # Which of them is stated, if any, a template may yet tell.
        if not any(is_template(value) for value in goal.values()):
            require_goal(**{name: None if value in NOTHING else value for name, value in goal.items()})

    @property
    def machines(self) -> tuple[int, ...]:
        """The numbers of machines that production may have, ascending; known once no template is left."""
        return machine_counts(
            minimum=self.min_machines, maximum=self.max_machines, allowed=self.allowed_machines
        )

    def price_of(self, instance_type: str) -> float | None:
        """Dollars that are stated for a machine of a type and hour; None where the cluster tells them."""
        stated = self.price_per_hour
        price: float | None = stated.get(instance_type) if isinstance(stated, Mapping) else stated
        return price

    @property
    def reaction(self) -> str:
        """What `on_failure` comes to."""
        return reaction_to_failure(self.on_failure, has_fallback=self.fallback_machines is not None)


def require_likeness(instance_type: str, like: str, trained: Sequence[str]) -> None:
    """Refuse a type to extrapolate to that was trained, or is like none that was.

    Args:
        instance_type: the type.
        like: the one that it is likened to.
        trained: names of those that have a training.

    Raises:
        InvalidParameterError: it has a model of its own, or there is none to take.
    """
    if instance_type in trained:
        raise InvalidParameterError(
            "untrained_types", instance_type, "was trained", remedy="Leave it out: its own model is used."
        )
    if like not in trained and not is_template(like):
        raise InvalidParameterError(
            f"untrained_types[{instance_type!r}].like",
            like,
            "is none of the types that were trained",
            remedy=f"Use one of {', '.join(trained)}.",
        )


def require_fallback_among(machines: tuple[int, ...], fallback_machines: int | None) -> None:
    """Refuse a fallback that production may not have.

    Args:
        machines: that it may have.
        fallback_machines: None where there is none.

    Raises:
        InvalidParameterError: it is none of them.
    """
    if fallback_machines is not None and fallback_machines not in machines:
        raise InvalidParameterError(
            "fallback_machines",
            fallback_machines,
            f"is outside the {in_words(machines)} machines that production may have",
            remedy="Correct it, or allow more machines.",
        )


def reaction_to_failure(on_failure: str | None, *, has_fallback: bool) -> str:
    """What to do where no configuration can be chosen that keeps to the goal.

    Args:
        on_failure: as the user states it; None for what the fallback says.
        has_fallback: whether one is stated.

    Raises:
        InvalidParameterError: it is unknown, or there is no fallback to take.
    """
    if on_failure is None:
        return FALLBACK if has_fallback else FAIL
    if on_failure not in REACTIONS:
        raise InvalidParameterError(
            "on_failure", on_failure, "is unknown", remedy=f"Use one of {', '.join(REACTIONS)}."
        )
    if on_failure == FALLBACK and not has_fallback:
        raise InvalidParameterError(
            "on_failure",
            on_failure,
            "has none to take",
            remedy='Give fallback_machines, or use "fail" or "most_probable".',
        )
    return on_failure


# ---------------------------------------------------------------------------


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


def _web_address(parameter: str, value: Any) -> str:
    address = line(parameter, value)
    if not address.startswith(("http://", "https://")):
        raise InvalidParameterError(
            parameter, value, "is no http address", remedy="Write http://HOST:8080, say."
        )
    return address


_CONNECTED_READERS: Mapping[str, Reader] = {
    "spark_conn_id": line,
    "machines": optional(count),
    "cores_per_machine": optional(count),
    "memory_megabytes_per_machine": optional(count),
    "instance_type": optional(line),
    "web_url": optional(_web_address),
    "price_per_hour": optional(price),
    "python": optional(line),
    "driver_host": optional(line),
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

_REUSE_READERS: Mapping[str, Reader] = {
    "max_age_days": optional(positive),
    "shape_tolerance": not_negative,
    "max_growth": _at_least_once,
    "accept_unknown_application": truth,
}


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

    readers: ClassVar[Mapping[str, Reader]] = _JOB_READERS

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

    readers: ClassVar[Mapping[str, Reader]] = _INPUT_READERS

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
        spark_conn_id: the Airflow connection of its master, in deploy mode "client".
        machines: how many it has at least; None for as many as a standalone master counts on. YARN and
            Kubernetes do not tell it: there production gets no more, and a goal that allows more is refused
            by the decision. A task group must know it beforehand, and `cores_per_machine`.
        cores_per_machine: that each offers to an executor; None for what a standalone master tells.
        memory_megabytes_per_machine: heap of an executor that fills a machine; None for what a standalone
            master tells. YARN and Kubernetes do not tell it, and add a tenth to it, at least 384 MB.
        instance_type: name of its machines' type, under which the model is stored; None for `spark_conn_id`.
        web_url: http address of a standalone master's page; None to try port 8080 of its host.
        price_per_hour: dollars for a machine and hour; None where unknown.
        python: of PySpark's workers; None for what each machine finds by itself.
        driver_host: address at which its machines reach the Airflow worker; None to find it.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    readers: ClassVar[Mapping[str, Reader]] = _CONNECTED_READERS

    spark_conn_id: str
    machines: Number | None = None
    cores_per_machine: Number | None = None
    memory_megabytes_per_machine: Number | None = None
    instance_type: str | None = None
    web_url: str | None = None
    price_per_hour: Number | None = None
    python: str | None = None
    driver_host: str | None = None

    def __post_init__(self) -> None:
        """Refuse machines that cannot be."""
        read_fields(vars(self), _CONNECTED_READERS)


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

    readers: ClassVar[Mapping[str, Reader]] = _BOUNDS_READERS

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

    readers: ClassVar[Mapping[str, Reader]] = _MODEL_READERS

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

    readers: ClassVar[Mapping[str, Reader]] = _REUSE_READERS

    max_age_days: Number | None = None
    shape_tolerance: Number = 0.25
    max_growth: Number = 4.0
    accept_unknown_application: bool = False

    def __post_init__(self) -> None:
        """Refuse what no model could be judged by."""
        read_fields(vars(self), _REUSE_READERS)
