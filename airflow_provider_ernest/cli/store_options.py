"""Which store is meant, and the options that its commands share."""

from __future__ import annotations

import configparser
import os
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.cli.output import warn
from airflow_provider_ernest.exceptions import MissingResourceError

if TYPE_CHECKING:
    from airflow_provider_ernest.model.store import ModelStore

SECTION = "ernest"

CONNECTION = re.compile(r"^(?P<scheme>[a-z0-9+.-]+://)(?P<connection>[^/@]*)@", re.IGNORECASE)
NAMES_A_CONTAINER = ("abfs", "wasb", "adl")
"""Schemes in which what stands before the @ is part of the place."""

MOST_EXPANSIONS = 10
"""Of one value: a variable that names itself has no end."""

DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0}


def add_store_argument(parser: ArgumentParser) -> None:
    """The option --store."""
    parser.add_argument(
        "--store",
        metavar="ROOT",
        help="root of the store: a folder, or a URL such as s3://bucket/ernest; default: the one that "
        "Airflow is configured with",
    )


def add_json_argument(parser: ArgumentParser) -> None:
    """The option --json."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_job_arguments(parser: ArgumentParser) -> None:
    """The options --job and --type."""
    parser.add_argument("--job", metavar="NAME", help="only of this job")
    parser.add_argument("--type", metavar="TYPE", help="only on this type of machine")


def age_in_days(text: str) -> float:
    """Days from ``90d``, ``12h``, ``4w`` or a number of days.

    Raises:
        ArgumentTypeError: the text is none of these.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([hdw]?)", text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is no age such as 90d, 12h or 4w")
    return float(found[1]) * DAYS[found[2] or "d"]


def at_least_one(text: str) -> int:
    """A whole number of at least 1.

    Raises:
        ArgumentTypeError: the text is none.
    """
    if not re.fullmatch(r"\d+", text) or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def configured(option: str) -> str:
    """What Airflow is configured with for an option of ``[ernest]``: its environment, then its file.

    Variables of the environment in it are replaced, as Airflow does.
    """
    given = os.environ.get(f"AIRFLOW__{SECTION.upper()}__{option.upper()}")
    return _expanded(_in_file(option) if given is None else given)


def airflow_home() -> Path:
    """Where Airflow keeps its things."""
    return Path(_expanded(os.environ.get("AIRFLOW_HOME", "~/airflow"))).expanduser()


def _expanded(text: str) -> str:
    """The text as Airflow reads it: a variable's value may name others."""
    for _ in range(MOST_EXPANSIONS):
        expanded = os.path.expandvars(text)
        if expanded == text:
            break
        text = expanded
    return text


def open_store(args: Namespace, *, must_exist: bool = True) -> ModelStore:
    """The store that is meant.

    Args:
        args: of the command line.
        must_exist: whether it has to be there already.

    Raises:
        StoreError: no storage is known by this address, or the package for it is missing.
        MissingResourceError: there is no such folder.
    """
    from airflow_provider_ernest.model.storage.stored_files import store_errors
    from airflow_provider_ernest.model.store import ModelStore

    address = args.store or configured("store") or str(airflow_home() / SECTION / "store")
    with store_errors(f"The model store {address!r} cannot be opened"):
        root = _root(address)
        if must_exist and not root.exists():
            raise MissingResourceError(
                f"There is no model store at {root}.",
                remedy="Name its root with --store, or set AIRFLOW__ERNEST__STORE.",
            )
    return ModelStore(root)


def _root(address: str) -> Any:
    if "://" not in address:
        return Path(address).expanduser().absolute()
    from fsspec import get_filesystem_class
    from upath import UPath

    # For a scheme that it does not know, UPath is a local path.
    get_filesystem_class(address.partition("://")[0])
    connection = CONNECTION.match(address)
    if connection and not connection["scheme"].lower().startswith(NAMES_A_CONTAINER):
        address = CONNECTION.sub(r"\g<scheme>", address)
        warn(
            [
                f"connections are Airflow's: {address} is opened with the credentials that the storage's "
                "library finds by itself"
            ]
        )
    return UPath(address)


def _in_file(option: str) -> str:
    """The option in airflow.cfg; empty where there is none."""
    path = Path(
        _expanded(os.environ.get("AIRFLOW_CONFIG") or str(airflow_home() / "airflow.cfg"))
    ).expanduser()
    parser = configparser.ConfigParser(strict=False)
    try:
        parser.read(path, encoding="utf-8")
        return parser.get(SECTION, option, fallback="").strip()
    except (configparser.Error, UnicodeDecodeError, OSError) as error:
        warn([f"{path} cannot be read: {error}"])
        return ""
