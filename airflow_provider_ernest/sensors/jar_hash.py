"""Wait until a job's code has changed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from airflow.sdk import BaseSensorOperator, Context, PokeReturnValue

from airflow_provider_ernest.operators.task_context import no_vain_retries
from airflow_provider_ernest.spark import artifact
from airflow_provider_ernest.triggers.jar_hash import HashComparison

_LOOKS = 5
"""Looks of a poke at files that do not settle; the next poke goes on."""


class JarHashSensor(BaseSensorOperator):
    """Wait until an application differs from the one that the newest model of its job was trained with.

    Files are read once they have settled, and again only if their storage tells of a change; a rescheduled
    sensor reads them at each poke. A missing file is waited for. If the job has no model yet, or one that
    does not know its application, the sensor succeeds at once and says why.

    Returns ``{"sha256", "known_sha256", "model_id", "reason"}``: the hash found, the one compared with, the
    model, and a sentence.

    Args:
        application: path or address of the JAR or .py file: local, ``s3://[connection@]bucket/key``, http or
            any other scheme that fsspec reads.
        dependencies: further files of it, in a list or a text with commas. They must be those that the job
            is submitted with as ``py_files`` and ``jars``: the model's hash is one of all of them.
        job: the job's name in the store. Its newest model, on any type of machine, counts.

    Raises:
        InvalidParameterError: a value is impossible, such as an application of the cluster's machines.
        MissingResourceError: nothing installed reads one of the addresses.
    """

    template_fields: Sequence[str] = ("application", "dependencies", "job")
    ui_color = "#dfe6d0"

    def __init__(
        self,
        *,
        application: str,
        job: str,
        dependencies: str | Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.application = application
        self.dependencies = dependencies
        self.job = job

    def poke(self, context: Context) -> PokeReturnValue:
        """Look at the application until its files have settled, and compare it."""
        with no_vain_retries():
            found = self._comparison.compare()
            for _ in range(_LOOKS - 1):
                if not found.is_settling:
                    break
                time.sleep(artifact.SETTLE_SECONDS)
                found = self._comparison.compare()
        if not found.has_changed:
            return PokeReturnValue(is_done=False)
        self.log.info("%s", found.reason)
        return PokeReturnValue(is_done=True, xcom_value=found.result())

    @cached_property
    def _comparison(self) -> HashComparison:
        return HashComparison(
            application=self.application, dependencies=self.dependencies, job=self.job, log=self.log
        )
