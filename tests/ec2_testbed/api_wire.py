"""What goes over the wire: requests as AWS's clients send them, answers as they expect them."""

from __future__ import annotations

import io
import json
import re
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlencode
from xml.sax.saxutils import escape

Environment = dict[str, Any]
StartResponse = Callable[..., Any]
WsgiApplication = Callable[[Environment, StartResponse], Iterable[bytes]]

XML = "text/xml;charset=UTF-8"
JSON = "application/x-amz-json-1.1"

_CREDENTIAL = re.compile(r"Credential=[^/]+/[^/]+/([^/]+)/([^/]+)/aws4_request")


@dataclass
class Request:
    """A call of an AWS action."""

    environment: Environment
    service: str
    region: str
    action: str
    form: dict[str, str]
    body: bytes

    @property
    def parameters(self) -> dict[str, Any]:
        if self.form:
            return {key: value for key, value in self.form.items() if key not in ("Action", "Version")}
        try:
            document = json.loads(self.body or b"{}")
        except ValueError:
            return {}
        return document if isinstance(document, dict) else {}


@dataclass
class Answer:
    """What the caller gets."""

    status: int
    body: bytes
    headers: list[tuple[str, str]]

    def send(self, start_response: StartResponse) -> list[bytes]:
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            phrase = "Unknown"
        headers = [header for header in self.headers if header[0].lower() != "content-length"]
        start_response(f"{self.status} {phrase}", [*headers, ("Content-Length", str(len(self.body)))])
        return [self.body]


class ApiError(Exception):
    """A refusal in AWS's form."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


def read_request(environment: Environment) -> Request:
    length = int(environment.get("CONTENT_LENGTH") or 0)
    body = environment["wsgi.input"].read(length) if length else b""
    scope = _CREDENTIAL.search(environment.get("HTTP_AUTHORIZATION", ""))
    region, service = scope.groups() if scope else ("us-east-1", "")
    form = {}
    if environment.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        form = dict(parse_qsl(body.decode(), keep_blank_values=True))
    target = environment.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
    rest = f"{environment.get('REQUEST_METHOD')} {environment.get('PATH_INFO')}"
    return Request(environment, service.lower(), region, form.get("Action") or target or rest, form, body)


def pass_on(application: WsgiApplication, request: Request, form: Mapping[str, str] | None = None) -> Answer:
    body = request.body if form is None else urlencode(form).encode()
    environment = {**request.environment, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    got: dict[str, Any] = {}

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        got.update(status=int(status.split()[0]), headers=headers)

    data = b"".join(application(environment, start_response))
    return Answer(got["status"], data, got["headers"])


def error_answer(request: Request, error: ApiError) -> Answer:
    """The error in the protocol in which was asked."""
    if request.form:
        body = {"Errors": [{"Code": error.code, "Message": error.message}], "RequestID": "testbed"}
        text = to_xml("Response", body).replace("<item>", "<Error>").replace("</item>", "</Error>")
        return Answer(error.status, text.encode(), [("Content-Type", XML)])
    return json_answer({"__type": error.code, "message": error.message}, error.status)


def json_answer(document: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(document).encode(), [("Content-Type", JSON)])


def xml_answer(action: str, content: Mapping[str, Any]) -> Answer:
    namespace = "http://ec2.amazonaws.com/doc/2016-11-15/"
    text = to_xml(f"{action}Response", {"requestId": "testbed", **content}, f' xmlns="{namespace}"')
    return Answer(200, text.encode(), [("Content-Type", XML)])


def to_xml(name: str, value: Any, attributes: str = "") -> str:
    """An element: mappings become elements, sequences `<item>`s; None and empty texts are left out."""
    if value is None or value == "":
        return ""
    if isinstance(value, Mapping):
        content = "".join(to_xml(key, part) for key, part in value.items())
    elif isinstance(value, list | tuple):
        content = "".join(to_xml("item", part) for part in value)
    elif isinstance(value, bool):
        content = str(value).lower()
    else:
        content = escape(str(value))
    return f"<{name}{attributes}>{content}</{name}>"


def numbered(form: Mapping[str, str], prefix: str) -> list[str]:
    """The values of "prefix.1", "prefix.2", ... in their order."""
    keys = [key for key in form if re.fullmatch(rf"{re.escape(prefix)}\.\d+", key)]
    return [form[key] for key in sorted(keys, key=lambda key: int(key.rpartition(".")[2]))]


def break_connection(environment: Environment) -> None:
    connection: socket.socket = environment["werkzeug.socket"]
    connection.shutdown(socket.SHUT_RDWR)
    raise ConnectionAbortedError("broken on purpose")
