"""Telling whom it concerns that a model no longer speaks for its job: callables, or Airflow's notifiers."""

from __future__ import annotations

import asyncio
import copy
import inspect
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import BaseNotifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.model.records import ModelMark


def tell_stale(callbacks: Any, *, context: Context, marks: Sequence[ModelMark], log: Any) -> None:
    """Call each callback for each mark, with the context and what is known of the mark in it.

    Airflow's context is extended by ``ernest_mark``, the `ModelMark`, and ``ernest_marks``, the list of all
    that were noticed at once, so that a notifier's templates may say ``{{ ernest_mark.reason }}``. Whatever
    a callback raises is a warning in the log: a message that cannot be sent fails no task.

    Args:
        callbacks: one, or a list: callables that take the context, also asynchronous ones, or notifiers.
        context: of the task that noticed.
        marks: what was noticed; each is told once.
        log: the logger that is warned of callbacks that fail.
    """
    told = list({mark.mark_id: mark for mark in marks}.values())
    for mark in told:
        for callback in _listed(callbacks):
            # Notifiers write into their context.
            own = cast("Context", {**context, "ernest_mark": mark, "ernest_marks": told})
            try:
                _call(callback, own)
            except Exception as error:
                log.warning(
                    "%s was not told that model %s is stale: %s: %s",
                    _name(callback),
                    mark.model_id,
                    type(error).__name__,
                    error,
                )


def _listed(callbacks: Any) -> list[Any]:
    if callbacks is None:
        return []
    # A notifier may be awaitable or whatever else; only these are lists of several.
    return list(callbacks) if isinstance(callbacks, (list, tuple, set, frozenset)) else [callbacks]


def _call(callback: Any, context: Context) -> None:
    if isinstance(callback, BaseNotifier):
        # Its templates are replaced by what they come to: the next mark needs them again.
        notifier = copy.copy(callback)
        if type(notifier).notify is BaseNotifier.notify:
            notifier.context = context
            asyncio.run(_awaited(notifier))
        else:
            notifier(context)
        return
    answer = callback(context)
    if inspect.isawaitable(answer):
        asyncio.run(_awaited(answer))


async def _awaited(answer: Any) -> None:
    await answer


def _name(callback: Any) -> str:
    return str(getattr(callback, "__qualname__", None) or type(callback).__qualname__)
