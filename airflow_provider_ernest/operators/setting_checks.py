"""Rules over several settings objects, each of which checks its own values.

Checked when the DAG file is parsed, for literal values, and by the first task, once templates are rendered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ernest.clusters.emr.spec import (
    EMR,
    UPLOAD_REMEDY,
    require_remote,
    require_step_options,
)
from airflow_provider_ernest.clusters.local_spec import LOCAL
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings import DesignBounds, ModelSettings, SampledInput, SizingGoal, SparkJob
from airflow_provider_ernest.settings.billing import no_price
from airflow_provider_ernest.settings.bounds import AVERAGING, PAPERS_COST
from airflow_provider_ernest.settings.job import ARGUMENT, FIRST_ROWS
from airflow_provider_ernest.settings.values import (
    NOTHING,
    count,
    has_template,
    is_template,
    number,
    optional,
    positive,
    prices,
)

_OF_SAMPLE = re.compile(r"\bsample\b(?:\s*\.\s*(\w+)|\s*\[\s*['\"](\w+)['\"]\s*\])?")


@dataclass(frozen=True, kw_only=True)
class SizingSettings:
    """The settings of an `ErnestTaskGroup` that must fit together; fields as there."""

    job: SparkJob
    input: SampledInput
    bounds: DesignBounds
    goal: SizingGoal
    model: ModelSettings = field(default_factory=ModelSettings)
    clusters: Sequence[Any]
    run_timeout_seconds: Any = None

    def check(self) -> None:
        """Refuse settings that do not fit together, as far as they are known."""
        _ = self.job.required_application
        least = self.bounds.min_scale
        # By design, as if only executors vary.
        reads_all = least not in NOTHING and not is_template(least) and number("min_scale", least) >= 1
        require_sample_named(self.job.application_args, self.input.sampling, reads_all=reads_all)
        if not is_template(self.run_timeout_seconds):
            optional(positive)("run_timeout_seconds", self.run_timeout_seconds)
        require_averaging(self.bounds, self.model)
        if not is_template(self.bounds.max_executors):
            require_available(self.bounds, min(map(certain_executors, self.clusters)))
        self._check_budget()
        self._check_prices()
        self._check_production()
        if any(cluster.kind == EMR for cluster in self.clusters):
            self._check_emr()

    def _check_budget(self) -> None:
        share, cost = self.bounds.budget_share, self.bounds.cost
        if share not in NOTHING and cost == PAPERS_COST and self.goal.deadline_seconds in NOTHING:
            raise InvalidParameterError(
                "budget_share",
                share,
                f'has no meaning with cost="{cost}", by which production costs nothing',
                remedy='Use cost="machine_seconds" or "dollars", or state a deadline.',
            )

    def _check_prices(self) -> None:
        stated, rounds = self.goal.price_per_hour, self.bounds.rounds
        is_needed = self.goal.needs_price(types=len(self.clusters)) or rounds != 1
        if is_template(stated) or not is_needed:
            return
        of_all, read = prices("price_per_hour", stated)
        # Of a mapping as it is stated: a template in it counts as a price.
        by_type = stated if isinstance(stated, Mapping) else read
        for cluster in self.clusters:
            if of_all is None and by_type.get(cluster.type_name) in NOTHING and not cluster.has_price:
                raise no_price(cluster.type_name, stated)

    def _check_production(self) -> None:
        goal, first = self.goal, self.clusters[0]
        allowed = [goal.min_executors, goal.max_executors, goal.allowed_executors]
        # Production on a local cluster can have no more than it has.
        if len(self.clusters) > 1 or first.kind != LOCAL or has_template(allowed):
            return
        executors, most = goal.executors, certain_executors(first)
        if executors[-1] > most:
            raise InvalidParameterError(
                "max_executors" if goal.allowed_executors in NOTHING else "allowed_executors",
                executors[-1],
                f"is outside the 1 to {most} machines that production may have",
                remedy="Correct it, or allow or start more machines.",
            )

    def _check_emr(self) -> None:
        require_emr_input(self.input)
        require_step_options(self.job.submit_options)
        require_remote("application", self.job.required_application, remedy=UPLOAD_REMEDY)


def certain_executors(cluster: Any) -> int:
    """The fewest executors that a cluster gives; an error if only the running DAG will know."""
    name, executors = cluster.least
    if executors is None or is_template(executors):
        raise InvalidParameterError(
            name,
            executors,
            f"must be known of {type(cluster).__name__}, since runs are designed before the cluster starts",
        )
    return count(name, executors)


def require_available(bounds: DesignBounds, executors: int) -> None:
    """Refuse bounds of sample runs on more executors than their cluster will have."""
    if count("max_executors", bounds.max_executors) > executors:
        raise InvalidParameterError(
            "max_executors",
            bounds.max_executors,
            f"is more than the cluster will have ({executors})",
            remedy="Lower max_executors of the bounds, or start a larger cluster.",
        )


def require_averaging(bounds: DesignBounds, model: ModelSettings) -> None:
    """Refuse rounds of sample runs for a model without a probability of its terms."""
    if is_template(bounds.rounds) or is_template(model.method) or model.method == AVERAGING:
        return
    if count("rounds", bounds.rounds) > 1:
        raise InvalidParameterError(
            "rounds",
            bounds.rounds,
            f'is impossible with method="{model.method}", which determines all its terms',
            remedy=f'Use method="{AVERAGING}", or leave rounds out.',
        )


def require_sample_named(arguments: Sequence[Any], sampling: str, *, reads_all: bool) -> None:
    """Refuse arguments, with their templates, by which each sample run would read the whole input.

    A staged sample needs its path in the arguments; "argument" needs the share. `reads_all`: sample runs are
    to read all of the input.
    """
    texts = [each for each in arguments if isinstance(each, str)]
    if reads_all or is_template(sampling) or len(texts) < len(arguments):
        return
    templates = " ".join(text for text in texts if is_template(text))
    named = {by_dot or by_bracket for by_dot, by_bracket in _OF_SAMPLE.findall(templates)}
    # Without a name it is the whole sample, from which a template may take what it likes.
    wanted = ("scale", "partitions", "") if sampling == ARGUMENT else ("input", "")
    if named.isdisjoint(wanted):
        raise InvalidParameterError(
            "application_args",
            texts,
            f"names no {{{{ sample.{wanted[0]} }}}}: each sample run would read the whole input",
            remedy=f'Write "{{{{ sample.{wanted[0]} }}}}" where the application reads '
            f"{'its share' if sampling == ARGUMENT else 'its input'}, and another output than production's.",
        )


def require_emr_input(sampled: SampledInput) -> None:
    """Refuse a sample that would lie where the machines of EMR cannot read it."""
    require_remote("path", sampled.path, remedy="Put the input on S3.")
    if sampled.sampling == FIRST_ROWS:
        raise InvalidParameterError(
            "sampling",
            sampled.sampling,
            "copies rows to a folder of the Airflow worker, which the machines of EMR cannot read",
            remedy='Use "files" or "argument".',
        )
