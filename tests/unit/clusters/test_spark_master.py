import socket

import pytest

from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.spark.machines import read_state


def test_the_state_is_read_in_our_units_without_any_proxy(page, monkeypatch):
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    state = read_state(page.web_url + "/", timeout_seconds=10)

    assert state.master_url == "spark://127.0.0.1:7077"
    assert [machine.host for machine in state.machines] == ["10.0.0.1", "10.0.0.2"]
    assert state.lost == ("10.0.0.3",)
    assert (state.machines[0].cores, state.machines[0].memory_megabytes) == (4, 8192)
    (application,) = state.applications
    assert (application.id, application.cores) == ("app-1", 2)


@pytest.mark.parametrize(
    "body", [b"", b"<html>not found</html>", b"[]", b"{}", b'{"url": "x", "workers": [{}]}']
)
def test_what_is_no_master_is_refused_as_such(page, body):
    page.body = body
    with pytest.raises(ClusterLostError, match="not a Spark standalone master"):
        read_state(page.web_url, timeout_seconds=10)


def test_an_error_page_is_an_unreachable_master(page):
    page.status = 503
    with pytest.raises(ClusterLostError, match="does not answer"):
        read_state(page.web_url, timeout_seconds=10)


def test_a_closed_port_is_an_unreachable_master_and_a_silent_one_is_not_waited_for_without_end():
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ClusterLostError, match="timed out"):
            read_state(url, timeout_seconds=0.2)
    with pytest.raises(ClusterLostError, match=rf"{url}/json/.*refused"):
        read_state(url, timeout_seconds=10)
