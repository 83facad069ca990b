"""``ernest analyze``: why a run took as long as it did, from its event log."""

from __future__ import annotations

import textwrap
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Iterator, Sequence

from airflow_provider_ernest.cli import command
from airflow_provider_ernest.documents.profiles import STAGE, ComparedPart, RunComparison, RunProfile
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.views.profile_words import (
    category_name,
    cautions,
    longest,
    quantile,
    share_without,
    short,
    stage_number,
    unmeasured_in_words,
    waiting,
    what_if_in_words,
)
from airflow_provider_ernest.words import (
    UNKNOWN,
    as_percent,
    count,
    counted,
    duration,
    percentage,
    shortened,
    signed_percentage,
    tenths,
)

WHAT_IF = {
    **dict.fromkeys(("cpu", "network", "disk"), command.above_zero),
    **dict.fromkeys(("cores", "executors"), command.at_least_one),
}
"""How many times as fast a core, the network or the disks of a machine are, and how many there are."""

CHANGE_HELP = (
    "predict the run on other machines: how many times as fast a core (cpu), the network or the disks (disk) "
    "of a machine are, how many cores it has, and how many executors there are, such as disk=2 network=0.5 "
    "cores=8; may be repeated, each for a prediction of its own"
)


def one_change(text: str) -> tuple[str, float]:
    """A name and a number of ``NAME=NUMBER``."""
    name, _, number = text.partition("=")
    name = "executors" if name == "machines" else name  # as it was called, and is on clusters of one each
    if name not in WHAT_IF:
        raise ArgumentTypeError(f"{text!r} is not NAME=NUMBER with a name of {', '.join(WHAT_IF)}")
    return name, WHAT_IF[name](number)


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "event_log",
        metavar="EVENTLOG",
        nargs="+",
        help="event log of an application, as Spark wrote it: a file, compressed or not, a folder "
        "eventlog_v2_..., or an address such as s3://bucket/spark-events/app-1; two logs are compared, the "
        "second with the first, which may be last-good: the newest run of the same job before the second "
        "that ended well",
    )
    parser.add_argument(
        "--logs",
        metavar="LOGS",
        action="append",
        help="where event logs are, as of ernest history; a log may then be named by its application's id; "
        "default for last-good: the folder of the other log",
    )
    outputs = command.add_result_arguments(parser, result="the whole profile, of two logs the comparison")
    outputs.add_argument("--html", metavar="FILE", help="write a page with charts")
    other = parser.add_argument_group("other machines")
    says = f"replay the run on other {command.EXECUTORS_HELP}; default: up to four times as many"
    command.add_executors_argument(other, says=says)
    other.add_argument(
        "--what-if", metavar="NAME=NUMBER", type=one_change, nargs="+", action="append", help=CHANGE_HELP
    )


def _run(args: Namespace) -> None:
    from airflow_provider_ernest.clarity.comparison import compare_runs
    from airflow_provider_ernest.clarity.monotasks import Change
    from airflow_provider_ernest.clarity.profile import profile_run
    from airflow_provider_ernest.eventlog.reading import read_event_log
    from airflow_provider_ernest.views.report import of_run
    from airflow_provider_ernest.views.view import json_ready

    if len(args.event_log) > 2:
        raise InvalidParameterError(
            "EVENTLOG", args.event_log, "are more than two", remedy="Analyse others one by one."
        )
    command.refuse_further(args, "html")
    changes = args.what_if and [Change(**dict(parts)) for parts in args.what_if]
    profiles = [
        profile_run(read_event_log(source), executor_counts=args.executors, changes=changes, event_log=source)
        for source in _event_logs(args)
    ]
    result, comparison = "profile", None
    lines, document = profile_lines(profiles[-1]), profiles[-1].to_dict()
    if len(profiles) == 2:
        result, comparison = "comparison", compare_runs(*profiles)
        lines = comparison_lines(comparison, profiles)
        document = {**json_ready(comparison), "profiles": [profile.to_dict() for profile in profiles]}
    command.tell(args, lambda: lines, lambda: document)
    for profile in profiles:
        of_which = f"{profile.application_id}: " if comparison else ""
        command.warn(*(f"{of_which}{warning}" for warning in profile.warnings))
    if args.html is not None:
        command.write_text(args.html, of_run(profiles[-1], comparison), force=args.force)
    command.say_written(args, {"page": args.html, result: args.output})


def _event_logs(args: Namespace) -> list[str]:
    """The logs that are named, by an id or as the last good run, too."""
    named: list[str] = args.event_log
    if not args.logs and "last-good" not in named:
        return named
    from airflow_provider_ernest.cli.history import progress_of, usual_cache
    from airflow_provider_ernest.history.lookup import LAST_GOOD, last_good_before, log_of_application
    from airflow_provider_ernest.history.scan import Scan

    if LAST_GOOD in named and (len(named) != 2 or named[1] == LAST_GOOD):
        raise InvalidParameterError(
            "EVENTLOG",
            LAST_GOOD,
            "is not followed by one run",
            remedy="Name the later run behind it, as in ernest analyze last-good spark-events/app-2.",
        )
    logs = args.logs or []
    found = [each if each == LAST_GOOD else log_of_application(each, logs) for each in named]
    if found[0] == LAST_GOOD:
        told = progress_of("event logs read")
        found[0] = last_good_before(
            found[1], logs, lambda places: Scan(places, cache=usual_cache(), told=told)
        )
    return found


SCREEN_WIDTH = 110


def titled_table(
    title: str, heading: Sequence[str], rows: Iterable[Sequence[str]], *, words: Sequence[str] = ()
) -> list[str]:
    """An empty line, a title, and a table; nothing if there are no rows.

    Columns that are not among `words` hold numbers, which stand to the right.
    """
    listed = list(rows)
    if not listed:
        return []
    numbers = ", ".join(name for name in heading if name not in words)
    lines = command.aligned(heading, listed, right=numbers)
    return ["", shortened(title, SCREEN_WIDTH), *(f"  {shortened(line, SCREEN_WIDTH - 2)}" for line in lines)]


def wrapped(words: str, *, indent: str = "", further: str = "  ") -> list[str]:
    """A sentence in lines, the first with `indent`, the others with `further` ahead."""
    return textwrap.wrap(
        words, SCREEN_WIDTH, initial_indent=indent, subsequent_indent=further, break_on_hyphens=False
    )


MOST_STAGES = 20
"""So many are listed: those that took longest."""

MOST_STRAGGLERS = 5

LONGEST_NAME = 26
"""Of a stage, in letters."""


def stage_lines(profile: RunProfile) -> list[str]:
    """What the longest stages did with their time."""
    shown = longest(profile.stages, MOST_STAGES)
    every = len(profile.stages) + profile.stages_left_out
    title = "stages" if len(shown) == every else f"the {len(shown)} longest of {count(every)} stages"
    title += ", with their median and longest task in seconds, warm-up of first tasks left out"
    times = {
        "stage": [stage_number(stage) for stage in shown],
        "name": [shortened(stage.name, LONGEST_NAME) for stage in shown],
        "seconds": [tenths(stage.seconds) for stage in shown],
        "tasks": [count(stage.tasks) for stage in shown],
        "median": [quantile(stage, 0.5) for stage in shown],
        "longest": [quantile(stage, 1.0) for stage in shown],
        "bound by": [short(stage.bottleneck) for stage in shown],
        "waits for": [
            "".join(f"{short(name)} {as_percent(share)}" for name, share in waiting(stage)[:1])
            for stage in shown
        ],
    }
    # Columns that say nothing are left out.
    told = {name: cells for name, cells in times.items() if any(cells)}
    return titled_table(
        title, tuple(told), zip(*told.values(), strict=True), words=("name", "bound by", "waits for")
    )


def straggler_lines(profile: RunProfile) -> list[str]:
    """The stragglers by cause, and the worst of them."""
    lines = titled_table(
        "stragglers: tasks that took over 1.5 times their stage's median, warm-up of first tasks included",
        ("cause", "tasks", "too long by", "seconds without", "won at most"),
        (
            (
                each.cause,
                count(each.tasks),
                duration(each.excess_seconds),
                tenths(each.seconds_without),
                as_percent(share_without(profile, each.seconds_without)),
            )
            for each in profile.straggler_causes
        ),
        words=("cause",),
    )
    for each in profile.stragglers[:MOST_STRAGGLERS]:
        host = f" on {each.host}" if each.host else ""
        because = f": {each.evidence}" if each.evidence else ""
        told = (
            f"- stage {each.stage_id}, task {each.task_id}{host}: {duration(each.seconds)} (median "
            f"{duration(each.median_seconds)}), {each.cause}{because}"
        )
        lines += wrapped(told, indent="  ", further="    ")
    return lines


def profile_lines(profile: RunProfile) -> list[str]:
    """All that the profile says except its warnings; no line is wider than a screen."""
    return [
        *wrapped(f"{profile.name} ({profile.application_id})" if profile.name else profile.application_id),
        *(line for caution in cautions(profile) for line in wrapped(caution)),
        *(wrapped(profile.headline) if profile.headline else []),
        *wrapped("; ".join(_run_in_words(profile))),
        *_advice(profile),
        *_limits(profile),
        *stage_lines(profile),
        *straggler_lines(profile),
        *_what_ifs(profile),
        *_sizes(profile),
    ]


MOST_PARTS, LEAST_SHOWN, LONGEST_PART = 12, 0.05, 60
"""So many parts of two runs are listed, those that differ most, and by so many seconds; letters of a name."""


def comparison_lines(comparison: RunComparison, profiles: Sequence[RunProfile]) -> list[str]:
    """What differs between two runs: the sum first, then its parts with their causes."""
    told = [part for part in comparison.parts if abs(part.difference_seconds) >= LEAST_SHOWN][:MOST_PARTS]
    rows = [_part_cells(part) for part in told]
    if rest := len(comparison.parts) - len(told):
        hidden = comparison.difference_seconds - sum(part.difference_seconds for part in told)
        rows.append(("", counted(rest, "other part"), "", "", _signed(hidden)))
    whole = tenths(comparison.earlier_seconds), tenths(comparison.later_seconds)
    rows.append(("", "all", *whole, _signed(comparison.difference_seconds)))
    names = [f"{profile.name or UNKNOWN} ({profile.application_id})" for profile in profiles]
    reasons = [
        f"{part.name}{f' (stage {_stage_numbers(part)})' if part.kind == STAGE else ''}, "
        f"{_signed(part.difference_seconds)} s: {'; '.join(part.causes)}"
        for part in told
        if part.causes
    ]
    return [
        *(line for words in (comparison.headline, *comparison.cautions) for line in wrapped(words)),
        "",
        *wrapped(f"earlier: {names[0]}"),
        *wrapped(f"later: {names[1]}"),
        *_listed("what else has changed", comparison.changes),
        *titled_table(
            "where the seconds are",
            ("stage", "part", "earlier", "later", "difference"),
            rows,
            words=("stage", "part"),
        ),
        *_listed("why", reasons),
    ]


def _listed(title: str, clauses: Sequence[str]) -> list[str]:
    lines = [line for each in clauses for line in wrapped(f"- {each}", indent="  ", further="    ")]
    return ["", title, *lines] if lines else []


def _part_cells(part: ComparedPart) -> tuple[str, ...]:
    """With a dash for the run that has no such stage."""
    sides = ((part.earlier_stage, part.earlier_seconds), (part.later_stage, part.later_seconds))
    seconds = [UNKNOWN if part.kind == STAGE and number is None else tenths(own) for number, own in sides]
    name = shortened(part.name, LONGEST_PART)
    return _stage_numbers(part), name, *seconds, _signed(part.difference_seconds)


def _stage_numbers(part: ComparedPart) -> str:
    """Spark's numbers of the stage in both runs; one where they are the same."""
    numbers = [count(stage) for stage in (part.earlier_stage, part.later_stage) if stage is not None]
    return " / ".join(dict.fromkeys(numbers))


def _signed(seconds: float) -> str:
    return f"{'+' if seconds > 0 else ''}{tenths(seconds)}"


def _run_in_words(profile: RunProfile) -> Iterator[str]:
    at_once = counted(profile.slots, "task")
    yield f"{duration(profile.seconds)} on {counted(profile.executors, 'executor')}, {at_once} at once"
    yield f"a start-up of {duration(profile.startup_seconds)} comes on top"
    yield f"in {duration(profile.driver_seconds)} no task ran"
    failed = f", {count(profile.failed_tasks)} failed or killed" if profile.failed_tasks else ""
    yield f"{counted(profile.tasks, 'task')}{failed}"
    category = category_name(profile.category)
    yield category if profile.spark is None else f"{category}, Spark {profile.spark}"


def _advice(profile: RunProfile) -> list[str]:
    if not profile.advice:
        return []
    lines = ["", "what to change"]
    for each in profile.advice:
        lines += wrapped(f"- {each.text} Because: {each.figure}.", indent="  ", further="    ")
        lines += [f"    {each.documentation}"] * bool(each.documentation)
    return lines


def _limits(profile: RunProfile) -> list[str]:
    title = (
        f"what could be won at most: the run replayed without waiting, against "
        f"{duration(profile.replayed_seconds)} with it ({signed_percentage(profile.replay_error_percent)} "
        "off the truth)"
    )
    lines = titled_table(
        title,
        ("waiting for", "seconds of tasks", "of their time", "seconds without", "won at most"),
        (
            (
                limit.resource,
                tenths(limit.blocked_seconds),
                percentage(limit.share_percent),
                tenths(limit.seconds_without),
                percentage(limit.improvement_percent),
            )
            for limit in profile.limits
        ),
        words=("waiting for",),
    )
    return [*lines, *wrapped(unmeasured_in_words(profile), indent="  ", further="  ")] if lines else []


def _what_ifs(profile: RunProfile) -> list[str]:
    return titled_table(
        "on other machines",
        ("with", "the run would take"),
        ((each.change, what_if_in_words(each)) for each in profile.what_ifs),
        words=("with", "the run would take"),
    )


def _sizes(profile: RunProfile) -> list[str]:
    return titled_table(
        "on other numbers of executors, replayed, without start-up",
        ("executors", "seconds", ""),
        (
            (
                count(size.executors),
                tenths(size.seconds),
                "the run itself" if size.executors == profile.executors else "",
            )
            for size in profile.sizes
        ),
        words=("",),
    )


COMMAND = command.Command(
    name="analyze",
    summary="show from Spark's event log why a run took as long as it did",
    description="Read the event log that Spark wrote of a run and show what the run is bound by, what a "
    "faster network or disk could win at most, which stages and tasks held it up, what other machines would "
    "make of it, and what to change. Of two runs, show where the second lost or won time, and why. Logs "
    "are read as they are: plain or compressed, rolled over, of a run that was cut off; neither Spark nor "
    "Airflow is needed.",
    example="""\
  %(prog)s /var/log/spark/app-20260312101500-0007.zstd --html why.html
  %(prog)s s3://bucket/spark-events/application_17_0042 --executors 2-32:2
  %(prog)s app-1 --what-if network=2 --what-if cores=8 disk=2
  %(prog)s last-good spark-events/app-20260312101500-0007
  %(prog)s application_17_0041 application_17_0042 --logs s3://bucket/spark-events""",
    add_arguments=_add_arguments,
    run=_run,
)
