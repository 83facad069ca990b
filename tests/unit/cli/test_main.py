import json
import os
import subprocess
import sys

import pytest

from airflow_provider_ernest.cli.command import build_parser
from airflow_provider_ernest.command_line import COMMANDS, main
from airflow_provider_ernest.version import __version__

HEAVY = ("numpy", "scipy", "cvxpy", "msgspec", "airflow.", "boto3", "botocore")


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["divine"],
        ["predict", "m.json"],
        ["predict", "m.json", "--executors", "x"],
        ["choose", "m", "--price-per-hour", "x"],
    ],
)
def test_a_command_line_that_cannot_be_understood_ends_with_2(argv, misunderstood):
    """What is wrong comes first, and no screen of options hides it."""
    said = misunderstood(*argv).splitlines()
    program = "ernest" if argv in ([], ["divine"]) else f"ernest {argv[0]}"
    assert said[0].startswith(f"{program}: ")
    assert said[1:] == [f"`{program} --help` lists the options."]


def test_the_shell_completes_commands_and_options(tmp_path):
    def completed(line: str) -> set[str]:
        found = tmp_path / "completions"
        asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line))}
        subprocess.run(
            [sys.executable, "-c", "from airflow_provider_ernest.command_line import main; main()"],
            env=os.environ | asked | {"_ARGCOMPLETE_STDOUT_FILENAME": str(found), "_ARGCOMPLETE_IFS": " "},
            check=True,
        )
        return {each.strip() for each in found.read_text().split()}

    assert completed("ernest st") == {"store"}
    assert "--deadline-seconds" in completed("ernest choose --de")
    assert completed("ernest predict --format ") == {"table", "json"}


def test_a_result_is_shown_or_written_in_the_form_that_is_asked_for(tmp_path, runs_csv, ernest):
    asked = ("predict", runs_csv, "--executors", "2,4")
    table = ernest(*asked).out
    as_json = ernest(*asked, "--format", "json").out
    assert table.startswith("machines    seconds")
    assert [each["executors"] for each in json.loads(as_json)["predictions"]] == [2, 4]
    for name, options, content in (
        ("told.json", (), as_json),
        ("told.txt", (), table),
        ("told", (), as_json),
        ("table.json", ("--format", "table"), table),
    ):
        assert ernest(*asked, "--output", tmp_path / name, *options).out == table
        assert (tmp_path / name).read_text().splitlines()[0] == content.splitlines()[0]
    piped = ernest(*asked, "--output", "-")
    assert json.loads(piped.out)
    assert piped.err.endswith(table)


def test_names_of_files_and_values_are_left_as_the_user_wrote_them(tmp_path, runs_csv, ernest):
    """They may be spelled as parameters are: only the parameter of an error is told as its option."""
    missing = tmp_path / "price_per_hour" / "expected_runs.csv"
    choose = ["--executors", "1-4", "--price-per-hour", "1", "--deadline-seconds", "60"]
    assert str(missing) in ernest("choose", missing, *choose, code=1).err
    said = ernest("choose", runs_csv, *choose, "--objective", "expected_runs", code=1).err
    assert "ernest choose: --objective='expected_runs' is unknown" in said


def test_a_reader_that_has_had_enough_is_no_error_to_tell(runs_csv):
    program = (
        "import sys; from airflow_provider_ernest.command_line import main;"
        f"sys.exit(main(['predict', {str(runs_csv)!r}, '--executors', '1-2000', '--format', 'json']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_the_parser_loads_nothing_heavy():
    """Airflow reads the options of all providers' commands whichever is called."""
    program = (
        "import sys; from airflow_provider_ernest import command_line as c;"
        "from airflow_provider_ernest.cli.command import build_parser as b;"
        "b(c.COMMANDS); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not [name for name in done.stdout.split() if name.startswith(HEAVY)]


def test_all_options_with_a_default_say_it():
    for command in COMMANDS:
        parser = build_parser(COMMANDS)
        subparser = parser._subparsers._group_actions[0].choices[command.name]  # type: ignore[union-attr,index]
        for action in subparser._actions:
            if action.default not in (None, False, "==SUPPRESS=="):
                assert "%(default)" in (action.help or ""), action.option_strings
