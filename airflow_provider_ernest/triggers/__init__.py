"""Waiting without a worker's slot: for machines, and for a change of an application.

All that blocks is called by `in_thread`: what holds up the triggerer's event loop holds up all triggers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def in_thread(call: Callable[[], Result]) -> Result:
    """Call what blocks in a thread.

    Args:
        call: may use connections and other things of Airflow's.
    """
    # Not by asyncio.to_thread: connections come by way of the triggerer's event loop, and in all versions
    # of Airflow it is asgiref's threads that know it.
    from asgiref.sync import sync_to_async

    # Shielded, since asgiref answers a cancellation with one of its own, without the message by which
    # Airflow tells that a user has ended the task.
    return await asyncio.shield(asyncio.ensure_future(sync_to_async(call, thread_sensitive=False)()))
