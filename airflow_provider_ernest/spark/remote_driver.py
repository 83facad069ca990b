"""Runs whose driver is on the cluster, in deploy mode cluster of YARN and Kubernetes.

Such a run does not end with its task. It bears a name that all tries of the task share: a try ends what an
earlier one, killed too hard to do so, has left behind. Its event log is brought here when it has ended.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import requests
from airflow.providers.apache.spark.hooks import spark_submit

from airflow_provider_ernest.eventlog.files import IN_PROGRESS_SUFFIX, application_of_name
from airflow_provider_ernest.exceptions import (
    ClusterLostError,
    ErnestError,
    InvalidParameterError,
    MissingResourceError,
    SampleRunError,
)
from airflow_provider_ernest.places import local_path, place_of
from airflow_provider_ernest.privacy import exception_line
from airflow_provider_ernest.spark.submit import CLIENT, STANDALONE, ErnestSubmitHook

_provider: Any = spark_submit
"""For its optional import, ``kube_client``."""

RESOURCE_MANAGER = "yarn_resourcemanager_webapp_address"
"""In a connection's extra: the address of YARN's pages, by which an application is followed and ended."""

SPARK_PROVIDER = "6.2"
"""The first version that asks YARN's ResourceManager how an application does."""

_BEFORE_RUNNING = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED")
_UNFINISHED = ",".join((*_BEFORE_RUNNING, "RUNNING"))
_END_SECONDS = 60.0
"""An application that was asked to end, and the event log of one that has, may take so long."""
_POLL_SECONDS = 1.0


def as_hadoop_reads(folder: str) -> str:
    """The address of a folder for Spark, to which a path alone lies in the cluster's default file system."""
    return f"file://{folder}" if folder.startswith("/") else folder


class RemoteDriverHook(ErnestSubmitHook):
    """spark-submit in deploy mode cluster, on a connection that `require_observable_driver` lets pass.

    `owner` is of letters, digits and hyphens: the same for all tries of one task, and no other task's. The
    driver writes its event log to the existing folder `event_logs`; it is brought to the local `directory`.
    """

    def __init__(
        self,
        *,
        owner: str,
        event_logs: str,
        directory: Path,
        spark_conn_id: str,
        conf: Mapping[str, str],
        **others: Any,
    ) -> None:
        tags = ",".join(filter(None, (conf.get("spark.yarn.tags"), owner)))
        named = {
            "spark.yarn.tags": tags,
            # An application that YARN has started twice is no measurement.
            "spark.yarn.maxAppAttempts": "1",
            "spark.kubernetes.driver.pod.name": f"{owner}-driver",
        }
        super().__init__(spark_conn_id=spark_conn_id, conf={**conf, **named}, **others)
        self._owner = owner
        self._event_logs = event_logs
        self._directory = directory
        self._has_begun = False
        if self._is_yarn:
            # The stock hook then has spark-submit end once YARN has the application, and asks YARN.
            self._yarn_track_via_rm_api = True
        else:
            self._kubernetes_driver_pod = named["spark.kubernetes.driver.pod.name"]
            self._connection["namespace"] = self._connection["namespace"] or "default"

    @property
    def driver_has_begun(self) -> bool:
        """Whether it has, by YARN's or spark-submit's word."""
        return self._has_begun or self._output.pod_runs

    def run(self, application: str) -> None:
        """Submit, wait for the application's end, and bring its event log.

        Raises:
            SampleRunError: the application failed, or `end` came first.
            MissingResourceError: there is no spark-submit, or the folder of event logs cannot be read.
        """
        self._require_readable_logs()
        self._end_earlier()
        try:
            self._submit(application)
            if self._is_yarn:
                self._follow(application)
        except SampleRunError:
            if self._is_yarn:
                self._kill_quietly()
            # For whoever looks into it; there need not be one.
            self._bring_event_log(wait_seconds=0.0)
            raise
        if not self._bring_event_log(wait_seconds=_END_SECONDS):
            raise SampleRunError(
                f"There is no event log of application {self._application_id} in {self._event_logs}.",
                remedy="Its driver must be allowed to write there, and the application must not set "
                "spark.eventLog.* itself.",
            )

    def on_kill(self) -> None:
        """End the application, also if spark-submit has not told its id yet."""
        super().on_kill()
        if self._is_yarn:
            self._kill_quietly()

    def _submit(self, application: str) -> None:
        try:
            super().run(application)
        # This is how the stock hook says that spark-submit, which logs little here, has told no id.
        except RuntimeError as error:
            told = self._applications() if self._is_yarn else []
            if not told:
                raise SampleRunError(
                    f"{application} was submitted, and spark-submit has not told its application's id.",
                    remedy="Let spark-submit log at level INFO.",
                ) from error
            self._yarn_application_id = told[-1]

    def _require_readable_logs(self) -> None:
        try:
            is_folder = place_of(self._event_logs).is_dir()
        except ErnestError:
            raise
        except Exception as error:  # the libraries of object stores have errors of their own
            raise MissingResourceError(
                f"event_log_uri={self._event_logs!r} cannot be read from here: {error}.",
                remedy="Let the Airflow worker read it, or submit in deploy mode client.",
            ) from error
        if not is_folder and local_path(self._event_logs):
            raise MissingResourceError(
                f"event_log_uri={self._event_logs!r} is no folder on this host.",
                remedy="Name one that drivers on the cluster and the Airflow worker share.",
            )

    def _end_earlier(self) -> None:
        """End what an earlier try has left behind: it takes executors, and the same input."""
        is_there: Callable[[], Any] = self._unfinished if self._is_yarn else self._pod_is_there
        if not is_there():
            return
        self.log.warning("Ending what an earlier try of this run has left on the cluster")
        if self._is_yarn:
            self._kill_unfinished()
        else:
            self._delete_driver_pod()
        until = time.monotonic() + _END_SECONDS
        while is_there():
            if time.monotonic() > until:
                raise SampleRunError("What an earlier try of this run has left on the cluster does not end.")
            time.sleep(_POLL_SECONDS)

    def _pod_is_there(self) -> bool:
        client = _provider.kube_client.get_kube_client()
        try:
            client.read_namespaced_pod(self._kubernetes_driver_pod, self._connection["namespace"])
        except _provider.kube_client.ApiException as error:
            if error.status != 404:
                raise
            return False
        return True

    def _kill_quietly(self) -> None:
        """End what runs, where an error would hide why."""
        try:
            self._kill_unfinished()
        except ClusterLostError as error:
            self.log.warning("The application may run on: %s", error.message)

    def _kill_unfinished(self) -> None:
        for application_id in self._unfinished():
            self._kill_yarn_application(application_id)

    def _unfinished(self) -> list[str]:
        """YARN's ids of this owner's applications that have not ended."""
        return self._applications(states=_UNFINISHED)

    def _applications(self, **wanted: str) -> list[str]:
        """YARN's ids of this owner's applications, the newest last."""
        address = self._get_yarn_rm_base_url()
        try:
            answer = requests.get(
                f"{address}/ws/v1/cluster/apps",
                params={"applicationTags": self._owner, **wanted},
                auth=self._resolved_yarn_rm_auth,
                timeout=self._HTTP_TIMEOUT,
            )
            answer.raise_for_status()
            told = (answer.json().get("apps") or {}).get("app", ())
            return [str(each["id"]) for each in sorted(told, key=lambda each: each.get("startedTime", 0))]
        except (requests.exceptions.RequestException, ValueError, KeyError) as error:
            raise ClusterLostError(
                f"YARN's ResourceManager at {address} does not tell its applications: {error}.",
                remedy=f"Check {RESOURCE_MANAGER} in the extra of the connection, and that this host may "
                "reach it.",
            ) from error

    def _follow(self, application: str) -> None:
        """Wait until YARN says how the application ended."""
        application_id = str(self._yarn_application_id)
        if self._is_ended:
            self._kill_yarn_application(application_id)
        try:
            self._start_yarn_application_status_tracking(application_id)
        except RuntimeError as error:
            told = str(error).partition("Diagnostics: ")[2] or str(error)
            arguments = [str(argument) for argument in self._application_args or ()]
            raise SampleRunError(
                f"{application} failed: {exception_line(told, arguments=arguments).rstrip('.')}.",
                remedy=f"See the driver's output: yarn logs -applicationId {application_id}.",
            ) from error

    def _query_yarn_application_status(self, application_id: str) -> tuple[str, str, str]:
        told = super()._query_yarn_application_status(application_id)
        self._has_begun = self._has_begun or told[0] not in _BEFORE_RUNNING
        return told

    @property
    def _application_id(self) -> str | None:
        return self._yarn_application_id or self._kubernetes_application_id

    def _bring_event_log(self, *, wait_seconds: float) -> bool:
        """Copy the application's event log, once it is complete or the wait is over; whether there is one."""
        application_id, until = self._application_id, time.monotonic() + wait_seconds
        if application_id is None:
            return False
        while True:
            entries = (each for each in place_of(self._event_logs).entries() if each.is_file)
            found = [each.place for each in entries if application_of_name(each.place.name) == application_id]
            complete = [place for place in found if not place.name.endswith(IN_PROGRESS_SUFFIX)]
            if complete or time.monotonic() >= until:
                break
            time.sleep(_POLL_SECONDS)
        for place in (complete or found)[:1]:
            # Whoever looks for event logs passes over hidden files, such as a half of one.
            part = self._directory / f".{place.name}.part"
            with place.open("rb") as source, part.open("wb") as target:
                shutil.copyfileobj(source, target)
            part.replace(self._directory / place.name)
            self.log.info("Event log %s", place)
        return bool(found)


def require_observable_driver(hook: ErnestSubmitHook, *, event_logs: str | None) -> None:
    """Refuse a driver on the cluster whose run could not be followed, ended, or read afterwards."""
    mode = hook._connection["deploy_mode"]
    if mode in (None, CLIENT):
        return
    if str(hook._connection["master"]).startswith(STANDALONE):
        raise InvalidParameterError(
            "deploy_mode",
            mode,
            "puts the driver where its run can neither be observed nor ended",
            remedy='Use "client", in submit_options as in the extra of the connection ("deploy-mode").',
        )
    if event_logs is None:
        raise InvalidParameterError(
            "deploy_mode",
            mode,
            "puts the driver on the cluster, and nothing tells where its event log will lie",
            remedy="State event_log_uri of the ConnectedCluster, a folder that the Airflow worker reads, "
            'too; or use "client", in submit_options or in the extra of the connection ("deploy-mode").',
        )
    if hook._is_yarn:
        require_resource_manager(hook)


def require_resource_manager(hook: ErnestSubmitHook) -> None:
    """Refuse a connection by which an application on YARN could be neither followed nor ended.

    Raises:
        InvalidParameterError: it does not tell where YARN's ResourceManager answers.
        MissingResourceError: Airflow's spark provider is too old to follow one.
    """
    if not hasattr(ErnestSubmitHook, "_start_yarn_application_status_tracking"):
        raise MissingResourceError(
            "The installed version of Airflow's spark provider cannot follow applications on YARN.",
            remedy=f"Install apache-airflow-providers-apache-spark>={SPARK_PROVIDER}, or use deploy mode "
            "client.",
        )
    try:
        hook._get_yarn_rm_base_url()
    except ValueError as error:
        raise InvalidParameterError(
            "spark_conn_id",
            hook._conn_id,
            "does not tell where YARN's ResourceManager answers, which deploy mode cluster needs",
            remedy=f'Add to its extra: "{RESOURCE_MANAGER}": "http://HOST:8088".',
        ) from error
