"""A work tree watched while it is edited."""

import contextlib
import datetime
from collections.abc import Callable
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.commands.audit import watch
from firstlight.commands.audit.audit import AuditMeans, AuditResult
from firstlight.commands.audit.audit_request import AuditRequest
from firstlight.document import yaml_reader
from firstlight.repo.work_tree import WorkTree
from tests.unit.commands.audit import repos

WISHES = AuditRequest(today=datetime.date(2026, 11, 1), rules=(repos.RULE,))


async def looks(repo: Path, *edits: Callable[[], object]) -> list[watch.Look]:
    """What is said first, and after each edit."""
    waiting = list(edits)

    async def pause() -> None:
        if not waiting:
            raise EOFError
        waiting.pop(0)()

    found: list[watch.Look] = []
    async with contextlib.aclosing(watch.watch(WorkTree(repo), WISHES, AuditMeans(), pause=pause)) as stream:
        with contextlib.suppress(EOFError):
            async for each in stream:
                found.append(each)  # noqa: PERF401 - what came before the end counts
    return found


def places(look: watch.Look) -> list[str]:
    assert isinstance(look, AuditResult)
    return [f"{each.place.path}:{each.place.line}" for each in look.audit.findings]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repos.make(tmp_path)


async def test_an_edit_takes_a_finding_away_and_another_brings_it_back(repo: Path) -> None:
    web = repo / "clusters/home/web.yaml"
    found = await looks(
        repo,
        lambda: web.write_text(repos.WEB.replace("replicas: 1", "replicas: 2")),
        lambda: None,
        lambda: web.write_text("# one line more\n" + repos.WEB),
    )

    assert [places(each) for each in found] == [["clusters/home/web.yaml:7"], [], ["clusters/home/web.yaml:8"]]


async def test_files_that_come_and_go_count(repo: Path) -> None:
    new = repo / "clusters/home/more/api.yaml"

    def come() -> None:
        new.parent.mkdir()
        new.write_text(repos.WEB.replace("web", "api"))

    found = await looks(
        repo,
        come,
        lambda: new.write_text(repos.WEB.replace("web", "api").replace("replicas: 1", "replicas: 3")),
        lambda: (repo / "clusters/home/web.yaml").unlink(),
        lambda: new.write_text(repos.WEB.replace("web", "api")),
    )

    assert [places(each) for each in found] == [
        ["clusters/home/web.yaml:7"],
        ["clusters/home/more/api.yaml:7", "clusters/home/web.yaml:7"],
        ["clusters/home/web.yaml:7"],
        [],
        ["clusters/home/more/api.yaml:7"],
    ]


async def test_one_changed_file_is_the_only_one_that_is_parsed(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    real = yaml_reader.read

    def read(data: bytes, path: str, **options: object) -> yaml_reader.YamlContents:
        parsed.append(path)
        return real(data, path, **options)  # type: ignore[arg-type]

    def edit() -> None:
        monkeypatch.setattr(yaml_reader, "read", read)
        (repo / "clusters/home/web.yaml").write_text(repos.WEB + "# more\n")

    await looks(repo, edit)

    assert set(parsed) == {"clusters/home/web.yaml"}


async def test_a_wrong_rule_is_said_until_it_is_right_again(repo: Path) -> None:
    rules = repo / "firstlight-rules/audit/ours.yaml"
    found = await looks(
        repo, lambda: rules.write_text("rules: nonsense\n"), lambda: rules.write_text(repos.RULES)
    )  # fmt: skip

    assert isinstance(found[1], errors.ConfigError)
    assert places(found[2]) == ["clusters/home/web.yaml:7"]


async def test_what_is_written_while_a_file_is_read_is_there_at_the_next_look(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = repo / "clusters/home/web.yaml"
    read = watch._read
    later = ["# one line more\n" + repos.WEB]

    def read_and_write(path: str) -> bytes | None:
        data = read(path)
        if later:
            web.write_text(later.pop())
        return data

    monkeypatch.setattr(watch, "_read", read_and_write)
    found = await looks(
        repo, lambda: web.write_text(repos.WEB.replace("replicas: 1", "replicas: 2")), lambda: None, lambda: None
    )

    assert [places(each) for each in found] == [["clusters/home/web.yaml:7"], [], ["clusters/home/web.yaml:8"]]
