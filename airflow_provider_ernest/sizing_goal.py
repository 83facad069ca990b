"""What production must keep to and may be given, as the user of an Ernest task group states it.

Plain data like `specification`, from where users import it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_ernest.exceptions import InvalidParameterError

Number = float | str
"""A number, or a template that renders to one."""

FAIL, FALLBACK, MOST_PROBABLE = REACTIONS = ("fail", "fallback", "most_probable")
"""What to do where no configuration can be chosen that keeps to the goal."""


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
    """

    increment_seconds: Number = 1.0
    minimum_seconds: Number = 60.0
    boot_seconds: Number = 0.0
    master_price_per_hour: Number | None = None
    volume_gigabytes: Number = 0.0
    volume_price_per_gigabyte_month: Number = 0.08
    market: str | None = None
    expected_runs: Number | None = None


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
        if self.cores_per_machine is None and self.relative_speed != 1:
            raise InvalidParameterError(
                f"untrained_types[{self.instance_type!r}].cores_per_machine",
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
    confidence: Number = 0.8
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
        if self.max_machines is None and self.allowed_machines is None:
            raise InvalidParameterError(
                "max_machines", None, "sets no limit", remedy="Give it, or allowed_machines."
            )
        reaction_to_failure(self.on_failure, has_fallback=self.fallback_machines is not None)

    @property
    def reaction(self) -> str:
        """What `on_failure` comes to."""
        return reaction_to_failure(self.on_failure, has_fallback=self.fallback_machines is not None)


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
