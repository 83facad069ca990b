from __future__ import annotations

import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.links.spark_history import history_url


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("http://history:18080", "http://history:18080/history/app-1/jobs/"),
        ("https://spark.example.com/", "https://spark.example.com/history/app-1/jobs/"),
        ("https://example.com/spark/?a=b#c", "https://example.com/spark/history/app-1/jobs/"),
        ("HTTP://[::1]:18080", "http://[::1]:18080/history/app-1/jobs/"),
    ],
)
def test_the_page_of_an_application(server, expected):
    assert history_url(server, "app-1") == expected


def test_an_id_stays_one_segment():
    assert history_url("http://history", "../../x?y#z") == "http://history/history/..%2F..%2Fx%3Fy%23z/jobs/"


@pytest.mark.parametrize(("server", "application_id"), [("", "app-1"), ("http://history", None), ("", None)])
def test_nothing_leads_nowhere(server, application_id):
    assert history_url(server, application_id) is None


@pytest.mark.parametrize(
    "server",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "history:18080",
        "//history:18080",
        "http://",
        "http://[history",
        "http://history:port",
    ],
)
def test_what_is_no_address_of_the_web_is_refused(server):
    with pytest.raises(InvalidParameterError, match=r"\[ernest\] history_server=.* is no address.*Give"):
        history_url(server, "app-1")


def test_a_password_is_refused_and_not_repeated():
    with pytest.raises(InvalidParameterError, match="holds a name or a password") as refused:
        history_url("https://admin:geheim@history", "app-1")
    assert "geheim" not in str(refused.value)
