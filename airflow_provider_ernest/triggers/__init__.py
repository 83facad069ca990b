"""Wait without a worker's slot: for machines, and for a change of an application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def in_thread(call: Callable[[], Result]) -> Result:
    """Call what blocks, also if it uses Airflow's connections, in a thread: it would hold up all triggers."""
    # Not by asyncio.to_thread: connections come by way of the triggerer's event loop, and in all versions
    # of Airflow it is asgiref's threads that know it.
    from asgiref.sync import sync_to_async

    # Shielded, since asgiref answers a cancellation with one of its own, without the message by which
    # Airflow tells that a user has ended the task.
    return await asyncio.shield(asyncio.ensure_future(sync_to_async(call, thread_sensitive=False)()))
