"""All commands."""

from __future__ import annotations

from airflow_provider_ernest.cli import design, models, store

COMMANDS = (design.COMMAND, models.FIT, models.PREDICT, models.CHOOSE, models.REPORT, store.COMMAND)
"""In the order in which one uses them."""
