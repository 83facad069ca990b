"""The look-up service answers with the real weather and never outlives who started it."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import psutil
import pytest
import weather_service
from prepare_flights import data_file

COMMAND = [sys.executable, weather_service.__file__, str(data_file("weather.csv")), "--latency-seconds", "0"]


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


@pytest.fixture
def connection(process: subprocess.Popen[str]) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection(urlsplit(process.stdout.readline().strip()).netloc, timeout=30)
    yield connection
    connection.close()


def ask(connection: http.client.HTTPConnection, body: str, path: str = "/weather") -> tuple[int, object]:
    connection.request("POST", path, body)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


@pytest.mark.parametrize("body", ["", "EWR", '{"key": "EWR"}', "[1]"])
def test_refuses_what_is_no_list_of_keys(connection, body):
    status, answer = ask(connection, body)
    assert status == 400
    assert "JSON list of strings" in answer["error"]


def test_ends_when_its_input_does_even_with_a_client_connected(process, connection):
    assert ask(connection, "[]") == (200, [])
    process.stdin.close()
    assert process.wait(timeout=30) == 0


def test_ends_when_its_parent_is_killed():
    start = (
        "import subprocess, sys\n"
        "service = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "service.stdout.readline()\n"
        "print(service.pid, flush=True)\n"
        "service.wait()\n"
    )
    command = [sys.executable, "-c", start, *COMMAND]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as parent:
        service = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        service.wait(timeout=30)
    assert not service.is_running()
