"""What an inline manifest is made from, and the commits that changed it since the manifest was last written."""

from collections.abc import Iterator
from pathlib import Path

from firstlight.clients import program_path
from firstlight.clients.git import Git, GitError
from firstlight.model import git
from firstlight.model.component import Component, Origin, SourceForm
from firstlight.model.source import ChartSource, DirectorySource, Embedded, SeveralSources


def origins(component: Component) -> tuple[Origin, ...]:
    """Return what a component is made from: not the inline manifest itself, and what is declared before all else."""
    made = tuple(each for each in component.origins if not isinstance(each.source, Embedded))
    others = [each.source for each in made if each.form is not SourceForm.DECLARED]
    declared = tuple(each for each in made if each.form is SourceForm.DECLARED and each.source not in others)
    return declared or made


async def since(root: Path, component: Component, path: str) -> tuple[git.Commit, ...]:
    """Return the commits that changed a component's sources after a file was last committed, newest first.

    Nothing where Git cannot say: outside a repository, for a file that it does not know.
    """
    program = program_path.find("git")
    files = sorted(set(_files(component)) - {path})
    if program is None or not files:
        return ()
    client = Git(Path(program))
    try:
        written = await client.log(root, files=[path], limit=1)
        return await client.log(root, written[0].id, files=files) if written else ()
    except GitError:
        return ()


def _files(component: Component) -> Iterator[str]:
    """Return files and directories of the repo; what a kustomization takes from elsewhere is not among them."""
    for origin in origins(component):
        if origin.form is not SourceForm.DECLARED:
            yield origin.place.path
        for source in origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,):
            if isinstance(source, DirectorySource):
                yield source.path
            elif isinstance(source, ChartSource):
                yield from (each.path for each in (source.origin, source.pinned) if each)
                yield from (each.file or each.place.path for each in source.values)
                if not source.repository:
                    yield source.name
