"""The GitHub Action of this repo: its steps are run by bash as a runner runs them, with a stand-in for GitHub's API."""

import ast
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.commands.schema import output_schemas
from tests import planted

ROOT = Path(__file__).parents[4]
PLATFORM = ROOT / "tests/scenarios/platform/two-clusters/repo"
PEERS = "kubernetes/bgp/peers.yaml"
PERSON = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {each["name"]: each for each in ACTION["runs"]["steps"]}
TOKEN = "a-token-that-nobody-sees"


def git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *PERSON, "-C", str(repo), *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


class Runner:
    """A job: a checked-out branch, and the files by which steps speak to GitHub."""

    def __init__(self, place: Path) -> None:
        self.repo = Path(shutil.copytree(PLATFORM, place / "repo"))
        self.temp = place / "temp"
        self.summary, self.output = place / "summary.md", place / "output"
        self.environment: dict[str, str] = {}
        program(self.temp / "firstlight/bin/python", f'exec {sys.executable} "$@"')
        git(self.repo, "init", "--quiet", "--initial-branch=main")
        self.commit("base")
        git(self.repo, "switch", "--quiet", "--create", "change")

    def commit(self, message: str) -> None:
        git(self.repo, "add", "--all")
        git(self.repo, "commit", "--quiet", "--allow-empty", "-m", message)

    def change(self, text: str = "") -> None:
        file = self.repo / PEERS
        file.write_text(text or file.read_text().replace("{}", "{matchLabels: {bgp: yes}}"))
        self.commit("change")

    def step(self, name: str, **given: str) -> subprocess.CompletedProcess[str]:
        """Run a step; what it takes from inputs is given, and must be all of it."""
        step = STEPS[name]
        assert given.keys() == step["env"].keys()
        environment = {key: os.environ.get(key, "") for key in ("PATH", "HOME", "GITHUB_GRAPHQL_URL")} | given
        environment |= self.environment
        environment |= {"RUNNER_TEMP": str(self.temp), "GITHUB_REPOSITORY": "me/fleet", "LC_ALL": "C.UTF-8"}
        environment |= {"GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_OUTPUT": str(self.output)}
        script = self.temp / "script.sh"
        script.write_text(step["run"])
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.repo, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def decide(self, **given: str) -> subprocess.CompletedProcess[str]:
        usual = {"BASE": "main", "HEAD": "HEAD", "REPO": ".", "CLUSTER": "", "CHECK": "", "APPROVALS": "false"}
        return self.step("Decide", **{**usual, "RULES": "", **given})

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.output.read_text().splitlines())


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_no_script_has_an_expression_in_it() -> None:
    for step in STEPS.values():
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]


def test_every_input_and_output_is_used_and_described() -> None:
    written = (ROOT / "action.yml").read_text()
    used = set(re.findall(r"inputs\.(\w+)", written))
    assert used == set(ACTION["inputs"])
    assert all(each["description"] for each in (*ACTION["inputs"].values(), *ACTION["outputs"].values()))
    assert {each["value"] for each in ACTION["outputs"].values()} == {
        f"${{{{ steps.decide.outputs.{name} }}}}" for name in ACTION["outputs"]
    }


def test_the_answer_is_in_the_summary_and_the_outputs(runner: Runner) -> None:
    runner.change()

    done = runner.decide()

    assert done.returncode == 0, done.stderr
    assert runner.outputs == {"side": "gitops", "risk": "medium", "approval": "peer", "code": "0"}
    assert runner.summary.read_text().startswith("<!-- firstlight decide -->\n### gitops, medium risk: peer approval")
    assert runner.step("Judge", CODE=runner.outputs["code"]).returncode == 0


def test_what_changes_nothing_is_none(runner: Runner) -> None:
    (runner.repo / "README.md").write_text("words\n")
    runner.commit("words")

    assert runner.decide().returncode == 0
    assert runner.outputs == {"side": "none", "risk": "low", "approval": "self", "code": "0"}


def test_no_change_at_all_is_none(runner: Runner) -> None:
    assert runner.decide().returncode == 0
    assert runner.outputs["side"] == "none"


@pytest.mark.parametrize(
    ("given", "text", "code"),
    [({"CHECK": "pre"}, "apiVersion: [\n", "2"), ({"APPROVALS": "true"}, "", "3")],
)
def test_what_fails_is_told_first_and_fails_the_job_last(
    given: dict[str, str], text: str, code: str, runner: Runner
) -> None:
    runner.change(text)

    done = runner.decide(**given)

    assert done.returncode == 0, done.stderr
    assert runner.summary.read_text()
    judged = runner.step("Judge", CODE=runner.outputs["code"])
    assert str(judged.returncode) == runner.outputs["code"] == code
    assert "::error::" in judged.stdout


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "{}",
        "[1]",
        '{"side": "gitops\\ncode=0", "risk": "low", "approval": "self"}',
        '{"side": "gitops", "risk": "low"}',
    ],
)
def test_an_answer_that_is_not_understood_fails_and_is_no_output(answer: str, runner: Runner) -> None:
    (runner.temp / "stranger.json").write_text(answer)
    write = f'touch "{runner.temp}/firstlight-answer.md"; cat "{runner.temp}/stranger.json"'
    program(
        runner.temp / "firstlight/bin/python",
        f'case "$2" in -c) exec {sys.executable} "$@";; esac\n{write}',
    )

    done = runner.decide()

    assert done.returncode == 1
    assert "::error::the answer was not understood" in done.stdout
    assert not runner.output.exists()


def test_its_words_are_those_of_the_schema() -> None:
    properties = output_schemas.schema("decide")["$defs"]["DecisionData"]["properties"]
    for name in ("side", "risk", "approval"):
        (words,) = re.findall(rf'"{name}": (\(.*\)),', STEPS["Decide"]["run"])
        assert set(ast.literal_eval(words)) == set(properties[name]["enum"])


@pytest.mark.parametrize("base", ["", "0" * 40, "--output", "$(touch broken-out); touch broken-out"])
def test_a_base_that_is_none_fails_and_runs_nothing(base: str, runner: Runner) -> None:
    done = runner.decide(BASE=base)

    assert done.returncode == 64
    assert "::error::" in done.stdout
    assert not (runner.repo / "broken-out").exists()


def test_rules_are_a_path_a_line(runner: Runner, tmp_path: Path) -> None:
    runner.change()
    rule = "{id: ours, title: Ours, side: gitops, risk: critical, why: so, when: [{names: [peers]}]}"
    for name in ("one two.yaml", "other.yaml"):
        (tmp_path / name).write_text(f"rules: [{rule.replace('ours', name[:3])}]\n")

    done = runner.decide(RULES=f"{tmp_path}/one two.yaml\n\n{tmp_path}/other.yaml\n")

    assert done.returncode == 0, done.stderr
    assert runner.outputs["risk"] == "critical"


class GitHub(http.server.ThreadingHTTPServer):
    """A stand-in for GitHub's GraphQL API that knows one pull request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: list[dict[str, Any]] = []
        self.may_write = True
        self.pages = 0

    def answer(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        if query.startswith("query"):
            self.pages += 1
            assert (variables["owner"], variables["name"], variables["number"]) == ("me", "fleet", 7)
            start = int(variables["after"] or 0)
            more = start + 100 < len(self.comments)
            page = {"hasNextPage": more, "endCursor": str(start + 100)}
            comments = {"nodes": self.comments[start : start + 100], "pageInfo": page}
            return {"data": {"repository": {"pullRequest": {"id": "the-pull-request", "comments": comments}}}}
        if not self.may_write:
            return {"data": None, "errors": [{"message": "Resource not accessible by integration"}]}
        if "addComment" in query:
            assert variables["subject"] == "the-pull-request"
            made = {"id": f"comment-{len(self.comments)}", "body": variables["body"], "viewerDidAuthor": True}
            self.comments.append(made)
        else:
            (found,) = (each for each in self.comments if each["id"] == variables["comment"])
            found["body"] = variables["body"]
        return {"data": {}}


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, GitHub)
        assert self.headers["Authorization"] == f"bearer {TOKEN}"
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(self.server.answer(asked["query"], asked["variables"])).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    with GitHub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv("GITHUB_GRAPHQL_URL", f"http://127.0.0.1:{server.server_port}/graphql")
        yield server
        server.shutdown()
        thread.join()


def answered(runner: Runner, text: str = "<!-- firstlight decide -->\n### no change\n") -> str:
    (runner.temp / "firstlight-answer.md").write_text(text)
    return text


needs_programs = pytest.mark.skipif(not (shutil.which("jq") and shutil.which("curl")), reason="jq and curl")


@needs_programs
def test_there_is_one_comment_and_it_is_updated(runner: Runner, github: GitHub) -> None:
    others = [{"id": f"other-{n}", "body": "words", "viewerDidAuthor": True} for n in range(120)]
    stranger = {"id": "stranger", "body": "<!-- firstlight decide -->\nmine", "viewerDidAuthor": False}
    github.comments = [stranger, *others]
    answered(runner)
    assert runner.step("Comment", TOKEN=TOKEN, NUMBER="7").stdout == ""

    text = answered(runner, '<!-- firstlight decide -->\n### gitops "quoted" $(x) `y`\n')
    done = runner.step("Comment", TOKEN=TOKEN, NUMBER="7")

    assert done.returncode == 0, done.stderr
    assert len(github.comments) == 122
    assert github.comments[-1]["body"] == text
    assert stranger["body"] == "<!-- firstlight decide -->\nmine"
    assert github.pages == 4
    assert TOKEN not in done.stdout + done.stderr


@needs_programs
def test_a_token_that_may_not_write_is_a_warning(runner: Runner, github: GitHub) -> None:
    github.may_write = False
    answered(runner)

    done = runner.step("Comment", TOKEN=TOKEN, NUMBER="7")

    assert (done.returncode, github.comments) == (0, [])
    assert "::warning::" in done.stdout


@pytest.mark.parametrize(("token", "number"), [("", "7"), (TOKEN, "")])
def test_without_a_token_or_a_pull_request_nothing_is_asked(token: str, number: str, runner: Runner) -> None:
    done = runner.step("Comment", TOKEN=token, NUMBER=number)

    assert done.returncode == 0
    assert "::warning::" in done.stdout


@needs_programs
def test_the_token_is_no_argument_of_any_program(runner: Runner, github: GitHub) -> None:
    """A curl before the real one writes down how it was called."""
    fake, log = runner.temp / "bin/curl", runner.temp / "called"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> "{log}"\nexec {shutil.which("curl")} "$@"\n')
    fake.chmod(0o755)
    answered(runner)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
        done = runner.step("Comment", TOKEN=TOKEN, NUMBER="7")

    assert done.returncode == 0, done.stderr
    assert len(github.comments) == 1
    assert log.read_text()
    assert TOKEN not in log.read_text()


@pytest.mark.parametrize("installer", ["uv", "python3"])
def test_it_installs_itself_from_its_own_path_by_hashes(installer: str, runner: Runner) -> None:
    """With uv where there is one, else with pip; a stand-in writes down what it is asked, and where."""
    tools, log = runner.temp / "bin", runner.temp / "called"
    note = f'echo "$PWD $(basename "$0")" "$@" >> "{log}"'
    program(runner.temp / "firstlight/bin/python", note)
    program(tools / installer, note)
    for name in ("bash", "basename"):
        (tools / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    runner.environment["PATH"] = str(tools)

    done = runner.step("Install firstlight", ACTION_PATH="/a path/of the action")

    assert done.returncode == 0, done.stderr
    lines = log.read_text().splitlines()
    assert len(lines) == 3
    assert all(line.startswith(f"{runner.temp} ") for line in lines)
    assert all(" --no-config " in line or " -I " in line for line in lines)
    assert "--require-hashes --only-binary :all: --requirement /a path/of the action/requirements/run.txt" in lines[1]
    assert lines[2].endswith("--no-deps --no-index --no-build-isolation /a path/of the action")


BACKEND = """
import zipfile

MAIN = '''
import sys

open(sys.argv[sys.argv.index("--markdown") + 1], "w").write("### no change")
print(\'{"side": "none", "risk": "low", "approval": "self"}\')
'''
INFO = "firstlight-1.dist-info"
FILES = {
    "firstlight/__init__.py": "",
    "firstlight/__main__.py": MAIN,
    f"{INFO}/METADATA": "Metadata-Version: 2.1\\nName: firstlight\\nVersion: 1\\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    f"{INFO}/RECORD": "",
}


def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "firstlight-1-py3-none-any.whl"
    with zipfile.ZipFile(f"{directory}/{name}", "w") as archive:
        for path, text in FILES.items():
            archive.writestr(path, text)
    return name
"""


def small_action(place: Path) -> Path:
    """A checkout of an action that needs no network: its one locked package builds it."""
    wheels = place / "wheels"
    wheels.mkdir(parents=True)
    wheel = wheels / "builder-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("builder.py", BACKEND)
        archive.writestr("builder-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: builder\nVersion: 1\n")
        kind = "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr("builder-1.dist-info/WHEEL", kind)
        archive.writestr("builder-1.dist-info/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (place / "requirements").mkdir()
    lock = f"--no-index\n--find-links {wheels}\nbuilder==1 --hash=sha256:{digest}\n"
    (place / "requirements/run.txt").write_text(lock)
    (place / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["builder"]\nbuild-backend = "builder"\n'
        '[project]\nname = "firstlight"\nversion = "1"\n'
    )
    return place


UV = ROOT / ".venv-uv/bin"
"""The one that ``make setup`` made."""


@pytest.fixture
def hostile(runner: Runner) -> planted.Planted:
    """A pull request whose checkout wants to be run, in a job whose variables lead there."""
    made = planted.plant(runner.repo)
    runner.commit("hostile")
    shutil.rmtree(runner.temp / "firstlight")
    runner.environment |= made.environment(os.environ["PATH"])
    return made


@pytest.mark.parametrize(
    ("installer", "is_path_hostile"), [("uv", False), ("uv", True), ("python3", False)]
)  # fmt: skip
def test_a_hostile_checkout_is_not_run_by_the_installation(
    installer: str, is_path_hostile: bool, hostile: planted.Planted, runner: Runner, tmp_path: Path
) -> None:
    """The real installers, and then the step that decides: neither imports, reads or runs anything of the checkout."""
    place = small_action(tmp_path / "action")
    right = [str(UV)] if installer == "uv" else []
    path = ":".join([*right, str(Path(sys.base_prefix) / "bin"), "/usr/bin", "/bin"])
    if installer != "uv" and shutil.which("uv", path=path):
        pytest.skip("uv is on the PATH of the system")
    runner.environment["PATH"] = hostile.environment(path)["PATH"] if is_path_hostile else path

    installed = runner.step("Install firstlight", ACTION_PATH=str(place))
    decided = runner.decide()

    assert hostile.ran == []
    assert installed.returncode == 0, installed.stderr
    assert decided.returncode == 0, decided.stderr
    assert runner.outputs["side"] == "none"


def test_a_package_with_another_hash_is_not_installed(runner: Runner, tmp_path: Path) -> None:
    place = small_action(tmp_path / "action")
    lock = place / "requirements/run.txt"
    lock.write_text(re.sub("sha256:.*", f"sha256:{'0' * 64}", lock.read_text()))
    runner.environment["PATH"] = f"{UV}:{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin"
    shutil.rmtree(runner.temp / "firstlight")

    done = runner.step("Install firstlight", ACTION_PATH=str(place))

    assert done.returncode != 0
    assert "hash" in done.stderr.lower()
    assert not list(runner.temp.rglob("builder.py"))


@needs_programs
def test_a_hostile_checkout_runs_nothing_in_any_later_step(
    hostile: planted.Planted, runner: Runner, github: GitHub
) -> None:
    """The real decide, on a change beside what is planted; then the comment, with the token, and the judgement."""
    program(runner.temp / "firstlight/bin/python", f'exec {sys.executable} "$@"')
    runner.change()

    decided = runner.decide()
    assert hostile.ran == []
    commented = runner.step("Comment", TOKEN=TOKEN, NUMBER="7")
    judged = runner.step("Judge", CODE=runner.outputs["code"])

    assert (decided.returncode, commented.returncode, judged.returncode) == (0, 0, 0), decided.stderr
    assert commented.stdout == ""
    assert len(github.comments) == 1
    assert hostile.ran == []


def test_the_lock_has_all_that_the_package_needs() -> None:
    """And what builds it, each with the version that the tests run with."""
    names = r"^([a-z0-9-]+)==(\S+)"
    locked, tested = (
        dict(re.findall(names, (ROOT / f"requirements/{each}.txt").read_text(), re.MULTILINE))
        for each in ("run", "dev")
    )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]

    assert {re.split(r"[<>=]", each)[0].lower() for each in wanted} <= locked.keys()
    assert locked.items() <= tested.items()
    for block in re.split(r"\n(?=\S)", (ROOT / "requirements/run.txt").read_text().strip()):
        assert "--hash=sha256:" in block
