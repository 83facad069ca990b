"""Readers of values as users state them: literals of a DAG file, or what its templates have rendered to.

Each takes a parameter's name and value, and returns the value in its type or raises `InvalidParameterError`.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from airflow_provider_ernest.exceptions import InvalidParameterError

Reader = Callable[[str, Any], Any]
Read = TypeVar("Read")

NOTHING = (None, "", "None")
"""What stands for no value: Jinja renders everything as text unless a DAG renders natively."""

_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}


def is_template(value: Any) -> bool:
    """Whether a value is known only when a task runs: a text with Jinja in it, or the output of a task."""
    if isinstance(value, str):
        return "{{" in value or "{%" in value
    # Airflow's attribute. This module must not import Airflow: the command line reads settings, too.
    return hasattr(value, "iter_references")


def has_template(value: Any) -> bool:
    """Whether a value, or anything in it, is known only when a task runs."""
    if isinstance(value, Mapping):
        return any(has_template(each) for each in value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(has_template(each) for each in value)
    return is_template(value)


def optional(read: Callable[[str, Any], Read]) -> Callable[[str, Any], Read | None]:
    """A reader that takes no value, or what Jinja makes of it, for None."""
    return partial(read_or_nothing, read)


def read_or_nothing(read: Callable[[str, Any], Read], parameter: str, value: Any) -> Read | None:
    """The value as `read` reads it; None where there is none. See `optional`."""
    return None if value in NOTHING else read(parameter, value)


def number(parameter: str, value: Any) -> float:
    """A finite number."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        result = math.nan
    if not math.isfinite(result) or isinstance(value, bool):
        remedy = "Give a number or a template that renders to one."
        raise InvalidParameterError(parameter, value, "is not a finite number", remedy=remedy)
    return result


def whole_number(parameter: str, value: Any) -> int:
    """A whole number."""
    result = number(parameter, value)
    if result != int(result):
        raise InvalidParameterError(parameter, value, "is not a whole number")
    return int(result)


optional_number, optional_whole_number = optional(number), optional(whole_number)


def positive(parameter: str, value: Any, *, remedy: str = "") -> float:
    """A finite number above 0."""
    result = number(parameter, value)
    if result <= 0:
        raise InvalidParameterError(parameter, value, "is not above 0", remedy=remedy)
    return result


def price(parameter: str, value: Any) -> float:
    """Dollars for a machine and hour, above 0."""
    return positive(parameter, value, remedy="Give the dollars for one machine and hour.")


def not_negative(parameter: str, value: Any) -> float:
    """A finite number of at least 0."""
    result = number(parameter, value)
    if result < 0:
        raise InvalidParameterError(parameter, value, "is not a number of at least 0")
    return result


def count(parameter: str, value: Any) -> int:
    """A whole number of at least 1."""
    result = whole_number(parameter, value)
    if result < 1:
        raise InvalidParameterError(parameter, value, "is not a number of at least 1")
    return result


def one_of(names: Sequence[str]) -> Reader:
    """A reader of one of these names."""
    return partial(read_name, names)


def read_name(names: Sequence[str], parameter: str, value: Any) -> str:
    """The value, which is one of the names. See `one_of`."""
    if not isinstance(value, str) or value not in names:
        raise InvalidParameterError(parameter, value, "is unknown", remedy=f"Use one of {', '.join(names)}.")
    return value


def refuse_unknown(parameter: str, given: Iterable[Any], known: Iterable[str]) -> None:
    """Refuse the first of the given names in a parameter's value that is not among the known ones."""
    for name in given:
        if name not in known:
            raise InvalidParameterError(parameter, name, "is unknown", remedy=f"Use {', '.join(known)}.")


def line(parameter: str, value: Any) -> str:
    """A text of one line that is not empty."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidParameterError(parameter, value, "is not a text of one line")
    return value


def flag(parameter: str, value: Any) -> bool:
    """True or False as such: of a field that is not rendered, any text would count as true."""
    if not isinstance(value, bool):
        raise InvalidParameterError(parameter, value, "is neither True nor False")
    return value


def truth(parameter: str, value: Any) -> bool:
    """True or false, given as such or as the text of it."""
    try:
        return _TRUTH["" if value in NOTHING else str(value).strip().lower()]
    except KeyError:
        raise InvalidParameterError(parameter, value, "is neither true nor false") from None


def optional_text(value: Any) -> str | None:
    """A text, or None where none (or an empty or "None" text, as Jinja renders it) is given."""
    return None if value in NOTHING else str(value)


def texts(parameter: str, value: Any) -> tuple[str, ...]:
    """Several texts: a list, its printed form as Jinja renders it, or texts separated by commas."""
    value = value.strip() if isinstance(value, str) else value
    if value is None or value in ("", "None"):
        return ()
    if isinstance(value, str) and value[0] not in "[(":
        value = [part.strip() for part in value.split(",") if part.strip()]
    try:
        listed = ast.literal_eval(value) if isinstance(value, str) else value
    except (ValueError, SyntaxError):
        listed = None
    if isinstance(listed, Mapping) or not hasattr(listed, "__iter__"):
        remedy = "Give a list, or texts separated by commas."
        raise InvalidParameterError(parameter, value, "is not a list", remedy=remedy)
    return tuple(str(text) for text in listed)


def listed_texts(parameter: str, value: Any) -> tuple[Any, ...]:
    """A list or tuple of texts, which may hold templates. A single text would be taken for its characters."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidParameterError(
            parameter, value, "is not a list of strings", remedy=f"Write {parameter}=[...], one string each."
        )
    for position, each in enumerate(value):
        if not isinstance(each, str) and not is_template(each):
            remedy = "Write it in quotes."
            raise InvalidParameterError(f"{parameter}[{position}]", each, "is not a string", remedy=remedy)
    return tuple(value)


def mapping(parameter: str, value: Any) -> Mapping[str, Any]:
    """A mapping with texts as names."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InvalidParameterError(parameter, value, "is not a mapping of names to values")
    return value


def prices(parameter: str, value: Any) -> tuple[float | None, dict[str, float]]:
    """One price for all types of machines, and those by type; of the latter also as JSON text."""
    if isinstance(value, str) and value.strip().startswith("{"):
        value = _from_json(parameter, value, what="mappings")
    if not isinstance(value, Mapping):
        return optional(price)(parameter, value), {}
    return None, {
        str(name): price(f"{parameter}[{name!r}]", each)
        for name, each in value.items()
        if each not in NOTHING and not is_template(each)
    }


def optional_document(parameter: str, value: Any) -> dict[str, Any] | None:
    """A document as a mapping, given as one or as JSON text; None where none is given."""
    if value in NOTHING:
        return None
    if isinstance(value, str):
        value = _from_json(parameter, value, what="documents")
    if value is not None and not isinstance(value, dict):
        raise InvalidParameterError(parameter, value, "is not a document (a mapping)")
    return value


def document(parameter: str, value: Any) -> dict[str, Any]:
    """A document as a mapping, given as one or as JSON text."""
    given = optional_document(parameter, value)
    if given is None:
        raise InvalidParameterError(
            parameter, value, "is empty", remedy="Pass the output of the task that made it."
        )
    return given


def documents(parameter: str, value: Any) -> Iterable[Any]:
    """Several documents, given as such or as the JSON text of a list of them; none where none are given."""
    if not isinstance(value, str):
        return value or ()
    listed = _from_json(parameter, value or "null", what="documents") or ()
    if not isinstance(listed, list | tuple):
        raise InvalidParameterError(parameter, value, "is not a JSON list")
    return listed


def _from_json(parameter: str, text: str, *, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        remedy = f"Render {what} with the filter tojson."
        raise InvalidParameterError(parameter, text, "is not JSON", remedy=remedy) from None
