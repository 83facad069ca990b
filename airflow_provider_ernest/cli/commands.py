"""All commands."""

from __future__ import annotations

from airflow_provider_ernest.cli import choose, design, fit, predict, report, store

COMMANDS = (design.COMMAND, fit.COMMAND, predict.COMMAND, choose.COMMAND, report.COMMAND, store.COMMAND)
"""In the order in which one uses them."""
