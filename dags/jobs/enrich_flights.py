"""An ordinary Spark application: does the weather delay the flights of an airline?

``spark-submit enrich_flights.py INPUT OUTPUT --weather-csv PATH`` reads CSV files of flights, asks a
look-up service over HTTP for the weather at each flight's origin and hour of departure, 25 keys a
request, and writes one CSV report: for each carrier its flights, its mean departure delay and how far
delay goes along with temperature and wind.

The service stands for a remote one. The application starts it itself, beside the driver, with the real
weather of ``--weather-csv`` and with the latency that a remote service would have (12.5 ms a request;
see ``weather_service.py``). Most of the run time is waiting for it, as in many jobs that enrich data;
so on a laptop, too, more executors help. ``--weather-url`` asks another service instead.

Each input file is one partition of one task, so a sample of the files is a sample of the partitions.
"""

from __future__ import annotations

import argparse
import csv
import http.client
import itertools
import json
import logging
import math
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from pyspark import SparkConf, SparkContext  # noqa: TID253 - this is a Spark application, no DAG file

log = logging.getLogger("enrich-flights")

HEADER = (
    "carrier",
    "flights",
    "mean_departure_delay_minutes",
    "delay_temperature_correlation",
    "delay_wind_speed_correlation",
)

Weather = tuple[float | None, float | None]
"""Temperature and wind speed, None where they were not recorded."""

Sums = tuple[float, ...]
"""Sums over flights: flights, departed flights, delay; then :func:`products` with temperature and wind."""


class Flight(NamedTuple):
    """What the report needs of one flight; delay in minutes, None if it never departed."""

    carrier: str
    departure_delay: float | None
    weather_key: str


def parse_flights(lines: Iterable[str]) -> Iterator[Flight]:
    """Read the lines of one CSV file, its header first."""
    rows = csv.reader(lines)
    header = next(rows, None)
    if header is None:
        return
    carrier, delay, origin, hour = map(header.index, ("carrier", "dep_delay", "origin", "time_hour"))
    for row in rows:
        departure_delay = None if row[delay] in ("", "NA") else float(row[delay])
        yield Flight(row[carrier], departure_delay, f"{row[origin]} {row[hour]}")


def enrich(
    flights: Iterable[Flight], weather_url: str, keys_per_request: int
) -> Iterator[tuple[Flight, Weather]]:
    """Pair each flight with its weather, asking over one connection.

    Raises:
        RuntimeError: the service refuses a request.
    """
    remaining = iter(flights)
    connection = http.client.HTTPConnection(urlsplit(weather_url).netloc, timeout=30)
    try:
        while batch := list(itertools.islice(remaining, keys_per_request)):
            connection.request("POST", "/weather", json.dumps([flight.weather_key for flight in batch]))
            response = connection.getresponse()
            answer = response.read()
            if response.status != http.client.OK:
                raise RuntimeError(f"{weather_url} answered {response.status}: {answer[:200]!r}")
            for flight, weather in zip(batch, json.loads(answer), strict=True):
                temperature, wind_speed = weather or (None, None)
                yield flight, (temperature, wind_speed)
    finally:
        connection.close()


def summarise(enriched: Iterable[tuple[Flight, Weather]]) -> Iterable[tuple[str, Sums]]:
    """The sums of each carrier over the flights of one partition."""
    totals: dict[str, Sums] = {}
    for flight, (temperature, wind_speed) in enriched:
        delay = flight.departure_delay
        departed = 0.0 if delay is None else 1.0
        sums = (1.0, departed, delay or 0.0, *products(delay, temperature), *products(delay, wind_speed))
        earlier = totals.get(flight.carrier)
        totals[flight.carrier] = add(earlier, sums) if earlier else sums
    return totals.items()


def products(x: float | None, y: float | None) -> Sums:
    """What one pair adds to the sums that a correlation needs; nothing if either is missing."""
    if x is None or y is None:
        return (0.0,) * 6
    return 1.0, x, y, x * x, y * y, x * y


def add(one: Sums, other: Sums) -> Sums:
    """Element by element."""
    return tuple(map(sum, zip(one, other, strict=True)))


def correlation(sums: Sums) -> float:
    """Pearson's correlation coefficient from summed :func:`products`; NaN where it is not defined."""
    n, x, y, xx, yy, xy = sums
    spread = (n * xx - x * x) * (n * yy - y * y)
    return (n * xy - x * y) / math.sqrt(spread) if spread > 0 else math.nan


def report(totals: Iterable[tuple[str, Sums]]) -> Iterator[str]:
    """The lines of the report, by carrier."""
    yield ",".join(HEADER)
    for carrier, (flights, departed, delay, *pairs) in sorted(totals):
        mean_delay = delay / departed if departed else math.nan
        figures = (mean_delay, correlation(tuple(pairs[:6])), correlation(tuple(pairs[6:])))
        yield ",".join([carrier, f"{flights:.0f}", *(f"{figure:.4f}" for figure in figures)])


@contextmanager
def weather_service(arguments: argparse.Namespace, *, host: str) -> Iterator[str]:
    """The URL of the look-up service, which runs as a child of this process unless a URL was given.

    The child ends when this process closes its end of the pipe, which even SIGKILL does.

    Raises:
        RuntimeError: the service does not start.
    """
    if arguments.weather_url:
        yield arguments.weather_url
        return
    program = Path(__file__).with_name("weather_service.py")
    latency = arguments.latency_seconds
    options = ["--host", host, "--latency-seconds", str(latency)]
    command = [sys.executable, program, arguments.weather_csv, *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"The look-up service did not start on {host}; its error is above.")
        log.info(
            "look-up service at %s with the latency of a remote one, %.1f ms a request", url, 1000 * latency
        )
        try:
            yield url
        finally:
            process.stdin.close()


def run(context: SparkContext, arguments: argparse.Namespace) -> None:
    """Enrich the flights and write the report.

    Raises:
        RuntimeError: the look-up service does not start.
    """
    # The service runs beside the driver, so executors find it where they find the driver.
    host = context.getConf().get("spark.driver.host", "127.0.0.1")
    keys_per_request = arguments.keys_per_request
    with weather_service(arguments, host=str(host)) as url:
        flights = context.textFile(arguments.input, minPartitions=1)
        log.info("%s: %d partitions", arguments.input, flights.getNumPartitions())
        summed = flights.mapPartitions(
            lambda lines: summarise(enrich(parse_flights(lines), url, keys_per_request))
        )
        summed.reduceByKey(add, numPartitions=1).mapPartitions(report).saveAsTextFile(arguments.output)


def main() -> None:
    """Run the application."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    arguments = parse_arguments()
    conf = SparkConf().setAppName("enrich-flights")
    # Whole files only: a later split of a file would lack the header.
    conf.set("spark.hadoop.mapreduce.input.fileinputformat.split.minsize", str(2**62))
    # The report is one file, so a repeated run replaces it.
    conf.set("spark.hadoop.validateOutputSpecs", "false")
    with SparkContext(conf=conf) as context:
        run(context, arguments)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Report for each airline how its delays follow the weather.")
    parser.add_argument("input", help="folder of CSV files of flights, each with a header")
    parser.add_argument("output", help="folder to write the report to")
    service = parser.add_mutually_exclusive_group(required=True)
    service.add_argument("--weather-csv", type=Path, help="start a look-up service for this file")
    service.add_argument("--weather-url", help="ask the look-up service at this URL")
    parser.add_argument("--latency-seconds", type=float, default=0.0125, help="of the service started here")
    parser.add_argument("--keys-per-request", type=int, default=25)
    return parser.parse_args()


if __name__ == "__main__":
    main()
