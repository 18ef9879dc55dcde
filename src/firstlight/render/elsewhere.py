"""Manifests that are not in this repo: files of the web, and directories of other repositories."""

import contextlib
from collections.abc import AsyncIterator

from firstlight.model.place import Place
from firstlight.model.source import Remote
from firstlight.render import manifests, private_tree
from firstlight.render.charts.wanted import Kind, Wanted
from firstlight.render.questions import Questions
from firstlight.render.raw import Raw
from firstlight.repo.work_tree import WorkTree

_FILE = (".yaml", ".yml", ".json")


def is_file(remote: Remote) -> bool:
    """Whether it is one file of the web."""
    return not remote.path and remote.url.partition("?")[0].endswith(_FILE)


async def file(remote: Remote, questions: Questions, place: Place) -> Raw:
    """The objects of a file of the web.

    Raises:
        errors.FirstlightError: It cannot be had.
    """
    stored = await questions.stored(Wanted(kind=Kind.FILE, url=remote.url, digest=remote.digest))
    content = await questions.content(stored)
    objects, remarks = manifests.parse(content.decode(errors="replace"), place, what=remote.url)
    return Raw(tuple(objects), tuple(remarks))


@contextlib.asynccontextmanager
async def repository(remote: Remote, questions: Questions) -> AsyncIterator[Questions]:
    """Another repository, for as long as it is looked at: the same questions, answered by its files.

    Raises:
        errors.FirstlightError: It cannot be had.
    """
    revision = "" if remote.revision == "HEAD" else remote.revision
    stored = await questions.stored(Wanted(kind=Kind.GIT, url=remote.url, version=revision))
    with private_tree.written(await questions.files(stored)) as root:
        yield questions.elsewhere(WorkTree(root))
