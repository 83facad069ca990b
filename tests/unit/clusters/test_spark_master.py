import contextlib
import http.server
import json
import socket
import threading

import pytest

from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.spark.master import read_state


@contextlib.contextmanager
def answering(body, *, status=200):
    """A web server on a loopback address that gives one answer to everything."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


# As Spark 4.2 gives it, shortened to what its documentation lists.
STATE = {
    "url": "spark://127.0.0.1:7077",
    "workers": [
        {"id": "worker-1", "host": "127.0.1.1", "port": 41, "cores": 2, "memory": 1024, "state": "ALIVE"},
        {"id": "worker-2", "host": "127.0.1.2", "port": 42, "cores": 2, "memory": 1024, "state": "DEAD"},
    ],
    "activeapps": [
        {"id": "app-1", "name": "etl", "cores": 2, "state": "RUNNING", "starttime": 1700000000500},
    ],
}


def test_the_state_is_read_in_our_units():
    with answering(json.dumps(STATE).encode()) as url:
        state = read_state(url + "/", timeout_seconds=10)
    assert state.master_url == "spark://127.0.0.1:7077"
    assert [worker.alive for worker in state.workers] == [True, False]
    assert [worker.host for worker in state.workers_alive] == ["127.0.1.1"]
    assert state.workers[0].memory_megabytes == 1024
    (application,) = state.applications
    assert (application.id, application.cores) == ("app-1", 2)


def test_proxies_are_bypassed(monkeypatch):
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    with answering(json.dumps(STATE).encode()) as url:
        assert read_state(url, timeout_seconds=10).workers


@pytest.mark.parametrize(
    "body", [b"", b"<html>not found</html>", b"[]", b"{}", b'{"url": "x", "workers": [{}]}']
)
def test_what_is_no_master_is_refused_as_such(body):
    with answering(body) as url, pytest.raises(ClusterLostError, match="no Spark standalone master"):
        read_state(url, timeout_seconds=10)


def test_an_error_page_is_an_unreachable_master():
    with answering(b"busy", status=503) as url, pytest.raises(ClusterLostError, match="does not answer"):
        read_state(url, timeout_seconds=10)


def test_a_closed_port_is_an_unreachable_master():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ClusterLostError, match=rf"127.0.0.1:{port}/json/.*refused"):
        read_state(f"http://127.0.0.1:{port}", timeout_seconds=10)


def test_a_master_that_is_silent_is_not_waited_for_without_end():
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ClusterLostError, match="timed out"):
            read_state(url, timeout_seconds=0.2)
