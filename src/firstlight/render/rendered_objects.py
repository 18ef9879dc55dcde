"""What programs print, as objects."""

import contextlib
import dataclasses
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from firstlight.document import yaml_reader
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.source import RemoteSource
from firstlight.render import private_directory
from firstlight.render.chart_packages import FetchKind, FetchRequest
from firstlight.render.render_questions import RenderQuestions
from firstlight.repo.work_tree import WorkTree

_SEPARATOR = re.compile(r"^---(?:[ \t][^\n]*)?(?:\n|\Z)", re.MULTILINE)


def split_documents(text: str) -> list[str]:
    """The documents of a text as they are written; a program's output has separators at the start of a line only."""
    return [each for each in _SEPARATOR.split(text) if each.strip()]


def join_documents(documents: Iterable[str]) -> str:
    """Documents as one text."""
    return "---\n".join(each if each.endswith("\n") else f"{each}\n" for each in documents)


def parse_objects(text: str, place: Place, *, what: str) -> tuple[list[Object], list[Diagnostic]]:
    """The objects of a text; Lists are taken apart.

    Args:
        text: YAML or JSON, several documents perhaps.
        place: What diagnostics are about.
        what: What the text is called in diagnostics.
    """
    contents = yaml_reader.read(text.encode(errors="replace"), what)
    diagnostics = [
        Diagnostic.error(
            "rendered-yaml-wrong",
            f"{what} is no YAML in line {each.place.line}: {each.message}",
            at=place,
            fix=each.fix,
        )
        for each in contents.diagnostics
        if each.severity == Severity.ERROR
    ]
    objects = []
    for document in contents.documents:
        for value in _items(document.value):
            if problem := _problem(value):
                diagnostics.append(
                    Diagnostic.error(
                        "object-without-kind", f"{what} has something in line {document.line} that {problem}", at=place
                    )
                )
            else:
                objects.append(Object(value))
    return objects, diagnostics


def _items(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        is_list = isinstance(each, Mapping) and str(each.get("kind") or "").endswith("List")
        if is_list and isinstance(each.get("items"), list):
            waiting += reversed(each["items"])
        else:
            yield each


def _problem(value: Any) -> str:
    if not isinstance(value, Mapping):
        return "is no object"
    for field in ("apiVersion", "kind"):
        if not isinstance(value.get(field), str) or not value[field]:
            return f"has no {field}"
    metadata = value.get("metadata")
    if not isinstance(metadata, Mapping) or not (metadata.get("name") or metadata.get("generateName")):
        return "has no name"
    return ""


# What came out of a renderer, before what the engine does to all objects alike.


@dataclasses.dataclass(frozen=True)
class RawObjects:
    """Objects and diagnostics."""

    objects: tuple[Object, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    namespace: str = ""
    """Where objects go that name no namespace; empty where they must name one."""
    release: str = ""
    """The name of the Helm release that they are part of; empty if they are part of none."""
    unreleased: tuple[ObjectId, ...] = ()
    """Those that are in no release all the same: Helm applies the chart's directory ``crds`` by itself."""
    by_default: tuple[ObjectId, ...] = ()
    """Those in which a variable has its default, which something outside of the repo may set to another value."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong with it."""
        return all(each.severity != Severity.ERROR for each in self.diagnostics)


def join_raw(*parts: RawObjects) -> RawObjects:
    """Several as one, all of which go to the namespace of the first."""
    objects = tuple(each for part in parts for each in part.objects)
    diagnostics = tuple(each for part in parts for each in part.diagnostics)
    return RawObjects(objects, diagnostics, parts[0].namespace if parts else "")


# Manifests that are not in this repo: files of the web, and directories of other repositories.


_FILE = (".yaml", ".yml", ".json")


def is_remote_file(remote: RemoteSource) -> bool:
    """Whether it is one file of the web."""
    return not remote.path and remote.url.partition("?")[0].endswith(_FILE)


async def remote_file(remote: RemoteSource, questions: RenderQuestions, place: Place) -> RawObjects:
    """The objects of a file of the web.

    Raises:
        errors.FirstlightError: It cannot be had.
    """
    stored = await questions.stored(FetchRequest(kind=FetchKind.FILE, url=remote.url, digest=remote.digest))
    content = await questions.content(stored)
    objects, diagnostics = parse_objects(content.decode(errors="replace"), place, what=remote.url)
    return RawObjects(tuple(objects), tuple(diagnostics))


@contextlib.asynccontextmanager
async def remote_repository(remote: RemoteSource, questions: RenderQuestions) -> AsyncIterator[RenderQuestions]:
    """Another repository, for as long as it is looked at: the same questions, answered by its files.

    Raises:
        errors.FirstlightError: It cannot be had.
    """
    revision = "" if remote.revision == "HEAD" else remote.revision
    stored = await questions.stored(FetchRequest(kind=FetchKind.GIT, url=remote.url, version=revision))
    with private_directory.create_with_files(await questions.files(stored)) as root:
        yield questions.elsewhere(WorkTree(root))
