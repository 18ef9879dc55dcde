"""Directories built by kustomize, with what an engine writes into them first."""

import dataclasses
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients.kustomize import build_scan, kustomize_errors
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.render import kustomize_inputs, private_directory
from firstlight.render.kustomize_inputs import KustomizeInputs, KustomizeRules
from firstlight.render.render_questions import RenderQuestions
from firstlight.render.renderer_programs import RenderTools
from firstlight.repo.argocd.definitions import items, mapping, text
from firstlight.repo.kustomize import kustomization_file
from firstlight.repo.kustomize.kustomization_file import Kustomization, Overlay
from firstlight.repo.work_tree import join

# What engines write into the kustomization of a directory before they build it.


KustomizationChange = Callable[[Kustomization], Mapping[str, Any]]
"""A kustomization as the engine writes it."""

_KEPT = "*"
"""What stands for a part of an image that is to stay as the kustomization has it."""
_IMAGE = re.compile(r"(?P<name>[^:@]*(?::[0-9]+/[^:@]*)?)(?::(?P<tag>[^@]*))?(?:@(?P<digest>.*))?")


def unchanged(kustomization: Kustomization) -> Mapping[str, Any]:
    """Nothing is changed."""
    return kustomization.value


def by_flux(fields: Mapping[str, Any], place: Place) -> KustomizationChange:
    """What a Flux Kustomization adds: ``fields`` as its overlay has them, and buildMetadata."""

    def change(kustomization: Kustomization) -> Mapping[str, Any]:
        changed = kustomization_file.laid_over(kustomization, Overlay(place, fields))
        value = dict(changed.value)
        for field in ("patchesStrategicMerge", "patchesJson6902"):
            if fields.get(field):
                value[field] = [_written(each) for each in changed.entries(field)]
        if kustomization.file and not kustomization.entries("resources"):
            # Flux asks for annotations with the origin where there are no resources, lest the file be empty.
            value["buildMetadata"] = ["originAnnotations"]
        if fields.get("buildMetadata"):
            value["buildMetadata"] = fields["buildMetadata"]
        return value

    return change


def by_argocd(
    options: Mapping[str, Any], filled: Callable[[str], str], components: Sequence[str]
) -> KustomizationChange:
    """What the ``kustomize edit`` commands of Argo CD's repo server change.

    Args:
        options: The Application's ``kustomize``.
        filled: Puts Argo CD's variables into a text.
        components: Those that are to be added.

    Raises:
        errors.UsageError: kustomize refuses it; raised when a kustomization is changed.
    """

    def change(kustomization: Kustomization) -> Mapping[str, Any]:
        value = dict(kustomization.value)
        for field in ("namePrefix", "nameSuffix", "namespace"):
            if text(options.get(field)):
                value[field] = text(options[field])
        if images := [filled(text(each)) for each in items(options.get("images"))]:
            value["images"] = _images(kustomization.entries("images"), images)
        if replicas := items(options.get("replicas")):
            value["replicas"] = _replicas(kustomization.entries("replicas"), replicas)
        labels = {str(name): filled(text(each)) for name, each in mapping(options.get("commonLabels")).items()}
        if labels:
            _add_labels(value, labels, options)
        annotations = {str(name): text(each) for name, each in mapping(options.get("commonAnnotations")).items()}
        if options.get("commonAnnotationsEnvsubst") is True:
            annotations = {name: filled(each) for name, each in annotations.items()}
        if annotations:
            forced = options.get("forceCommonAnnotations") is True
            value["commonAnnotations"] = _added(value.get("commonAnnotations"), annotations, "annotation", forced)
        if patches := [each for each in items(options.get("patches")) if isinstance(each, Mapping)]:
            value["patches"] = [*items(value.get("patches")), *patches]
        if components:
            value["components"] = list(dict.fromkeys([*items(value.get("components")), *components]))
        return value

    return change


def _written(patch: Any) -> Any:
    """A patch as kustomize wants it: a text; Flux lets people write it as YAML in YAML."""
    if isinstance(patch, dict) and isinstance(patch.get("patch"), list):
        return {**patch, "patch": msgspec.json.encode(patch["patch"]).decode()}
    if isinstance(patch, dict) and "kind" in patch:
        return msgspec.json.encode(patch).decode()
    return patch


def _images(own: Sequence[Any], written: Sequence[str]) -> list[dict[str, Any]]:
    found = {str(each.get("name")): dict(each) for each in own if isinstance(each, dict)}
    for each in written:
        name, image = _image(each)
        before = found.get(name, {})
        kept = {key: before.get(key, "") if value == _KEPT else value for key, value in image.items()}
        found[name] = {"name": name, **{key: value for key, value in kept.items() if value}}
    return [found[name] for name in sorted(found)]


def _image(written: str) -> tuple[str, dict[str, str]]:
    """``name=new:tag@digest`` in parts."""
    key, has_key, rest = written.partition("=")
    match = _IMAGE.fullmatch(rest if has_key else written) if len(written) < 1000 else None
    if match is None or (not has_key and match["name"] == written):
        raise errors.UsageError(f"{written[:100]!r} is not an image with a tag, a digest or another name")
    parts = {"newName": match["name"] if has_key else "", "newTag": match["tag"] or "", "digest": match["digest"] or ""}
    return (key if has_key else match["name"]), parts


def _replicas(own: Sequence[Any], wished: Sequence[Any]) -> list[dict[str, Any]]:
    found = {str(each.get("name")): dict(each) for each in own if isinstance(each, dict)}
    for each in map(mapping, wished):
        count = text(each.get("count"))
        if not count.isdecimal():
            raise errors.UsageError(f"{count[:40]!r} is no number of replicas")
        found[text(each.get("name"))] = {"name": text(each.get("name")), "count": int(count)}
    return list(found.values())


def _add_labels(value: dict[str, Any], labels: Mapping[str, str], options: Mapping[str, Any]) -> None:
    forced = options.get("forceCommonLabels") is True
    if options.get("labelWithoutSelector") is not True:
        value["commonLabels"] = _added(value.get("commonLabels"), labels, "label", forced)
        return
    templates = options.get("labelIncludeTemplates") is True
    entries = [dict(each) if isinstance(each, dict) else each for each in items(value.get("labels"))]
    same = next(_matching(entries, templates), None)
    if same is None:
        same = {"pairs": {}, "includeSelectors": False, **({"includeTemplates": True} if templates else {})}
        entries.append(same)
    same["pairs"] = _added(same.get("pairs"), labels, "label", forced)
    value["labels"] = entries


def _matching(entries: Sequence[Any], templates: bool) -> Iterator[dict[str, Any]]:
    for each in entries:
        if (
            isinstance(each, dict)
            and not each.get("includeSelectors")
            and bool(each.get("includeTemplates")) == templates
        ):
            yield each


def _added(own: Any, more: Mapping[str, str], what: str, forced: bool) -> dict[str, Any]:
    for name in more:
        if name in mapping(own) and not forced:
            raise errors.UsageError(
                f"the {what} {name[:100]} is in the kustomization already, and is not forced over it"
            )
    return {**mapping(own), **more}


@dataclasses.dataclass(frozen=True, kw_only=True)
class KustomizeRequest:
    """What is to be built, and how."""

    directory: str
    place: Place
    change: KustomizationChange = unchanged
    components: tuple[str, ...] = ()
    """Directories that the change adds, as a kustomization names them."""
    generates: bool = False
    """Whether all files of a directory without a kustomization are taken, as Flux does it."""
    follows_links: bool = True
    """Flux fetches no symbolic links, so for it there are none."""
    rules: KustomizeRules = dataclasses.field(default_factory=KustomizeRules)
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()


async def build(wish: KustomizeRequest, questions: RenderQuestions, tools: RenderTools) -> tuple[str, list[Diagnostic]]:
    """What kustomize makes of a directory of the repo.

    Raises:
        errors.FirstlightError: It makes nothing of it.
    """
    assembly = KustomizeInputs()
    found = _kustomization(wish, questions, assembly)
    value = wish.change(found)
    for each in wish.components:
        path = None if each.startswith("/") else join(found.directory, each)
        if path is not None and questions.tree.is_dir(path):
            kustomize_inputs.collect(path, questions, assembly, wish.rules)
    name = found.file or posixpath.normpath(f"{found.directory}/{build_scan.NAMES[0]}")
    if questions.tree.is_dir(name):
        message = f"{name} is a directory, where kustomize expects a file"
        raise errors.ConfigError(message, path=name, hint="Rename the directory.")
    if value is not found.value or not found.file:
        assembly.files[name] = msgspec.json.encode(value)
    return await _run(wish, assembly, questions, tools, directory=posixpath.dirname(name))


async def _run(
    wish: KustomizeRequest, assembly: KustomizeInputs, questions: RenderQuestions, tools: RenderTools, *, directory: str
) -> tuple[str, list[Diagnostic]]:
    await kustomize_inputs.complete(questions, assembly, wish.rules)
    program = tools.kustomize_with_helm if assembly.has_charts else tools.kustomize
    links = questions.links if wish.follows_links else {}
    async with tools.turn():
        with private_directory.create_with_files(assembly.files, links=links) as root:
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
    said = [Diagnostic.warning("kustomize-warning", f"kustomize: {each}", at=wish.place) for each in rendered.warnings]
    return rendered.text, [*assembly.diagnostics, *said]


def _kustomization(wish: KustomizeRequest, questions: RenderQuestions, assembly: KustomizeInputs) -> Kustomization:
    tree, root = questions.tree, questions.tree.root
    directory = tree.real(wish.directory)
    found = kustomization_file.load(tree, directory)
    if found is not None:
        kustomize_inputs.collect(directory, questions, assembly, wish.rules)
        return found
    for name in build_scan.NAMES:
        questions.file(posixpath.normpath(f"{directory}/{name}"))
    if not tree.is_dir(directory):
        raise kustomize_errors.MissingFile(root / directory, "there is no such directory", path=root / directory)
    if not wish.generates:
        raise kustomize_errors.MissingFile(root / directory, "there is no kustomization.yaml", path=root / directory)
    resources = questions.generated(directory)
    for each in resources:
        path = posixpath.normpath(f"{directory}/{each}")
        if tree.is_dir(path):
            kustomize_inputs.collect(path, questions, assembly, wish.rules)
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
