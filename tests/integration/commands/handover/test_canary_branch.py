"""The label of a canary in a real branch: out of it again whatever happens to the branch, or to the run."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.clients import git as clients_git
from firstlight.clients import kube
from firstlight.commands.handover import canary
from firstlight.model.certificate import ClaimProof
from firstlight.model.git import GitPerson
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object

FILE = "apps/settings.yaml"
SETTINGS = """# what people wrote
apiVersion: v1
kind: ConfigMap
metadata:
  name: small
  namespace: web
data: {word: hello}
"""
ME = GitPerson("me", "me@example.org")


class Remote:
    """A branch that the engine would follow, and somebody else who pushes to it."""

    def __init__(self, home: Path, git: clients_git.Git) -> None:
        self.home, self.git = home, git
        self.branch = canary.CanaryBranch(git=git, url=f"file://{home}/remote.git", name="main")
        self._clones = 0

    async def clone(self) -> Path:
        self._clones += 1
        path = self.home / f"clone-{self._clones}"
        await self.git.clone(self.branch.url, path, ref="main")
        return path

    async def content(self, file: str = FILE) -> str:
        return (await self.clone() / file).read_text()

    async def push(self, change: Callable[[str], str] = lambda text: text, *, to: str = FILE) -> None:
        """What somebody else does to the file meanwhile."""
        path = await self.clone()
        was = (path / FILE).read_text()
        (path / FILE).unlink()
        (path / to).write_text(change(was))
        (path / "other.txt").write_text(str(self._clones))
        await self.git.add(path, [*dict.fromkeys([FILE, to]), "other.txt"])
        await self.git.commit(path, "Something else\n", author=ME)
        await self.git.push(path, self.branch.url, "main")


@pytest.fixture
async def remote(tmp_path: Path) -> Remote:
    program = shutil.which("git")
    assert program is not None
    git = clients_git.Git(Path(program), schemes=("file",))
    await git.init(tmp_path / "remote.git", bare=True)
    first = tmp_path / "first"
    await git.init(first)
    (first / "apps").mkdir()
    (first / FILE).write_text(SETTINGS)
    await git.add(first, [FILE])
    await git.commit(first, "First\n", author=ME)
    made = Remote(tmp_path, git)
    await git.push(first, made.branch.url, "main")
    return made


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "PAUSE", 0.0)


def passing(name: str = "small") -> Passing:
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "web"}}
    owner = ObjectOwner(Party.FLUX, "Kustomization flux/all")
    return Passing(object=Object(value), component="web", manager="kustomize-controller", owner=owner)


class Flight:
    """A canary whose label is looked for by a test in the place of the API."""

    def __init__(self, remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
        self.remote, self.claims, self.told = remote, 0, list[str]()

        async def seen(bird: canary.CanaryObject, value: str, *_: Any, **__: Any) -> bool:
            if value:
                await self.meanwhile()
            return True

        monkeypatch.setattr(canary, "_seen", seen)

    async def meanwhile(self) -> None:
        """What happens while the label is in Git."""
        assert canary.LABEL in await self.remote.content()

    async def claim(self) -> None:
        self.claims += 1

    async def fly(self, name: str = "small", *, client: kube.Client = None) -> ClaimProof:  # type: ignore[assignment]
        return await canary.prove(
            [passing(name)], client, self.remote.branch, confirm=lambda _: True, claim=self.claim, tell=self.told.append
        )


@pytest.fixture
def flight(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> Flight:
    return Flight(remote, monkeypatch)


async def test_the_file_is_as_it_was(flight: Flight) -> None:
    proof = await flight.fly()

    assert (proof.holds, proof.is_tried) == (True, True)
    assert await flight.remote.content() == SETTINGS
    assert flight.claims == 1
    assert flight.told == [
        "a commit that gives ConfigMap web/small (apps/settings.yaml) a label is pushed to main",
        "a commit that takes it away again is pushed to main",
        "main is two commits ahead of clones that were made before, such as yours: git pull",
    ]


@pytest.mark.parametrize(
    ("change", "to"),
    [
        pytest.param(lambda text: text.replace("hello", "hi"), FILE, id="the-same-file"),
        pytest.param(lambda text: f"kind: List\n---\n{text}", FILE, id="another-document-before-it"),
        pytest.param(lambda text: text.replace("hello", "hi"), "apps/moved.yaml", id="moved"),
        pytest.param(lambda text: text.replace("labels:\n", "labels:\n    a: b\n"), FILE, id="another-label"),
    ],
)
async def test_somebody_pushes_meanwhile(flight: Flight, change: Callable[[str], str], to: str) -> None:
    flight.meanwhile = lambda: flight.remote.push(change, to=to)  # type: ignore[method-assign]

    proof = await flight.fly()

    now = await flight.remote.content(to)
    assert proof.holds
    assert canary.LABEL not in now
    assert now == change(SETTINGS) or "a: b" in now


async def test_somebody_pushes_again_and_again(flight: Flight, monkeypatch: pytest.MonkeyPatch) -> None:
    pushes: list[Path] = []
    real = clients_git.Git.push

    async def slow(self: clients_git.Git, path: Path, *arguments: Any, **options: Any) -> Any:
        if "removal" in path.name and len(pushes) < 2:
            pushes.append(path)
            monkeypatch.setattr(clients_git.Git, "push", real)
            await flight.remote.push()
            monkeypatch.setattr(clients_git.Git, "push", slow)
        return await real(self, path, *arguments, **options)

    monkeypatch.setattr(clients_git.Git, "push", slow)

    assert (await flight.fly()).holds
    assert len(pushes) == 2
    assert await flight.remote.content() == SETTINGS


async def test_a_push_whose_answer_is_lost(flight: Flight, monkeypatch: pytest.MonkeyPatch) -> None:
    real = clients_git.Git.push

    async def lossy(self: clients_git.Git, path: Path, *arguments: Any, **options: Any) -> Any:
        done = await real(self, path, *arguments, **options)
        if path.name == "repo":
            raise clients_git.GitUnreachable("push", detail="the remote end hung up unexpectedly")
        return done

    monkeypatch.setattr(clients_git.Git, "push", lossy)

    proof = await flight.fly()

    assert (proof.holds, proof.is_tried) == (False, False), "what was asked for and not tried is no proof"
    assert "main cannot be pushed to" in proof.says
    assert await flight.remote.content() == SETTINGS


async def test_ctrl_c_while_it_is_pushed(flight: Flight, monkeypatch: pytest.MonkeyPatch) -> None:
    real = clients_git.Git.push

    async def interrupted(self: clients_git.Git, path: Path, *arguments: Any, **options: Any) -> Any:
        await real(self, path, *arguments, **options)
        if path.name == "repo":
            raise asyncio.CancelledError

    monkeypatch.setattr(clients_git.Git, "push", interrupted)

    with pytest.raises(asyncio.CancelledError):
        await flight.fly()
    assert await flight.remote.content() == SETTINGS


async def test_a_branch_that_is_closed_meanwhile_is_said_with_file_and_label(
    flight: Flight, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = clients_git.Git.push

    async def closed(self: clients_git.Git, path: Path, *arguments: Any, **options: Any) -> Any:
        if path.name != "repo":
            raise clients_git.GitRejected("push", detail="protected branch hook declined")
        return await real(self, path, *arguments, **options)

    monkeypatch.setattr(clients_git.Git, "push", closed)

    with pytest.raises(errors.ClientError, match=rf"{canary.LABEL}: \d+ of ConfigMap web/small .*declined") as caught:
        await flight.fly()
    assert caught.value.hint == f"Look into {FILE} on main, and remove it there by hand."


async def test_what_cannot_be_tried_is_no_proof(flight: Flight) -> None:
    proof = await flight.fly("generated")

    assert (proof.holds, proof.is_tried) == (False, False)
    assert flight.claims == 0
