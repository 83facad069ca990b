"""Prices kept on disk, so that the tasks of a host do not ask AWS for them again and again."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class KnownPrices:
    """What AWS said of one type in one market.

    Attributes:
        time: when it said so, in seconds since the epoch.
        by_zone: dollars per hour by availability zone; on-demand prices have the one zone "".
    """

    time: float
    by_zone: Mapping[str, float]

    def fresh(self, now: float, lifetime_seconds: float) -> bool:
        """Whether they still count. Those of the future do not: a clock was wrong."""
        return 0 <= now - self.time < lifetime_seconds


class PriceCache:
    """Known prices, in memory and in one small file for each type and market.

    A file each, replaced as a whole: processes that write at the same time neither tear a file nor lose
    each other's entries. What cannot be read or written is as good as not cached, and no reason to fail.

    Args:
        directory: made when something is to be kept; None to keep it in memory only.
        region: of the prices.
    """

    def __init__(self, directory: Path | None, region: str) -> None:
        self.directory = directory
        self.region = region
        self._memory: dict[tuple[str, str], KnownPrices] = {}

    def get(self, instance_type: str, market: str, *, since: float) -> KnownPrices | None:
        """What is known, however old; None if nothing.

        Args:
            instance_type: whose price.
            market: on which.
            since: seconds since the epoch; where memory has nothing so new, the file is looked into, since
                another process may have asked.
        """
        key = (instance_type, market)
        remembered = self._memory.get(key)
        if remembered is not None and remembered.time >= since:
            return remembered
        stored = self._read(self._file(instance_type, market))
        if stored is not None and (remembered is None or stored.time > remembered.time):
            self._memory[key] = stored
        return self._memory.get(key)

    def put(self, instance_type: str, market: str, prices: KnownPrices) -> None:
        """Keep what AWS said."""
        self._memory[instance_type, market] = prices
        file = self._file(instance_type, market)
        if file is None:
            return
        try:
            _replace(file, json.dumps({"time": prices.time, "dollars_per_hour": dict(prices.by_zone)}))
        except OSError as error:
            log.warning("Prices cannot be kept in %s, so AWS will be asked again: %s", file, error)

    def _file(self, instance_type: str, market: str) -> Path | None:
        if self.directory is None:
            return None
        # Quoted, since names come from users: no part of one may lead to another directory.
        parts = (quote(part, safe="") for part in (self.region, market, instance_type))
        return self.directory / f"{'_'.join(parts)}.json"

    def _read(self, file: Path | None) -> KnownPrices | None:
        if file is None:
            return None
        try:
            return _parse(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("Ignoring the prices kept in %s, which cannot be read: %r", file, error)
            return None


def _parse(text: str) -> KnownPrices:
    document = json.loads(text)
    by_zone = {str(zone): float(price) for zone, price in document["dollars_per_hour"].items()}
    if not by_zone or not all(math.isfinite(price) and price > 0 for price in by_zone.values()):
        raise ValueError("it holds no prices")
    return KnownPrices(time=float(document["time"]), by_zone=by_zone)


def _replace(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    # A name that no other process or thread has. Not flushed to the disk: what a power cut tears is ignored.
    descriptor, partial = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=".partial")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(partial).replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(partial).unlink()
        raise
