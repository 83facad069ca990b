"""A ready message that a model is stale, for any notifier: mail, Slack, Teams and the rest."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from airflow.sdk import BaseNotifier

from airflow_provider_ernest.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from airflow.sdk import Context

SUBJECT = "The model of {{ ernest_mark.job }} on {{ ernest_mark.instance_type }} is stale"
MESSAGE = """\
The model of {{ ernest_mark.job }} on {{ ernest_mark.instance_type }} is stale ({{ ernest_mark.cause }}).
{{ ernest_mark.reason }}
Model: {{ ernest_mark.model_id }}
Noticed by {{ ti.dag_id }} / {{ ti.task_id }}, run {{ ti.run_id }}, at {{ ernest_mark.at }}."""

_SUBJECTS = ("subject", "title", "summary")
_TEXTS = ("text", "message", "body", "message_body")
_HTML = ("html_content",)


class ModelStaleNotifier(BaseNotifier):
    """Hand a message that a model is stale to another notifier.

    .. code-block:: python

        ErnestTaskGroup(..., on_stale=ModelStaleNotifier(SmtpNotifier(to="data@example.com")))

    To write the whole message yourself, pass the other notifier to ``on_stale`` as it is.

    Args:
        notifier: sends it. One of its template fields must be "text", "message", "body", "message_body" or
            "html_content", in which the message is escaped.
        subject: a template, with ``ernest_mark`` (a `ModelMark`) beside Airflow's own variables.
        message: likewise.

    Raises:
        InvalidParameterError: the notifier has no field for a text.
    """

    def __init__(self, notifier: BaseNotifier, *, subject: str = SUBJECT, message: str = MESSAGE) -> None:
        super().__init__()
        if not {*notifier.template_fields} & {*_TEXTS, *_HTML}:
            raise InvalidParameterError(
                "notifier",
                type(notifier).__name__,
                f"has none of the fields {', '.join((*_TEXTS, *_HTML))}",
                remedy="Pass it to on_stale itself, with a message of your own: {{ ernest_mark.reason }}.",
            )
        self.notifier = notifier
        self.subject = subject
        self.message = message

    def notify(self, context: Context) -> None:
        """Send it."""
        self._filled()(context)

    async def async_notify(self, context: Context) -> None:
        """Send it without waiting in this thread."""
        filled = self._filled()
        filled.context = context
        await filled

    def _filled(self) -> BaseNotifier:
        """A copy of the other notifier with templates in its fields, which it renders itself.

        A rendered text would be rendered again, with whatever a path or a job's name holds.
        """
        filled = copy.copy(self.notifier)
        # Not by {% autoescape %}, which DAGs that render native objects pass over.
        escaped = '{{ message | string | e | replace("\n", "<br>\n") }}'
        page = f"{{% set message %}}{self.message}{{% endset %}}<p>{escaped}</p>"
        for names, template in ((_SUBJECTS, self.subject), (_TEXTS, self.message), (_HTML, page)):
            for name in names:
                if name in filled.template_fields:
                    setattr(filled, name, template)
        return filled
