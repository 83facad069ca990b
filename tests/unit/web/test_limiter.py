"""A store that hangs takes a few threads of the API server, and the others go on answering."""

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.web import answers as limiter
from airflow_provider_ernest.web.app import create_app
from tests.unit.web.pages_app import pages

REQUESTS = 42
"""More than an API server has threads."""
GENEROUS = 60.0


class HangingStore(ModelStore):
    """Does not answer until it is let go on."""

    def __init__(self, root):
        super().__init__(root)
        self.hanging, self.all_hang, self.goes_on = 0, threading.Event(), threading.Event()
        self._counting = threading.Lock()

    @property
    def catalogue(self):
        with self._counting:
            self.hanging += 1
            if self.hanging == limiter.MOST_AT_ONCE:
                self.all_hang.set()
        assert self.goes_on.wait(GENEROUS)
        return self._catalogue

    @catalogue.setter
    def catalogue(self, catalogue):
        self._catalogue = catalogue


@pytest.fixture
def store(tmp_path):
    store = HangingStore(tmp_path)
    yield store
    store.goes_on.set()


@pytest.fixture
def _impatient(monkeypatch):
    monkeypatch.setattr(limiter, "MOST_SECONDS_IN_LINE", 0.2)
    monkeypatch.setattr(limiter, "MOST_SECONDS", 0.2)


@pytest.fixture
def client(store, _impatient):
    """Of a server that has the pages beside another route, on the threads that they share."""
    host = FastAPI()
    host.mount("/ernest", pages(store=store).app)

    @host.get("/heartbeat")
    def heartbeat():
        return "alive"

    server = uvicorn.Server(uvicorn.Config(host, port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        thread.join(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=GENEROUS) as client:
        yield client
    store.goes_on.set()
    server.should_exit = True
    thread.join(GENEROUS)


def test_a_store_that_hangs_stops_no_heartbeat(client, store):
    with ThreadPoolExecutor(REQUESTS) as people:
        asked = [people.submit(client.get, "/ernest/api/models") for _ in range(REQUESTS)]
        assert store.all_hang.wait(GENEROUS)

        assert client.get("/heartbeat").json() == "alive"

        answers = [each.result() for each in asked]
    assert not store.goes_on.is_set(), "all were answered while the store hung"
    assert {answer.status_code for answer in answers} == {503}
    assert {answer.headers["Retry-After"] for answer in answers} == {"60"}
    told = [answer.json()["detail"] for answer in answers]
    assert all("[ernest] store" in each for each in told)
    assert store.hanging == limiter.MOST_AT_ONCE
    store.goes_on.set()
    while client.get("/ernest/api/models").status_code != 200:
        pass


def test_pages_that_read_no_store_need_no_place(client, store):
    with ThreadPoolExecutor(limiter.MOST_AT_ONCE) as people:
        for _ in range(limiter.MOST_AT_ONCE):
            people.submit(client.get, "/ernest/api/models")
        assert store.all_hang.wait(GENEROUS)

        assert client.get("/ernest/models").status_code == 200
        store.goes_on.set()


def test_the_pages_are_limited_as_they_are_served():
    assert limiter.Limiter in [each.cls for each in create_app().user_middleware]
