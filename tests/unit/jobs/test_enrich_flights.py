"""What the application computes from flights and weather, without Spark."""

import argparse
import http.server
import threading
from pathlib import Path

import enrich_flights
import pandas as pd
import pytest
from prepare_flights import data_file, prepare


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return prepare(tmp_path_factory.mktemp("data"), files=3, rows=2000)


@pytest.fixture(scope="module")
def service():
    arguments = argparse.Namespace(
        weather_url=None, weather_csv=data_file("weather.csv"), latency_seconds=0.0
    )
    with enrich_flights.weather_service(arguments, host="127.0.0.1") as url:
        yield url


def totals_of(path: Path, url: str) -> dict[str, enrich_flights.Sums]:
    flights = enrich_flights.parse_flights(path.read_text().splitlines())
    return dict(enrich_flights.summarise(enrich_flights.enrich(flights, url, keys_per_request=25)))


def test_the_report_agrees_with_pandas(folder, service):
    totals: dict[str, enrich_flights.Sums] = {}
    for path in sorted(folder.iterdir()):
        for carrier, sums in totals_of(path, service).items():
            totals[carrier] = enrich_flights.add(totals[carrier], sums) if carrier in totals else sums
    header, *lines = enrich_flights.report(totals.items())
    flights = pd.concat(pd.read_csv(path) for path in folder.iterdir())
    weather = pd.read_csv(data_file("weather.csv"))[["origin", "time_hour", "temp", "wind_speed"]]
    enriched = flights.merge(weather, on=["origin", "time_hour"], how="left").groupby("carrier")
    assert header.split(",") == list(enrich_flights.HEADER)
    assert [line.split(",")[0] for line in lines] == sorted(enriched.groups)
    for line in lines:
        carrier, *figures = line.split(",")
        group = enriched.get_group(carrier)
        expected = [
            len(group),
            group.dep_delay.mean(),
            group.dep_delay.corr(group.temp),
            group.dep_delay.corr(group.wind_speed),
        ]
        assert [float(figure) for figure in figures] == pytest.approx(expected, abs=1e-4, nan_ok=True)


def test_a_refusal_of_the_service_ends_the_run(folder):
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.handle_request).start()  # it answers any POST with 501
        with pytest.raises(RuntimeError, match="answered 501"):
            totals_of(next(folder.iterdir()), f"http://127.0.0.1:{server.server_port}")
