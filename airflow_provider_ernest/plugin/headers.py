"""Headers that every answer bears, and the answer where something unforeseen went wrong."""

from __future__ import annotations

import logging

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from airflow_provider_ernest.plugin.errors import BROKEN, error_answer

log = logging.getLogger(__name__)

SECURITY = {
    # Nothing from elsewhere, no scripts in the page itself, and frames only around it in Airflow's own pages.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}


class Headers:
    """ASGI middleware: adds the headers, and turns an unforeseen exception into a plain answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        has_begun = False

        async def with_headers(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            await self.app(scope, receive, with_headers)
        except Exception:
            log.exception("Ernest's page %r could not be answered", scope.get("path"))
            if has_begun:
                raise
            await error_answer(scope, 500, BROKEN)(scope, receive, with_headers)
