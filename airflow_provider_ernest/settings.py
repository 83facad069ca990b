"""What the user of an Ernest task group states: the job, its input, the bounds of the search, the goal.

Plain data, light to import, since DAG files build them. Texts may hold Jinja templates where the
operators' fields do. What a field says of itself is also the help of the command line's option of its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from airflow_provider_ernest.billing import Billing as Billing
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.stated import (
    NOTHING,
    Count,
    OptionalCount,
    OptionalNumber,
    Reader,
    checked,
    count,
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
    refuse_unknown,
    require_type,
    setting,
    settings,
    settings_of,
    texts,
    truth,
    whole_number,
)
from airflow_provider_ernest.stated import (
    Number as Number,
)

# The words that a user chooses among: settings, mathematics and command line have them here.

AVERAGING = "averaging"
"""The average over all sets of terms, see `prediction.averaging`: the most accurate, also from few runs."""

RELATIVE = "relative"
"""Non-negative least squares on given terms; errors count by their share of the run time."""

CLASSIC = "classic"
"""The original of the paper: non-negative least squares, errors count in seconds."""

METHODS = (AVERAGING, RELATIVE, CLASSIC)
"""How a model is fitted."""

BAYESIAN = "bayesian "

CRITERIA = ("A", "D", "I", f"{BAYESIAN}A", f"{BAYESIAN}D", f"{BAYESIAN}I")
"""What makes one design better than another; see `design.criteria`."""

IN_ROUNDS = "decision"
"""What runs of a design are chosen for where it is made in rounds; see `rounds`."""

MOST_ROUNDS = 3
"""Each is a task of the DAG file's, and while it begins the cluster is billed."""

PAPERS_COST, SECONDS, MACHINE_SECONDS, DOLLARS = ("relative_time", "seconds", "machine_seconds", "dollars")

COST_UNITS = {
    PAPERS_COST: "cheapest runs",
    SECONDS: "seconds",
    MACHINE_SECONDS: "machine seconds",
    DOLLARS: "dollars",
}
"""What a sample run costs, by name, with the unit; see `design.costs`."""

COST_OPTIONS = {
    "full_seconds_on_one_machine": "a rough guess of the whole input's seconds on one machine, which all "
    "costs but relative_time need",
    "run_overhead_seconds": "what every run takes besides, for those costs",
    "run_overhead": "what every run costs besides, in cheapest runs, for relative_time",
    "price_per_hour": "dollars for one machine and hour, which the cost dollars needs",
}
"""What the costs may need to know."""

BEST_VALUE, CHEAPEST, FASTEST, BALANCED = OBJECTIVES = ("best_value", "cheapest", "fastest", "balanced")
"""What is best among the configurations that keep to the limits as surely as asked.

Best value counts per run that keeps to them: the least dollars divided by the probability, or within a budget
alone the least seconds. The others look at nothing but the predicted figures: the least dollars, the least
seconds, and the least seconds times dollars, which is on the Pareto front at the point where a per cent more
of one buys a per cent less of the other."""

CONFIDENCE = 0.8
"""The probability with which a goal is kept unless another is asked for."""

MAX_ERROR_PERCENT = 25.0
"""The median leave-one-out error above which a model is inadequate unless another is stated."""

FILES, FIRST_ROWS, ARGUMENT = SAMPLINGS = ("files", "first_rows", "argument")
"""How a sample of the input is taken; see `spark.sampling`."""

FAIL_TRAINING, WARN = ON_INADEQUATE = ("fail", "warn")
"""What to do about a model whose error is above the threshold."""

FAIL, FALLBACK, MOST_PROBABLE = REACTIONS = ("fail", "fallback", "most_probable")
"""What to do where no configuration can be chosen that keeps to the goal."""

SHAPE_TOLERANCE = 0.25
"""A partition may be larger or smaller by so much and still count as of the same size."""

MOST_GROWTH = 4.0
"""Beyond so many times the input that a model was trained for, its predictions are too far from its runs."""

_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


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
            remedy='Give exactly one of them, or an objective such as "best_value".',
        )


def _conf(parameter: str, value: Any) -> Mapping[str, Any]:
    """Spark properties, each a text or what renders to one."""
    for name, each in mapping(parameter, value).items():
        if not isinstance(each, str | int | float) and not is_template(each):
            raise InvalidParameterError(
                f"{parameter}[{name!r}]", each, "is no text", remedy="Write Spark's properties in quotes."
            )
    return {**value}


def _web_url(parameter: str, value: Any) -> str:
    if not line(parameter, value).startswith(("http://", "https://")):
        raise InvalidParameterError(
            parameter, value, "is no http address", remedy="Write http://HOST:8080, say."
        )
    return str(value)


@settings
class SparkJob:
    """The application to size: the same one, with the same arguments, as in production.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    name: str = setting(line, "names the job in the model store; models are kept per job and type of machine")
    application: str = setting(line, "path of the JAR or .py file")
    application_args: Sequence[str] = setting(
        listed_texts,
        "its arguments. {{ sample.input }}, {{ sample.scale }}, {{ sample.machines }}, "
        "{{ sample.partitions }} and {{ sample.iterations }} stand for what the sample run at hand reads",
        default=(),
        keeps_templates=True,
    )
    conf: Mapping[str, str] = setting(
        _conf,
        "Spark properties of samples and production alike; production takes them by "
        "`ErnestTaskGroup.job_conf`. None but the sizes of executors and driver goes into XComs. The DAG "
        "file is no place for a secret either: write a template, such as {{ conn.lake.password }}, or leave "
        "it to the Spark connection, the machines' role or the cluster's own configuration",
        default_factory=dict,
        keeps_templates=True,
    )
    submit_options: Mapping[str, Any] = setting(
        mapping,
        "further arguments of `SparkSubmitHook`: java_class, jars, py_files, packages, ...",
        default_factory=dict,
        keeps_templates=True,
    )
    iterations: OptionalCount = setting(
        optional(count), "iterations of the production run, for iterative jobs", default=None
    )
    sample_iterations: OptionalCount = setting(
        optional(count), "iterations to train with (the paper: 5 % of them)", default=None
    )

    def __post_init__(self) -> None:
        """Refuse what could not be submitted, or not be predicted."""
        checked(self)
        if self.iterations not in NOTHING and self.sample_iterations in NOTHING:
            raise InvalidParameterError(
                "iterations",
                self.iterations,
                "cannot be predicted from sample runs of an unknown number",
                remedy="Give sample_iterations, too: those that {{ sample.iterations }} stands for.",
            )


@settings
class SampledInput:
    """The production input and the way to take samples of it.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    path: str = setting(line, "file or folder that scale 1.0 stands for")
    partitions: OptionalCount = setting(
        optional(count),
        "partitions of the whole input (file blocks or files): the unit of sampling; default: its number of "
        "files",
        default=None,
    )
    sampling: str = setting(
        one_of(SAMPLINGS), '"files", "first_rows" or "argument"; see `spark.sampling`', default=FILES
    )
    header: bool = setting(truth, 'each file begins with a header line ("first_rows" only)', default=False)
    seed: Count = setting(whole_number, "the same seed takes the same samples", default=0)

    def __post_init__(self) -> None:
        """Refuse what cannot be sampled."""
        checked(self)


@settings
class ConnectedCluster:
    """A cluster that somebody else starts and ends, to take the sample runs; see `ExistingClusterOperator`.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    kind: ClassVar[str] = "existing"

    spark_conn_id: str = setting(line, 'the Airflow connection of its master, in deploy mode "client"')
    machines: OptionalCount = setting(
        optional(count),
        "how many it has at least; default: as many as a standalone master counts on. YARN and Kubernetes do "
        "not tell it: there production gets no more, and a goal that allows more is refused by the decision. "
        "A task group must know it beforehand, and `cores_per_machine`",
        default=None,
    )
    cores_per_machine: OptionalCount = setting(
        optional(count),
        "cores that each offers to an executor; default: what a standalone master tells",
        default=None,
    )
    memory_megabytes_per_machine: OptionalCount = setting(
        optional(count),
        "heap of an executor that fills a machine; default: what a standalone master tells. YARN and "
        "Kubernetes do not tell it, and add a tenth to it, at least 384 MB",
        default=None,
    )
    instance_type: str | None = setting(
        optional(line),
        "name of its machines' type, under which the model is stored; default: `spark_conn_id`",
        default=None,
    )
    web_url: str | None = setting(
        optional(_web_url),
        "http address of a standalone master's page; default: port 8080 of its host is tried",
        default=None,
    )
    price_per_hour: OptionalNumber = setting(
        optional(price), "dollars for one machine and hour", default=None
    )
    python: str | None = setting(
        optional(line), "of PySpark's workers; default: what each machine finds by itself", default=None
    )
    driver_host: str | None = setting(
        optional(line),
        "address at which its machines reach the Airflow worker; default: it is found",
        default=None,
    )

    def __post_init__(self) -> None:
        """Refuse machines that cannot be."""
        checked(self)


def _share(parameter: str, value: Any) -> float:
    """A share of the input, above 0 and at most all of it."""
    if positive(parameter, value) > 1:
        raise InvalidParameterError(
            parameter, value, "is more than the whole input", remedy="Use at most 1.0."
        )
    return number(parameter, value)


def _cost_options(parameter: str, value: Any) -> dict[str, float]:
    refuse_unknown(parameter, mapping(parameter, value), COST_OPTIONS)
    readers: dict[str, Reader] = dict.fromkeys(COST_OPTIONS, not_negative)
    readers |= {"full_seconds_on_one_machine": positive, "price_per_hour": price}
    return {name: readers[name](name, each) for name, each in value.items() if not is_template(each)}


def _rounds(parameter: str, value: Any) -> int:
    if count(parameter, value) > MOST_ROUNDS:
        raise InvalidParameterError(parameter, value, f"is not a number of 1 to {MOST_ROUNDS}")
    return count(parameter, value)


@settings
class DesignBounds:
    """What the sample runs may be.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    max_machines: Count = setting(count, "the most machines of a sample run")
    min_machines: Count = setting(count, "the fewest", default=1)
    max_scale: Number = setting(_share, "the largest share of the input that a sample run reads", default=0.1)
    min_scale: OptionalNumber = setting(
        optional(_share),
        "the smallest; default: 0.01, or 0.001 where the runs may cost only a share of production",
        default=None,
    )
    budget: OptionalNumber = setting(
        optional(positive),
        "what all runs may cost together, in the unit of the cost; default: as much as they need, or 5 % of "
        "production where its deadline is 20 minutes or more and that is enough",
        default=None,
    )
    budget_share: OptionalNumber = setting(
        optional(positive),
        "the same as a share of what one production run is predicted to cost, such as 0.05, by "
        "machine_seconds, dollars or its deadline; instead of a budget",
        default=None,
    )
    cost: str = setting(
        one_of(tuple(COST_UNITS)),
        "what a run costs: relative_time is scale/machines in cheapest runs, as in the paper",
        default=PAPERS_COST,
    )
    cost_options: Mapping[str, Number] = setting(
        _cost_options,
        "what the cost needs to know, such as full_seconds_on_one_machine; see `settings.COST_OPTIONS`",
        default_factory=dict,
    )
    criterion: str | None = setting(
        optional(one_of(CRITERIA)),
        "what makes a design good: A is the paper's; default: the one that suits the method, bayesian I "
        "where the predictions are known that it is for, else bayesian D",
        default=None,
    )
    min_runs: OptionalCount = setting(
        optional(count), "the fewest runs; default: what the terms need to be told apart", default=None
    )
    max_runs: OptionalCount = setting(optional(count), "the most; default: two more", default=None)
    rounds: Count = setting(
        _rounds,
        "1 designs all runs at once; with 2 or 3 the first are few, and further ones are made only where "
        "they are worth to the decision what they cost",
        default=1,
    )

    def __post_init__(self) -> None:
        """Refuse bounds that leave nothing between them, and a cost that lacks what it is computed from."""
        read = checked(self)
        if read.get("rounds", 1) > 1:
            self._refuse_what_designs_keep_to()
        for name in ("machines", "scale", "runs"):
            least, most = f"min_{name}", f"max_{name}"
            low, high = read.get(least), read.get(most)
            if low is not None and high is not None and low > high:
                raise InvalidParameterError(
                    least, getattr(self, least), f"is more than {most}={getattr(self, most)}"
                )
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

    def _refuse_what_designs_keep_to(self) -> None:
        """Refuse what only a design of all runs at once keeps to."""
        for name in ("criterion", "budget", "budget_share"):
            if getattr(self, name) not in NOTHING:
                raise InvalidParameterError(
                    name,
                    getattr(self, name),
                    f"cannot be with rounds={self.rounds}",
                    remedy="Leave it out: a run is made where the decision gains more by it than it costs.",
                )


def _terms(parameter: str, value: Any) -> tuple[Any, ...]:
    if not value:
        raise InvalidParameterError(parameter, value, "is empty", remedy="Leave it out, or name some terms.")
    return listed_texts(parameter, value)


@settings
class ModelSettings:
    """How the model is made of the observations. The defaults are the most accurate known.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    method: str = setting(
        one_of(METHODS),
        "averaging over all sets of terms (the most accurate), relative (least squares of relative errors) "
        "or classic (the original: least squares of seconds)",
        default=AVERAGING,
    )
    terms: Sequence[str] | None = setting(
        optional(_terms),
        "terms that a model may have, such as 1, scale/machines and log(machines), or formulas of your own "
        "in machines and scale; default: those that suit the method",
        default=None,
    )
    extension_terms: Sequence[str] = setting(
        listed_texts,
        "terms added one by one as long as the leave-one-out error is above `extend_above_percent`, as in "
        "the paper; for relative and classic",
        default=(),
    )
    extend_above_percent: Number = setting(positive, "see there", default=10.0)
    learn_from_other_jobs: bool = setting(
        truth,
        "let the stored models of other jobs on the same type of machine tell which terms jobs have there; "
        "for averaging",
        default=True,
    )

    def __post_init__(self) -> None:
        """Refuse what no model can be made by. Whether formulas are terms, the design of the runs tells."""
        read = checked(self)
        if self.extension_terms and read.get("method") == AVERAGING:
            raise InvalidParameterError(
                "extension_terms",
                self.extension_terms,
                'cannot be with method="averaging", which weighs all its terms by itself',
                remedy="Name them among its terms.",
            )


def _at_least_once(parameter: str, value: Any) -> float:
    """A factor that does not make less of anything."""
    if number(parameter, value) < 1:
        raise InvalidParameterError(parameter, value, "is not a number of at least 1")
    return number(parameter, value)


@settings
class Reuse:
    """How long a stored model is good for, where nothing that it depends on has changed.

    The application must have the same content, Spark, the job's settings and the machines must be the same,
    and a record and a partition of the input as large; more data is no difference.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    max_age_days: OptionalNumber = setting(
        optional(positive),
        "train anew so many days after; default: no limit, since production runs tell when a model no longer "
        "holds",
        default=None,
    )
    shape_tolerance: Number = setting(
        not_negative,
        "by how much a partition of the input may have grown or shrunk; 0.25 is 25 %",
        default=SHAPE_TOLERANCE,
    )
    max_growth: Number = setting(
        _at_least_once, "to how many times its size the input may have grown", default=MOST_GROWTH
    )
    accept_unknown_application: bool = setting(
        truth, "take an application that the Airflow worker cannot read for unchanged", default=False
    )
    wait_for_training_seconds: Number = setting(
        not_negative,
        "how long a training that another run of the job has begun is waited for, to take its model; "
        "0 to train beside it",
        default=7200.0,
    )

    def __post_init__(self) -> None:
        """Refuse what no model could be judged by."""
        checked(self)


def _job_pattern(parameter: str, value: Any) -> str:
    try:
        re.compile(line(parameter, value))
    except re.error as error:
        raise InvalidParameterError(
            parameter, value, f"is no regular expression: {error}", remedy="Write it as Python does."
        ) from error
    return str(value)


@settings
class EventLogs:
    """Where past runs of the job are known from, as observations that cost nothing.

    .. code-block:: python

        EventLogs("s3a://bucket/spark-events", job="nightly report")  # Spark's event logs
        EventLogs.recorded()  # the production runs that Ernest has recorded

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    place: str | None = setting(
        optional(line),
        "folder of Spark's event logs, a glob or one log, local or wherever fsspec reads; default: none, "
        "only what production runs have left in the model store",
        default=None,
        kw_only=False,
    )
    job: str | None = setting(
        optional(line),
        "the job as its logs name it: the application's name, without dates, numbers and run ids as "
        "`ernest history` shows it; default: the name of the `SparkJob`",
        default=None,
    )
    job_pattern: str | None = setting(
        optional(_job_pattern),
        "regular expression that is found in the application's names of the job's runs and of no others; "
        "instead of `job`",
        default=None,
    )
    most_runs: Count = setting(
        count, "so many past runs count: of each number of machines and input the newest first", default=50
    )
    max_age_days: OptionalNumber = setting(
        optional(positive), "older runs do not count, and their logs are not read", default=90.0
    )
    instance_type: str | None = setting(
        optional(line),
        "type of the machines that past runs had, where their logs do not tell; default: not known, and so "
        "not compared",
        default=None,
    )
    same_code_only: bool = setting(
        truth,
        "leave out runs that began before the application's file was last changed: a log does not tell which "
        "code ran. Else they count, and a warning says so",
        default=False,
    )
    with_recorded: bool = setting(
        truth, "count the production runs that the model store has, too", default=True
    )
    processes: Count = setting(count, "that read logs at the same time on the Airflow worker", default=2)

    def __post_init__(self) -> None:
        """Refuse what names no runs."""
        read = checked(self)
        if read.get("job") is not None and read.get("job_pattern") is not None:
            raise InvalidParameterError(
                "(job, job_pattern)", (self.job, self.job_pattern), "is two jobs", remedy="Give one of them."
            )
        if "place" in read and self.place is None and read.get("with_recorded") is False:
            raise InvalidParameterError(
                "place", None, "leaves no past runs, with with_recorded=False", remedy="Name a folder."
            )

    @classmethod
    def recorded(cls, **fields: Any) -> EventLogs:
        """The production runs that the model store has, and no logs besides."""
        return cls(**fields)


@settings
class UntrainedType:
    """A type of machine that may be chosen although no sample run was made on it: an extrapolation.

    Raises:
        InvalidParameterError: the cores are left open.
    """

    instance_type: str = setting(line, "its name")
    like: str = setting(line, "the trained type whose model is taken for it")
    relative_speed: Number = setting(
        positive, "of it against that type for work on data, such as 2 where it has twice the cores"
    )
    price_per_hour: Number = setting(price, "dollars for one of its machines and hour")
    cores_per_machine: OptionalCount = setting(
        optional(count),
        "of it, for which production is sized; default: those of `like`, at the same speed only: at another "
        "one they must be said, also where they are as many",
        default=None,
    )

    def __post_init__(self) -> None:
        """Refuse what could leave half of each machine idle when the DAG file is parsed."""
        where = f"untrained_types[{self.instance_type!r}]."
        read = checked(self, within=where)
        # A template may yet tell them; what is read as None does not.
        if read.get("cores_per_machine", 1) is None and read.get("relative_speed") != 1:
            raise InvalidParameterError(
                f"{where}cores_per_machine",
                None,
                f"leaves open how many make a machine {self.relative_speed} times as fast as {self.like}",
                remedy=f"State it, also where it is that of {self.like}: production is sized for it.",
            )


def require_likeness(instance_type: str, like: str, trained: Sequence[str]) -> None:
    """Refuse a type to extrapolate to that is among the `trained`, or is like none of them.

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


def _price(parameter: str, value: Any) -> float | dict[str, float] | None:
    of_all, by_type = prices(parameter, value)
    return by_type or of_all


def _allowed(parameter: str, value: Any) -> Any:
    if has_template(value):
        return value
    return tuple(whole_number(parameter, each) for each in texts(parameter, value))


def check_confidence(parameter: str, value: Any) -> float:
    """A probability with which a goal can be kept.

    Raises:
        InvalidParameterError: it is not between 0 and 1.
    """
    if not 0 < number(parameter, value) < 1:
        raise InvalidParameterError(
            parameter, value, "is not between 0 and 1", remedy="Give 0.95, say: nothing is certain."
        )
    return number(parameter, value)


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


def _billing(parameter: str, value: Any) -> Billing:
    billing = settings_of(Billing, value, parameter, within=f"{parameter}.", is_rendered=False)
    if billing.price_per_hour not in NOTHING:
        raise InvalidParameterError(
            f"{parameter}.price_per_hour",
            billing.price_per_hour,
            "is stated beside the billing",
            remedy="Write SizingGoal(price_per_hour=...), by type of machine where they differ.",
        )
    return billing


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


@settings
class SizingGoal:
    """What the production run must keep to, and what it may be given.

    Raises:
        InvalidParameterError: a value that cannot work.
    """

    deadline_seconds: OptionalNumber = setting(
        optional(positive),
        "the run must end within so long, boot and start-up included: the best value for dollars is chosen",
        default=None,
    )
    budget_dollars: OptionalNumber = setting(
        optional(positive), "the run must cost no more: the best value in time is chosen", default=None
    )
    confidence: Number = setting(
        check_confidence,
        "the share of runs that must meet the deadline or the budget, by the model's prediction: 0.95 "
        "spares more machines than 0.8, and 0.5 goes by the median prediction alone",
        default=CONFIDENCE,
    )
    objective: str | None = setting(
        optional(_objective),
        "what is best of what is sure enough: best_value (least dollars per run that keeps to the limits; "
        "within a budget alone, least time), cheapest, fastest, balanced (least seconds times dollars), or "
        "the path of a function of an alternative that returns a number of which less is better, such as "
        "my_package.my_module.my_function; with it deadline and budget may both be given, or none; default: "
        "best_value",
        default=None,
    )
    price_per_hour: Number | Mapping[str, Number] | None = setting(
        _price,
        "dollars for one machine and hour, or a mapping of them by type of machine; default, also for types "
        "that the mapping leaves out: what the cluster's machines cost, where their price is known",
        default=None,
    )
    max_machines: OptionalCount = setting(
        optional(count), "the most machines that the production run may have", default=None
    )
    min_machines: Count = setting(count, "the fewest", default=1)
    allowed_machines: Sequence[int] | str | None = setting(
        optional(_allowed),
        "the only numbers of machines among these, such as (4, 8, 16), also as a template of a list; with it "
        "`max_machines` may be left out",
        default=None,
    )
    scale: Number = setting(
        positive, "the input's size relative to the whole one that was sampled", default=1.0
    )
    billing: Billing = setting(
        _billing, "what is billed beside the hours of the machines", default_factory=Billing
    )
    untrained_types: Sequence[UntrainedType] = setting(
        _untrained_types, "types of machines to consider beside those that were trained", default=()
    )
    allow_mixed: bool = setting(
        truth,
        "consider clusters of several of the trained types, by OptEx's formula; they are marked",
        default=False,
    )
    only_in_memory: bool = setting(
        truth,
        "leave out machines that cannot hold the data in memory, as far as the runs tell",
        default=False,
    )
    on_failure: str | None = setting(
        optional(one_of(REACTIONS)),
        '"fail", "fallback" (take `fallback_machines`) or "most_probable" where training failed or the goal '
        'is out of reach. "most_probable" takes the configuration that keeps to a goal out of reach most '
        "probably; without a model, the fallback if there is one. Each with a loud warning. Default: "
        '"fallback" where `fallback_machines` are given, else "fail". No fallback is taken where what comes '
        "before the task group has failed or was skipped",
        default=None,
    )
    fallback_machines: OptionalCount = setting(optional(count), "how many to take then", default=None)
    fallback_instance_type: str | None = setting(
        optional(line),
        "of which type; default: the first that was to be trained. Of one that is neither trained nor among "
        "`untrained_types`, the cores are not known: then there are only the outputs that need none, such as "
        "``machines`` and ``emr_instance_groups``",
        default=None,
    )
    dynamic_allocation: bool = setting(
        truth,
        "have it on, bounded to the chosen machines, for clusters where it must be on: in ``yarn_conf``, "
        "``kubernetes_conf``, ``spark_arguments`` and ``emr_serverless``. In ``spark_conf``, which is for a "
        "standalone master, it is always off",
        default=False,
    )
    max_error_percent: Number = setting(
        positive, "median leave-one-out error above which a model is inadequate", default=MAX_ERROR_PERCENT
    )
    on_inadequate: str = setting(
        one_of(ON_INADEQUATE), 'what to do then: "fail" or "warn"', default=FAIL_TRAINING
    )

    def __post_init__(self) -> None:
        """Refuse what cannot work when the DAG file is parsed, not when the training is paid for."""
        require_type("billing", self.billing, Billing)
        for each in self.untrained_types:
            require_type("untrained_types", each, UntrainedType)
        read = checked(self)
        goal = ("deadline_seconds", "budget_dollars", "objective")
        # Which of them is stated, if any, a template may yet tell.
        if all(name in read for name in goal):
            require_goal(**{name: None if read[name] is None else getattr(self, name) for name in goal})
        if "on_failure" in read:
            self._check_reaction()
        if not has_template([self.min_machines, self.max_machines, self.allowed_machines]):
            machines, fallback = self.machines, read.get("fallback_machines")
            if fallback is not None and fallback not in machines:
                raise InvalidParameterError(
                    "fallback_machines",
                    fallback,
                    f"is outside the {in_words(machines)} machines that production may have",
                    remedy="Correct it, or allow more machines.",
                )

    def _check_reaction(self) -> None:
        if self.on_failure == FALLBACK and self.fallback_machines is None:
            raise InvalidParameterError(
                "on_failure",
                self.on_failure,
                "has none to take",
                remedy='Give fallback_machines, or use "fail" or "most_probable".',
            )

    @property
    def has_limits(self) -> bool:
        """Whether there is a deadline or a budget at all."""
        return self.deadline_seconds is not None or self.budget_dollars is not None

    @property
    def machines(self) -> tuple[int, ...]:
        """The numbers of machines that production may have, ascending; known once no template is left."""
        return machine_counts(
            minimum=self.min_machines, maximum=self.max_machines, allowed=self.allowed_machines
        )

    def price_of(self, instance_type: str) -> float | None:
        """Dollars that are stated for a machine of a type and hour; None where the cluster tells them."""
        stated = self.price_per_hour
        of_type: float | None = stated.get(instance_type) if isinstance(stated, Mapping) else stated
        return of_type

    @property
    def reaction(self) -> str:
        """What `on_failure` comes to."""
        if self.on_failure is None:
            return FAIL if self.fallback_machines is None else FALLBACK
        return self.on_failure
