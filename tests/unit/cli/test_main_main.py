import json
import os
import subprocess
import sys
from typing import Any

import click
import pytest

from firstlight.cli import main
from firstlight.commands.lab import fault

FIRSTLIGHT = [sys.executable, "-m", "firstlight"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*FIRSTLIGHT, *arguments], capture_output=True, text=True, check=False)


def test_help_groups_the_commands_and_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from firstlight.cli import main\n"
        "code = main.run(['--help'])\n"
        "heavy = {'aiohttp', 'yaml', 'cryptography', 'msgspec', 'asyncio', 'ssl'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy or code else 0)\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.stderr == ""
    for group, commands in main.COMMANDS.items():
        assert f"{group}:" in done.stdout
        for name in commands:
            assert name in done.stdout


def test_subcommands_that_help_shows_exist() -> None:
    for group, lines in main.SUBCOMMANDS.items():
        command = main.cli.get_command(click.Context(main.cli), group)
        assert isinstance(command, click.Group)
        for line in lines:
            names = line.removeprefix(f"{group} ").split(", ")
            assert set(names) <= set(command.list_commands(click.Context(command)))


def test_a_terminal_without_unicode_gets_question_marks_and_no_traceback() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "COLUMNS": "100"}

    plain = run("tools")
    done = subprocess.run([*FIRSTLIGHT, "tools"], capture_output=True, env=environment, check=False)

    assert "…" in plain.stdout
    assert (done.returncode, done.stderr) == (0, b"")


def test_version_is_one_line() -> None:
    done = run("--version")

    assert done.returncode == 0
    assert done.stdout.startswith("firstlight ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["--nonsense"],
        ["lab", "nonsense"],
        ["lab", "up", "--workers", "many"],
        ["lab", "up", "-n", "Not A Name"],
        ["lab", "status", "-n", "never-made"],
        ["tools", "install", "kubectI"],
    ],
)
def test_usage_errors_exit_64_with_a_message_and_no_traceback(arguments: list[str]) -> None:
    done = run(*arguments)

    assert done.returncode == 64
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_an_error_is_json_where_json_was_asked_for() -> None:
    done = run("lab", "status", "-n", "never-made", "--output", "json")

    assert done.returncode == 64
    assert json.loads(done.stdout)["error"]["message"] == "there is no lab never-made"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_printed(shell: str) -> None:
    done = run("completion", shell)

    assert done.returncode == 0
    assert "_FIRSTLIGHT_COMPLETE" in done.stdout


def test_completion_knows_the_commands() -> None:
    environment = {"_FIRSTLIGHT_COMPLETE": "bash_complete", "COMP_WORDS": "firstlight la", "COMP_CWORD": "1"}
    script = "from firstlight.cli.main import cli; cli(prog_name='firstlight')"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)

    assert "lab" in done.stdout.replace("plain,", "").split()


def test_every_command_of_the_table_exists_and_has_help() -> None:
    for commands in main.COMMANDS.values():
        for name in commands:
            assert main.run([name, "--help"]) == 0


def test_usage_errors_are_json_where_json_was_asked_for() -> None:
    done = run("lab", "up", "--workers", "many", "-ojson")

    assert done.returncode == 64
    assert "many" in json.loads(done.stdout)["error"]["message"]


def test_a_reader_that_has_gone_gets_no_traceback() -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m firstlight tools | true"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stderr == ""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"match": {}}),
        ({"rate": 0.0}, {"match": {}, "rate": 0.0}),
        ({"after_bytes": 0}, {"match": {}, "bytes": 0}),
        ({"classes": ("list",), "as_": "event"}, {"match": {"classes": ("list",)}, "as": "event"}),
    ],
)
def test_options_of_a_fault_become_a_rule_and_zero_is_a_value(
    options: dict[str, Any], expected: dict[str, Any]
) -> None:
    keys = "classes path resources users skip times rate code retry_after milliseconds jitter bytes_per_second"
    given = dict.fromkeys([*keys.split(), "after_bytes", "after_events", "as_", "reset", "which", "at"])

    assert fault.rule({**given, **options}) == expected
