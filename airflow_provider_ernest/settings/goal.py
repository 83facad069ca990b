"""What production must keep to, what it may be given, and what is done where that is out of reach.

Also whether, and within which limits, its runs may take another size to learn from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.billing import Billing
from airflow_provider_ernest.settings.values import (
    NOTHING,
    Count,
    Number,
    OptionalCount,
    OptionalNumber,
    checked,
    count,
    has_template,
    line,
    number,
    one_of,
    optional_whole_number,
    positive,
    prices,
    require_type,
    setting,
    settings,
    settings_of,
    texts,
    truth,
    whole_number,
)
from airflow_provider_ernest.words import count as whole

BEST_VALUE, CHEAPEST, FASTEST, BALANCED = OBJECTIVES = ("best_value", "cheapest", "fastest", "balanced")
"""What is best among the configurations that keep to the limits with the probability asked for.

Best value: the least dollars divided by the probability, that is per run that keeps to the limits, or within
a budget alone the least seconds. The others take the predicted figures only: the least dollars, the least
seconds, and the least seconds times dollars, the point of the Pareto front where one per cent more of one
buys one per cent less of the other."""

CONFIDENCE = 0.8
"""The probability with which a goal is kept unless another is asked for."""

MAX_ERROR_PERCENT = 25.0
"""The median leave-one-out error above which a model is inadequate unless another is stated."""

FAIL_TRAINING, WARN = ON_INADEQUATE = ("fail", "warn")
"""What to do about a model whose error is above the threshold."""

FIXED, DYNAMIC = ALLOCATIONS = ("fixed", "dynamic")
"""Whether a run has as many executors from its beginning to its end, or Spark's dynamic allocation."""

FAIL, FALLBACK, MOST_PROBABLE = REACTIONS = ("fail", "fallback", "most_probable")
"""What to do where no configuration can be chosen that keeps to the goal."""


def _price(parameter: str, value: Any) -> float | dict[str, float] | None:
    of_all, by_type = prices(parameter, value)
    return by_type or of_all


def _allowed(parameter: str, value: Any) -> Any:
    if has_template(value):
        return value
    return tuple(whole_number(parameter, each) for each in texts(parameter, value))


def check_confidence(parameter: str, value: Any) -> float:
    """A probability with which a goal can be kept."""
    if not 0 < number(parameter, value) < 1:
        raise InvalidParameterError(
            parameter, value, "is not between 0 and 1", remedy="Give 0.95, say: nothing is certain."
        )
    return number(parameter, value)


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


@settings
class SizingGoal:
    """What the production run must keep to, and what it may be given."""

    deadline_seconds: OptionalNumber = setting(
        positive,
        "the run must end within so long, boot and start-up included: the best value for dollars is chosen",
        default=None,
    )
    budget_dollars: OptionalNumber = setting(
        positive, "the run must cost no more: the best value in time is chosen", default=None
    )
    confidence: Number = setting(
        check_confidence,
        "the share of runs that must meet the deadline or the budget, by the model's prediction: 0.95 "
        "spares more executors than 0.8, and 0.5 goes by the median prediction alone",
        default=CONFIDENCE,
    )
    objective: str | None = setting(
        one_of(OBJECTIVES),
        "what is best of what is sure enough: best_value (least dollars per run that keeps to the limits; "
        "within a budget alone, least time), cheapest, fastest or balanced (least seconds times dollars); "
        "with it deadline and budget may both be given, or none; default: best_value",
        default=None,
    )
    price_per_hour: Number | Mapping[str, Number] | None = setting(
        _price,
        "dollars for one executor (a machine, where each has one of its own) and hour, or a mapping of them "
        "by type; default, also for types that the mapping leaves out: what they cost in the cluster of the "
        "sample runs, where that is known",
        default=None,
    )
    max_executors: OptionalCount = setting(
        count,
        "the most executors that the production run may have; where each has a machine of its own, the most "
        "machines",
        default=None,
        formerly="max_machines",
    )
    min_executors: Count = setting(count, "the fewest", default=1, formerly="min_machines")
    allowed_executors: Sequence[int] | str | None = setting(
        _allowed,
        "the only numbers among these, such as (4, 8, 16), also as a template of a list; with it "
        "`max_executors` may be left out",
        default=None,
        formerly="allowed_machines",
    )
    allocation: str = setting(
        one_of(ALLOCATIONS),
        '"fixed" for a number of executors, or "dynamic" for Spark\'s dynamic allocation: then the least, '
        "the initial and the most executors are chosen, by replaying a run of the job; such a decision needs "
        "the profile or the event log of one",
        default=FIXED,
    )
    scale: Number = setting(
        positive, "the input's size relative to the whole one that was sampled", default=1.0
    )
    billing: Billing = setting(
        _billing, "what is billed beside the hours of the machines", default_factory=Billing
    )
    allow_mixed: bool = setting(
        truth,
        "consider clusters of two of the trained types, by OptEx's formula; they are marked",
        default=False,
    )
    on_failure: str | None = setting(
        one_of(REACTIONS),
        '"fail", "fallback" (take `fallback_executors`) or "most_probable" where training failed or the goal '
        'is out of reach. "most_probable" takes the configuration that keeps to a goal out of reach most '
        "probably; without a model, the fallback if there is one. Each with a loud warning. Default: "
        '"fallback" where `fallback_executors` are given, else "fail". No fallback is taken where what comes '
        "before the task group has failed or was skipped",
        default=None,
    )
    fallback_executors: OptionalCount = setting(
        count, "how many to take then", default=None, formerly="fallback_machines"
    )
    fallback_instance_type: str | None = setting(
        line,
        "of which type; default: the first that was to be trained. The cores of one that was not "
        "trained are only known by the operator's `executor_cores`; without them there are only the "
        "outputs that need none, such as ``executors`` and ``emr_instance_groups``",
        default=None,
    )
    max_error_percent: Number = setting(
        positive, "median leave-one-out error above which a model is inadequate", default=MAX_ERROR_PERCENT
    )
    on_inadequate: str | None = setting(
        one_of(ON_INADEQUATE),
        'what to do then: "fail" or "warn"; default: "fail", but "warn" of past runs alone, whose intervals '
        "are as wide as they scatter",
        default=None,
    )

    def __post_init__(self) -> None:
        """Refuse what cannot work when the DAG file is parsed, not when the training is paid for."""
        require_type("billing", self.billing, Billing)
        read = checked(self)
        # A template may yet tell which of them is stated, if any.
        if {"deadline_seconds", "budget_dollars", "objective"} <= read.keys():
            stated = [read["deadline_seconds"], read["budget_dollars"]]
            if read["objective"] is None and stated.count(None) != 1:
                raise InvalidParameterError(
                    "(deadline_seconds, budget_dollars)",
                    (self.deadline_seconds, self.budget_dollars),
                    "is no goal" if stated[0] is None else "is two goals",
                    remedy='Give exactly one of them, or an objective such as "best_value".',
                )
        if read.get("on_failure") == FALLBACK and self.fallback_executors is None:
            raise InvalidParameterError(
                "on_failure",
                self.on_failure,
                "has no number of executors to fall back to",
                remedy='Give fallback_executors, or use "fail" or "most_probable".',
            )
        if read.get("allocation") == DYNAMIC and read.get("allow_mixed"):
            raise InvalidParameterError(
                "allocation",
                DYNAMIC,
                "is for executors that are all alike, and allow_mixed for machines of two types",
                remedy="State one of the two.",
            )
        if not has_template([self.min_executors, self.max_executors, self.allowed_executors]):
            executors, fallback = self.executors, read.get("fallback_executors")
            if fallback is not None and fallback not in executors:
                raise InvalidParameterError(
                    "fallback_executors",
                    fallback,
                    f"is outside the {in_words(executors)} executors that production may have",
                    remedy="Correct it, or allow more executors.",
                )

    @property
    def has_limits(self) -> bool:
        """Whether there is a deadline or a budget at all."""
        return self.deadline_seconds is not None or self.budget_dollars is not None

    @property
    def executors(self) -> tuple[int, ...]:
        """The numbers of executors that production may have, ascending; known once no template is left."""
        least = count("min_executors", self.min_executors)
        most = optional_whole_number("max_executors", self.max_executors)
        if self.allowed_executors in NOTHING:
            return _all(least, most)
        allowed = _allowed("allowed_executors", self.allowed_executors)
        counts = tuple(sorted({each for each in allowed if each >= least and (most is None or each <= most)}))
        if not counts:
            raise InvalidParameterError(
                "allowed_executors",
                self.allowed_executors,
                f"leaves none from {least} to {'any number' if most is None else most}",
                remedy="Allow one of these, or change min_executors and max_executors.",
            )
        return counts

    def needs_price(self, *, types: int) -> bool:
        """Whether nothing can be chosen without one: of one type, the fewest executors in time need none."""
        return self.budget_dollars not in NOTHING or types > 1

    def price_of(self, instance_type: str) -> float | None:
        """Dollars that are stated for an executor of a type and hour; None where the cluster tells them."""
        stated = self.price_per_hour
        of_type: float | None = stated.get(instance_type) if isinstance(stated, Mapping) else stated
        return of_type

    @property
    def reaction(self) -> str:
        """What `on_failure` comes to."""
        if self.on_failure is None:
            return FAIL if self.fallback_executors is None else FALLBACK
        return self.on_failure


MOST_COUNTS = 2_000
"""Each is an alternative, which is computed and kept: a slip of the pen must not fill the memory."""


def _all(least: int, most: int | None) -> tuple[int, ...]:
    if most is None:
        raise InvalidParameterError(
            "max_executors", most, "sets no limit", remedy="Give it, or allowed_executors."
        )
    if most < least:
        raise InvalidParameterError(
            "min_executors",
            least,
            f"is more than max_executors={most}",
            remedy="Lower it, or allow more executors.",
        )
    if most - least >= MOST_COUNTS:
        raise InvalidParameterError(
            "max_executors",
            most,
            f"is more than {whole(MOST_COUNTS)} numbers of executors above min_executors={least}",
            remedy="Lower it, or list some in allowed_executors.",
        )
    return tuple(range(least, most + 1))


def in_words(counts: tuple[int, ...]) -> str:
    """Ascending numbers of executors for a sentence."""
    if len(counts) > 2 and counts[-1] - counts[0] == len(counts) - 1:
        return f"{counts[0]} to {counts[-1]}"
    return ", ".join(str(count) for count in counts)


# Learning by production.

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def _days(parameter: str, value: Any) -> Any:
    if has_template(value):
        return value
    return tuple(_day(parameter, each.strip()) for each in texts(parameter, value))


def _day(parameter: str, text: str) -> str:
    """A weekday's whole name in lower case, or a date as ISO 8601 writes it."""
    for name in WEEKDAYS:
        if text.lower() in (name, name[:3]):
            return name
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise InvalidParameterError(
            parameter,
            text,
            "is neither a weekday nor a date",
            remedy='Write "friday" or "2026-12-24".',
        ) from None


@settings
class Exploration:
    """Lets a production run take another size where knowing more is worth more than it costs.

    Only where the deadline is kept as probably as the goal asks, within so many dollars, and never in the run
    after one that explored and came too late.
    """

    dollars_per_month: OptionalNumber = setting(
        positive,
        "the most that runs on other sizes may cost in a calendar month beyond what they would have cost on "
        "the decided size; must be given",
        default=None,
    )
    excluded_days: Sequence[str] | str = setting(
        _days,
        'days on which no run explores, in the time zone of the DAG: weekdays ("friday") and dates '
        '("2026-12-24")',
        default=(),
    )
    runs_per_month: OptionalNumber = setting(
        positive,
        "production runs in a month, each of which a better size saves in; default: as the history tells",
        default=None,
    )

    def __post_init__(self) -> None:
        """Refuse exploration without a limit when the DAG file is parsed."""
        read = checked(self)
        if read.get("dollars_per_month", self.dollars_per_month) is None:
            raise InvalidParameterError(
                "dollars_per_month",
                None,
                "is missing: exploration without a limit of dollars could cost any amount",
                remedy="Give the most dollars that it may cost in a month, such as 20.",
            )

    def excludes(self, day: date) -> str:
        """Which of the excluded days a day is; empty where it is none. Known once no template is left."""
        names = (day.isoformat(), WEEKDAYS[day.weekday()])
        return next((each for each in _days("excluded_days", self.excluded_days) if each in names), "")
