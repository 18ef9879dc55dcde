"""Directories built by kustomize, with what an engine writes into them first."""

import dataclasses
import posixpath
from pathlib import Path

import msgspec

from firstlight.clients.kustomize import errors as kustomize_errors
from firstlight.clients.kustomize import scan
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.render import assembling, kustomization_changes, private_tree
from firstlight.render.assembling import Assembly, Rules
from firstlight.render.kustomization_changes import Change
from firstlight.render.questions import Questions
from firstlight.render.tools import Tools
from firstlight.repo.kustomize import kustomization
from firstlight.repo.kustomize.kustomization import Kustomization
from firstlight.repo.work_tree import join


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wish:
    """What is to be built, and how."""

    directory: str
    place: Place
    change: Change = kustomization_changes.none
    components: tuple[str, ...] = ()
    """Directories that the change adds, as a kustomization names them."""
    generates: bool = False
    """Whether all files of a directory without a kustomization are taken, as Flux does it."""
    follows_links: bool = True
    """Flux fetches no symbolic links, so for it there are none."""
    rules: Rules = dataclasses.field(default_factory=Rules)
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()


async def build(wish: Wish, questions: Questions, tools: Tools) -> tuple[str, list[Remark]]:
    """What kustomize makes of a directory of the repo.

    Raises:
        errors.FirstlightError: It makes nothing of it.
    """
    assembly = Assembly()
    found = _kustomization(wish, questions, assembly)
    value = wish.change(found)
    for each in wish.components:
        path = None if each.startswith("/") else join(found.directory, each)
        if path is not None and questions.tree.is_dir(path):
            assembling.collect(path, questions, assembly, wish.rules)
    name = found.file or posixpath.normpath(f"{found.directory}/{scan.NAMES[0]}")
    if value is not found.value or not found.file:
        assembly.files[name] = msgspec.json.encode(value)
    return await _run(wish, assembly, questions, tools, directory=posixpath.dirname(name))


async def _run(
    wish: Wish, assembly: Assembly, questions: Questions, tools: Tools, *, directory: str
) -> tuple[str, list[Remark]]:
    await assembling.complete(questions, assembly, wish.rules)
    program = tools.kustomize_with_helm if assembly.has_charts else tools.kustomize
    links = questions.links if wish.follows_links else {}
    async with tools.turn():
        with private_tree.written(assembly.files, links=links) as root:
            try:
                rendered = await program.build(
                    root / directory,
                    within=root,
                    beyond_directory=wish.rules.beyond_directory,
                    kube_version=wish.kube_version if assembly.has_charts else "",
                    api_versions=wish.api_versions if assembly.has_charts else (),
                )
            except kustomize_errors.KustomizeError as error:
                raise _in_repo(error, root, questions.tree.root) from error
    said = [Remark(wish.place, Grade.WARNING, f"kustomize: {each}") for each in rendered.warnings]
    return rendered.text, [*assembly.remarks, *said]


def _kustomization(wish: Wish, questions: Questions, assembly: Assembly) -> Kustomization:
    tree, root = questions.tree, questions.tree.root
    directory = tree.real(wish.directory)
    found = kustomization.load(tree, directory)
    if found is not None:
        assembling.collect(directory, questions, assembly, wish.rules)
        return found
    for name in scan.NAMES:
        questions.file(posixpath.normpath(f"{directory}/{name}"))
    if not tree.is_dir(directory):
        raise kustomize_errors.MissingFile(root / directory, "there is no such directory", path=root / directory)
    if not wish.generates:
        raise kustomize_errors.MissingFile(root / directory, "there is no kustomization.yaml", path=root / directory)
    resources = questions.generated(directory)
    for each in resources:
        path = posixpath.normpath(f"{directory}/{each}")
        if tree.is_dir(path):
            assembling.collect(path, questions, assembly, wish.rules)
        else:
            assembly.files[path] = questions.content_of(path)
    # Flux writes a namespace that nobody uses where there is nothing at all, since kustomize takes no empty file.
    return Kustomization(directory, {"resources": resources} if resources else {"namespace": "_placeholder"})


def _in_repo(error: kustomize_errors.KustomizeError, private: Path, root: Path) -> kustomize_errors.KustomizeError:
    """The error with the paths of the repo in the place of those of the private directory."""
    if error.path is not None and error.path.is_relative_to(private):
        error.path = root / error.path.relative_to(private)
    error.detail = error.detail.replace(f"{private}/", "").replace(str(private), ".")
    return error
