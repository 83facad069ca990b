"""What production must keep to and may be given, as the user of an Ernest task group states it.

Plain data like `specification`, from where users import it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from airflow_provider_ernest.choices import (
    CONFIDENCE,
    OBJECTIVES,
    ON_INADEQUATE,
    check_confidence,
    require_goal,
)
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.sizes import in_words, machine_counts
from airflow_provider_ernest.stated import (
    NOTHING,
    Reader,
    count,
    flag,
    has_template,
    is_template,
    line,
    not_negative,
    number,
    one_of,
    optional,
    optional_text,
    positive,
    price,
    prices,
    read_fields,
    refuse_unknown,
    require_type,
)

Number = float | str
"""A number, or a template that renders to one."""

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


BILLING_READERS: Mapping[str, Reader] = {
    "increment_seconds": positive,
    "minimum_seconds": not_negative,
    "boot_seconds": not_negative,
    "master_price_per_hour": optional(not_negative),
    "volume_gigabytes": not_negative,
    "volume_price_per_gigabyte_month": not_negative,
    "market": optional(line),
    "expected_runs": optional(count),
}
"""How the fields of `BillingTerms` are read."""

_UNTRAINED_READERS: Mapping[str, Reader] = {
    "relative_speed": positive,
    "price_per_hour": price,
    "cores_per_machine": optional(count),
}

_GOAL_READERS: Mapping[str, Reader] = {
    "price_per_hour": prices,
    "max_machines": optional(count),
    "min_machines": count,
    "deadline_seconds": optional(positive),
    "budget_dollars": optional(positive),
    "confidence": lambda parameter, value: check_confidence(parameter, number(parameter, value)),
    "objective": optional(_objective),
    "scale": positive,
    "fallback_machines": optional(count),
    "fallback_instance_type": optional(line),
    "max_error_percent": positive,
    "on_inadequate": one_of(ON_INADEQUATE),
}

_GOAL_FLAGS = ("allow_mixed", "only_in_memory", "dynamic_allocation")


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
        read_fields(vars(self), BILLING_READERS)


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

    instance_type: str
    like: str
    relative_speed: Number
    price_per_hour: Number
    cores_per_machine: int | None = None

    def __post_init__(self) -> None:
        """Refuse what could leave half of each machine idle when the DAG file is parsed."""
        for name in ("instance_type", "like"):
            line(name, getattr(self, name))
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
        read = read_fields(vars(self), _GOAL_READERS)
        for name in _GOAL_FLAGS:
            flag(name, getattr(self, name))
        self._check_goal()
        reaction_to_failure(self.on_failure, has_fallback=self.fallback_machines is not None)
        if not has_template([self.min_machines, self.max_machines, self.allowed_machines]):
            machines = machine_counts(
                minimum=self.min_machines, maximum=self.max_machines, allowed=self.allowed_machines
            )
            require_fallback_among(machines, read.get("fallback_machines"))
        require_type("billing", self.billing, BillingTerms)
        for each in self.untrained_types:
            require_type("untrained_types", each, UntrainedType)

    def _check_goal(self) -> None:
        goal = {name: getattr(self, name) for name in ("deadline_seconds", "budget_dollars", "objective")}
        # Which of them is stated, if any, a template may yet tell.
        if not any(is_template(value) for value in goal.values()):
            require_goal(**{name: None if value in NOTHING else value for name, value in goal.items()})

    @property
    def reaction(self) -> str:
        """What `on_failure` comes to."""
        return reaction_to_failure(self.on_failure, has_fallback=self.fallback_machines is not None)


def rendered_type(given: Mapping[str, Any]) -> UntrainedType:
    """A type that was not trained, of its rendered fields: numbers, where Jinja has made text of them.

    Raises:
        InvalidParameterError: a field is unknown, is missing or cannot be.
    """
    refuse_unknown("untrained_types", given, [each.name for each in fields(UntrainedType)])
    named, like = optional_text(given.get("instance_type")), optional_text(given.get("like"))
    if named is None or like is None:
        raise InvalidParameterError(
            "untrained_types", dict(given), "names no type", remedy="Give instance_type and like."
        )
    numbers: dict[str, Any] = {name: given.get(name) for name in _UNTRAINED_READERS}
    stated = UntrainedType(
        instance_type=named,
        like=like,
        relative_speed=numbers["relative_speed"],
        price_per_hour=numbers["price_per_hour"],
        cores_per_machine=numbers["cores_per_machine"],
    )
    return replace(stated, **read_fields(vars(stated), _UNTRAINED_READERS))


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
