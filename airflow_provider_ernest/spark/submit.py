"""spark-submit through the spark provider's hook, to a cluster whose address is known only at run time."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import shutil
import signal
import socket
import sys
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowException, AirflowNotFoundException

from airflow_provider_ernest.eventlog.files import application_of_name
from airflow_provider_ernest.exceptions import (
    ClusterLostError,
    InvalidParameterError,
    MissingResourceError,
    SampleRunError,
)
from airflow_provider_ernest.privacy import exception_line
from airflow_provider_ernest.processes import die_with_parent, end_process_tree, make_owned, runtime_folder
from airflow_provider_ernest.spark.sizing import refuse_sizes

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Connection

DRIVER_HOST = "spark.driver.host"
BIND_ADDRESS = "spark.driver.bindAddress"
DRIVER_PYTHON = "spark.pyspark.driver.python"

CLIENT = "client"
"""The deploy mode that is Spark's default."""

SECRET_PROPERTY = "spark.authenticate.secret"  # noqa: S105  the name of a property is no secret
STANDALONE = "spark://"

KILL_GRACE_SECONDS = 3.0
"""How long a driver may take to deregister its application before it is killed; Airflow gives about 5 s."""

_OURS = frozenset({"self", "conf", "conn_id", "application_args", "name"})


class ErnestSubmitHook(SparkSubmitHook):
    """The provider's hook, ended with its task and pointed at a master by address or by connection.

    The driver's web pages listen where it does, at ``spark.driver.bindAddress``, unless SPARK_LOCAL_IP says
    otherwise, in the task's environment or in `options` (``env_vars``).

    Args:
        master_url: address of a master that has no Airflow connection, such as spark://10.0.0.7:7077.
        spark_conn_id: the Airflow connection of the master. Exactly one of the two is given.
        options: further arguments of `SparkSubmitHook`, such as java_class, jars or py_files.
        secret: shared by the cluster's processes. It is handed over in a private file that exists while the
            application runs, and masked in Airflow's logs, as one found in `conf`. On a command line, anybody
            with an account on the host could read it.

    Raises:
        InvalidParameterError: an option that the hook does not know.
        MissingResourceError: there is no such connection. The stock hook would submit to YARN then.
    """

    def __init__(
        self,
        *,
        master_url: str | None = None,
        spark_conn_id: str | None = None,
        conf: Mapping[str, str],
        application_args: list[str],
        name: str,
        options: Mapping[str, Any] | None = None,
        secret: str | None = None,
    ) -> None:
        self._master_url = master_url
        if spark_conn_id is not None:
            require_connection(spark_conn_id)
        options = dict(options or {})
        check_options(options)
        conf = dict(conf)
        secret_of_conf = conf.pop(SECRET_PROPERTY, None)
        self._secret = secret_of_conf if secret is None else secret
        self._secret_file: SecretFile | None = None
        self._is_ended = False
        super().__init__(
            conf=conf,
            conn_id=spark_conn_id or "",
            application_args=application_args,
            name=name,
            **options,
        )
        self._output = DriverOutput()
        is_standalone = self._connection["master"].startswith(STANDALONE)
        is_client = self._connection["deploy_mode"] != "cluster"
        address = conf.get(BIND_ADDRESS) if is_standalone and is_client else None
        if address and "SPARK_LOCAL_IP" not in os.environ:
            # The driver's pages listen where the driver does: Spark's default is all interfaces.
            self._env_vars = {"SPARK_LOCAL_IP": address, **(self._env_vars or {})}

    @property
    def driver_has_begun(self) -> bool | None:
        """Whether a driver on the cluster has; None of one on this host."""
        return None

    def get_connection(self, conn_id: str) -> Connection:  # type: ignore[override]
        """The master's connection, made up where only its address is known."""
        if self._master_url is None:
            return super().get_connection(conn_id)
        # Here, since DAG files load this module.
        from airflow.providers.common.compat.sdk import Connection

        return Connection(conn_id=conn_id, conn_type="spark", host=self._master_url)

    def run(self, application: str) -> None:
        """Submit and wait, from the task's main thread. The driver ends with this process, however that ends.

        Raises:
            SampleRunError: the application ended with another exit code than 0, or `end` came first. Log and
                master report success even after a killed driver.
            MissingResourceError: there is no spark-submit.
        """
        if self._is_ended:
            raise SampleRunError(f"{application} was ended before it was submitted.")
        try:
            with self._secret_handed_over():
                # The kernel sends the signal when the *thread* that started the process ends.
                self.submit(application, preexec_fn=die_with_parent(signal.SIGTERM), start_new_session=True)
        except AirflowException as error:
            raise SampleRunError(
                f"{application} failed: {self._failure()}",
                remedy="See the driver's output in this task's log, above.",
            ) from error
        except FileNotFoundError as error:
            raise MissingResourceError(
                f"There is no program {error.filename!r}.",
                remedy="Install Spark on the Airflow worker (pip install 'airflow-provider-ernest[local]') "
                "and put its spark-submit on the PATH.",
            ) from error

    def _get_spark_binary_path(self) -> list[str]:
        """The connection's program; a spark-submit that is not on the PATH is looked for where Spark is."""
        from airflow_provider_ernest.spark.installation import find_spark_submit

        (program,) = super()._get_spark_binary_path()
        is_missing = program == "spark-submit" and shutil.which(program) is None
        return [str(find_spark_submit()) if is_missing else program]

    def end(self) -> list[int]:
        """End driver and spark-submit; returns the ids of the processes ended. May be repeated."""
        self._is_ended = True
        try:
            # The stock hook ends a driver on the cluster, but only while spark-submit runs.
            if self._submit_sp is not None and self._connection["deploy_mode"] == "cluster":
                self.on_kill()
        finally:
            ended = self._end_processes()
        return ended

    def _end_processes(self) -> list[int]:
        try:
            process = self._submit_sp
            if process is None or process.poll() is not None:
                return []
            return end_process_tree(process.pid, grace_seconds=KILL_GRACE_SECONDS)
        finally:
            if self._secret_file is not None:
                self._secret_file.remove()

    def on_kill(self) -> None:
        """As the stock hook, which needs the namespace on Kubernetes even if it is the default one."""
        self._connection["namespace"] = self._connection["namespace"] or self._output.namespace
        super().on_kill()

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        """Follow the output; first of all, end what was started while `end` was called."""
        if self._is_ended:
            self.end()
        super()._process_spark_submit_log(self._output.lines(itr))

    def _failure(self) -> str:
        """What ended the driver: the exception that it printed, else no more than its exit code."""
        if self._output.secret_is_refused and not self._is_ended:
            return f"the cluster refused its shared secret ({SECRET_PROPERTY})."
        exception = "" if self._is_ended else self._output.failure
        if not exception:
            exit_code = self._submit_sp.returncode if self._submit_sp else None
            return f"spark-submit ended with exit code {exit_code}."
        arguments = [str(argument) for argument in self._application_args or ()]
        told = exception_line(exception, arguments=arguments)
        return told if told.endswith(".") else f"{told}."

    @contextmanager
    def _secret_handed_over(self) -> Iterator[None]:
        """Let spark-submit read the secret from a file, which is removed in any case."""
        if self._secret is None:
            yield
            return
        from airflow.sdk.log import mask_secret

        mask_secret(self._secret)
        own_file = self._properties_file
        replaced = replaced_properties(
            own_file,
            spark_submit=self._get_spark_binary_path()[0],
            environment={**os.environ, **(self._env or {})},
        )
        self._secret_file = SecretFile(self._secret, replaced=replaced)
        self._properties_file = str(self._secret_file.path)
        try:
            yield
        finally:
            self._secret_file.remove()
            self._properties_file = own_file


def require_connection(spark_conn_id: str) -> Connection:
    """The Spark connection of that name; a `MissingResourceError` where there is none."""
    try:
        return SparkSubmitHook.get_connection(spark_conn_id)
    except AirflowNotFoundException as error:
        raise MissingResourceError(
            f"There is no Airflow connection {spark_conn_id!r}.",
            remedy=f"Add it (airflow connections add {spark_conn_id} --conn-type spark --conn-host "
            "spark://HOST --conn-port 7077): without it, Airflow would silently submit to YARN.",
        ) from error


def deploy_mode_of(spark_conn_id: str, options: Mapping[str, Any]) -> str:
    """Where the driver of a run is to be, "client" or "cluster": by the option, else by the connection."""
    stated = options.get("deploy_mode") or require_connection(spark_conn_id).extra_dejson.get("deploy-mode")
    return str(stated or CLIENT)


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that the provider's hook does not know, or that are set here."""
    refuse_sizes(options, within="submit_options")
    known = set(inspect.signature(SparkSubmitHook.__init__).parameters) - _OURS
    for option in options:
        if option not in known:
            raise InvalidParameterError(
                "submit_options",
                option,
                "is not an argument of SparkSubmitHook that can be set here",
                remedy=f"Use one of {', '.join(sorted(known))}.",
            )


def driver_conf(master_url: str, *, conf: Mapping[str, str] | None = None) -> dict[str, str]:
    """Properties of a driver on this host for a cluster on other hosts; what `conf` sets is left alone.

    With a standalone master, the driver's address: Spark would take the one that the host's name stands for,
    often one that only the host itself knows (127.0.1.1 on Debian); executors could not connect to the driver
    and would be started again and again. PySpark's driver gets the Python of this process.
    """
    given = conf or {}
    wanted = {DRIVER_PYTHON: sys.executable}
    if master_url.startswith(STANDALONE) and not {DRIVER_HOST, BIND_ADDRESS} <= given.keys():
        route = local_address(master_url)
        # The driver may be known by an address of a gateway, at which it cannot listen itself.
        host = given.get(DRIVER_HOST, route)
        wanted |= {DRIVER_HOST: host, BIND_ADDRESS: host if _is_own(host) else route}
    return {key: value for key, value in wanted.items() if key not in given}


def local_address(master_url: str) -> str:
    """This host's address on the route to a standalone master. Nothing is sent."""
    # With several masters (high availability) the first stands for all.
    host, _, port = master_url.removeprefix(STANDALONE).split(",")[0].rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)
        family, kind, _, _, address = found[0]
        with socket.socket(family, kind) as probe:
            probe.connect(address)  # of a datagram socket: only the route is looked up
            return str(probe.getsockname()[0])
    except (OSError, ValueError) as error:
        raise ClusterLostError(
            f"There is no way from this host to the Spark master {master_url}: {error}.",
            remedy="The Airflow worker must be in the cluster's network, or routed to it.",
        ) from error


def _is_own(host: str) -> bool:
    """Whether it is an address of this host, at which it can listen."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host.strip("[]"), 0, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.bind(address)
    except OSError:
        return False
    return True


class SecretFile:
    """Spark's shared secret on its way to spark-submit: in a private file, never on a command line.

    spark-submit reads it from a file of properties in a directory that only this user may enter. Such a file
    replaces spark-defaults.conf (Spark 4 can read both, with ``--load-spark-defaults``, which older versions
    refuse), so the content of that is copied.

    Remove it when spark-submit has ended. At any other end of this process Python removes it; after a SIGKILL
    the next process that hands over a secret does, the keeper of a local cluster, or the reaper.
    """

    def __init__(self, secret: str, *, replaced: bytes = b"") -> None:
        if not secret or secret != secret.strip() or not secret.isprintable():
            raise InvalidParameterError(
                "secret", "***", "is empty, begins or ends with a space, or has control characters"
            )
        folder = make_owned(runtime_folder())
        self.remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        """Removes it; may be called again."""
        self.path = folder / "spark.conf"
        # The last value of a key counts. A backslash at the end of the last line would join our first one.
        content = replaced + b"\n\n" + _property("spark.authenticate", "true")
        content += _property(SECRET_PROPERTY, secret)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)


def replaced_properties(
    properties_file: str | None, *, spark_submit: str, environment: Mapping[str, str]
) -> bytes:
    """The properties that spark-submit would read: the user's own file, or spark-defaults.conf.

    They are found by the environment that the program runs with, without changes by Spark's spark-env.sh.
    """
    if properties_file:
        try:
            return Path(properties_file).read_bytes()
        except OSError as error:
            raise MissingResourceError(
                f"properties_file={properties_file!r} cannot be read: {error.strerror}.",
                remedy="Name a file that exists on the Airflow worker.",
            ) from error
    directory = environment.get("SPARK_CONF_DIR")
    if not directory:
        home = environment.get("SPARK_HOME") or _home_of(spark_submit, environment)
        directory = str(Path(home, "conf")) if home else None
    defaults = Path(directory, "spark-defaults.conf") if directory else None
    return defaults.read_bytes() if defaults and defaults.is_file() else b""


def _home_of(spark_submit: str, environment: Mapping[str, str]) -> str | None:
    """The installation that a spark-submit without SPARK_HOME takes, as its script find-spark-home does."""
    program = shutil.which(spark_submit, path=environment.get("PATH"))
    if program is None:
        return None
    folder = Path(program).absolute().parent
    if not (folder / "find_spark_home.py").is_file():
        return str(folder.parent)
    package = importlib.util.find_spec("pyspark")
    return package.submodule_search_locations[0] if package and package.submodule_search_locations else None


def _property(key: str, value: str) -> bytes:
    """A line of a file of Java properties: UTF-16 units as escapes, as all of Java's text."""
    escaped = []
    for character in value:
        units = character.encode("utf-16-be").hex()
        unicode = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
        plain = f"\\{character}" if character in "\\ " else character
        escaped.append(plain if character.isascii() else unicode)
    return f"{key}={''.join(escaped)}\n".encode("ascii")


_LOGGED = re.compile(r"\d\d(?:\d\d)?[/-]\d\d[/-]\d\d[ T]\d\d:\d\d:\d\d")
"""The beginning of a line of Spark's own log, which is not part of a trace that ended the driver."""
_TRACE = re.compile(r'Traceback \(most recent call last\):|Exception in thread "main" ')
_EXCEPTION = re.compile(
    r'(?:Exception in thread "main" |Caused by: |: )?'
    r"((?:[A-Za-z_][\w$]*\.)*[A-Z][\w$]*(?:Error|Exception|Interrupt)(?:: .*)?)"
)
_REFUSED_SECRET = re.compile(r"SaslException: .*Mismatched response")
"""Logged by a driver whose secret is not its master's. It then fails in whichever call came first."""
_NAMESPACE = re.compile(r"\s+namespace: (\S+)")
"""Logged by spark-submit in cluster mode, among what else it knows of the driver's pod."""
_POD_RUNS = re.compile(r"\bphase: (Running|Succeeded|Failed)\b")
"""Logged likewise."""
_ONLY_EXIT_CODE = "org.apache.spark.SparkUserAppException"
"""Behind the trace of a Python program, it says no more than that there was one."""


class DriverOutput:
    """What a driver's output tells of its end."""

    def __init__(self) -> None:
        self.failure = ""
        """The last exception of an uncaught trace, as it was printed."""
        self.secret_is_refused = False
        self.namespace: str | None = None
        """Of the driver's pod on Kubernetes."""
        self.pod_runs = False
        """Whether that pod has begun."""
        self._is_in_trace = False

    def lines(self, output: Iterable[Any]) -> Iterator[Any]:
        """The same lines, looked at as they pass."""
        for line in output:
            self._look_at(str(line).rstrip())
            yield line

    def _look_at(self, line: str) -> None:
        if _REFUSED_SECRET.search(line):
            self.secret_is_refused = True
        if found_namespace := _NAMESPACE.fullmatch(line):
            self.namespace = found_namespace[1]
        self.pod_runs = self.pod_runs or bool(_POD_RUNS.search(line))
        if _LOGGED.match(line):
            self._is_in_trace = False
        elif _TRACE.match(line):
            self._is_in_trace = True
        found = _EXCEPTION.match(line) if self._is_in_trace else None
        if found and not (self.failure and found[1].startswith(_ONLY_EXIT_CODE)):
            self.failure = found[1]


_WAITING_PROPERTIES = ("spark.yarn.submit.waitAppCompletion", "spark.kubernetes.submission.waitAppCompletion")


class SubmittedRun:
    """A run that a hook is about to submit.

    With `finds_event_log`, its event log is looked for in a folder that may hold many others.
    """

    def __init__(self, hook: SparkSubmitHook, *, finds_event_log: bool) -> None:
        self.submitted_at = time.time()
        self._hook = hook
        # Looked at now: the stock operator sets them, too, but later, and then waits in another way.
        unawaited = (key for key in _WAITING_PROPERTIES if str(hook._conf.get(key)).lower() == "false")
        self._unawaited = next(unawaited, "")
        place = str(hook._conf.get("spark.eventLog.dir") or "")
        folder = Path(place.removeprefix("file://").removeprefix("file:"))
        # Another host's or storage's folder cannot be looked into.
        self._folder = folder if finds_event_log and folder.is_absolute() else None
        self._before = {application_of_name(path.name) for path in self._logs()}

    @property
    def untimed_because(self) -> str:
        """Why its time is not the time that passed in this task; empty if it is."""
        if getattr(self._hook, "_submit_sp", None) is None:
            return "an earlier attempt had submitted it"
        return f"{self._unawaited} let spark-submit end before it" if self._unawaited else ""

    @property
    def event_log(self) -> Path | None:
        """Its event log; None if it lies elsewhere, others began one there, or it is not looked for."""
        # By application, not by file: Spark renames each log when its application ends.
        found = [path for path in self._logs() if application_of_name(path.name) not in self._before]
        return found[0] if len(found) == 1 else None

    @property
    def application_id(self) -> str | None:
        """Spark's id of it, by its event log's name or as spark-submit prints it; None without either."""
        event_log = self.event_log
        if event_log is not None:
            return application_of_name(event_log.name)
        return getattr(self._hook, "_yarn_application_id", None)

    def _logs(self) -> Iterable[Path]:
        if self._folder is None:
            return []
        try:
            return [path for path in self._folder.iterdir() if not path.name.startswith(".")]
        # A path with a null character is no path.
        except (OSError, ValueError):
            return []
