"""The description of the JSON API in OpenAPI, derived from the views that it answers with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import msgspec

REFERENCE = "#/components/schemas/{name}"


@dataclass(frozen=True)
class Refusal:
    """Why there is no answer.

    Attributes:
        detail: what is wrong, and what to do.
    """

    detail: str


ANSWERS = {
    "Clarity": "clarity",
    "ModelPage": "model",
    "Models": "models",
    "Prediction": "prediction",
    "Run": "run",
    "SurveyPage": "survey",
}
"""The views that routes answer with, and their modules in `views`. Names, since some of these modules import
the mathematics, which must not be loaded when the API server starts."""


def _response(name: str, description: str) -> dict[str, Any]:
    schema = {"$ref": REFERENCE.format(name=name)}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


REFUSALS: dict[int | str, dict[str, Any]] = {
    401: _response("Refusal", "Nobody is logged in."),
    403: _response("Refusal", "The user may not read this, if it exists at all."),
}


def answers(name: str) -> dict[str, Any]:
    """The description of a route's answer, one of `ANSWERS`, as arguments of its decorator."""
    return {
        "responses": {
            200: _response(name, "The answer."),
            404: _response("Refusal", "There is no such thing."),
            422: _response("Refusal", "A parameter cannot be; says which and why."),
            503: _response("Refusal", "The model store cannot be read."),
        }
    }


def schemas() -> dict[str, Any]:
    """The schemas of all answers by name, described by the dataclasses' docstrings."""
    views: list[Any] = [Refusal]
    for name, module in ANSWERS.items():
        views.append(getattr(import_module(f"airflow_provider_ernest.views.{module}"), name))
    _, found = msgspec.json.schema_components(views, ref_template=REFERENCE)
    return {name: _described(schema) for name, schema in sorted(found.items())}


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a dataclass, whose docstring describes the properties.

    An answer has all fields, also those with defaults, and no others.
    """
    words, _, rest = schema.get("description", "").partition("\n\n")
    attributes = dict(_attributes(rest))
    properties = {}
    for name, form in schema["properties"].items():
        described = {"description": attributes[name]} if name in attributes else {}
        properties[name] = {key: value for key, value in form.items() if key != "default"} | described
    return {
        "title": schema["title"],
        "description": words,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _attributes(text: str) -> Iterator[tuple[str, str]]:
    """What a docstring, after its first line, says of each attribute."""
    _, _, listed = text.partition("Attributes:\n")
    section = re.split(r"\n\s*\n", listed)[0]
    # Further lines of an attribute are indented more than its name.
    for found in re.finditer(r"^ {8}(\w+): (.*(?:\n {9,}.*)*)", section, re.MULTILINE):
        words = " ".join(found[2].split())
        yield found[1], words[:1].upper() + words[1:]
