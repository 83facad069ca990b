"""The ready message, through notifiers of several kinds and by mail."""

from __future__ import annotations

import asyncio
import json
import logging
from email import message_from_string, policy
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from airflow.sdk import DAG, BaseNotifier

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.notifications.model_stale import ModelStaleNotifier
from airflow_provider_ernest.operators.recording import notify_stale
from tests import examples

MARK = examples.mark(
    job="enrich",
    model_id="model-1",
    reason="The application <job.jar> {{ 7 * 7 }} has another content. Train again.",
)


@pytest.fixture
def context() -> dict[str, Any]:
    ti = SimpleNamespace(dag_id="nightly", task_id="ernest.find_model", run_id="manual__1")
    return {"ti": ti, "dag": DAG("nightly", schedule=None)}


def tell(notifier: BaseNotifier, context: dict[str, Any]) -> None:
    notify_stale(notifier, context=context, marks=[MARK], log=logging.getLogger("task"))


class Chat(BaseNotifier):
    template_fields = ("channel", "text")
    sent: list[tuple[str, str]] = []  # noqa: RUF012

    def __init__(self, channel: str = "#data", text: str = "This is a default message") -> None:
        super().__init__()
        self.channel = channel
        self.text = text

    def notify(self, context) -> None:
        self.sent.append((self.channel, self.text))

    async def async_notify(self, context) -> None:
        self.sent.append((self.channel, self.text))


class Page(BaseNotifier):
    template_fields = ("summary",)


@pytest.fixture(autouse=True)
def sent() -> list[tuple[str, str]]:
    Chat.sent = []
    return Chat.sent


def test_the_message_says_which_model_why_and_who_noticed(context):
    tell(ModelStaleNotifier(Chat()), context)

    ((channel, text),) = Chat.sent
    assert channel == "#data"
    assert text.splitlines() == [
        "The model of enrich on m5.large is stale (code).",
        "The application <job.jar> {{ 7 * 7 }} has another content. Train again.",
        "Model: model-1",
        "Noticed by nightly / ernest.find_model, run manual__1, at 2026-01-01T00:00:00+00:00.",
    ]


def test_a_message_of_ones_own_is_a_template(context):
    notifier = ModelStaleNotifier(Chat("#{{ ernest_mark.job }}"), message="{{ ernest_mark.cause }}!")
    tell(notifier, context)
    tell(notifier, context)

    assert Chat.sent == [("#enrich", "code!")] * 2


def test_it_can_be_awaited(context):
    notifier = ModelStaleNotifier(Chat(), message="{{ ernest_mark.model_id }}")
    notifier.context = {**context, "ernest_mark": MARK}

    async def send() -> None:
        await notifier

    asyncio.run(send())

    assert Chat.sent == [("#data", "model-1")]


def test_a_notifier_without_a_text_is_refused():
    with pytest.raises(InvalidParameterError, match=r"'Page', has none of the fields text, message|Page"):
        ModelStaleNotifier(Page())


@pytest.mark.parametrize("is_native", [False, True])
def test_it_is_mailed(context, monkeypatch, is_native):
    smtp = pytest.importorskip("airflow.providers.smtp.notifications.smtp")
    context["dag"] = DAG("mailing", schedule=None, render_template_as_native_obj=is_native)
    server = MagicMock()
    monkeypatch.setattr("smtplib.SMTP", lambda *_, **__: server)
    extra = {"disable_ssl": True, "disable_tls": True, "from_email": "ernest@example.com"}
    connection = {"conn_type": "smtp", "host": "mail.example.com", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_SMTP_DEFAULT", json.dumps(connection))
    tell(ModelStaleNotifier(smtp.SmtpNotifier(to="data@example.com")), context)

    (sent,) = server.sendmail.call_args_list
    mail = message_from_string(sent.kwargs["msg"], policy=policy.default)
    assert mail["To"] == "data@example.com"
    assert mail["Subject"] == "The model of enrich on m5.large is stale"
    page = mail.get_body(("html",)).get_content()
    assert "The application &lt;job.jar&gt; {{ 7 * 7 }} has another content. Train again.<br>" in page
    assert "Noticed by nightly / ernest.find_model" in page
