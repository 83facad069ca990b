"""Values as users state them: literals of a DAG file, or what its templates have rendered to, maybe as text.

Settings are read by the same functions twice: when the DAG file is parsed, where templates are passed over,
and once they are rendered, before anything is started. Each reader takes the name of a parameter and its
value, and returns the value in its type or raises an `InvalidParameterError`.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, dataclass_transform

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.words import count as whole

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

NOTHING = (None, "", "None")
"""What stands for no value: Jinja renders everything as text unless a DAG renders natively."""

_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}


def is_template(value: Any) -> bool:
    """Whether a value is known only when a task runs: a text with Jinja in it, or the output of a task."""
    if isinstance(value, str):
        return "{{" in value or "{%" in value
    # What Airflow resolves. This module knows no Airflow: the command line reads settings, too.
    return hasattr(value, "iter_references")


def has_template(value: Any) -> bool:
    """Whether a value, or anything in it, is known only when a task runs."""
    if isinstance(value, Mapping):
        return any(has_template(each) for each in value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(has_template(each) for each in value)
    return is_template(value)


def setting(
    read: Reader,
    says: str,
    *,
    default: Any = MISSING,
    default_factory: Callable[[], Any] | Any = MISSING,
    keeps_templates: bool = False,
    kw_only: bool = True,
) -> Any:
    """A field of a settings object, with all that is ever said of it: the command line has it from here, too.

    Args:
        read: checks its value and gives it its type.
        says: what it is; a sentence without its first capital and its full stop.
        default: without one, and without a factory of one, it must be stated.
        default_factory: makes the default.
        keeps_templates: it may hold templates that only a later task than the one that reads it renders.
        kw_only: it must be named where it is stated.
    """
    given = {"default": default, "default_factory": default_factory}
    defaults = {name: value for name, value in given.items() if value is not MISSING}
    told = {"read": read, "says": says, "keeps_templates": keeps_templates}
    return field(metadata=told, kw_only=kw_only, **defaults)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(setting,))
def settings(kind: type[Kind]) -> type[Kind]:
    """Make a settings object of a class: frozen, by keywords, with its fields in its docstring."""
    made = dataclass(frozen=True, kw_only=True)(kind)
    each_field: Any = fields(made)  # type: ignore[arg-type]
    told = "".join(f"\n        {each.name}: {each.metadata['says']}" for each in each_field)
    made.__doc__ = f"{made.__doc__ or ''}\n\n    Attributes:{told}\n"
    return made


def checked(given: DataclassInstance, *, within: str = "") -> dict[str, Any]:
    """The fields of a settings object that are no templates, each read; for its ``__post_init__``.

    Args:
        given: the object.
        within: what the names of fields are preceded by in errors, such as "billing.".

    Raises:
        InvalidParameterError: a value cannot be.
    """
    read = {}
    for each in fields(given):
        value, reader = getattr(given, each.name), each.metadata["read"]
        if not is_template(value):
            # Of what is stated as such any text would count as true.
            reader = flag if reader is truth else reader
            read[each.name] = reader(f"{within}{each.name}", value)
    return read


def refuse_unknown(parameter: str, given: Iterable[Any], known: Iterable[str]) -> None:
    """Refuse names that nothing is called by.

    Args:
        parameter: whose value has the names.
        given: the names.
        known: those that there are.

    Raises:
        InvalidParameterError: another one is given.
    """
    for name in given:
        if name not in known:
            raise InvalidParameterError(parameter, name, "is unknown", remedy=f"Use {', '.join(known)}.")


def optional(read: Reader) -> Reader:
    """A reader that takes no value, or what Jinja makes of it, for None."""
    return partial(read_or_nothing, read)


def read_or_nothing(read: Reader, parameter: str, value: Any) -> Any:
    """The value as `read` reads it; None where there is none. See `optional`."""
    return None if value in NOTHING else read(parameter, value)


def number(parameter: str, value: Any) -> float:
    """A finite number."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        result = math.nan
    if not math.isfinite(result) or isinstance(value, bool):
        raise InvalidParameterError(
            parameter,
            value,
            "is not a finite number",
            remedy="Give a number or a template that renders to one.",
        )
    return result


def whole_number(parameter: str, value: Any) -> int:
    """A whole number."""
    result = number(parameter, value)
    if result != int(result):
        raise InvalidParameterError(parameter, value, "is not a whole number")
    return int(result)


def optional_number(parameter: str, value: Any) -> float | None:
    """A finite number, or None where none is given."""
    return None if value in NOTHING else number(parameter, value)


def optional_whole_number(parameter: str, value: Any) -> int | None:
    """A whole number, or None where none is given."""
    return None if value in NOTHING else whole_number(parameter, value)


def positive(parameter: str, value: Any) -> float:
    """A finite number above 0."""
    result = number(parameter, value)
    if result <= 0:
        raise InvalidParameterError(parameter, value, "is not above 0")
    return result


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


def price(parameter: str, value: Any) -> float:
    """Dollars for a machine and hour, above 0."""
    result = number(parameter, value)
    if result <= 0:
        raise InvalidParameterError(
            parameter, value, "is not above 0", remedy="Give the dollars for one machine and hour."
        )
    return result


def one_of(names: Sequence[str]) -> Reader:
    """A reader of one of these names."""
    return partial(read_name, names)


def read_name(names: Sequence[str], parameter: str, value: Any) -> str:
    """The value, which is one of the names. See `one_of`."""
    if not isinstance(value, str) or value not in names:
        raise InvalidParameterError(parameter, value, "is unknown", remedy=f"Use one of {', '.join(names)}.")
    return value


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
    if isinstance(value, str):
        value = _listed(parameter, value)
    if value is None:
        return ()
    if isinstance(value, Mapping) or not hasattr(value, "__iter__"):
        raise InvalidParameterError(parameter, value, "is no list")
    return tuple(str(text) for text in value)


def listed_texts(parameter: str, value: Any) -> tuple[Any, ...]:
    """A list or tuple of texts, which may hold templates. A single text would be taken for its characters."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidParameterError(
            parameter, value, "is no list of texts", remedy=f"Write {parameter}=[...], one text for each."
        )
    for position, each in enumerate(value):
        if not isinstance(each, str) and not is_template(each):
            raise InvalidParameterError(
                f"{parameter}[{position}]", each, "is no text", remedy="Write it in quotes."
            )
    return tuple(value)


def require_type(parameter: str, value: Any, *kinds: type) -> None:
    """Refuse what is no object of one of these classes, such as a dictionary of their fields.

    Raises:
        InvalidParameterError: it is none.
    """
    if not isinstance(value, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidParameterError(
            parameter, value, f"is no {names}", remedy=f"Write {parameter}={kinds[0].__name__}(...)."
        )


def mapping(parameter: str, value: Any) -> Mapping[str, Any]:
    """A mapping with texts as names."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InvalidParameterError(parameter, value, "is no mapping of names to values")
    return value


def prices(parameter: str, value: Any) -> tuple[float | None, dict[str, float]]:
    """One price for all types of machines, and those by type; of the latter also as JSON text."""
    if isinstance(value, str) and value.strip().startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            raise InvalidParameterError(
                parameter, value, "is no JSON", remedy="Render mappings with the filter tojson."
            ) from None
    if not isinstance(value, Mapping):
        return optional(price)(parameter, value), {}
    return None, {
        str(name): price(f"{parameter}[{name!r}]", each)
        for name, each in value.items()
        if each not in NOTHING and not is_template(each)
    }


def _listed(parameter: str, text: str) -> Any:
    text = text.strip()
    if text in NOTHING:
        return None
    if text[0] not in "[(":
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise InvalidParameterError(
            parameter, text, "is no list", remedy="Give a list, or texts separated by commas."
        ) from None


# ---------------------------------------------------------------------------
# The numbers of machines that production may have, from template fields.


MOST_COUNTS = 2_000
"""Each is an alternative, which is computed and kept: a slip of the pen must not fill the memory."""


def machine_counts(*, minimum: Any, maximum: Any, allowed: Any, prefix: str = "") -> tuple[int, ...]:
    """The numbers of machines from least to most, or those of the allowed ones that lie there; ascending.

    Args:
        minimum: the fewest.
        maximum: the most; may be missing where `allowed` says.
        allowed: the only ones, as a list or its text; missing for all.
        prefix: of the parameters' names, for the errors.

    Raises:
        InvalidParameterError: a value cannot be, or none is left.
    """
    least = whole_number(f"{prefix}min_machines", minimum)
    if least < 1:
        raise InvalidParameterError(f"{prefix}min_machines", least, "is not a number of at least 1")
    most = optional_whole_number(f"{prefix}max_machines", maximum)
    name = f"{prefix}allowed_machines"
    listed = None if allowed in NOTHING else [whole_number(name, each) for each in texts(name, allowed)]
    if listed is None:
        return _all(least, most, prefix)
    counts = tuple(sorted({each for each in listed if each >= least and (most is None or each <= most)}))
    if not counts:
        raise InvalidParameterError(
            name,
            allowed,
            f"leaves none from {least} to {'any number' if most is None else most}",
            remedy=f"Allow one of these, or change {prefix}min_machines and {prefix}max_machines.",
        )
    return counts


def _all(least: int, most: int | None, prefix: str) -> tuple[int, ...]:
    if most is None:
        raise InvalidParameterError(
            f"{prefix}max_machines", most, "sets no limit", remedy=f"Give it, or {prefix}allowed_machines."
        )
    if most < least:
        raise InvalidParameterError(
            f"{prefix}min_machines",
            least,
            f"is more than {prefix}max_machines={most}",
            remedy="Lower it, or allow more machines.",
        )
    if most - least >= MOST_COUNTS:
        raise InvalidParameterError(
            f"{prefix}max_machines",
            most,
            f"is more than {whole(MOST_COUNTS)} numbers of machines above {prefix}min_machines={least}",
            remedy=f"Lower it, or list some in {prefix}allowed_machines.",
        )
    return tuple(range(least, most + 1))


def in_words(counts: tuple[int, ...]) -> str:
    """Ascending numbers of machines for a sentence."""
    if len(counts) > 2 and counts[-1] - counts[0] == len(counts) - 1:
        return f"{counts[0]} to {counts[-1]}"
    return ", ".join(str(count) for count in counts)


# ---------------------------------------------------------------------------
# Documents from template fields, which Jinja may have made text of; single values are read by `stated`.


def optional_document(parameter: str, value: Any) -> dict[str, Any] | None:
    """A document as a mapping, given as one or as JSON text; None where none is given.

    Raises:
        InvalidParameterError: the text is no JSON object.
    """
    if value in NOTHING:
        return None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise InvalidParameterError(
                parameter, value, "is no JSON", remedy="Render documents with the filter tojson."
            ) from None
    if value is not None and not isinstance(value, dict):
        raise InvalidParameterError(parameter, value, "is no document")
    return value


def document(parameter: str, value: Any) -> dict[str, Any]:
    """A document as a mapping, given as one or as JSON text.

    Raises:
        InvalidParameterError: there is none, or the text is no JSON object.
    """
    given = optional_document(parameter, value)
    if given is None:
        raise InvalidParameterError(
            parameter, value, "names nothing", remedy="Pass the output of the task that made it."
        )
    return given


# ---------------------------------------------------------------------------
# Settings objects as template fields. Airflow finds templates and outputs of tasks in mappings and lists, not
# in dataclasses: so an operator keeps the fields of a settings object as a mapping, which Airflow renders,
# serialises and shows as it is, and makes the object of it again when it runs.


def documents(parameter: str, value: Any) -> Iterable[Any]:
    """Several documents, given as such or as the JSON text of a list of them; none where none are given.

    Raises:
        InvalidParameterError: the text is no JSON list.
    """
    if not isinstance(value, str):
        return value or ()
    try:
        listed = json.loads(value or "null") or ()
    except ValueError:
        listed = None
    if not isinstance(listed, list | tuple):
        raise InvalidParameterError(
            parameter, value, "is no JSON list", remedy="Render documents with the filter tojson."
        )
    return listed


def as_template(kind: type[Spec], given: Any, parameter: str) -> Any:
    """A settings object as the value of a template field: its fields as plain data.

    Values are not copied: outputs of tasks stay those of the DAG. What is literal is checked here, since
    every settings object checks itself; what is not, `settings_of` checks when the task runs.

    Args:
        kind: class of the settings.
        given: an object of it, a mapping of its fields, or a template that renders to such a mapping.
        parameter: of the operator, for the errors.

    Raises:
        InvalidParameterError: it is something else, or a literal value cannot be.
    """
    if is_template(given):
        return given
    if isinstance(given, Mapping):
        settings_of(kind, given, parameter, is_rendered=False)
        return dict(given)
    require_type(parameter, given, kind)
    return _plain(given)


def settings_of(
    kind: type[Spec], given: Any, parameter: str, *, within: str = "", is_rendered: bool = True
) -> Spec:
    """The settings object of a rendered template field, each of its values read and checked.

    Args:
        kind: class of the settings. Each field is read by its reader, see `setting`, else by that of its
            name in `kind.readers` or of its annotation; one that has neither is taken as it is.
        given: a mapping of its fields, also as JSON text; or an object of that class.
        parameter: that has the settings, for the errors.
        within: what the names of fields are preceded by in errors, such as "billing.".
        is_rendered: no template may be left. Else they are passed over.

    Raises:
        InvalidParameterError: a field is unknown or missing, or a value cannot be.
    """
    if isinstance(given, kind):
        given = {one.name: getattr(given, one.name) for one in fields(kind)}
    values = document(parameter, given)
    known = fields(kind)
    refuse_unknown(parameter, values, [one.name for one in known])
    missing = [
        one.name
        for one in known
        if one.name not in values and one.default is MISSING and one.default_factory is MISSING
    ]
    if missing:
        raise InvalidParameterError(
            parameter, dict(values), f"lacks {' and '.join(missing)}", remedy=f"See {kind.__name__}."
        )
    by_name: Mapping[str, Reader] = getattr(kind, "readers", {})
    read = dict(values)
    for one in known:
        name = one.name
        reader = one.metadata.get("read") or by_name.get(name) or _READERS.get(str(one.type))
        if name not in values or reader is None:
            continue
        if is_rendered and has_template(values[name]) and not one.metadata.get("keeps_templates"):
            raise InvalidParameterError(f"{within}{name}", values[name], "is still a template")
        if not is_template(values[name]):
            read[name] = reader(f"{within}{name}", values[name])
    return kind(**read)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _text_by_name(parameter: str, value: Any) -> dict[str, str]:
    given = optional_document(parameter, value)
    return {str(name): str(text) for name, text in (given or {}).items()}


def _text(parameter: str, value: Any) -> str:
    if value is None:
        raise InvalidParameterError(parameter, value, "is no text")
    return str(value)


def _optional_text(_: str, value: Any) -> str | None:
    return optional_text(value)


_READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "int": whole_number,
    "int | None": optional_whole_number,
    "float": number,
    "float | None": optional_number,
    "bool": truth,
    "str": _text,
    "str | None": _optional_text,
    "tuple[str, ...]": texts,
    "Mapping[str, str]": _text_by_name,
}
"""By a field's annotation."""
