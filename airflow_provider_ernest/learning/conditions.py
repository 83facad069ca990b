"""Whether what a job's run times depend on is as it was when a model was trained.

More data of the same shape is no difference: the model is asked about a larger scale. What is not known of
then or of now cannot differ; `not_compared` names it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_provider_ernest.documents.models import CODE, DATA, SETTINGS
from airflow_provider_ernest.documents.runs import InputFingerprint, RunConditions
from airflow_provider_ernest.privacy import names_a_secret, without_addresses, without_credentials
from airflow_provider_ernest.settings.job import MOST_GROWTH, SHAPE_TOLERANCE
from airflow_provider_ernest.words import data_amount, plain

# The settings that a job's run time may depend on, as digests: enough to see that one has changed. Left out
# is what sizes a run (Ernest chooses it), what says where the cluster, its logs and its pages are, what names
# a run, and whatever belongs to a secret: a digest of a short secret can be guessed.


KEPT_OPTIONS = (
    "java_class",
    "packages",
    "exclude_packages",
    "driver_class_path",
    "files",
    "archives",
    "properties_file",
    "deploy_mode",
    "spark_binary",
)
"""The arguments of `SparkSubmitHook` that may change how long a run takes, beside `env_vars`. The content of
`jars` and `py_files` counts, and is in the artifact's hash."""

_SIZING = (
    "spark.cores.max",
    "spark.executor.instances",
    "spark.executor.cores",
    "spark.executor.memory",
    "spark.driver.cores",
    "spark.driver.memory",
    "spark.dynamicAllocation.",
    "spark.kubernetes.executor.request.cores",
    "spark.kubernetes.executor.limit.cores",
    "spark.locality.wait",
    "spark.scheduler.minRegisteredResourcesRatio",
    "spark.scheduler.maxRegisteredResourcesWaitingTime",
)
_NUMBER_OF_EXECUTORS = ("spark.cores.max", "spark.executor.instances", "spark.scheduler.")
_PLACES_AND_NAMES = (
    "spark.acls.",
    "spark.admin.acls",
    "spark.app.",
    "spark.authenticate",
    "spark.blockManager.port",
    "spark.driver.bindAddress",
    "spark.driver.blockManager.port",
    "spark.driver.host",
    "spark.driver.port",
    "spark.eventLog.",
    "spark.history.",
    "spark.jars.ivy",
    "spark.jars.repositories",
    "spark.kubernetes.authenticate.",
    "spark.kubernetes.driver.",
    "spark.kubernetes.executor.annotation.",
    "spark.kubernetes.executor.label.",
    "spark.kubernetes.executor.podNamePrefix",
    "spark.kubernetes.namespace",
    "spark.kubernetes.submission.",
    "spark.local.ip",
    "spark.log",
    "spark.master",
    "spark.metrics.",
    "spark.modify.acls",
    "spark.network.crypto.",
    "spark.openlineage.",
    "spark.port.maxRetries",
    "spark.redaction.",
    "spark.ui.",
    "spark.yarn.",
)
_LEFT_OUT = _SIZING + _PLACES_AND_NAMES
_OF_APPLICATION = (
    "spark.sql.",
    "spark.default.parallelism",
    "spark.shuffle.",
    "spark.serializer",
    "spark.kryo",
    "spark.memory.",
    "spark.storage.",
    "spark.io.",
    "spark.rdd.",
    "spark.broadcast.",
    "spark.reducer.",
    "spark.speculation",
    "spark.task.",
    "spark.files.max",
    "spark.python.",
    "spark.pyspark.",
    "spark.scheduler.mode",
    "spark.stage.",
    "spark.plugins",
    "spark.rapids.",
    "spark.databricks.adaptive.",
    "spark.databricks.delta.",
    "spark.databricks.io.",
    "spark.databricks.optimizer.",
    "spark.databricks.photon.",
    "spark.executor.extraJavaOptions",
    "spark.executor.pyspark.memory",
    "spark.hadoop.mapred",
    "spark.hadoop.parquet.",
    "spark.hadoop.fs.s3a.committer",
)
"""Beginnings of the properties of an event log that may change how long a run takes. It has many more, and
some differ each time."""
_OF_EACH_RUN = (
    "spark.sql.catalog.",
    "spark.sql.catalogImplementation",
    "spark.sql.hive.",
    "spark.sql.queryExecutionListeners",
    "spark.sql.streaming.checkpointLocation",
    "spark.sql.ui.",
    "spark.sql.warehouse.dir",
    "spark.pyspark.python",
    "spark.pyspark.driver.python",
)
"""Among these what names places, sessions and clusters, which differ each time."""
_UNIMPORTANT_VARIABLES = ("AIRFLOW_CTX_", "AIRFLOW__", "OPENLINEAGE_", "OPENLINEAGE__")

# A part of a text such as "password=…" or '"api_key": "…"'. Possessive: a long word is gone through once.
_NAMED_VALUE = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]++)(?P<between>[\"']?\s*[=:]\s*)(?P<value>\"[^\"]*\"|'[^']*'|[^\s&,;]+)"
)
# Spark's own properties that people tune; nobody's secret is among them, and they have values such as 200,
# 0.6, 8g, 30s, true.
_TUNED = re.compile(
    r"spark\.(default\.parallelism|driver\.|dynamicAllocation\.|executor\.|memory\.|shuffle\.|speculation|task\."
    r"|sql\.(adaptive\.|autoBroadcastJoinThreshold|files\.|shuffle\.partitions))"
)
_PLAIN = re.compile(r"\d{1,12}(\.\d{1,6})?(ms|s|m|min|h|d|[kgtp]?b|[kmgtp]|[kmgtp]ib)?|true|false")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def settings_digests(
    *,
    conf: Mapping[Any, Any] | None = None,
    arguments: Sequence[Any] = (),
    options: Mapping[str, Any] | None = None,
    further: Mapping[str, Any] | None = None,
) -> dict[str, str]:
    """Digests of what may change a run's time, by name: "conf spark.…", "argument 0", "option java_class".

    Of each setting that counts the first hexadecimal characters of its SHA-256; nothing of those whose name
    tells of a secret, and none of the secrets within a text.

    Args:
        conf: Spark properties, as the user gives them.
        arguments: of the application, templates unrendered, so that they are the same in each run.
        options: further arguments of `SparkSubmitHook`, see `KEPT_OPTIONS`.
        further: settings of other kinds, by the names that they are to have; None counts as not there.
    """
    of_conf = ((str(key), value) for key, value in (conf or {}).items())
    settings = [
        *((f"conf {key}", value) for key, value in of_conf if _counts(key, _LEFT_OUT)),
        *_of_arguments(arguments),
        *_of_options(options or {}),
        *((name, value) for name, value in (further or {}).items() if value is not None),
    ]
    return {name: _digest(name, value) for name, value in settings}


def settings_that_count(properties: Mapping[str, str]) -> dict[str, str]:
    """Those of an application's properties, by its event log or the user, that may change a run's time.

    What differs from run to run whatever the user does, such as ports and ids, is left out. Values are as
    Spark reads them; of what holds places, or is long, only the digest is told.
    """
    told = {
        name: value.strip().lower()
        for name, value in properties.items()
        if name.startswith(_OF_APPLICATION) and _counts(name, _OF_EACH_RUN)
    }

    def is_place_or_long(value: str) -> bool:
        return len(value) > 80 or "/" in value or "@" in value or without_addresses(value) != value

    return {name: _digest(name, text) if is_place_or_long(text) else text for name, text in told.items()}


def plain_settings(properties: Mapping[str, str]) -> dict[str, str]:
    """`settings_that_count` and those of executors' shape: values of what people tune, digests of all else.

    How many executors there were is a fact of the run.
    """
    names = [name for name in properties if name.startswith(_SIZING)]
    sizing = {name: properties[name] for name in names if not name.startswith(_NUMBER_OF_EXECUTORS)}
    told = {name: value.strip().lower() for name, value in (settings_that_count(properties) | sizing).items()}
    return {
        name: value if _TUNED.match(name) and is_plain(value) else _digest(name, value)
        for name, value in sorted(told.items())
    }


def is_plain(value: str) -> bool:
    """Whether it is a value as Spark reads it, and not the digest of one."""
    return _PLAIN.fullmatch(value) is not None


def _counts(name: str, left_out: tuple[str, ...]) -> bool:
    return not name.startswith(left_out) and not _is_secret(name)


def _of_arguments(arguments: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    follows_secret_flag = False
    for position, argument in enumerate(arguments):
        if not follows_secret_flag:
            yield f"argument {position}", argument
        flag = str(argument)
        follows_secret_flag = flag.startswith("-") and "=" not in flag and _is_secret(flag)


def _of_options(options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in KEPT_OPTIONS:
        if options.get(name) not in (None, ""):
            yield f"option {name}", options[name]
    variables = options.get("env_vars")
    for name, value in (variables if isinstance(variables, dict) else {}).items():
        if _counts(str(name), _UNIMPORTANT_VARIABLES):
            yield f"option env_vars {name}", value


def _is_secret(name: str) -> bool:
    """By its whole, such as "spark.hadoop.fs.s3a.access.key", or by its last word, as in "DB_PASS"."""
    return names_a_secret(name) or names_a_secret(re.split(r"[._-]", name)[-1])


def _digest(name: str, value: Any) -> str:
    """With the name: equal values of different settings are not to be seen as such."""
    text = _as_text(value)
    if "://" in text or "jdbc:" in text:
        text = without_credentials(text)
    # Without the value of what is named as a secret.
    text = _NAMED_VALUE.sub(
        lambda found: found["name"] + found["between"] if _is_secret(found["name"]) else found[0], text
    )
    return hashlib.sha256(f"{name}\0{text}".encode()).hexdigest()[:16]


def _as_text(value: Any) -> str:
    """As Spark reads it: JSON's and Python's "true" are the same. And the same for each parse of a DAG."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (set, frozenset)):
        value = sorted(map(str, value))
    # What an object without a text of its own shows is where it lies in memory.
    return value if isinstance(value, str) else _ADDRESS.sub("", str(value))


# What has changed.


MOST_NAMES = 3  # so many settings are named in a sentence


@dataclass(frozen=True)
class Difference:
    """Something that is not as it was."""

    cause: str  # of `documents.models.ModelMark`
    reason: str  # as a clause that can follow "since" or stand alone


def sentence_of(found: Sequence[Difference]) -> str:
    """The reasons of at least one difference as a sentence."""
    reasons = "; ".join(each.reason for each in found)
    return f"{reasons[0].upper()}{reasons[1:]}."


def short_hash(artifact_sha256: str | None) -> str:
    """The part of a hash that a sentence shows."""
    return (artifact_sha256 or "")[:12]


def is_other_code(then: str | None, now: str | None) -> bool:
    """Whether two applications are known to differ by their hashes."""
    return bool(then and now) and then != now


def code_differences(then: str | None, now: str | None) -> list[Difference]:
    """A difference if the application's hash changed; empty if it did not or is unknown."""
    if not is_other_code(then, now):
        return []
    reason = f"the application has changed: it is {short_hash(now)} and was {short_hash(then)}"
    return [Difference(CODE, reason)]


def differences(
    then: RunConditions | None,
    now: RunConditions | None,
    *,
    shape_tolerance: float = SHAPE_TOLERANCE,
    max_growth: float = MOST_GROWTH,
) -> list[Difference]:
    """What but the code has changed so that a model of then does not hold now; empty where nothing is known.

    The tolerance is by how much a partition may have grown or shrunk (0.25 is 25 %), the growth to how many
    times its size the input may have grown.
    """
    if then is None or now is None:
        return []
    before, after = then.input or InputFingerprint(), now.input or InputFingerprint()
    found = _unequal(
        (SETTINGS, "Spark is {} and was {}", now.spark, then.spark),
        (SETTINGS, "a machine offers {} cores and offered {}", now.executor_cores, then.executor_cores),
    )
    if then.settings is not None and now.settings is not None and then.settings != now.settings:
        names = (name for name, _ in then.settings.items() ^ now.settings.items())
        found.append(Difference(SETTINGS, changed(names)))
    found += _unequal(
        (DATA, "the input is {} and was {}", after.format, before.format),
        (DATA, "a record of the input has {} columns and had {}", after.columns, before.columns),
    )
    was, held = before.bytes_per_partition, after.bytes_per_partition
    if was and held and not 1 / (1 + shape_tolerance) <= held / was <= 1 + shape_tolerance:
        sizes = f"{data_amount(held)} and held {data_amount(was)}"
        found.append(Difference(DATA, f"a partition of the input holds {sizes}"))
    if (times := growth(then, now)) > max_growth:
        grown = f"the input has grown {plain(times)} times, more than {plain(max_growth)} times"
        found.append(Difference(DATA, grown))
    return found


def _unequal(*told: tuple[str, str, Any, Any]) -> list[Difference]:
    """Of causes with their sentences, what is now and what was: those that are known to differ."""
    return [
        Difference(cause, words.format(now, then))
        for cause, words, now, then in told
        if now and then and now != then
    ]


def growth(then: RunConditions | None, now: RunConditions | None) -> float:
    """How many times the input of then the input of now is; 1 where that is not known."""
    before, after = then and then.input, now and now.input
    if not before or not after:
        return 1.0
    if before.total_bytes and after.total_bytes:
        return after.total_bytes / before.total_bytes
    if before.partitions and after.partitions:
        return after.partitions / before.partitions
    return 1.0


def not_compared(then: RunConditions | None, now: RunConditions | None) -> list[str]:
    """What is not known of then or of now, in words."""
    both = [each or RunConditions() for each in (then, now)]
    shapes = [each.input or InputFingerprint() for each in both]
    told: dict[str, list[Any]] = {
        "Spark's version": [each.spark for each in both],
        "the settings": [each.settings for each in both],
        "the size of the input": [each.bytes_per_partition for each in shapes],
    }
    return [name for name, values in told.items() if None in values]


def changed(names: Iterable[str]) -> str:
    """That settings have changed: the first names, and how many more."""
    ordered = sorted(set(names))
    more = f" and {len(ordered) - MOST_NAMES} more" if len(ordered) > MOST_NAMES else ""
    return f"{', '.join(ordered[:MOST_NAMES])}{more} {'has' if len(ordered) == 1 else 'have'} changed"
