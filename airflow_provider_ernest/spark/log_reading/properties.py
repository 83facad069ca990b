"""Spark's properties as a log tells them, without the secret ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from airflow_provider_ernest.addresses import names_a_secret, without_credentials

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHARED_ACCESS_SIGNATURE = re.compile(r"[._]sas(?:[._]|$)", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"secret|passw(?:or)?d|token|access[.]?key|redacted", re.IGNORECASE)


def told_properties(properties: Mapping[str, object]) -> dict[str, str]:
    """The properties of which neither name nor value tells of a secret.

    Both are looked at as Spark does it (``spark.redaction.regex``), but for more words: Spark's own pass over
    the account keys of Azure's storage.
    """
    return {
        name: without_credentials(value)
        for name, value in properties.items()
        if isinstance(value, str) and not _is_secret(name, value)
    }


def _is_secret(name: str, value: str) -> bool:
    return (
        names_a_secret(name)
        or _SHARED_ACCESS_SIGNATURE.search(name) is not None
        or _SECRET_VALUE.search(value) is not None
    )
