"""Which runs are of one recurring job: applications' names without what differs from run to run.

A scheduler writes dates, run ids and numbers into the names of applications. They are taken out here, by
rule; where a name says nothing, as that of a shell, the program's own name stands for it. Users may state a
pattern or a mapping instead.

A number that belongs to a word, as in "etl v2", may tell one job from another or one run from another: all
names together say which, see `by_job`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from statistics import median

from airflow_provider_ernest.documents.base import time_of
from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.privacy import call_site

NO_NAME = "(no name)"  # of runs of which neither the name nor the program is told
A_QUERY = "(a query)"  # of runs whose name is the text of one

NO_JOB = "its name tells no job, as those of shells, servers and queries do not"

_UUID = r"[0-9a-fA-F]{8}(?:[-_]?[0-9a-fA-F]{4}){3}[-_]?[0-9a-fA-F]{12}"
_TIME = (
    r"\d{1,2}[:h]\d{2}(?::\d{2}(?:[.,]\d+)?)?|\d{2}[-_.]\d{2}[-_.]\d{2}(?:[.,]\d+)?|\d{6}(?:[.,]\d+)?|\d{4}"
)
_ZONE = r"(?:\s?(?:Z|UTC|GMT|[+-]\d{2}[:_.]?\d{2}))"
_MONTH = (
    r"(?<![A-Za-z])(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)(?![A-Za-z])"
)
_DATE = (
    r"(?:(?:19|20)\d{2}[-_./]\d{1,2}[-_./]\d{1,2}|\d{1,2}[-_./]\d{1,2}[-_./](?:19|20)\d{2}"
    r"|(?:19|20)\d{2}(?:0\d|1[0-2])(?:[0-2]\d|3[01])|(?:19|20)\d{2}[年년]\s?\d{1,2}[月월](?:\s?\d{1,2}[日일])?"
    rf"|\d{{1,2}}[-_ ]?{_MONTH}[-_ ]?(?:19|20)\d{{2}}|{_MONTH}[-_ ]?\d{{1,2}},?[-_ ]?(?:19|20)\d{{2}}"
    # Weeks, quarters and months.
    r"|(?:19|20)\d{2}[-_ ]?(?:W(?:[0-4]\d|5[0-3])(?:-?[1-7])?|Q[1-4])|(?<![A-Za-z])Q[1-4][-_ ]?(?:19|20)\d{2}"
    rf"|{_MONTH}[-_ ]?(?:19|20)\d{{2}}|(?:19|20)\d{{2}}[-_ ]?{_MONTH}"
    # Days without their year.
    rf"|{_MONTH}[-_ ]?(?:0?[1-9]|[12]\d|3[01])(?!\d)|(?:0?[1-9]|[12]\d|3[01])[-_ ]?{_MONTH})"
)
_MOMENT = rf"{_DATE}(?:[T _-]?(?:{_TIME}){_ZONE}?)?"
_BEGINS, _ENDS = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_EACH_RUN = "|".join(
    (
        # Airflow's run ids, and the suffix of those that were triggered twice.
        rf"{_BEGINS}(?:manual|scheduled|backfill|dataset_triggered|asset_triggered)__?{_MOMENT}(?:_[A-Za-z0-9]{{6,8}})?{_ENDS}",
        rf"{_BEGINS}jr_[0-9a-f]{{16,}}{_ENDS}",  # of AWS Glue
        rf"{_BEGINS}(?:application|app|driver|job|step|s|j|local)[-_](?:\d{{10,}}(?:[-_]\d+)*|[A-Z0-9]{{12,}}){_ENDS}",
        rf"{_BEGINS}{_UUID}{_ENDS}",
        rf"{_BEGINS}[0-7][0-9A-HJKMNP-TV-Z]{{25}}{_ENDS}",  # ULIDs
        rf"{_BEGINS}{_MOMENT}{_ENDS}",
        rf"(?<!\d){_DATE}(?!\d)",
        rf"{_BEGINS}(?:attempt|try|retry|run|run[-_]?id|batch|build|part|chunk|execution|exec|no|nr)"
        rf"[-_ #:.=]{{0,2}}\d+(?:\s?(?:of|/)\s?\d+)?{_ENDS}",
        rf"{_BEGINS}(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{{7,}}{_ENDS}",  # hexadecimal digests
        rf"{_BEGINS}\d+(?:[.:_/-]\d+)*{_ENDS}",
        r"\d{4,}",
    )
)
_OF_EACH_RUN = re.compile(_EACH_RUN, re.IGNORECASE)
_EMPTY_BRACKETS = re.compile(r"\(\W*\)|\[\W*\]|\{\W*\}|<\W*>")
_SEPARATORS = re.compile(r"\s*([-_./:#,;|@=+ ])(?:\s*[-_./:#,;|@=+])*\s*")
_EDGES = " \t-_./:#,;|@=+&"
_FOLDERS = re.compile(
    # From the root, or from where one is,
    r"(?:[A-Za-z][\w+.-]{0,30}:|(?<![\w)\]}])(?:~|\.{1,2})?)[/\\](?:[^\s/\\]*[/\\])*(?=[^\s/\\])"
    # to a file, or through several folders: "JDBC/ODBC" and "2024/01/31" are none.
    r"|(?<!\S)(?:[^\s/\\]+[/\\])+(?=[^\s/\\]*\.[A-Za-z]\w{0,9}(?![\w/\\]))"
    r"|(?<!\S)(?:(?!\d+[/\\])[^\s/\\]+[/\\]){2,}(?=[^\s/\\\d])"
)
_GLUE = re.compile(r"nativespark-(?P<job>.+)-jr_[0-9a-f]+", re.IGNORECASE)
_QUERY = re.compile(
    # Behind comments and brackets.
    r"(?:\s|\(|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*"
    r"(?:select|with|insert|create|merge|update|delete|alter|drop|explain)\b.*"
    r"\b(?:from|into|table|view|set|as|using)\b",
    re.IGNORECASE | re.DOTALL,
)

_ARGUMENTS = re.compile(r"(?<!\S)--[A-Za-z][\w.-]*(?:=\S*|\s+(?!-)\S+)?")
"""Of a command line that became a name: what they say stays where it is."""

_FILES = (".py", ".jar", ".r")

_SHELLS = re.compile(
    r"|".join(
        (
            r"spark[ -_]?shell|pyspark(?:[ -_]?shell)?|sparkr(?:[ -_]?shell)?|spark[ -]?sql(?:::.*)?",
            r"databricks[ -]shell|(?:spark )?thrift ?(?:jdbc/odbc )?server|spark[ -]?connect(?:[ -]?server)?",
            r"hive on spark.*|hive(?:thrift)?server2?|kyuubi_.*",
            r"(?:(?:apache )?zeppelin|livy|jupyter|toree|sparkmagic|remotesparkmagics|sparklyr)\b.*",
            r"livy-session.*|gluereplapp|(?:arrow|airflow)-spark",
            r"spark|spark ?(?:app|application|job|session)|my ?(?:app|application|spark ?app|job)",
            r"untitled|default|test|app|application|job|name|none|null|python|main|org\.apache\.spark\.\S+|pythonrunner",
        )
    ),
    re.IGNORECASE,
)
"""Names that many jobs share: those of shells and servers, and what templates and tutorials begin with."""

_NUMBERED_JOB = re.compile(r"Databricks job \d+(?: .*)?")  # it has no other name than its number

_LETTER = re.compile(r"[^\W\d_]")

_MOST_LETTERS = 500

_VERSION = re.compile(rf"{_BEGINS}(?:v|ver|version|r|rev|revision|rel|release)(\d+){_ENDS}", re.IGNORECASE)
_RANDOM = re.compile(r"(?P<plain>.*[^\W_])[-_](?P<ending>[a-z0-9]{5,10})")
_COUNTER = re.compile(r"(?<=[^\W\d_])(\d+)$")

LEAST_VERSIONS = 4
MOST_RUNS_OF_A_VERSION = 2
"""So many different numbers at least, and half of them with no more runs than this: each run has its own."""

LEAST_RUNS_TO_COMPARE = 3
LEAST_READ = 0.01
LEAST_WORK = 0.1
"""Of what a job's runs usually read, and of what their executors usually do: a run below both did nothing."""

DID_NOTHING = "it read and did almost nothing against the job's other runs, as where the program failed"

LEAST_BYTES_OF_A_RECORD = 0.05
LEAST_OF_USUAL_BYTES = 1 / 3
"""Fewer bytes of input for each record, or fewer than so much of what is usual among a job's runs, were not
counted: then records tell what was read."""

LEAST_TIME_BETWEEN_COUNTS = timedelta(hours=1)
"""A counter that nothing calls a version goes up from run to run, and slowly: the queries of a benchmark, q1
to q22, are run at once, and tables that are loaded each night have the same numbers each night."""


@dataclass(frozen=True)
class JobNames:
    """How runs are told apart by jobs: by a pattern or a mapping, and else by rule."""

    pattern: str | None = None  # looked for in an application's name; its group is the job
    # Of patterns to jobs; the first that is found in the name, or else in the program's name, tells the job.
    mapping: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        stated = [] if self.pattern is None else [("job_pattern", self.pattern)]
        for parameter, text in (*stated, *(("mapping", each) for each in self.mapping)):
            try:
                re.compile(text)
            except (re.error, RecursionError) as error:
                raise InvalidParameterError(
                    parameter, text, f"is no regular expression: {error}", remedy="Write it as Python does."
                ) from error
        if self.pattern is not None and not re.compile(self.pattern).groups:
            raise InvalidParameterError(
                "job_pattern",
                self.pattern,
                "has no group",
                remedy="Put the job's name into brackets, as in '(.*)-[0-9]+'.",
            )
        for job in self.mapping.values():
            if not isinstance(job, str) or not job.strip():
                raise InvalidParameterError("mapping", job, "is no name of a job")

    def job_of(self, name: str, main: str | None = None) -> str:
        """The job that a run is of."""
        name, main = name[:_MOST_LETTERS], (main or "")[:_MOST_LETTERS]
        told = self.told_job_of(name, main) or shown(main)
        return told or (A_QUERY if _QUERY.match(name) else shown(_ARGUMENTS.sub("", name))) or NO_NAME

    def told_job_of(self, name: str, main: str | None = None) -> str:
        """The same; empty where nothing tells one job from others. See `job_of`."""
        name, main = name[:_MOST_LETTERS], (main or "")[:_MOST_LETTERS]
        return self.stated_job_of(name, main) or recurring(name) or recurring(main)

    def stated_job_of(self, name: str, main: str | None = None) -> str:
        """The job by the mapping or the pattern; empty where neither tells it. See `job_of`."""
        name, main = name[:_MOST_LETTERS], (main or "")[:_MOST_LETTERS]
        for text in (name, main):
            for pattern, job in self.mapping.items():
                if text and re.search(pattern, text):
                    return shown(job)
        if self.pattern is not None:
            found = re.search(self.pattern, name)
            told = next((group for group in found.groups() if group), "") if found else ""
            if told.strip():
                return shown(told)
        return ""


def recurring(name: str) -> str:
    """A name without dates, times, numbers and ids; empty where many jobs may have it."""
    if _QUERY.match(name):
        return ""
    if _NUMBERED_JOB.fullmatch(name):
        return shown(name)
    glue = _GLUE.fullmatch(name.strip())
    plain = _FOLDERS.sub("", _ARGUMENTS.sub("", glue["job"] if glue else name))
    if _SHELLS.fullmatch(plain.strip()):
        return ""
    plain = _with_single_separators(_EMPTY_BRACKETS.sub(" ", _OF_EACH_RUN.sub(" ", plain)))
    return shown(plain) if _LETTER.search(plain) and not _SHELLS.fullmatch(plain) else ""


def _with_single_separators(name: str) -> str:
    """Where something was taken out, of several separators that met the first that is not a space."""
    return _SEPARATORS.sub(lambda found: found[0].strip()[:1] or " ", name).strip(_EDGES)


def shown(name: str) -> str:
    """A name as it is kept and shown: a short line without folders, literals and what is secret."""
    printable = "".join(letter if letter.isprintable() else " " for letter in name)
    return call_site(_FOLDERS.sub("", printable)).strip()


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """The runs of event logs by recurring job."""

    runs: Mapping[str, Sequence[PastRun]]  # oldest first; those that did nothing say so, see `comparable`
    # Of jobs whose names differed in a number from run to run: the names, by their numbers.
    joined: Mapping[str, Sequence[str]] = field(default_factory=dict)


def about_joined(joined: Mapping[str, Sequence[str]]) -> list[str]:
    """For each job that goes by several names a sentence that says so, and how to part them."""
    return [
        f"{job}: {len(names)} names that differ only in a number or ending ({names[0]} to {names[-1]}) count "
        "as one job. Part them by --mapping or --job-pattern if they are not."
        for job, names in joined.items()
    ]


def by_job(runs: Iterable[PastRun], *, stated: Collection[str] = (), by_program: bool = True) -> Jobs:
    """The runs of each job; each application once, though its log may lie in two places.

    Names that differ only in a number, such as the version of a model, are one job's if nearly each run has
    another number: "churn-v35", "churn-v36", and so on. An "etl v1" with 40 runs and an "etl v2" with 30 stay
    two jobs. Random endings, as Kubernetes' operators give, are treated likewise.

    All runs are needed: of a few of them it could not be told. The stated names are those that the user gave
    jobs, which stay (`JobNames.stated_job_of`); they are looked at after `runs`. `by_program` parts the runs
    of one name by their main class or file.
    """
    found: defaultdict[str, dict[tuple[str, str], PastRun]] = defaultdict(dict)
    for run in runs:
        # YARN numbers the attempts of an application, which begin one after the other. Other clusters count
        # from the second, or millisecond, that it is: two of them may give the same id.
        is_of_yarn = run.application_id.startswith("application_")
        key = run.application_id or run.event_log, "" if is_of_yarn else run.started_at
        known = found[run.job].get(key)
        found[run.job][key] = run if known is None else _both(known, run)
    named = {job: _oldest_first(once.values()) for job, once in found.items()}
    if by_program:
        named = _by_program(named, stated)
    joined = _joined({job: of_job for job, of_job in named.items() if job not in stated}, taken=named)
    for job, names in joined.items():
        named[job] = _oldest_first(replace(run, job=job) for name in names for run in named.pop(name))
    return Jobs(runs={job: comparable(of_job) for job, of_job in sorted(named.items())}, joined=joined)


def _by_program(named: Mapping[str, list[PastRun]], stated: Collection[str]) -> dict[str, list[PastRun]]:
    """The same, but of a name that several programs have each program is a job: teams name alike."""
    parted: defaultdict[str, list[PastRun]] = defaultdict(list)
    for job, runs in named.items():
        if job in stated:
            parted[job] += runs
            continue
        programs = {run.main: recurring(run.main) or shown(run.main) for run in runs if run.main}
        # One log may tell the class, another the file that holds it.
        files = {program for program in programs.values() if program.lower().endswith(_FILES)}
        several = max(len(files), len(set(programs.values()) - files)) > 1
        # A file that is made for each run tells no job from another.
        is_of_each_run = len(programs) >= LEAST_VERSIONS and len(runs) < 2 * len(programs)
        # Programs in several folders that run by turns are jobs; versions of one follow one another.
        folders = [folder for run in runs if (folder := _folder(run))]
        turns = sum(before != after for before, after in pairwise(folders))
        has_folders = turns > len(set(folders))
        for run in runs:
            program = programs[run.main] if several and not is_of_each_run and run.main else ""
            folder = _folder(run) if has_folders else ""
            told = f"{folder}/{program or run.main}" if folder else program
            parted[f"{job} ({told})" if told else job].append(run)
    return parted


def _folder(run: PastRun) -> str:
    return recurring(run.main_folder or "") if run.main else ""


def _both(known: PastRun, run: PastRun) -> PastRun:
    """The one of two logs of an application that tells more; of two attempts of YARN both are paid for."""
    one, other = (run, known) if known.failure and not run.failure else (known, run)
    if one.started_at == other.started_at:
        return one
    return replace(one, executor_seconds=one.paid_executor_seconds + other.paid_executor_seconds)


def comparable(runs: Sequence[PastRun]) -> list[PastRun]:
    """The runs of one job, judged beside each other: those that did next to nothing have failed.

    Where Spark did not count the bytes of all of them, what they read is told by their records.
    """
    return _by_records(_without_empty(runs))


def _by_records(runs: Sequence[PastRun]) -> list[PastRun]:
    """With bytes in proportion to the records, where bytes are missing, or too few for them."""
    # Some readers (vectored reads of Parquet) tell of the bytes of a file's end alone.
    good = [run for run in runs if not run.failure and run.seconds > 0]
    if not good or not all(run.input_records for run in good):
        return list(runs)
    of_record = [run.input_bytes / run.input_records for run in good]
    usual = median([each for each in of_record if each] or [0.0])
    if usual >= LEAST_BYTES_OF_A_RECORD and min(of_record) >= LEAST_OF_USUAL_BYTES * usual:
        return list(runs)
    return [
        replace(run, input_bytes=max(1, round((usual or 1.0) * run.input_records)))
        if not run.failure and run.input_records
        else run
        for run in runs
    ]


def _without_empty(runs: Sequence[PastRun]) -> list[PastRun]:
    """With a failure where a run did next to nothing of what the others did."""
    # Where a program in Python fails before its work, Spark's log may end as if all were well, in seconds.
    told = [(run.input_bytes, run.metrics.executor_run_seconds) for run in runs if run.metrics]
    if len(told) < LEAST_RUNS_TO_COMPARE:
        return list(runs)
    read = LEAST_READ * median(read for read, _ in told)
    worked = LEAST_WORK * median(worked for _, worked in told)
    return [
        replace(run, failure=DID_NOTHING, metrics=None)
        if not run.failure
        and run.metrics
        and run.input_bytes < read
        and run.metrics.executor_run_seconds < worked
        else run
        for run in runs
    ]


def _oldest_first(runs: Iterable[PastRun]) -> list[PastRun]:
    return sorted(runs, key=lambda run: (run.started_at, run.application_id))


def without_version(name: str) -> str:
    """A job's name without the number of a version, or else the one that it ends with; it may have none."""
    plain = _VERSION.sub(" ", name)
    if plain == name:
        return _COUNTER.sub("", name)
    plain = _with_single_separators(plain)
    return plain if _LETTER.search(plain) else name


def may_be_of(name: str, jobs: Collection[str]) -> bool:
    """Whether a name may be of one of the jobs: it is the same but for a version or a random ending."""
    ending = _RANDOM.fullmatch(name)
    return (
        name in jobs
        or without_version(name) in {without_version(job) for job in jobs}
        or (ending is not None and ending["plain"] in jobs)
    )


def _joined(named: Mapping[str, Sequence[PastRun]], *, taken: Collection[str]) -> dict[str, Sequence[str]]:
    """The names that are of one job, by its name."""
    versions: defaultdict[str, list[str]] = defaultdict(list)
    for name in named:
        if (plain := without_version(name)) != name:
            versions[plain].append(name)
    joined: dict[str, Sequence[str]] = {}
    for plain, names in versions.items():
        in_order = sorted(names, key=lambda name: (_numbers(name), name))
        if _is_one_job([named[name] for name in in_order], in_order):
            joined[plain if plain not in taken else f"{plain} (numbered)"] = tuple(in_order)
    known = {name for names in joined.values() for name in names}
    return joined | _with_random_endings({name: named[name] for name in named if name not in known})


def _with_random_endings(named: Mapping[str, Sequence[PastRun]]) -> dict[str, Sequence[str]]:
    """The names that are of one job, by its name, where each run has a random ending."""
    # Such endings are of one length, most of letters and digits; counted words differ in digits alone.
    endings: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for name, runs in named.items():
        if (found := _RANDOM.fullmatch(name)) is None:
            continue
        # A word comes again: beside the random endings of "load" there may be a "load-daily".
        if not found["ending"].isalpha() or len(runs) <= MOST_RUNS_OF_A_VERSION:
            endings[found["plain"], len(found["ending"])].append(name)
    joined: dict[str, Sequence[str]] = {}
    for (plain, length), names in endings.items():
        told = [name[-length:] for name in names]
        words = {re.sub(r"\d", "", ending) for ending in told}
        mixed = sum(not ending.isalpha() and not ending.isdigit() for ending in told)
        is_random = 2 * mixed >= len(names) and len(words) > 0.9 * len(names)
        usual = median(len(named[name]) for name in names)
        if len(names) >= LEAST_VERSIONS and is_random and usual <= MOST_RUNS_OF_A_VERSION:
            joined[plain] = (*sorted(names), *((plain,) if plain in named else ()))
    return joined


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _VERSION.findall(name) or _COUNTER.findall(name))


def _is_one_job(runs: Sequence[Sequence[PastRun]], names: Sequence[str]) -> bool:
    """Whether nearly each run has a number of its own."""
    if len({_numbers(name) for name in names}) < LEAST_VERSIONS:
        return False
    if median(map(len, runs)) > MOST_RUNS_OF_A_VERSION:
        return False
    if all(_VERSION.search(name) for name in names):
        return True
    moments = [(time_of(of_name[0].started_at), time_of(of_name[-1].started_at)) for of_name in runs]
    apart = sorted(first - last for (_, last), (first, _) in pairwise(moments) if last and first)
    return bool(apart) and apart[0] > timedelta(0) and apart[len(apart) // 2] >= LEAST_TIME_BETWEEN_COUNTS
