"""The mathematics, loaded while the first page that will ask for it is still on its way to the reader."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from threading import Thread

PREDICTING = "airflow_provider_ernest.report.contents"
"""What predictions are made with; numpy and scipy come with it, and take most of a second."""


@cache
def load_soon() -> Thread:
    """Load it beside whatever else is going on, once in a process. A prediction meanwhile waits for it."""
    thread = Thread(target=import_module, args=(PREDICTING,), name="load the mathematics", daemon=True)
    thread.start()
    return thread
