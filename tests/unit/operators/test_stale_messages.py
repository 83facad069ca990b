"""Who is notified that a model is stale, how often, and that nobody can hinder the task."""

from __future__ import annotations

import logging
import re

import pytest
from airflow.sdk import BaseNotifier

from airflow_provider_ernest.documents.models import ModelMark
from airflow_provider_ernest.operators.recording import notify_stale
from tests import examples

LOG = logging.getLogger("task")


def mark(number: int = 1) -> ModelMark:
    return examples.mark(
        id=f"mark-{number}",
        job="enrich",
        instance_type=f"m{number}.large",
        model_id=f"model-{number}",
        reason=f"Reason {number}.",
    )


def tell(callbacks, context, *marks: ModelMark) -> None:
    notify_stale(callbacks, context=context, marks=marks or (mark(),), log=LOG)


class Noted(BaseNotifier):
    """Keeps what it would send."""

    template_fields = ("text",)
    sent: list[str]

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.sent = []

    def notify(self, context) -> None:
        self.sent.append(self.text)


def test_a_callable_gets_the_context_with_the_mark(context):
    told = []
    tell(told.append, context)

    (seen,) = told
    assert seen["ernest_mark"] == mark()
    assert seen["ti"] is context["ti"]
    assert "ernest_mark" not in context, "it is no business of the task's own context"


def test_a_notifier_renders_its_templates_anew_for_each_mark(context):
    notifier = Noted("{{ ernest_mark.job }} on {{ ernest_mark.instance_type }}: {{ ernest_mark.reason }}")

    tell(notifier, context, mark(1), mark(2))

    assert notifier.sent == ["enrich on m1.large: Reason 1.", "enrich on m2.large: Reason 2."]
    assert "{{" in notifier.text, "the next run needs the template, too"
    assert "text" not in context


def test_each_of_several_is_called_for_each_mark_once(context):
    first, second = [], []
    tell([first.append, second.append], context, mark(1), mark(2), mark(1))

    for told in (first, second):
        assert [each["ernest_mark"].id for each in told] == ["mark-1", "mark-2"]


def failing(context) -> None:
    raise RuntimeError("no route to host")


@pytest.mark.parametrize(
    ("callback", "words"),
    [
        (failing, r"failing was not told that model model-1 is stale: RuntimeError: no route to host"),
        (Noted("{{ ernest_mark.no_such.thing }}"), r"Noted was not told .* UndefinedError"),
        (BaseNotifier(), r"BaseNotifier was not told .* NotImplementedError"),
        ("a text", r"str was not told .* not callable"),
    ],
    ids=["callable", "template", "no notify", "no callable"],
)
def test_one_that_fails_is_a_warning_and_the_next_is_called(callback, words, context, caplog):
    told = []
    tell([callback, told.append], context)

    assert len(told) == 1
    warnings = [record for record in caplog.records if record.name == "task"]
    assert [record.levelname for record in warnings] == ["WARNING"]
    assert re.search(words, warnings[0].getMessage())
