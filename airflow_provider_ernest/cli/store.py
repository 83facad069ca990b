"""``ernest store``: what is kept of jobs, and what becomes of it."""

from __future__ import annotations

import textwrap
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from typing import cast

from airflow_provider_ernest.cli import store_export, store_import, store_list, store_prune, store_show
from airflow_provider_ernest.cli.command import Command

ACTIONS = (
    store_list.COMMAND,
    store_show.COMMAND,
    store_prune.COMMAND,
    store_export.COMMAND,
    store_import.COMMAND,
)

HELP_WIDTH = 78


def _add_arguments(parser: ArgumentParser) -> None:
    parsers = parser.add_subparsers(metavar="ACTION", required=True)
    for action in ACTIONS:
        added = parsers.add_parser(
            action.name,
            help=action.summary,
            description=textwrap.fill(action.description, HELP_WIDTH),
            epilog=action.epilog,
            formatter_class=RawDescriptionHelpFormatter,
        )
        action.add_arguments(added)
        added.set_defaults(action=action)


def _run(args: Namespace) -> None:
    cast("Command", args.action).run(args)


COMMAND = Command(
    name="store",
    summary="list, show, prune, export and import what is kept of jobs",
    description="Look into a store of models, decisions, production runs, sample runs, marks and what binds "
    "the jobs, remove what is old, and move it. Without --store it is the one that Airflow's configuration "
    "names, by AIRFLOW__ERNEST__STORE or by [ernest] store in airflow.cfg, or else "
    "AIRFLOW_HOME/ernest/store. It needs no Airflow.",
    example="""\
  %(prog)s list
  %(prog)s show nightly-sums
  %(prog)s prune --older-than 90d --dry-run
  %(prog)s export store.jsonl.gz
  %(prog)s import store.jsonl.gz --store /var/lib/ernest/store""",
    add_arguments=_add_arguments,
    run=_run,
)
