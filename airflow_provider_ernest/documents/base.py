"""What all JSON documents have in common: how they are written, read back, checked and named.

Each is a frozen dataclass with keyword-only fields: swapped (scale, executors) pairs would go unnoticed.
``to_dict`` gives what XCom and the store hold, ``from_dict`` reads it back and refuses what does not fit. All
times are in seconds, all prices in US dollars unless the name says otherwise; None means unknown.
"""

from __future__ import annotations

import math
import re
import secrets
from dataclasses import Field, dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any, ClassVar, Self, TypedDict, dataclass_transform

from airflow_provider_ernest.exceptions import InvalidDocumentError

SCHEMA = 2
"""Of the documents that this version of the package reads and writes; of 1 it reads them, too."""

Interval = tuple[float, float]
"""Seconds: the lower and the upper end."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Document:
    """Base of the documents: its subclasses are frozen dataclasses with keyword-only fields."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(frozen=True, kw_only=True)(cls)

    def to_dict(self) -> dict[str, Any]:
        """The document as JSON-compatible builtins, with its schema number."""
        import msgspec

        # By way of JSON, since its lists stay lists in XCom, where tuples become objects of Airflow's own.
        return {"schema": SCHEMA, **msgspec.json.decode(msgspec.json.encode(self))}

    @classmethod
    def of_schema_1(cls, data: dict[str, Any]) -> dict[str, Any]:
        """The data of a document of schema 1, in today's form."""
        return dict(_with_executors(data))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read a document. Numbers may be strings, as Jinja makes them where a DAG renders no native objects.

        Raises:
            InvalidDocumentError: the data does not have this document's form: a field of it is unknown or
                missing, or a number of it is not finite; or it has another schema.
        """
        import msgspec

        if not isinstance(data, dict):
            raise InvalidDocumentError(
                f"A {cls.__name__} document must be a mapping, not {type(data).__name__}: {data!r}."
            )
        schema = data.get("schema", SCHEMA)
        if schema not in (1, SCHEMA) or isinstance(schema, bool):
            raise InvalidDocumentError(
                f"This {cls.__name__} document has schema {schema}; this version of the package reads "
                f"schema {SCHEMA}.",
                remedy="Upgrade airflow-provider-ernest, or train the model again.",
            )
        if schema == 1:
            data = cls.of_schema_1(data)
        _learn(cls)
        try:
            document = msgspec.convert(data, cls, strict=False)
        # Whole numbers beyond all floats are told by those who compare them.
        except (msgspec.ValidationError, ArithmeticError) as error:
            raise InvalidDocumentError(f"This is no {cls.__name__} document: {error}.") from error
        _compare(cls, data, msgspec.to_builtins(document))
        return document


_OF_SCHEMA_1 = {
    **{f"{which}machines": f"{which}executors" for which in ("", "min_", "max_", "allowed_", "mean_")},
    **{
        f"{which}machine_hours{rate}": f"{which}executor_hours{rate}"
        for which in ("", "training_", "saved_", "likely_saved_")
        for rate in ("", "_per_month")
    },
    "machines_octaves": "executors_octaves",
    "cores_per_machine": "executor_cores",
    "memory_megabytes_per_machine": "executor_memory_megabytes",
}
_MACHINES = re.compile(r"\bmachines\b")


def _with_executors(data: Any) -> Any:
    """A document that counted machines, each with one executor, by the names of today's fields."""
    if isinstance(data, list):
        return [_with_executors(each) for each in data]
    if not isinstance(data, dict):
        return data
    # Lists of machines are still called so.
    renamed = {
        name if isinstance(value, list) and name == "machines" else _OF_SCHEMA_1.get(name, name): (
            _with_executors(value)
        )
        for name, value in data.items()
    }
    # Terms are formulas of what is counted: those of a design, of a model, and of what is believed of one.
    if "criterion" in data and "terms" in data:
        renamed["terms"] = [_MACHINES.sub("executors", str(term)) for term in data["terms"]]
    elif "name" in data and ("coefficient" in data or "probability" in data):
        renamed["name"] = _MACHINES.sub("executors", str(data["name"]))
    return renamed


def _compare(form: type[Document], given: Any, read: Any, where: str = "") -> None:
    """Refuse fields that were not read, such as misspelt ones, and numbers that JSON cannot hold."""
    if isinstance(read, dict):
        # What was a document by itself has a schema also inside another one.
        for name in given.keys() - read.keys() - {"schema"}:
            raise InvalidDocumentError(
                f"This is no {form.__name__} document: {f'{where}{name}'!r} is unknown.",
                remedy="Correct it, or leave it out; a document of a newer version needs that one: upgrade "
                "then.",
            )
        for name in given.keys() & read.keys():
            _compare(form, given[name], read[name], f"{where}{name}.")
    elif isinstance(read, list | tuple):
        for each_given, each_read in zip(given, read, strict=True):
            _compare(form, each_given, each_read, where)
    elif isinstance(read, float) and not math.isfinite(read):
        raise InvalidDocumentError(f"{where.rstrip('.')}={read!r} is not a finite number.")


_known_forms: set[type[Document]] = set()
_learning = Lock()


def _learn(form: type[Document]) -> None:
    """Let msgspec learn a class. It shows that to other threads before it is whole, and they crash."""
    import msgspec

    if form not in _known_forms:
        with _learning:
            msgspec.json.Decoder(form)
            _known_forms.add(form)


def positive(**values: float) -> None:
    """Refuse values that are not finite numbers above 0, by name."""
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise InvalidDocumentError(f"{name}={value!r} is not a finite number above 0.")


def not_negative(**values: float) -> None:
    """Refuse values that are not finite numbers of at least 0, by name."""
    for name, value in values.items():
        if not (math.isfinite(value) and value >= 0):
            raise InvalidDocumentError(f"{name}={value!r} is not a finite number of at least 0.")


class Origin(Document):
    """The task instance of Airflow that made something."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int = -1  # -1 where the task is not mapped
    try_number: int = 1  # 1 for the first attempt


Key = tuple[str, str]
"""The kind and the id of a record."""


class Stored(Document):
    """What a model store keeps in a file of its own, for good: nothing that was written is changed again.

    Its JSON also says its ``kind``, by which a document of another kind is refused.
    """

    kind: ClassVar[str]
    words: ClassVar[str]
    """The kind for people."""

    id: str  # unique among those that lie beside it; sorts by time, see `new_id`
    at: str  # when it was made, ISO 8601 with UTC offset

    def to_dict(self) -> dict[str, Any]:
        """The document as JSON-compatible builtins, with its schema number and its kind."""
        return {"kind": self.kind, **super().to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read a document, see `Document.from_dict`."""
        if isinstance(data, dict):
            if data.get("kind", cls.kind) != cls.kind:
                raise InvalidDocumentError(
                    f"This is no {cls.__name__} document: its kind is {data['kind']!r}."
                )
            # Earlier versions stored a digest of the rest.
            data = {name: value for name, value in data.items() if name not in ("kind", "digest")}
        return super().from_dict(data)


class Record(Stored):
    """What is kept of a job on a type of machine."""

    job: str
    instance_type: str
    origin: Origin | None = None  # the task instance that made it; None outside Airflow

    @property
    def references(self) -> tuple[Key, ...]:
        """The records without which this one cannot be understood."""
        return ()


def keys(form: type[Record], *ids: str | None) -> tuple[Key, ...]:
    """Keys of the records of a kind with these ids, without those that are not known, each once."""
    return tuple((form.kind, each) for each in dict.fromkeys(ids) if each)


def is_outside(seconds: float, interval: Interval | None) -> bool:
    """Whether a time is outside an interval; not outside one that is not known."""
    return interval is not None and not interval[0] <= seconds <= interval[1]


_TIME = "%Y%m%dT%H%M%S.%fZ"


def new_id(now: datetime) -> str:
    """A unique name that sorts by time as text; `now` has a time zone, the name is in UTC."""
    return f"{now.astimezone(UTC):{_TIME}}-{secrets.token_hex(4)}"


class Stamp(TypedDict):
    """The fields that `new_stamp` makes."""

    id: str
    at: str


def new_stamp(moment: datetime | None = None) -> Stamp:
    """The `id` and the `at` of a record that was made at a moment with its time zone; None for now."""
    moment = moment or datetime.now(UTC)
    return {"id": new_id(moment), "at": moment.isoformat()}


def moment_of(name: str) -> datetime | None:
    """When something got its name from `new_id`; None of another name."""
    try:
        return datetime.strptime(name.partition("-")[0], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def time_of(at: str) -> datetime | None:
    """The time that a record says of itself, taken as UTC where it names no zone; None where it is none."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
