"""Where a path leads: the file system of its scheme, as far as its library is installed."""

from __future__ import annotations

from typing import Any

from airflow_provider_ernest.exceptions import MissingResourceError


def filesystem_of(path: str) -> tuple[Any, str]:
    """The fsspec file system of a path, and the path in it.

    Args:
        path: local or of any fsspec scheme (s3a is read as s3).

    Raises:
        MissingResourceError: the library that reads this scheme is not installed.
        ValueError: fsspec does not know the scheme.
    """
    import fsspec

    # Hadoop calls "s3a" what everybody else calls "s3".
    address = f"s3://{path[6:]}" if path.startswith("s3a://") else path
    try:
        filesystem, root = fsspec.url_to_fs(address)
    except ImportError as error:
        problem = str(error).rstrip(".")
        raise MissingResourceError(
            f"The library that reads {path!r} cannot be imported: {problem}.", remedy=_remedy(address)
        ) from error
    return filesystem, root


def _remedy(address: str) -> str:
    if address.startswith("s3://"):
        return 'Install it on the Airflow workers: pip install "airflow-provider-ernest[s3]".'
    return "Install it on the Airflow workers."
