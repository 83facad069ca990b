"""Retention on a schedule: remove old documents from the model store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import BaseOperator, Context

from airflow_provider_ernest.hooks.store_location import model_store
from airflow_provider_ernest.operators.task_context import folder, no_vain_retries
from airflow_provider_ernest.settings.values import Number, count, positive, truth


class PruneStoreOperator(BaseOperator):
    """Remove documents from the model store that are older than a number of days.

    Run it daily in a DAG of its own; ``ernest store prune`` does the same from a shell. The newest documents
    of each kind stay for each job and type of machine, and so does all that they refer to. Other tasks may
    write meanwhile. Samples left by killed runs on this worker are always removed.

    Returns a summary: ``removed`` (counts by kind), ``kept``, ``older_than_days`` and ``dry_run``. The log
    lists what was removed.

    Args:
        older_than_days: younger documents stay.
        keep_models: number of newest models of each job and type of machine that stay, and of newest
            documents of each other kind.
        dry_run: only log what would be removed.

    Raises:
        InvalidParameterError: a number is impossible.
        StoreError: the store cannot be read, or something could not be removed; what comes after it stays.
    """

    template_fields: Sequence[str] = ("older_than_days", "keep_models", "is_dry_run")
    ui_color = "#e4dcf2"

    def __init__(
        self,
        *,
        older_than_days: Number,
        keep_models: Number = 5,
        dry_run: bool | str = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.older_than_days = older_than_days
        self.keep_models = keep_models
        # BaseOperator has a method of the parameter's name.
        self.is_dry_run = dry_run

    def execute(self, context: Context) -> dict[str, Any]:
        """Plan, remove, log."""
        from airflow_provider_ernest.processes import sweep
        from airflow_provider_ernest.store.pruning import Prune

        with no_vain_retries():
            dry_run = truth("dry_run", self.is_dry_run)
            days = positive("older_than_days", self.older_than_days)
            # DAG, run, task and try are the levels of folders for samples.
            samples = sweep(folder("staging"), pattern="*/*/*/*", dry_run=dry_run)
            if samples:
                done = "would be removed" if dry_run else "were removed"
                self.log.info("%d samples of killed runs %s", len(samples), done)
            prune = Prune(
                store=model_store(),
                now=datetime.now(UTC),
                older_than_days=days,
                keep_models=count("keep_models", self.keep_models),
            )
            try:
                if not dry_run:
                    prune.carry_out()
            finally:
                for line in prune.lines():
                    self.log.info("%s", line)
            summary = prune.summary()
        return {
            "older_than_days": days,
            "dry_run": dry_run,
            "removed": summary["removed"],
            "kept": summary["kept"],
        }
