"""What an engine must not take away, as tests of an audit's fixes have it: a kind, a note, a namespace and a claim."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from firstlight.clients import kube as clients_kube
from tests.labs import until

CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-config"}
data: {word: "{{ .Values.word }}"}
"""
"""The template of charts, whose releases are told apart by the UID of what they make."""


async def uid(kube: clients_kube.Client, version: str, kind: str, name: str, namespace: str | None = None) -> str:
    """Of an object that is there to stay; empty if it is not."""
    try:
        found = await kube.get(version, kind, name, namespace=namespace)
    except (clients_kube.NotFound, clients_kube.UnknownKind):
        return ""
    return "" if "deletionTimestamp" in found["metadata"] else str(found["metadata"]["uid"])


async def notes(kube: clients_kube.Client, name: str, space: str) -> tuple[str, ...]:
    """A kind, and an object of it: each by its UID."""
    kind = await uid(kube, *CRD, f"notes.{name}.example.org")
    return kind, await uid(kube, f"{name}.example.org/v1", "Note", "one", space)


async def data(kube: clients_kube.Client, name: str) -> tuple[str, ...]:
    """A namespace, and a claim in it: each by its UID."""
    claim = await uid(kube, "v1", "PersistentVolumeClaim", "files", f"{name}-data")
    return await uid(kube, "v1", "Namespace", f"{name}-data"), claim


async def things(kube: clients_kube.Client, name: str, space: str) -> tuple[str, ...]:
    """All of it."""
    return *await notes(kube, name, space), *await data(kube, name)


async def noted(kube: clients_kube.Client, name: str, space: str) -> tuple[str, ...]:
    """Somebody writes a note; what must not be lost from then on."""
    metadata = {"name": "one", "namespace": space}
    note = {"apiVersion": f"{name}.example.org/v1", "kind": "Note", "metadata": metadata}

    async def whole() -> tuple[str, ...]:
        try:
            await kube.apply(note, manager="tests")
        except (clients_kube.UnknownKind, clients_kube.NotFound):
            await kube.catalog(refresh=True)
        found = await things(kube, name, space)
        return found if all(found) else ()

    return await until(whole, "a note and a claim")


async def lost(question: Callable[[], Awaitable[Sequence[str]]], what: str) -> None:
    """Wait until nothing of it has a UID any more."""

    async def is_lost() -> bool:
        return not any(await question())

    await until(is_lost, f"{what} to be lost")


@asynccontextmanager
async def cleared(kube: clients_kube.Client, names: Sequence[str], *more: tuple[str, str, str]) -> AsyncIterator[None]:
    """Afterwards what a fix has kept is deleted, and more that is in no namespace of the test's own."""
    try:
        yield
    finally:
        kinds = [(*CRD, f"notes.{name}.example.org") for name in names]
        spaces = [("v1", "Namespace", f"{name}-data") for name in names]
        for each in (*kinds, *spaces, *more):
            with suppress(clients_kube.NotFound):
                await kube.delete(*each)
