"""Whether a training was needed: what the task that looks for stored models told. XComs are anybody's."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ernest.model.records import DecisionRecord
from airflow_provider_ernest.model.results import Model
from airflow_provider_ernest.plugin import run_groups
from airflow_provider_ernest.plugin.run_groups import Group
from airflow_provider_ernest.plugin.run_record import (
    GROWTH,
    MODELS,
    REASONS,
    SKIPPED,
    SUCCESS,
    RunRecord,
    TaskRow,
)

LONGEST_REASON = 1000
"""Characters of a reason that are shown: it is a sentence or two."""


@dataclass(frozen=True, kw_only=True)
class Reuse:
    """What came of looking for a stored model for a type of machine.

    Attributes:
        is_reused: whether one was found, so that nothing had to be trained.
        instance_type: the type; None where nothing tells it.
        reason: why it is reused, or why not; empty where that is not kept any more.
        growth: how many times as large the input is as when the model was trained; None where unknown.
        reasons: of all types, by the type.
        document: the model as the task pushed it; None where there is none.
    """

    is_reused: bool
    instance_type: str | None = None
    reason: str = ""
    growth: float | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    document: Any = None


def reuse_of(run: RunRecord, group: Group, *, branch: str, record: DecisionRecord | None) -> Reuse | None:
    """What was found for a training; None where nobody looked, or has not found out yet.

    Where the XComs are gone, the decision that is kept tells it, and else that the training was skipped.

    Args:
        run: with what the tasks pushed.
        group: one training, with what comes before and after it.
        branch: id of the nested group that the training is in; empty where there is but one.
        record: of the decision.
    """
    task = group.task(run_groups.FIND)
    if task is None or task.state != SUCCESS:
        return None
    models, reasons = _mapping(run, task, MODELS), _texts(_mapping(run, task, REASONS))
    instance_type = _type_of(branch, [*reasons, *(name for name in models if name not in reasons)])
    if not models and not reasons:
        return _without_values(group, branch=branch, record=record)
    known = instance_type or ""
    return Reuse(
        is_reused=known in models,
        instance_type=instance_type,
        reason=reasons.get(known, ""),
        growth=_factor(_mapping(run, task, GROWTH).get(known)),
        reasons=reasons,
        document=models.get(known),
    )


def reused_model(reuse: Reuse) -> Model | None:
    """The model that is reused; None where there is none.

    Raises:
        ValueError, TypeError, ArithmeticError, RecursionError: what was pushed is none.
    """
    return None if reuse.document is None else Model.from_dict(reuse.document)


def _without_values(group: Group, *, branch: str, record: DecisionRecord | None) -> Reuse:
    """As far as the states of the tasks and the kept decision tell."""
    fit = group.task(run_groups.FIT)
    is_reused = fit is not None and fit.state == SKIPPED
    # Of several types, the decision tells of one only: that which it chose.
    is_of_this = record is not None and _type_of(branch, [record.instance_type]) is not None
    reason = record.reuse if record is not None and is_of_this and is_reused else ""
    instance_type = record.instance_type if record is not None and is_of_this and is_reused else None
    return Reuse(is_reused=is_reused, instance_type=instance_type, reason=reason[:LONGEST_REASON])


def _type_of(branch: str, types: Iterable[str]) -> str | None:
    """The type that a nested group trains: its name is the type's, with the signs that Airflow allows."""
    known = list(types)
    if not branch:
        return known[0] if len(known) == 1 else None
    name = branch.rpartition(".")[2]
    return next((each for each in known if re.sub(r"[^A-Za-z0-9_-]", "_", each) == name), None)


def _mapping(run: RunRecord, task: TaskRow, key: str) -> Mapping[str, Any]:
    value = run.value(task, key)
    return value if isinstance(value, dict) else {}


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: text[:LONGEST_REASON] for name, text in values.items() if isinstance(text, str)}


def _factor(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) and value > 0 else None
