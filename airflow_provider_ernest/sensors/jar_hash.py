"""Wait until a job's code has changed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, Context, PokeReturnValue

import airflow_provider_ernest.spark.artifact as artifact
from airflow_provider_ernest.operators.task_context import is_deferrable, no_vain_retries

if TYPE_CHECKING:
    from airflow_provider_ernest.triggers.jar_hash import Found, HashComparison

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
        deferrable: wait in the triggerer; None for ``[operators] default_deferrable``.

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
        deferrable: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.application = application
        self.dependencies = dependencies
        self.job = job
        self.deferrable = deferrable
        self._comparison: HashComparison | None = None

    def execute(self, context: Context) -> Any:
        """Wait, here or in the triggerer."""
        if not is_deferrable(self.deferrable):
            return super().execute(context)
        from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException

        from airflow_provider_ernest.triggers.jar_hash import JarHashChangedTrigger

        try:
            # Often there is nothing to wait for.
            with no_vain_retries():
                found = self._compare()
        except AirflowFailException as error:
            if self.soft_fail or self.never_fail:
                raise AirflowSkipException(str(error)) from error
            raise
        if found.has_changed:
            return self._logged(found.result())

        self.defer(
            trigger=JarHashChangedTrigger(**self._compared(), poll_seconds=self.poke_interval),
            method_name="execute_complete",
            timeout=timedelta(seconds=self.timeout),
        )
        return None

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> Any:
        """Return what the trigger found."""
        from airflow.providers.common.compat.sdk import AirflowFailException

        from airflow_provider_ernest.triggers.jar_hash import CHANGED

        if event["status"] != CHANGED:
            raise AirflowFailException(event["reason"])
        return self._logged(event["result"])

    def poke(self, context: Context) -> PokeReturnValue:
        """Look at the application until its files have settled, and compare it."""
        with no_vain_retries():
            found = self._compare()
            for _ in range(_LOOKS - 1):
                if not found.is_settling:
                    break
                time.sleep(artifact.SETTLE_SECONDS)
                found = self._compare()
        if not found.has_changed:
            return PokeReturnValue(is_done=False)
        return PokeReturnValue(is_done=True, xcom_value=self._logged(found.result()))

    def _logged(self, result: dict[str, Any]) -> dict[str, Any]:
        self.log.info("%s", result["reason"])
        return result

    def _compare(self) -> Found:
        from airflow_provider_ernest.triggers.jar_hash import HashComparison

        if self._comparison is None:
            self._comparison = HashComparison(**self._compared(), log=self.log)
        return self._comparison.compare()

    def _compared(self) -> dict[str, Any]:
        return {"application": self.application, "dependencies": self.dependencies, "job": self.job}
