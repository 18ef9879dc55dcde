"""The last proof of sole ownership: a label that is added in Git and removed again, seen to come and to go.

It writes to the branch that the engine follows, in clones of its own: the user's work tree is not touched. The label
is taken out of the branch as it is by then, whatever happens in between; where that cannot be, the error says where.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import git as clients_git
from firstlight.clients import kube, scratch
from firstlight.clients.git.git_program import Credentials
from firstlight.document import within, yaml_editor, yaml_reader
from firstlight.document.within import mapping
from firstlight.engines import adapters
from firstlight.execute.handover import certificate_store, certification, live_evidence
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model import flux_names
from firstlight.model.certificate import Certificate, CertificateClaim, ClaimProof
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.git import GitPerson
from firstlight.model.handover import Passing
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.plan import Gate, Subject
from firstlight.model.secret import OwnSsh
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.observe.gate_watch import Watching

LABEL = "firstlight.dev/canary"
AUTHOR = GitPerson("firstlight", "firstlight@localhost")
TIMEOUT = 600.0
"""Seconds for a commit to reach the cluster: an engine that is asked does not wait for its interval."""
TRIES = 5
PAUSE = 1.0
"""Seconds between two attempts to take the label out of Git."""
_STEPS = ("metadata", "labels", LABEL)
_HARMLESS = ("ConfigMap", "Namespace")
_FILES = (".yaml", ".yml")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CanaryBranch:
    """What the engine follows, and how it is written to."""

    git: clients_git.Git
    url: str
    name: str
    credentials: Credentials | None = None
    author: GitPerson = AUTHOR


def branch_of(cluster: Cluster, git: Path) -> CanaryBranch:
    """The branch that a cluster's engine follows, as the user reaches it.

    Args:
        cluster: Which it is.
        git: The program.
    """
    is_ssh = cluster.url.startswith("ssh://") or ("://" not in cluster.url and "@" in cluster.url)
    credentials = OwnSsh() if is_ssh else None
    program = clients_git.Git(git, schemes=("https", "ssh", "http"))
    return CanaryBranch(git=program, url=cluster.url, name=cluster.branch or "main", credentials=credentials)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CanaryObject:
    """The object that carries the label, and where Git has it."""

    passing: Passing
    file: str
    document: int

    def __str__(self) -> str:
        return f"{self.passing.id} ({self.file})"


async def prove(
    passing: Sequence[Passing],
    client: kube.Client,
    branch: CanaryBranch,
    *,
    confirm: Callable[[str], bool],
    claim: Callable[[], Awaitable[object]],
    tell: Callable[[str], None] = lambda text: None,
    timeout: float = TIMEOUT,
) -> ClaimProof:
    """Add a label in Git and remove it again, and see it come and go.

    Args:
        passing: What the engine owns; the smallest ConfigMap or Namespace that Git has as plain YAML is chosen.
        client: The API.
        branch: What the engine follows.
        confirm: Asked before anything is pushed.
        claim: Takes the right to write, once it is confirmed.
        tell: Told what is done.
        timeout: Seconds for each way.

    Raises:
        errors.Refused: It was not confirmed, or another run works on this cluster.
        errors.ClientError: The branch cannot be cloned, or the label cannot be removed from it again.
    """
    with scratch.directory("canary") as home:
        clone = Path(home) / "repo"
        await branch.git.clone(branch.url, clone, ref=branch.name, credentials=branch.credentials)
        bird = choose(passing, clone)
        if bird is None:
            why = "no ConfigMap or Namespace that passes is in Git as plain YAML"
            return _untried(why)
        if not confirm(f"two commits are pushed to {branch.name}: a label is added to {bird}, and removed again"):
            raise errors.Refused("not confirmed: nothing was pushed", hint="Leave --canary out, or give --yes.")
        await claim()
        value = f"{time.time():.0f}"
        before = (clone / bird.file).read_bytes()
        label = PushedLabel(bird=bird, value=value, before=before, after=_labelled(before, bird, value))
        came, why = False, ""
        try:
            try:
                await _push(clone, {bird.file: label.after}, branch, message=f"Canary: a label on {bird}")
            except errors.ClientError as error:
                why = f"{branch.name} cannot be pushed to: {error}"
            else:
                tell(f"a commit that gives {bird} a label is pushed to {branch.name}")
                came = await _seen(bird, value, client, timeout=timeout, tell=tell)
        finally:
            # Also where the push was cut short or had no answer: it may have arrived all the same.
            is_removed = await remove(label, branch, Path(home))
        if why:
            return _untried(why)
        if is_removed:
            tell(f"a commit that takes it away again is pushed to {branch.name}")
        went = await _seen(bird, "", client, timeout=timeout, tell=tell)
        if is_removed:
            tell(f"{branch.name} is two commits ahead of clones that were made before, such as yours: git pull")
    if not came:
        return ClaimProof(
            claim=CertificateClaim.CANARY, holds=False, says=f"the label of {bird} did not come within {timeout:.0f} s"
        )
    if not went:
        return ClaimProof(
            claim=CertificateClaim.CANARY, holds=False, says=f"the label of {bird} did not go within {timeout:.0f} s"
        )
    return ClaimProof(claim=CertificateClaim.CANARY, holds=True, says=str(bird))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PushedLabel:
    """A label as it was pushed."""

    bird: CanaryObject
    value: str
    before: bytes = dataclasses.field(repr=False)
    """The file without it."""
    after: bytes = dataclasses.field(repr=False)


async def remove(label: PushedLabel, branch: CanaryBranch, home: Path) -> bool:
    """Take a label out of a branch as it is by now, wherever it stands; whether it was there.

    Args:
        label: As it was pushed.
        branch: What the engine follows.
        home: A directory for clones.

    Raises:
        errors.ClientError: It cannot be; the message says where it may still be.
    """
    for attempt in range(1, TRIES + 1):
        clone = home / f"removal-{attempt}"
        try:
            await branch.git.clone(branch.url, clone, ref=branch.name, credentials=branch.credentials)
            files = _without(clone, label)
            if files:
                await _push(clone, files, branch, message=f"Canary: the label of {label.bird} is removed")
            return bool(files)
        except errors.FirstlightError as error:
            if attempt == TRIES or isinstance(error, errors.ConfigError):
                raise errors.ClientError(
                    f"the label {LABEL}: {label.value} of {label.bird} may still be in {branch.name}: {error.message}",
                    hint=f"Look into {label.bird.file} on {branch.name}, and remove it there by hand.",
                ) from error
        await asyncio.sleep(PAUSE)  # somebody else has pushed, or the server does not answer
    raise AssertionError("unreachable")


async def record(certificate: Certificate, proof: ClaimProof, client: kube.Client, directory: Path) -> Certificate:
    """Add what a canary showed to a certificate, and keep that; an incomplete one is kept for reading alone.

    Args:
        certificate: A complete one.
        proof: What was seen.
        client: The API.
        directory: Of the cluster, beside the journal.
    """
    made = certification.with_canary(certificate, proof)
    if made.is_complete:
        await certificate_store.keep(certificate_store.made(made), client, directory)
    else:
        certificate_store.keep_incomplete(made, directory)
    return made


def choose(passing: Sequence[Passing], root: Path) -> CanaryObject | None:
    """The smallest harmless object that is a document of a file as it is; None if there is none.

    Args:
        passing: What the engine owns.
        root: A clone of the repo.
    """
    harmless = [
        each
        for each in passing
        if each.id.kind in _HARMLESS and not each.id.group and not each.owner.name.startswith("HelmRelease ")
    ]
    places = _places(root) if harmless else {}
    for each in sorted(harmless, key=lambda one: (one.id.kind, len(str(one.object.value)), one.id)):
        found = places.get((each.id.kind, each.id.namespace, each.id.name), [])
        found = found or places.get((each.id.kind, "", each.id.name), [])
        if len(found) == 1:  # one that is twice in the repo may be another cluster's
            return CanaryObject(passing=each, file=found[0][0], document=found[0][1])
    return None


def _places(root: Path) -> dict[tuple[str, str, str], list[tuple[str, int]]]:
    """Every harmless object that stands in a file of the repo."""
    found: dict[tuple[str, str, str], list[tuple[str, int]]] = {}
    for name, path in _yaml(root):
        for document in yaml_reader.read(path.read_bytes(), name).documents:
            value = document.value
            if isinstance(value, Mapping) and value.get("kind") in _HARMLESS and value.get("apiVersion") == "v1":
                id = ObjectId.of(value)
                found.setdefault((id.kind, id.namespace, id.name), []).append((name, document.index))
    return found


def _yaml(root: Path) -> Iterator[tuple[str, Path]]:
    """The files of a clone that may have objects, by their names in the repo."""
    for path in sorted(root.rglob("*")):
        if path.suffix in _FILES and not path.is_symlink() and ".git" not in path.parts and path.is_file():
            yield str(path.relative_to(root)), path


def _labelled(content: bytes, bird: CanaryObject, value: str) -> bytes:
    return yaml_editor.set_value(
        content.decode(), _STEPS, value, document=bird.document, path=bird.file
    ).encode()  # fmt: skip


def _without(root: Path, label: PushedLabel) -> dict[str, bytes]:
    """The files of a clone that have the label, without it; somebody may have moved or changed them meanwhile."""
    found: dict[str, bytes] = {}
    for name, path in _yaml(root):
        content = path.read_bytes()
        if content == label.after:
            found[name] = label.before
        elif LABEL.encode() in content:
            for document in yaml_reader.read(content, name).documents:
                labels = mapping(document.value, "metadata", "labels")
                if labels.get(LABEL) == label.value:
                    steps = _STEPS if len(labels) > 1 else _STEPS[:-1]
                    was = found.get(name, content).decode()
                    found[name] = yaml_editor.remove(was, steps, document=document.index, path=name).encode()
    return found


def _untried(why: str) -> ClaimProof:
    """Somebody has asked for it: that it could not be tried is no proof."""
    return ClaimProof(claim=CertificateClaim.CANARY, holds=False, is_tried=False, says=why)


async def _push(clone: Path, files: Mapping[str, bytes], branch: CanaryBranch, *, message: str) -> None:
    for name, content in files.items():
        (clone / name).write_bytes(content)
    await branch.git.add(clone, list(files))
    now = datetime.datetime.now(tz=datetime.UTC)
    await branch.git.commit(clone, f"{message}\n", author=branch.author, when=now)
    await branch.git.push(clone, branch.url, branch.name, credentials=branch.credentials)


async def _seen(
    bird: CanaryObject, value: str, client: kube.Client, *, timeout: float, tell: Callable[[str], None]
) -> bool:
    """Whether the live object gets the label, or loses it, in time."""
    id = bird.passing.id
    look = WatchTarget(api_version="v1", kind=id.kind, namespace=id.namespace, name=id.name, with_content=False)
    done = "the label has come into the cluster" if value else "the label is gone from the cluster"
    awaited = "the engine is to bring the label" if value else "the engine is to take the label away"

    def judge(view: GateView) -> Verdict:
        found = within.text(mapping(view.one(look), "metadata", "labels"), LABEL)
        return Passed(done) if found == value else Waiting(f"waits: {awaited}")

    question = GateQuestion(
        gate=Gate(Subject.CERTIFICATE), name="canary", looks=(look,), judge=judge, timeout=timeout
    )  # fmt: skip
    await _ask(bird.passing, client)
    async with Watching(client) as watching:
        verdict = await watching.wait(question, on_verdict=lambda each: tell(each.reason))
    return isinstance(verdict, Passed)


async def _ask(passing: Passing, client: kube.Client) -> None:
    """Ask the engine to look now, as ``flux reconcile --with-source`` and a refresh do; it would come by itself too."""
    holder = (await live_evidence.holders([passing.owner], client))[passing.owner]
    if holder is None:
        return
    token, kind = f"{time.time():.6f}", adapters.KINDS[within.text(holder, "kind")]
    source = kind.source(holder)
    if source is not None:
        fetching = adapters.SOURCES[source.kind]
        await _annotate(source, fetching.api_version, fetching.request(token), client)
    await _annotate(ObjectId.of(holder), within.text(holder, "apiVersion"), kind.request(token), client)


async def _annotate(id: ObjectId, api_version: str, annotations: Mapping[str, str], client: kube.Client) -> None:
    body = {"metadata": {"annotations": dict(annotations)}}
    await client.patch(
        api_version, id.kind, id.name, body, manager=flux_names.CLIENT_SIDE_MANAGER, namespace=id.namespace
    )  # fmt: skip
