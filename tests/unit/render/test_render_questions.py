"""Questions and answers: a rendering is known again while the world answers the same."""

from pathlib import Path

import pytest

from firstlight.render import render_questions
from firstlight.render.chart_packages import FetchedContent, FetchKind, FetchRequest
from firstlight.render.render_questions import RenderQuestions
from tests.unit.render import surroundings


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {"a.yaml": "a", "d/b.yaml": "b", "d/e/c.yaml": "c"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


async def holds(asked: RenderQuestions, root: Path, **things: bytes) -> bool:
    return await render_questions.answers_hold(asked.answers, surroundings.around(root, things))


async def test_files_that_change_come_or_go(root: Path) -> None:
    asked = surroundings.questions(root)
    assert asked.file("a.yaml") == b"a"
    assert asked.file("absent.yaml") is None
    assert await holds(asked, root)

    (root / "a.yaml").write_text("changed")
    assert not await holds(asked, root)
    (root / "a.yaml").write_text("a")
    (root / "absent.yaml").write_text("")
    assert not await holds(asked, root)


async def test_names_below_a_directory(root: Path) -> None:
    asked = surroundings.questions(root)
    assert asked.names("d") == ("d/b.yaml", "d/e/c.yaml")
    (root / "d/b.yaml").write_text("content does not matter")
    assert await holds(asked, root)
    (root / "d/e/new.yaml").write_text("")
    assert not await holds(asked, root)


async def test_what_comes_from_elsewhere(root: Path) -> None:
    asked = surroundings.questions(root, {"https://x.example/a.yaml": b"one"})
    stored = await asked.stored(FetchRequest(kind=FetchKind.FILE, url="https://x.example/a.yaml"))

    assert await asked.content(stored) == b"one"
    assert [each.digest for each in asked.pins] == [stored.digest]
    assert await holds(asked, root, **{"https://x.example/a.yaml": b"one"})
    assert not await holds(asked, root, **{"https://x.example/a.yaml": b"two"})


async def test_another_repositorys_files_are_known_by_its_commit(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    asked = surroundings.questions(root, {"https://x.example/a.yaml": b"one"})
    other = tmp_path_factory.mktemp("other")
    (other / "z.yaml").write_text("z")
    inner = asked.elsewhere(type(asked.tree)(other))

    assert inner.file("z.yaml") == b"z"
    await inner.stored(FetchRequest(kind=FetchKind.FILE, url="https://x.example/a.yaml"))
    assert [each.what for each in asked.answers] == ["stored"]
    assert len(asked.pins) == 1


async def test_what_came_without_tls_is_asked_for_without_it_again(root: Path) -> None:
    asked = surroundings.questions(root, {"oci://x.example/a": b"one"})
    await asked.stored(FetchRequest(kind=FetchKind.OCI, url="oci://x.example/a", insecure=True))
    around = surroundings.around(root, {"oci://x.example/a": b"one"})
    wishes: list[FetchRequest] = []
    get = around.store.get

    async def noted(wanted: FetchRequest) -> FetchedContent:
        wishes.append(wanted)
        return await get(wanted)

    around.store.get = noted  # type: ignore[method-assign]

    assert await render_questions.answers_hold(asked.answers, around)
    assert [each.insecure for each in wishes] == [True]
