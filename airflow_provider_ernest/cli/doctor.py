"""``ernest doctor``: what this host and this AWS account lack for which kind of cluster."""

from __future__ import annotations

import secrets
import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from airflow_provider_ernest.cli.command import Command, add_result_arguments, aligned, tell
from airflow_provider_ernest.cli.machines import add_account_arguments, clients_by_region
from airflow_provider_ernest.cli.store import add_store_argument, airflow_home, configured, open_store
from airflow_provider_ernest.clusters.ec2.aws_errors import REMEDIES, Meaning, meaning_of, said
from airflow_provider_ernest.clusters.ec2.preflight import RIGHTS, require_right
from airflow_provider_ernest.exceptions import ClusterError, ErnestError, MissingResourceError
from airflow_provider_ernest.spark.installation import find_java, find_spark_home, find_spark_submit

LOCAL, EXISTING, EC2, EMR = "local", "existing", "ec2", "emr"
KINDS = (LOCAL, EXISTING, EC2, EMR)
"""Of clusters; "existing" is what a Spark connection of Airflow's names: standalone, YARN, Kubernetes."""

Look: TypeAlias = Callable[[Namespace], str]

OK, MISSING, UNKNOWN = "ok", "missing", "not known"


class UntellableError(Exception):
    """Why a check can neither succeed nor fail."""


def _spark_submit(args: Namespace) -> str:
    found = str(find_spark_submit())
    is_on_path = shutil.which("spark-submit") is not None
    return found if is_on_path else f"{found}; a stock SparkSubmitOperator finds it on the PATH only"


def _store(args: Namespace) -> str:
    store = open_store(args, must_exist=False)
    return _written_to(store.root, "the store", remedy="Name one with --store or AIRFLOW__ERNEST__STORE.")


def _folder(kind: str) -> Look:
    def look(args: Namespace) -> str:
        folder = Path(configured(kind) or airflow_home() / "ernest" / kind).expanduser().absolute()
        return _written_to(folder, kind, remedy=f"Name a folder with AIRFLOW__ERNEST__{kind.upper()}.")

    return look


def _written_to(root: Any, what: str, *, remedy: str) -> str:
    """Write a file there and remove it again, or in the parent of a local folder that does not exist."""
    there = root
    while isinstance(there, Path) and not there.exists():
        there = there.parent
    probe = there / f".ernest-doctor-{secrets.token_hex(4)}"
    try:
        probe.write_bytes(b"Written by `ernest doctor`, which removes it.\n")
        probe.read_bytes()
        probe.unlink()
    except Exception as error:  # the libraries of object stores have errors of their own
        raise MissingResourceError(
            f"{root} ({what}) cannot be written to: {error}.", remedy=remedy
        ) from error
    return f"{root} can be written to" if there is root else f"{root} is not there yet, and can be made"


def _connection(args: Namespace) -> str:
    try:
        from airflow_provider_ernest.operators.existing_cluster import master_of_connection

        # Where drivers on the cluster log is the DAG's matter.
        return f"{args.connection} is {master_of_connection(args.connection, event_logs='')}"
    except ErnestError:
        raise
    except Exception as error:  # no Airflow here, or a database that is not there or not of this version
        raise UntellableError(f"Airflow's connections cannot be read here: {error}") from error


def _identity(args: Namespace) -> str:
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

    (_, clients), *_others = clients_by_region(args).items()
    try:
        return str(clients("sts").get_caller_identity()["Arn"])
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise MissingResourceError(
            f"boto3 finds no credentials: {error}.", remedy="Name a profile with --profile, or set them up."
        ) from error
    except (BotoCoreError, ClientError) as error:
        if meaning_of(error) is Meaning.NOT_ALLOWED:
            # Without the cause: its text may hold the encoded authorisation message.
            raise MissingResourceError(f"{said(error)}.", remedy=REMEDIES[Meaning.NOT_ALLOWED]) from None
        raise UntellableError(said(error)) from None


def _right(action: str) -> Look:
    def look(args: Namespace) -> str:
        for clients in clients_by_region(args).values():
            try:
                require_right(clients("ec2"), action, RIGHTS[action])
            except ClusterError as error:
                raise UntellableError(error.message) from None
        return "allowed"

    return look


ACCOUNT = ("boto3", "credentials")
"""Checks without which AWS cannot be asked anything; all checks after them ask AWS."""

CHECKS: tuple[tuple[str, tuple[str, ...], Look], ...] = (
    ("Java", (LOCAL, EXISTING, EC2), lambda args: str(find_java())),
    ("Spark", (LOCAL,), lambda args: str(find_spark_home())),
    ("spark-submit", (LOCAL, EXISTING, EC2), _spark_submit),
    ("store", KINDS, _store),
    *((kind, KINDS, _folder(kind)) for kind in ("staging", "event_logs")),
    ("connection", (EXISTING,), _connection),
    ("boto3", (EC2, EMR), lambda args: f"boto3, regions: {', '.join(clients_by_region(args))}"),
    ("credentials", (EC2, EMR), _identity),
    *((f"ec2:{action}", (EC2,), _right(action)) for action in RIGHTS),
)
"""Names, the kinds of clusters that need them, and what says what is there or raises what is wrong."""


def findings(args: Namespace) -> list[dict[str, Any]]:
    """What the checks find that the kinds asked for need; no rights where boto3 knows no credentials.

    The state is OK, MISSING or UNKNOWN; `found` is what is there or what is wrong, and the remedy what to
    change, empty where nothing is missing.
    """
    result = []
    for name, needed_for, look in CHECKS:
        if not set(needed_for) & set(args.kinds or KINDS):
            continue
        state, found, remedy = OK, "", ""
        try:
            found = look(args)
        except ErnestError as error:
            state, found, remedy = MISSING, error.message, error.remedy or ""
        except UntellableError as reason:
            state, found = UNKNOWN, str(reason)
        result.append(
            {"check": name, "state": state, "found": found, "remedy": remedy, "needed_for": needed_for}
        )
        if name in ACCOUNT and state != OK:
            break
    return result


def _lines(found: Sequence[Mapping[str, Any]], missing: Mapping[str, Sequence[str]]) -> Iterator[str]:
    columns = ("check", "state", "found")
    yield from aligned(columns, ([each[name] for name in columns] for each in found))
    yield ""
    for kind, names in missing.items():
        lacking = f"not ready, for want of {', '.join(names)}"
        yield f"{kind}: {lacking if names else 'ready, as far as can be told'}"
    remedies = {each["remedy"]: each["check"] for each in reversed(found) if each["state"] == MISSING}
    if remedies:
        yield from ("", "what to change")
        yield from (f"  {name}: {remedy}" for remedy, name in reversed(remedies.items()))


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--for",
        dest="kinds",
        action="append",
        choices=KINDS,
        help="this kind of cluster, which must be ready; may be repeated; default: look at all",
    )
    add_store_argument(parser)
    parser.add_argument(
        "--connection",
        metavar="ID",
        default="spark_default",
        help="Airflow's connection to an existing cluster: standalone, YARN, Kubernetes; default %(default)s",
    )
    add_account_arguments(parser.add_argument_group("AWS"))
    add_result_arguments(parser, result="what was found")


def _run(args: Namespace) -> None:
    found = findings(args)
    missing = {
        kind: [each["check"] for each in found if each["state"] == MISSING and kind in each["needed_for"]]
        for kind in args.kinds or KINDS
    }
    document = {"checks": found, "missing": missing, "ready": {kind: not missing[kind] for kind in missing}}
    tell(args, lambda: _lines(found, missing), lambda: document)
    lacking = [kind for kind in args.kinds or () if missing[kind]]
    if lacking:
        raise MissingResourceError(
            f"Not ready for {', '.join(lacking)}.", remedy="What to change is told with each check."
        )


COMMAND = Command(
    name="doctor",
    summary="show what is missing for which kind of cluster, and what to change",
    description="Look for Java, Spark and spark-submit, write to the store and the folders for samples and "
    "event logs, look up the Spark connection, and let AWS judge by dry runs, which start nothing, whether "
    "the credentials have the rights. A DAG asks for the right to launch with its own machines, before it "
    "starts any. Run it where Airflow's tasks run: as their user, with their environment. AWS "
    "is asked where boto3 knows a region and credentials.",
    example="""\
  %(prog)s
  %(prog)s --for local
  %(prog)s --for ec2 --region eu-west-1
  %(prog)s --for existing --connection spark_prod --format json""",
    add_arguments=_add_arguments,
    run=_run,
)
