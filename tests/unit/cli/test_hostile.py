"""Whatever is typed or written, there is an answer: no traceback, and an exit code that the help promises.

Every option and argument of every command gets words that nobody would type, in a repo without clusters; and every
value of the files that people write by hand is replaced by one that nobody would write. Some of these commands write
where they are told to, so no word may lead out of the test's own directory.
"""

import copy
import datetime
import io
import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from firstlight import errors
from firstlight.cli import main
from firstlight.tools import binary_cache, catalogue, install
from tests.conftest import sample

PERSON = ("-c", "user.name=Bo", "-c", "user.email=bo@example.org")
CODES = {0, 1, 2, 3, 64}
WORDS = {
    "dots": "." * 3000, "dotted": "a." * 3000 + "a", "long": "a" * 100_000, "slashes": "no" + "/" * 5000 + "where",
    "aside": "no/../" * 200 + "where", "brackets": "[" * 3000, "braces": "{" * 3000, "parentheses": "(" * 3000,
    "stars": "*" * 300, "dash": "-", "dashes": "--", "empty": "", "blank": " ", "line": "a\nb", "escape": "\x1b[31m",
    "backwards": "\u202eabc", "no-utf8": "\udcff\udcfe", "digits": "9" * 5000, "minus": "-1", "zero": "0",
    "huge": "1e999", "nan": "nan", "infinite": "inf", "other-digits": "\u0663\u00b2", "format": "%s%n{0}{x}",
    "home": "~nobody/x", "equals": "a=b=c", "at": "@{-1}", "range": "a...b...c", "days": "9" * 30 + "d",
    "url": "http://[::1", "unit": "5" * 20 + "Gi", "comma": ",,,", "colon": ":::",
}  # fmt: skip
LEFT_OUT = {"lab", "demo", "tools install"}
"""What would start or install something, whatever else is wrong."""


def commands(
    group: click.Group = main.cli, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in group.list_commands(click.Context(group)):
        found = group.get_command(click.Context(group), name)
        assert found is not None
        whole = (*path, name)
        if " ".join(whole) in LEFT_OUT:
            continue
        if isinstance(found, click.Group):
            yield from commands(found, whole)
        else:
            yield whole, found


def lines() -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Every command line: its words, with one of them hostile, by name."""
    for path, command in commands():
        takers = [each for each in command.params if not getattr(each, "is_flag", False)]
        for param in takers:
            for name in WORDS:
                yield path, str(param.name), name


def typed(path: tuple[str, ...], wanted: str, word: str) -> list[str]:
    command: click.Command = main.cli
    for each in path:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), each)
        assert found is not None
        command = found
    made = list(path)
    behind = []
    for param in command.params:
        is_wanted = param.name == wanted
        if isinstance(param, click.Argument):
            if is_wanted or param.required:
                behind.append(word if is_wanted else "x")
        elif is_wanted and not getattr(param, "is_flag", False):
            made.append(f"{param.opts[-1]}={word}" if param.opts[-1].startswith("--") else f"{param.opts[-1]}{word}")
    return [*made, "--", *behind] if behind else made


def test_no_word_leads_out_of_the_directory() -> None:
    for name, word in WORDS.items():
        assert not word.startswith(("/", "~/")), name
        assert not f"{os.path.normpath(word or '.')}/".startswith("../"), name


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repo without anything, in which commands find no cluster, no kubeconfig and no one to ask."""
    repo = tmp_path / "repo"
    repo.mkdir()
    subprocess.run(["git", "init", "--quiet", str(repo)], check=True)
    monkeypatch.chdir(repo)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("KUBECONFIG", "TALOSCONFIG", "FIRSTLIGHT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(install, "_make", not_made)
    return repo


async def not_made(tool: catalogue.CatalogueTool, *more: object) -> binary_cache.CachedBinary:
    """No tool is fetched or built for a command line that is wrong anyway."""
    raise errors.ToolError(f"{tool.name} is not installed")


def answered(arguments: list[str]) -> int:
    try:
        return main.run(arguments)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1


def problem(arguments: list[str]) -> str:
    """What is wrong with an answer; empty where nothing is."""
    try:
        code = answered(arguments)
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return f"{type(error).__name__}: {str(error)[:200]}"
    return "" if code in CODES else f"exit code {code}"


def test_every_word_of_every_command_line(empty: Path, request: pytest.FixtureRequest) -> None:
    chosen = sample(request.config, "hostile command lines", [*lines()], 150)

    found = {each: problem(typed(each[0], each[1], WORDS[each[2]])) for each in chosen}

    assert {key: wrong for key, wrong in found.items() if wrong} == {}


FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "firstlight.yaml": (
        """\
        apiVersion: firstlight.dev/v1alpha1
        kind: Platform
        metadata: {name: home}
        gitops: {engine: flux, branch: main}
        clusters:
          home: {path: clusters/home, talos: v1.13.0, kubernetes: v1.36.0, network: {pods: [10.0.0.0/16]}}
        components:
          web:
            phase: core
            needs: [dns]
            gates: [{command: {run: [make, ready], timeout: 5}}, {http: {url: "https://example.org"}}]
            hooks: [{run: [./a.sh], unless: ["true"], timeout: 5m}]
        """,
        ("inventory", "plan home", "decide --files firstlight.yaml --no-render"),
    ),
    "firstlight-rules/ours.yaml": (
        """\
        rules:
          - {id: a, title: t, side: owner, risk: low, why: w, checks: [c], words: [one word],
             criteria: [system-foundation], procedure: p,
             when: [{kinds: [apps/Deployment], paths: ["spec.**"], files: ["**/a.yaml"], names: ["a*"],
             values: ["a.*.b"], before: [1], after: ["x*"], bump: [major], grows: true, roles: [cni],
             matter: [object]}]}
        factors: [{id: f, risk: high, why: w, when: [{files: ["b/**"]}]}]
        checks: [{id: c, moment: pre, title: t, says: s}]
        procedures: [{id: p, title: t, steps: [{stage: check, text: t, command: "git log {since}"}]}]
        """,
        ("decide --explain a", "decide one word", "decide --files a.yaml --no-render"),
    ),
    "firstlight-rules/ours.test.yaml": (
        """\
        tests:
          - name: a
            change: {kind: apps/Deployment, name: a, path: "spec.a[name=b].c", before: 1, after: 2,
                     component: {name: c}}
            expect: {side: gitops, risk: low, factors: [f], trees: {a: gitops}}
        """,
        ("decide --test",),
    ),
    "firstlight-rules/owners.yaml": (
        "people: [{name: Ada, email: ada@example.org, roles: [lead]}]\nteam: {approvals: 2}\n",
        ("decide --diff HEAD~1..HEAD --approvals --no-render",),
    ),
    "firstlight-rules/audit/ours.yaml": (
        """\
        rules:
          - {id: a, title: t, group: security, severity: warning, check: images.untagged, why: w, fix: f}
          - {id: b, title: t, group: security, severity: warning, says: s, why: w, fix: f,
             find: [{kinds: [apps/Deployment], names: ["a*"], has: {spec.replicas: 1}, lacks: [spec.x]}]}
        patterns: [{id: p, title: t, rules: [a], applies: flux}]
        """,
        ("audit --matrix", "audit --explain a"),
    ),
}  # fmt: skip
"""Files that people write, and the commands that read them."""
VALUES: dict[str, Any] = {
    **{name: WORDS[name] for name in ("dots", "dotted", "long", "brackets", "stars", "empty", "digits", "escape")},
    "nul": "a\0b", "number": 10**400, "small": -(10**400), "fraction": 1e308, "null": None,
    "yes": True, "list": [[[]]], "deep": json.loads("[" * 60 + "]" * 60), "mapping": {"a": {}},
    "expression": "(a+)+$" * 20, "day": datetime.date(2026, 1, 1), "check": "." * 3000 + "x", "private": "__init__.x",
}  # fmt: skip


def ways(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if way:
        yield way
    for key, each in inner:
        yield from ways(each, (*way, key))


def mutations() -> Iterator[tuple[str, tuple[Any, ...], str]]:
    for file, (text, _) in FILES.items():
        for way in ways(yaml.safe_load(textwrap.dedent(text))):
            for name in VALUES:
                yield file, way, name
            yield file, way, "key"


def mutated(text: str, way: tuple[Any, ...], name: str) -> str:
    made = yaml.safe_load(textwrap.dedent(text))
    place = made
    for step in way[:-1]:
        place = place[step]
    if name != "key":
        place[way[-1]] = copy.deepcopy(VALUES[name])
    elif isinstance(place, dict):
        place["." * 3000] = place.pop(way[-1])
    return yaml.safe_dump(made, allow_unicode=True)


RAW = {
    "nothing": b"", "nul": b"\0", "deep": b"[" * 100_000, "deep-keys": b"{a: " * 50_000, "dots": b"a: " + b"." * 10_000,
    "not-utf8": b"\xff\xfe\xfd", "alias": b"&a [*a]", "number": b"a: " + b"9" * 100_000, "tabs": b"\t" * 10_000,
    "indented": b"".join(b" " * depth + b"a:\n" for depth in range(3000)), "dashes": b"- " * 20_000,
    "python": b"!!python/object/apply:os.system [x]",
}  # fmt: skip


def prepared(repo: Path) -> None:
    for file, (text, _) in FILES.items():
        (repo / file).parent.mkdir(parents=True, exist_ok=True)
        (repo / file).write_text(textwrap.dedent(text))
    (repo / "a.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 1}\n")
    (repo / "clusters/home").mkdir(parents=True)
    (repo / "clusters/home/a.yaml").write_text((repo / "a.yaml").read_text())


def read(repo: Path, file: str, content: bytes) -> Iterator[str]:
    """What is wrong with the answers of the commands that read a file, if it says this."""
    prepared_text = textwrap.dedent(FILES[file][0])
    try:
        (repo / file).write_bytes(content)
        if "HEAD" in FILES[file][1][0]:
            for message in ("one", "two"):
                (repo / "a.yaml").write_text(f"# {message}\n")
                for arguments in (["add", "--all"], [*PERSON, "commit", "--quiet", "--message", message]):
                    subprocess.run(["git", "-C", str(repo), *arguments], check=True)
        for line in FILES[file][1]:
            if wrong := problem(line.split()):
                yield f"{line}: {wrong}"
    finally:
        (repo / file).write_text(prepared_text)


def test_files_that_are_as_they_should_be_are_read(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else the tests below would only see that everything is refused."""
    prepared(empty)

    assert answered(["decide", "--explain", "a"]) == 0
    assert answered(["decide", "--test"]) == 1, "the test there is wrong, and is run"
    assert answered(["plan", "home"]) in (0, 3)
    assert answered(["audit", "--explain", "a"]) == 0, capsys.readouterr().err


def test_every_value_of_files_that_people_write(empty: Path, request: pytest.FixtureRequest) -> None:
    prepared(empty)
    chosen = sample(request.config, "hostile values", [*mutations()], 120)

    found = {each: [*read(empty, each[0], mutated(FILES[each[0]][0], *each[1:]).encode())] for each in chosen}

    assert {key: wrong for key, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("name", RAW)
def test_files_that_are_none(name: str, empty: Path) -> None:
    prepared(empty)

    found = {file: [*read(empty, file, RAW[name])] for file in FILES}

    assert {key: wrong for key, wrong in found.items() if wrong} == {}


def test_nothing_to_write_to(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(["audit", "--out="]) == 64
    assert "is a directory" in capsys.readouterr().err


def test_what_is_no_file_is_not_replaced_by_one(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By renaming, root would take a device such as /dev/null away from everybody."""
    os.mkfifo(empty / "pipe")
    (empty / "link").symlink_to("pipe")

    for name in ("pipe", "link", "."):
        assert answered(["audit", f"--out={name}"]) == 64
        assert "is not a file" in capsys.readouterr().err or name == "."
    assert (empty / "pipe").is_fifo()
    assert (empty / "link").is_symlink()


@pytest.mark.parametrize("arguments", [["decide", WORDS["long"]], ["inventory", WORDS["long"]], ["decide", "--test"]])
def test_a_word_of_a_hundred_thousand_letters_takes_no_minutes(arguments: list[str], empty: Path) -> None:
    prepared(empty)
    tests = empty / "firstlight-rules/ours.test.yaml"
    tests.write_text(tests.read_text().replace("name: a\n", f"name: {WORDS['long']}\n", 1))
    began = time.process_time()

    assert answered(arguments) in (1, 64)
    assert time.process_time() - began < 10


def test_a_check_of_three_thousand_dots(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Python's import follows each dot, until it can no longer."""
    prepared(empty)
    rules = empty / "firstlight-rules/audit/ours.yaml"
    rules.write_text(rules.read_text().replace("images.untagged", "." * 3000 + "x"))

    assert answered(["audit"]) == 1

    said = capsys.readouterr().err
    assert "firstlight-rules/audit/ours.yaml:" in said
    assert "there is no check ...." in said
    assert len(said) < 1000
