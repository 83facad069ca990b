"""Marks beside models that no longer hold for their jobs: kept in the store, and sent to `on_stale`."""

from __future__ import annotations

import asyncio
import copy
import inspect
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import BaseNotifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.documents.models import ModelMark


def keep_marks(
    marks: Sequence[ModelMark], *, store: str | None, callbacks: Any, context: Context, log: Any
) -> None:
    """Save new marks, and call who wants to know, see `notify_stale`. Nothing of it fails the task."""
    from airflow_provider_ernest.operators.recording import keep

    if not marks:
        return
    for mark in marks:
        log.warning("STALE: the model %s of %r. %s", mark.model_id, mark.job, mark.reason)
    keep(*marks, store=store, what="That the model is stale", log=log)
    notify_stale(callbacks, context=context, marks=marks, log=log)


def notify_stale(callbacks: Any, *, context: Context, marks: Sequence[ModelMark], log: Any) -> None:
    """Call each callback for each mark, with the context and what is known of the mark in it.

    Airflow's context is extended by ``ernest_mark``, the `ModelMark`, and ``ernest_marks``, the list of all
    that were noticed at once, so that a notifier's templates may say ``{{ ernest_mark.reason }}``. Whatever
    a callback raises is a warning in the log: a message that cannot be sent fails no task.

    Args:
        callbacks: one, or a list: callables that take the context, also asynchronous ones, or notifiers.
        context: of the task that noticed.
        marks: what was noticed; each is sent once.
        log: the logger that is warned of callbacks that fail.
    """
    # A notifier may be awaitable or whatever else; only these are lists of several.
    several = callbacks if isinstance(callbacks, (list, tuple, set, frozenset)) else [callbacks]
    each_once = list({mark.id: mark for mark in marks}.values())
    for mark in each_once:
        for callback in several:
            # Notifiers write into their context.
            own = cast("Context", {**context, "ernest_mark": mark, "ernest_marks": each_once})
            try:
                _call(callback, own)
            except Exception as error:
                log.warning(
                    "%s was not told that model %s is stale: %s: %s",
                    getattr(callback, "__qualname__", None) or type(callback).__qualname__,
                    mark.model_id,
                    type(error).__name__,
                    error,
                )


def _call(callback: Any, context: Context) -> None:
    if callback is None:
        return
    if not isinstance(callback, BaseNotifier):
        answer = callback(context)
        if inspect.isawaitable(answer):
            asyncio.run(_awaited(answer))
        return
    # Its templates are replaced by what they come to: the next mark needs them again.
    notifier = copy.copy(callback)
    if type(notifier).notify is BaseNotifier.notify:
        notifier.context = context
        asyncio.run(_awaited(notifier))
    else:
        notifier(context)


async def _awaited(answer: Any) -> None:
    await answer
