import subprocess
import sys
from pathlib import Path

import pytest

from airflow_provider_ernest import __version__
from airflow_provider_ernest.cli.main import COMMANDS, build_parser, main

HEAVY = ("numpy", "scipy", "cvxpy", "msgspec", "airflow.")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_explains_itself_with_an_example(command, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main([command.name, "--help"])
    assert ended.value.code == 0
    assert f"  ernest {command.name} " in capsys.readouterr().out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]):
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
        ["predict", "m.json", "--machines", "x"],
        ["choose", "m", "--machines", "4"],
    ],
)
def test_a_command_line_that_cannot_be_understood_ends_with_2(
    argv: list[str], capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2
    assert "usage: ernest" in capsys.readouterr().err


def test_errors_name_the_options_and_the_remedy_without_a_traceback(capsys: pytest.CaptureFixture[str]):
    bounds = ["--max-machines", "8", "--cores-per-machine", "1", "--partitions", "100", "--max-scale", "2"]
    assert main(["design", *bounds]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "ernest design: --max-scale=2.0 is more than the whole input.",
        "Use at most 1.0.",
    ]


def test_names_of_files_and_values_are_left_as_the_user_wrote_them(
    tmp_path: Path, runs_csv: Path, capsys: pytest.CaptureFixture[str]
):
    """They may be spelled as parameters are: only the parameter of an error is told as its option."""
    missing = tmp_path / "price_per_hour" / "only_in_memory.csv"
    choose = ["--machines", "1-4", "--price-per-hour", "1", "--deadline-seconds", "60"]
    assert main(["choose", str(missing), *choose]) == 1
    assert str(missing) in capsys.readouterr().err

    assert main(["choose", str(runs_csv), *choose, "--objective", "same_cost.only_in_memory"]) == 1
    assert "ernest choose: --objective='same_cost.only_in_memory' cannot" in capsys.readouterr().err


def test_a_reader_that_has_had_enough_is_no_error_to_tell(runs_csv: Path):
    program = (
        "import sys; from airflow_provider_ernest.cli.main import main;"
        f"sys.exit(main(['predict', {str(runs_csv)!r}, '--machines', '1-2000', '--format', 'json']))"
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
        "import sys; from airflow_provider_ernest.cli.main import build_parser; build_parser();"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not [name for name in done.stdout.split() if name.startswith(HEAVY)]


def test_all_options_with_a_default_say_it():
    for command in COMMANDS:
        parser = build_parser()
        subparser = parser._subparsers._group_actions[0].choices[command.name]  # type: ignore[union-attr,index]
        for action in subparser._actions:
            if action.default not in (None, False, "==SUPPRESS=="):
                assert "%(default)" in (action.help or ""), action.option_strings


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_is_told_with_the_remedy():
    program = "import sys; from airflow_provider_ernest.cli.main import main; sys.exit(main(sys.argv[1:]))"
    argv = ["design", "--max-machines", "4", "--partitions", "40", "--cores-per-machine", "1"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program, *argv],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("ernest design: No space left on device.\nMake room")
    assert "Traceback" not in done.stderr
