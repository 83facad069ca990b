"""What Airflow loads of the plugin, and what it pays for it."""

import asyncio
import subprocess
import sys
import threading
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from airflow_provider_ernest.web.airflow_plugin import ErnestPlugin, LazyApp

HEAVY = ("numpy", "scipy", "cvxpy", "pandas", "boto", "pyspark")

IMPORTED = """
import airflow.plugins_manager, sys
before = set(sys.modules)
import airflow_provider_ernest.web.airflow_plugin
print(*sorted(set(sys.modules) - before))
"""

SERVED = """
import sys
from pathlib import Path
from airflow_provider_ernest.store.store import ModelStore
from tests.unit.web.pages_app import pages
from tests.unit.views.dag_runs import example_run, model
store = ModelStore(Path(sys.argv[1]))
store.save(model())
client = pages(store=store, runs=lambda dag_id, run_id: example_run())
for path in sys.argv[2:]:
    assert client.get(path).status_code == 200, path
print(*sys.modules)
"""

# The description of the API is derived from the views, predictions among them; programmers ask for it.
MODEL = "job=nightly%20join&instance_type=m5.xlarge"
PAGES = (
    *("/models", "/model", "/run", "/api/models", "/api/run?dag_id=a&run_id=b"),
    *(f"/api/{name}?{MODEL}" for name in ("model", "clarity")),
)


def modules_of(program: str, *arguments: str) -> list[str]:
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True, cwd=root
    )
    return done.stdout.split()


def test_a_component_of_airflow_that_loads_the_plugin_loads_no_web_server_and_no_mathematics():
    loaded = modules_of(IMPORTED)
    assert "airflow_provider_ernest.web.airflow_plugin" in loaded
    assert not [name for name in loaded if not name.startswith("airflow_provider_ernest")]


def test_the_pages_and_their_lists_are_served_without_mathematics_until_it_is_called_for(tmp_path: Path):
    loaded = modules_of(SERVED, str(tmp_path), *PAGES)
    assert "airflow_provider_ernest.web.app" in loaded
    assert not [name for name in loaded if name.startswith(HEAVY)]


def test_airflow_finds_the_plugin():
    (found,) = entry_points(group="airflow.plugins", name="ernest")
    assert found.load() is ErnestPlugin


def test_the_views_are_where_the_application_is_mounted_with_routes_of_their_own():
    (mounted,) = ErnestPlugin.fastapi_apps
    places = [urlsplit(view["href"]) for view in ErnestPlugin.external_views]
    # Relative, or they would leave a path prefix that Airflow runs behind.
    assert all(not place.netloc and not place.path.startswith("/") for place in places)
    assert {f"/{place.path.split('/')[0]}" for place in places} == {mounted["url_prefix"]}
    places = [view["destination"] for view in ErnestPlugin.external_views]
    assert places == ["nav", "dag_run", "task_instance"]
    assert len({view["url_route"] for view in ErnestPlugin.external_views}) == len(places)


class TestLazyApp:
    @pytest.fixture
    def built(self, monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
        """The paths that the application answered, behind None for each time that it was built."""
        told: list[str | None] = []

        async def application(scope: Any, receive: Any, send: Any) -> None:
            told.append(scope["path"])

        def create_app() -> Any:
            told.append(None)
            return application

        monkeypatch.setattr("airflow_provider_ernest.web.app.create_app", create_app)
        return told

    def test_it_is_built_once_however_many_ask_at_the_same_time(self, built: list[str | None]):
        lazy = LazyApp()

        async def ask() -> None:
            await asyncio.gather(*(lazy({"path": f"/{number}"}, None, None) for number in range(20)))

        threads = [threading.Thread(target=asyncio.run, args=(ask(),)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (built.count(None), len(built)) == (1, 1 + 60)

    def test_one_that_could_not_be_built_is_tried_again(
        self, built: list[str | None], monkeypatch: pytest.MonkeyPatch
    ):
        def failing() -> None:
            raise RuntimeError("the disk is full")

        lazy = LazyApp()
        with monkeypatch.context() as broken:
            broken.setattr("airflow_provider_ernest.web.app.create_app", failing)
            with pytest.raises(RuntimeError, match="disk is full"):
                asyncio.run(lazy({"path": "/a"}, None, None))
        asyncio.run(lazy({"path": "/b"}, None, None))
        assert built == [None, "/b"]
