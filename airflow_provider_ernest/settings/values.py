"""Settings objects, whose fields may be templates, and the readers of their values.

A reader takes a parameter's name and value, a literal of a DAG file or what its templates have rendered to,
and returns the value in its type or raises `InvalidParameterError`. The same readers check settings twice:
when the DAG file is parsed, where templates are passed over, and once they are rendered, before anything is
started. Airflow finds templates and outputs of tasks in mappings and lists, not in dataclasses: so an
operator keeps the fields of a settings object as a mapping, which Airflow renders, serialises and shows, and
makes the object of it again when it runs.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, dataclass_transform

from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Spec = TypeVar("Spec", bound=DataclassInstance)
    Number: TypeAlias = Any
    OptionalNumber: TypeAlias = Any
    Count: TypeAlias = Any
    OptionalCount: TypeAlias = Any
else:
    # What documents are read by.
    Number, OptionalNumber, Count, OptionalCount = float, float | None, int, int | None
"""A number, or a template that renders to one: once `settings_of` has read it, a number."""

Kind = TypeVar("Kind")
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
    return lambda parameter, value: None if value in NOTHING else read(parameter, value)


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
    """Dollars for an executor and hour, above 0."""
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


# Settings objects.


def setting(
    read: Reader,
    says: str,
    *,
    default: Any = MISSING,
    default_factory: Callable[[], Any] | Any = MISSING,
    keeps_templates: bool = False,
    kw_only: bool = True,
    formerly: str = "",
) -> Any:
    """A field of a settings object: its reader, and what it is, for the docstring and the command's help.

    Without a default it must be given; where that is None, so may the field be. One that keeps templates may
    hold such as only a later task renders. `formerly` is its name in earlier versions, which is taken, too.
    """
    given = {"default": default, "default_factory": default_factory}
    defaults = {name: value for name, value in given.items() if value is not MISSING}
    reader = optional(read) if default is None else read
    told = {"read": reader, "says": says, "keeps_templates": keeps_templates, "formerly": formerly}
    return field(metadata=told, kw_only=kw_only, **defaults)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(setting,))
def settings(kind: type[Kind]) -> type[Kind]:
    """Make a settings object of a class: frozen, by keywords, checked, with its fields in its docstring."""
    if "__post_init__" not in vars(kind):
        kind.__post_init__ = checked  # type: ignore[attr-defined]
    made = dataclass(frozen=True, kw_only=True)(kind)
    each_field: Any = fields(made)  # type: ignore[arg-type]
    told = "".join(f"\n        {each.name}: {each.metadata['says']}" for each in each_field)
    raises = "Raises:\n        InvalidParameterError: a value that cannot work."
    if any(each.metadata["formerly"] for each in each_field):
        init = made.__init__

        @wraps(init)
        def by_either_name(self: Any, *args: Any, **given: Any) -> None:
            init(self, *args, **_by_names_of_today(made, given))

        made.__init__ = by_either_name  # type: ignore[method-assign]
    made.__doc__ = f"{made.__doc__ or ''}\n\n    Attributes:{told}\n\n    {raises}\n"
    return made


def _by_names_of_today(kind: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a settings object, of which some were given by a former name."""
    names = {former: each.name for each in fields(kind) if (former := each.metadata.get("formerly"))}
    return {names.get(name, name): value for name, value in given.items()}


def checked(given: DataclassInstance) -> dict[str, Any]:
    """The fields of a settings object that are no templates, each read; for its ``__post_init__``."""
    read = {}
    for each in fields(given):
        value, reader = getattr(given, each.name), each.metadata["read"]
        if not is_template(value):
            # Of what is stated as such any text would count as true.
            reader = flag if reader is truth else reader
            read[each.name] = reader(each.name, value)
    return read


def require_type(parameter: str, value: Any, *kinds: type) -> None:
    """Refuse what is no object of one of these classes, such as a dictionary of their fields."""
    if not isinstance(value, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidParameterError(
            parameter, value, f"is not of type {names}", remedy=f"Write {parameter}={kinds[0].__name__}(...)."
        )


def as_template(kind: type[Spec], given: Any, parameter: str) -> Any:
    """A settings object as the value of a template field: its fields as plain data.

    `given` is an object of the class, a mapping of its fields, or a template that renders to one. Values are
    not copied: outputs of tasks stay those of the DAG. Literal values are checked here, the others by
    `settings_of` when the task runs.
    """
    if is_template(given):
        return given
    if isinstance(given, Mapping):
        settings_of(kind, given, parameter, is_rendered=False)
        return dict(given)
    require_type(parameter, given, kind)
    return _plain(given)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def settings_of(
    kind: type[Spec], given: Any, parameter: str, *, within: str = "", is_rendered: bool = True
) -> Spec:
    """The settings object of a rendered template field, each of its values read and checked.

    They are given as a mapping of the fields, also as JSON text, or as an object of that class. A field is
    read by its reader, see `setting`, else by that of its annotation; without either it is taken as it is.
    `within` precedes the names of fields in errors, such as "billing.". Where not all is rendered yet,
    templates are passed over.
    """
    if isinstance(given, kind):
        given = {one.name: getattr(given, one.name) for one in fields(kind)}
    values = _by_names_of_today(kind, document(parameter, given))
    known = fields(kind)
    refuse_unknown(parameter, values, [one.name for one in known])
    needed = [one.name for one in known if one.default is MISSING and one.default_factory is MISSING]
    if missing := [name for name in needed if name not in values]:
        raise InvalidParameterError(
            parameter, dict(values), f"lacks {' and '.join(missing)}", remedy=f"See {kind.__name__}."
        )
    read = dict(values)
    for one in known:
        name = one.name
        reader = one.metadata.get("read") or _READERS.get(str(one.type))
        if name not in values or reader is None:
            continue
        if is_rendered and has_template(values[name]) and not one.metadata.get("keeps_templates"):
            raise InvalidParameterError(f"{within}{name}", values[name], "is still a template")
        if not is_template(values[name]):
            read[name] = reader(f"{within}{name}", values[name])
    return kind(**read)


def _text_by_name(parameter: str, value: Any) -> dict[str, str]:
    given = optional_document(parameter, value)
    return {str(name): str(text) for name, text in (given or {}).items()}


def _text(parameter: str, value: Any) -> str:
    if value is None:
        raise InvalidParameterError(parameter, value, "is not a string")
    return str(value)


_READERS: Mapping[str, Reader] = {
    "int": whole_number,
    "int | None": optional_whole_number,
    "float": number,
    "float | None": optional_number,
    "bool": truth,
    "str": _text,
    "str | None": lambda _, value: optional_text(value),
    "tuple[str, ...]": texts,
    "Mapping[str, str]": _text_by_name,
}
"""By a field's annotation."""
