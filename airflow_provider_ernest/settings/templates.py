"""Settings objects, whose fields may be templates, and what operators keep of them.

The same readers check settings twice: when the DAG file is parsed, where templates are passed over, and once
they are rendered, before anything is started. Airflow finds templates and outputs of tasks in mappings and
lists, not in dataclasses: so an operator keeps the fields of a settings object as a mapping, which Airflow
renders, serialises and shows, and makes the object of it again when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, dataclass_transform

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.settings.values import (
    Reader,
    document,
    flag,
    has_template,
    is_template,
    number,
    optional,
    optional_document,
    optional_number,
    optional_text,
    optional_whole_number,
    refuse_unknown,
    texts,
    truth,
    whole_number,
)

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


def setting(
    read: Reader,
    says: str,
    *,
    default: Any = MISSING,
    default_factory: Callable[[], Any] | Any = MISSING,
    keeps_templates: bool = False,
    kw_only: bool = True,
) -> Any:
    """A field of a settings object.

    Args:
        read: checks its value and gives it its type.
        says: what it is, for the docstring and the command line's help.
        default: without it or a factory the field must be given. Where it is None, so may the field be.
        default_factory: makes the default.
        keeps_templates: it may hold templates that only a later task than the one that reads it renders.
        kw_only: it cannot be given by position.
    """
    given = {"default": default, "default_factory": default_factory}
    defaults = {name: value for name, value in given.items() if value is not MISSING}
    reader = optional(read) if default is None else read
    told = {"read": reader, "says": says, "keeps_templates": keeps_templates}
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
    made.__doc__ = f"{made.__doc__ or ''}\n\n    Attributes:{told}\n\n    {raises}\n"
    return made


def checked(given: DataclassInstance, *, within: str = "") -> dict[str, Any]:
    """The fields of a settings object that are no templates, each read; for its ``__post_init__``.

    In errors, `within` precedes the names of fields, such as "billing.".
    """
    read = {}
    for each in fields(given):
        value, reader = getattr(given, each.name), each.metadata["read"]
        if not is_template(value):
            # Of what is stated as such any text would count as true.
            reader = flag if reader is truth else reader
            read[each.name] = reader(f"{within}{each.name}", value)
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

    A field is read by its reader, see `setting`, else by that of its name in `kind.readers` or of its
    annotation; one that has neither is taken as it is.

    Args:
        kind: class of the settings.
        given: a mapping of its fields, also as JSON text; or an object of that class.
        parameter: that has the settings, for the errors.
        within: precedes the names of fields in errors, such as "billing.".
        is_rendered: no template may be left. Else they are passed over.
    """
    if isinstance(given, kind):
        given = {one.name: getattr(given, one.name) for one in fields(kind)}
    values = document(parameter, given)
    known = fields(kind)
    refuse_unknown(parameter, values, [one.name for one in known])
    needed = [one.name for one in known if one.default is MISSING and one.default_factory is MISSING]
    if missing := [name for name in needed if name not in values]:
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
