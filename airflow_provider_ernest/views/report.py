"""The pages' scripts and styles, and reports: a page of the Airflow UI as one HTML file.

A report needs nothing else: it contains the page's scripts and styles, and the answers of the JSON API that
its scripts ask for. All text of users is in these answers, as JSON that cannot break out of its element, and
the policy lets no other script run.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import RunComparison, RunProfile
from airflow_provider_ernest.documents.surveys import Survey
from airflow_provider_ernest.settings import SizingGoal
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.clarity import Clarity, explained_run
from airflow_provider_ernest.views.loaded import no_link
from airflow_provider_ernest.views.model import model_page
from airflow_provider_ernest.views.prediction_request import in_bounds
from airflow_provider_ernest.views.survey import survey_page
from airflow_provider_ernest.views.view import json_ready

if TYPE_CHECKING:
    from airflow_provider_ernest.views.prediction import Prediction

STATIC = Path(__file__).resolve().parents[1] / "web" / "static"

CHARTS = "echarts.min.js"
"""The charts' library, in ``static/vendor``."""

COMMON_STYLES = ("tokens", "base", "components", "tables", "controls", "notices")
STYLES = {
    "models": ("models",),
    "model": ("model", "life", "why"),
    "run": ("run",),
    "survey": ("model", "survey"),
    "analysis": ("model", "why"),
}
"""The pages with their own style sheets; their scripts are ``js/pages/NAME.js``."""


def styles_of(page: str) -> str:
    """All style sheets of a page."""
    names = (*COMMON_STYLES, *STYLES[page])
    return "".join((STATIC / "css" / f"{name}.css").read_text(encoding="utf-8") for name in names)


# All scripts of the pages are written like this; a test checks it.
_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)


@cache
def modules_of(entry: str) -> tuple[str, ...]:
    """A script and all that it imports, as paths in ``static/js``, each after what it imports."""
    ordered: dict[str, None] = {}
    for _, imported in _IMPORT.findall(_source(entry)):
        ordered |= dict.fromkeys(modules_of(_resolved(imported, entry)))
    return *ordered, entry


@cache
def bundled(entry: str) -> str:
    """A script with all that it imports as one classic script, which needs no server."""
    bodies = (f'modules["{name}"] = (() => {{\n{_as_function(name)}}})();\n' for name in modules_of(entry))
    return f'(() => {{\n"use strict";\nconst modules = {{}};\n{"".join(bodies)}}})();\n'


def harmless(data: str) -> str:
    """JSON that cannot break out of its HTML element: it has no ``<``, ``>`` or ``&``."""
    for sign in "<>&":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    return data


def _as_function(name: str) -> str:
    source = _source(name)

    def imported(found: re.Match[str]) -> str:
        names = found[1].replace(" as ", ": ")
        return f'const {{{names}}} = modules["{_resolved(found[2], name)}"];'

    exported = ", ".join(_EXPORT.findall(source))
    return f"{_EXPORT.sub('', _IMPORT.sub(imported, source))}return {{ {exported} }};\n"


def _source(name: str) -> str:
    return (STATIC / "js" / name).read_text(encoding="utf-8")


def _resolved(imported: str, by: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(by), imported))


def of_model(model: Model, prediction: Prediction, *, goal: SizingGoal | None = None) -> str:
    """The page of a model with its prediction, from `prediction_alone`, for a goal.

    It has nothing that needs a store: no production runs, and no further questions.
    """
    page = model_page(ModelStore(Path(os.devnull)), model, (), readable=lambda _: True)
    budget = in_bounds(goal.budget_dollars) if goal else None
    # Without a store it is not known whether code, input or production runs still match the model.
    page = replace(page, badges=page.badges[1:], defaults=replace(page.defaults, budget_dollars=budget))
    answer = prediction.answer
    checks = tuple(check for check in answer.checks if check.name in ("error", "size"))
    prediction = replace(prediction, answer=replace(answer, checks=checks))
    named = {"job": model.job, "instance_type": model.instance_type}
    return _whole_page("model", named, {"api/model": page, "api/prediction": prediction})


def of_run(profile: RunProfile, comparison: RunComparison | None = None) -> str:
    """The page of a run's profile: what a model's page says of it, and of an earlier run beside it."""
    clarity = Clarity(
        sample=explained_run(profile, no_link), reported_by=None, production=None, comparison=comparison
    )
    return _whole_page("analysis", {"job": profile.name or profile.application_id}, {"api/clarity": clarity})


def of_survey(survey: Survey) -> str:
    """The page of a survey."""
    return _whole_page("survey", {}, {"api/survey": survey_page(survey, ())})


def _whole_page(name: str, params: Mapping[str, str], answers: Mapping[str, Any]) -> str:
    """The HTML of a page with the parameters of its address, and answers of the JSON API by path."""
    scripts = ((STATIC / "vendor" / CHARTS).read_text(encoding="utf-8"), bundled(f"pages/{name}.js"))
    digests = (b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    known = " ".join(f"'sha256-{digest}'" for digest in digests)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {known}"
    brought = [{"path": path, "params": params, "answer": answer} for path, answer in answers.items()]
    data = harmless(json.dumps(json_ready(brought), ensure_ascii=True, separators=(",", ":")))
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"    <style>{styles_of(name)}</style>"
    )
    body = [f'<script type="application/json" id="answers">{data}</script>']
    body += [f"<script>{script}</script>" for script in scripts]
    before, after = (STATIC / "page.html").read_text(encoding="utf-8").split("</body>")
    page = before.replace("TITLE", name.capitalize()).replace("<!-- HEAD -->", head)
    page = page.replace("<html ", "<html data-report ", 1)
    return "\n".join([page.rstrip(), *body, f"</body>{after}"])
