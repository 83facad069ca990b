"""One real Airflow for all tests of the folder, a store of sample models in it, and one real DAG run.

Its API server runs as most do, at the root of an address, with Airflow's simple auth manager. A second one of
the same Airflow, `behind_prefix`, answers below a path and knows a user who may read some DAGs only.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, Route, StorageState, expect

from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.report import STATIC
from benchmarks.browser import chromium, find_chromium, log_in
from benchmarks.demo.airflow_server import AirflowServer
from tests.browser.api_server import api_server
from tests.browser.own_network import own_network
from tests.browser.preview import PREFIX as PREVIEW_PREFIX
from tests.browser.preview import preview_app
from tests.browser.preview_runs import seed_runs
from tests.browser.sample_store import DAG_ID as READABLE_DAG
from tests.browser.sample_store import add_hidden_documents, seed
from tests.browser.site import Site, first_run
from tests.browser.visit import Visit
from tests.integration.conftest import AIRFLOW_FOR_TESTS, wait_until

DAGS = Path(__file__).parent / "dags"
USERS = "admin:admin,viewer:viewer,nobody:"
PREFIX = "/team/airflow"
MORE_MODELS = 8  # so that the list has a second page
NO_CHROMIUM = "needs Chromium: run .ci/ensure_browser, or set CHROMIUM to its program"

NewVisit = Callable[..., Visit]
LogIns = Callable[[Site, str], StorageState]


@pytest.fixture(scope="package", autouse=True)
def network() -> Iterator[None]:
    """A network that nobody else changes: Chromium breaks off what it loads when one of its host's changes.

    Each start and end of the EC2 test bed is such a change, and it may stand beside these tests.
    """
    with own_network():
        yield


@pytest.fixture(scope="package")
def browser(network: None) -> Iterator[Browser]:
    """A real browser; the test is skipped where there is none."""
    if find_chromium() is None:
        pytest.skip(NO_CHROMIUM)
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def scripts(browser: Browser) -> Iterator[Page]:
    """A page without content that can import the scripts by themselves, in the time zone UTC."""
    address = "http://pages.test/"

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(address)
        if path:
            route.fulfill(path=STATIC / path, content_type="text/javascript")
        else:
            route.fulfill(body="<!doctype html>", content_type="text/html")

    context = browser.new_context(timezone_id="UTC")
    page = context.new_page()
    page.route(f"{address}**", answer)
    page.goto(address)
    yield page
    context.close()


@pytest.fixture(scope="package")
def airflow(tmp_path_factory: pytest.TempPathFactory, network: None) -> Iterator[AirflowServer]:
    """Airflow with an empty store."""
    home = tmp_path_factory.mktemp("airflow") / "home"
    environment = {**AIRFLOW_FOR_TESTS, "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": USERS}
    with AirflowServer(home, DAGS, environment=environment) as airflow:
        yield airflow


@pytest.fixture(scope="package")
def empty_store(request: pytest.FixtureRequest, airflow: AirflowServer) -> dict[str, str]:
    """What the page of models shows before there is a model, by the users who see it."""
    if find_chromium() is None:
        return {}
    context = request.getfixturevalue("browser").new_context()
    page = context.new_page()
    log_in(page, airflow.url, username="admin", password=airflow.password)
    page.goto(f"{airflow.url}/ernest/models")
    expect(page.get_by_role("heading", name="Ernest models")).to_be_visible()
    expect(page.get_by_text("Loading")).to_have_count(0)
    shown = {"admin": page.locator("main").inner_text()}
    context.close()
    return shown


@pytest.fixture(scope="package")
def site(airflow: AirflowServer, empty_store: dict[str, str]) -> Site:
    """The Airflow, with models of all kinds and a finished DAG run."""
    store = airflow.home / "ernest" / "store"
    seeded = seed(store, many=MORE_MODELS)
    add_hidden_documents(ModelStore(store), seeded)
    passwords = json.loads((airflow.home / "passwords.json").read_text())
    with airflow.api() as api:
        run_id = first_run(api)
    return Site(url=airflow.url, passwords=passwords, seeded=seeded, run_id=run_id, home=airflow.home)


@pytest.fixture(scope="package")
def behind_prefix(airflow: AirflowServer, site: Site) -> Iterator[Site]:
    """The same behind a path prefix, where the user "viewer" may read one DAG only."""
    from tests.browser.auth_manager import READABLE_DAGS, AuthManagerOfSomeDags

    auth_manager = f"{AuthManagerOfSomeDags.__module__}.{AuthManagerOfSomeDags.__name__}"
    environment = {
        "AIRFLOW__CORE__AUTH_MANAGER": auth_manager,
        READABLE_DAGS: json.dumps({"viewer": [READABLE_DAG]}),
    }
    with api_server(airflow, path=PREFIX, environment=environment) as url:
        yield site.at(url)


@pytest.fixture(scope="package")
def made_up(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The pages with the runs of `preview_runs`, and no Airflow around them."""
    store = Path(tmp_path_factory.mktemp("store"))
    seed_runs(ModelStore(store))
    app = preview_app(store)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started or None, seconds=60, what="the pages without Airflow")
    port = server.servers[0].sockets[0].getsockname()[1]
    yield replace(site, url=f"http://127.0.0.1:{port}{PREVIEW_PREFIX.removesuffix('/ernest')}")
    server.should_exit = True
    thread.join(timeout=30)


@pytest.fixture(scope="package")
def log_ins(browser: Browser) -> LogIns:
    """The cookies of a user who has logged in by Airflow's form; once for each user and site."""
    known: dict[tuple[str, str], StorageState] = {}

    def cookies(site: Site, username: str) -> StorageState:
        if (site.url, username) not in known:
            context = browser.new_context()
            log_in(context.new_page(), site.url, username=username, password=site.passwords[username])
            known[site.url, username] = context.storage_state()
            context.close()
        return known[site.url, username]

    return cookies


@contextmanager
def visits(
    request: pytest.FixtureRequest, browser: Browser, log_ins: LogIns, pictures: Path
) -> Iterator[NewVisit]:
    """Starts visits of users to a site; what goes wrong unseen in one of them fails at the end."""
    started: list[Visit] = []

    def start(site: Site, username: str | None = "admin", **options: object) -> Visit:
        cookies = log_ins(site, username) if username else None
        context = browser.new_context(
            **{"viewport": {"width": 1400, "height": 900}, "storage_state": cookies, **options}
        )
        started.append(Visit(site, context))
        return started[-1]

    failed_before = request.session.testsfailed
    yield start
    problems = [problem for visit in started for problem in visit.problems]
    for number, each in enumerate(started):
        if request.session.testsfailed > failed_before:
            picture = pictures / f"visit-{number}.png"
            each.page.screenshot(path=picture)
            print(f"What the browser showed at {each.page.url}: {picture}")  # noqa: T201 - of a failed test
        each.close()
    assert not problems, "what went wrong in the browser:\n" + "\n".join(problems)


@pytest.fixture
def visit(
    request: pytest.FixtureRequest, browser: Browser, log_ins: LogIns, tmp_path: Path
) -> Iterator[NewVisit]:
    """Starts visits that last as long as the test."""
    with visits(request, browser, log_ins, tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def long_visit(
    request: pytest.FixtureRequest,
    browser: Browser,
    log_ins: LogIns,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[NewVisit]:
    """Starts visits that last as long as the tests of a file, which only look at what is shown."""
    with visits(request, browser, log_ins, tmp_path_factory.mktemp("visits")) as start:
        yield start


@pytest.fixture(scope="module")
def page(request: pytest.FixtureRequest, site: Site, long_visit: NewVisit) -> Page:
    """What the file's `opened` opens, for tests that look at it, and unfold what is folded, and no more."""
    return request.module.opened(site, long_visit)


@pytest.fixture
def own_page(request: pytest.FixtureRequest, site: Site, visit: NewVisit) -> Page:
    """The same for a test that changes what is asked."""
    return request.module.opened(site, visit)
