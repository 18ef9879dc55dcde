"""Objects of a kustomization and of everything that it is made of, in the order in which kustomize works.

Resources, then generators, then components, then transformers. What cannot be done becomes a diagnostic, and the work
goes on with the rest: kustomize would stop, but a reader wants to know what else is there.
"""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, RemoteSource
from firstlight.repo.kustomize import (
    config_generators,
    field_specs,
    kustomization_file,
    object_loader,
    remote_resources,
    transformers,
)
from firstlight.repo.kustomize.field_specs import FieldSpecs
from firstlight.repo.kustomize.kustomization_file import Kustomization
from firstlight.repo.kustomize.object_loader import Loader
from firstlight.repo.kustomize.resources import KustomizationError, KustomizeResource
from firstlight.repo.work_tree import WorkTree

DEPTH = 50
"""Kustomizations in each other; people write five."""
OBJECTS = 20_000
"""Objects of one kustomization: prefixes can multiply a base as often as somebody likes."""
WORK = 500_000
"""Objects that are handled in all kustomizations of a tree together, each as often as it is taken up into another."""
_REPEATED = 20
"""Objects that are named as being there twice; a base that is named twice has all of its objects so."""


@dataclasses.dataclass(frozen=True)
class Elsewhere:
    """A resource that is not in the repo."""

    place: Place
    remote: RemoteSource


@dataclasses.dataclass(frozen=True)
class Accumulated:
    """What a kustomization has come to so far."""

    resources: tuple[KustomizeResource, ...] = dataclasses.field(default=(), repr=False)
    specs: FieldSpecs = dataclasses.field(default=field_specs.DEFAULT, repr=False)
    charts: tuple[ChartSource, ...] = ()
    remotes: tuple[Elsewhere, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    files: frozenset[str] = frozenset()


class Accumulator:
    """Accumulates directories of a tree, each once."""

    def __init__(self, tree: WorkTree) -> None:
        self.tree = tree
        self.work = 0
        self._known: dict[str, Accumulated] = {}
        self._files: dict[str, Kustomization | None] = {}
        self._objects: dict[str, object_loader.Objects] = {}

    def directory(self, path: str, stack: tuple[str, ...] = ()) -> Accumulated | None:
        """What a directory's kustomization comes to; None where it has none."""
        path = self.tree.real(path)
        if path not in self._known:
            found = self.file(path)
            if found is None:
                return None
            self._known[path] = self.kustomization(found, Accumulated(), stack)
        return self._known[path]

    def file(self, path: str) -> Kustomization | None:
        """The kustomization of a directory, as it is written; None where it has none."""
        if path not in self._files:
            self._files[path] = kustomization_file.load(self.tree, path)
        return self._files[path]

    def objects(self, path: str) -> object_loader.Objects:
        """The objects of a file."""
        if path not in self._objects:
            self._objects[path] = object_loader.read_objects(self.tree, path)
        return self._objects[path]

    def kustomization(self, found: Kustomization, start: Accumulated, stack: tuple[str, ...]) -> Accumulated:
        """What instructions come to, on top of what is there already."""
        return _Work(self, found, start, stack).done()


_TARGETS = {
    "kustomize-patch-target-missing", "kustomize-replacement-source-missing", "kustomize-replacement-target-missing",
    "kustomize-replicas-target-missing",
}  # fmt: skip
"""Codes of what is wrong only if every object is known."""


def _unsure(diagnostic: Diagnostic) -> Diagnostic:
    """A diagnostic about an object that is not there, where others may be there that are not known."""
    if diagnostic.code not in _TARGETS or diagnostic.severity is not Severity.ERROR:
        return diagnostic
    message = f"{diagnostic.message}; it may be among what is not rendered here, such as a chart"
    return dataclasses.replace(diagnostic, severity=Severity.UNKNOWN, message=message, fix="")


class _Work:
    """One kustomization, being worked through."""

    def __init__(self, whole: Accumulator, file: Kustomization, start: Accumulated, stack: tuple[str, ...]) -> None:
        self._whole = whole
        self._tree = whole.tree
        self._file = file
        self._loader = Loader(whole.tree, file.directory)
        self._stack = (*stack, file.directory)
        self._resources = list(start.resources)
        self._ids = {each.id: each for each in start.resources}
        self._specs = start.specs
        self._charts = list(start.charts)
        self._remotes = list(start.remotes)
        self._diagnostics = dict.fromkeys([*start.diagnostics, *file.diagnostics])
        self._files = set(start.files) | ({file.file} if file.file else set())

    def done(self) -> Accumulated:
        for field in ("resources", "bases"):
            for number, entry in enumerate(self._file.entries(field)):
                with self._noting(field, number):
                    self._resource(entry, field, number)
        self._configurations()
        self._generate()
        for number, entry in enumerate(self._file.entries("components")):
            with self._noting("components", number):
                self._component(entry, number)
        is_partial = self._is_partial()
        self._resources, diagnostics = transformers.transform(self._resources, self._file, self._specs, self._loader)
        self._diagnostic(*(map(_unsure, diagnostics) if is_partial else diagnostics))
        return self._so_far()

    def _is_partial(self) -> bool:
        """Whether there may be more objects than are known: of charts, of what is elsewhere or could not be read."""
        return bool(self._charts or self._remotes or self._file.entries("generators")) or any(
            each.severity in (Severity.ERROR, Severity.UNKNOWN) for each in self._diagnostics
        )

    def _so_far(self) -> Accumulated:
        return Accumulated(
            tuple(self._resources),
            self._specs,
            tuple(self._charts),
            tuple(self._remotes),
            tuple(self._diagnostics),
            frozenset(self._files | self._loader.files),
        )

    @contextmanager
    def _noting(self, *steps: str | int) -> Iterator[None]:
        try:
            yield
        except KustomizationError as error:
            self._diagnostic(error.at(self._file.place(*steps)))

    def _diagnostic(self, *diagnostics: Diagnostic) -> None:
        self._diagnostics.update(dict.fromkeys(diagnostics))

    def _resource(self, entry: Any, field: str, number: int) -> None:
        if not isinstance(entry, str) or not entry:
            raise KustomizationError("kustomization-field-wrong", f"an entry of {field} must be a path or a URL")
        path = self._loader.inside(entry)
        if path is not None and self._tree.is_file(path):
            real = self._tree.real(path)
            self._files.add(real)
            found = self._whole.objects(real)
            self._diagnostic(*found.diagnostics)
            self._append(found.resources)
        elif (elsewhere := remote_resources.parse_remote(entry)) is not None:
            self._elsewhere(elsewhere, field, number)
        else:
            self._merge(self._base(self._loader.path(entry), entry))

    def _elsewhere(self, found: RemoteSource, field: str, number: int) -> None:
        place = self._file.place(field, number)
        self._remotes.append(Elsewhere(place, found))
        raise KustomizationError.unknown(
            "kustomize-resource-remote", f"{found.url[:120]} is elsewhere, and not fetched: what it brings is not known"
        )

    def _base(self, path: str, entry: str) -> Accumulated:
        self._check_directory(path, entry)
        found = self._whole.directory(path, self._stack)
        if found is None:
            names = "kustomization.yaml"
            raise KustomizationError(
                "kustomization-file-missing",
                f"the directory {entry[:120]} has no {names}",
                fix=f"add a {names}, or name its files",
            )
        file = self._whole.file(self._tree.real(path))
        if file is not None and file.is_component:
            raise KustomizationError(
                "kustomize-component-misplaced",
                f"{entry[:120]} is a Component",
                fix="name it in components, not in resources",
            )
        return found

    def _check_directory(self, path: str, entry: str) -> None:
        if not self._tree.is_dir(path):
            raise self._loader.missing(entry, path)
        real = self._tree.real(path)
        if any(real in (".", each) or each.startswith(f"{real}/") for each in self._stack):
            raise KustomizationError(
                "kustomize-circle", f"{entry[:120]} leads in a circle: it contains a directory that is being built"
            )
        if len(self._stack) > DEPTH:
            raise KustomizationError("kustomize-too-large", f"kustomizations are nested more than {DEPTH} deep")

    def _append(self, resources: tuple[KustomizeResource, ...]) -> None:
        self._whole.work += len(resources)
        if self._whole.work > WORK:
            raise KustomizationError(
                "kustomize-too-large", f"left out: all kustomizations together have more than {WORK} objects"
            )
        repeated = 0
        for each in resources:
            if each.id in self._ids:
                repeated += 1
                where = self._ids[each.id].source.place
                message = f"{each.gvk.kind} {each.name} is in the same kustomization as the one at {where}"
                if repeated <= _REPEATED:
                    self._diagnostic(
                        Diagnostic.error(
                            "kustomize-object-twice", message, at=each.source.place, fix="name each object once"
                        )
                    )
            else:
                self._ids[each.id] = each
                self._resources.append(each)
        if len(self._resources) > OBJECTS:
            del self._resources[OBJECTS:]
            raise KustomizationError(
                "kustomize-too-large", f"there are more than {OBJECTS} objects; the rest is left out"
            )

    def _merge(self, other: Accumulated) -> None:
        self._specs = field_specs.merged_specs(self._specs, other.specs)
        own = self._file.text("namespace")
        self._charts += [dataclasses.replace(each, namespace=each.namespace or own) for each in other.charts]
        self._remotes += other.remotes
        self._diagnostic(*other.diagnostics)
        self._files |= other.files
        self._append(other.resources)

    def _component(self, entry: Any, number: int) -> None:
        if not isinstance(entry, str) or not entry:
            raise KustomizationError("kustomization-field-wrong", "an entry of components must be a directory")
        path = self._loader.inside(entry)
        elsewhere = remote_resources.parse_remote(entry)
        if elsewhere is not None and (path is None or not self._tree.is_dir(path)):
            self._elsewhere(elsewhere, "components", number)
        path = self._loader.path(entry)
        self._check_directory(path, entry)
        found = self._whole.file(self._tree.real(path))
        if found is None:
            raise KustomizationError(
                "kustomization-file-missing", f"the directory {entry[:120]} has no kustomization.yaml"
            )
        if not found.is_component:
            raise KustomizationError(
                "kustomize-component-misplaced",
                f"{entry[:120]} is no Component",
                fix="write kind: Component, or name it in resources",
            )
        done = self._whole.kustomization(found, self._so_far(), self._stack)
        self._resources = list(done.resources)
        self._specs = done.specs
        self._charts = list(done.charts)
        self._remotes = list(done.remotes)
        self._diagnostics = dict.fromkeys(done.diagnostics)
        self._files = set(done.files)

    def _configurations(self) -> None:
        for number, entry in enumerate(self._file.entries("configurations")):
            with self._noting("configurations", number):
                for value in self._loader.values(str(entry)):
                    if isinstance(value, dict):
                        self._specs = field_specs.with_configuration(self._specs, value)

    def _generate(self) -> None:
        options = self._file.mapping("generatorOptions")
        for field, kind in (("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")):
            for number, entry in enumerate(self._file.entries(field)):
                with self._noting(field, number):
                    if not isinstance(entry, dict):
                        raise KustomizationError("kustomization-field-wrong", f"an entry of {field} must be a mapping")
                    place = self._file.place(field, number)
                    made = config_generators.generate(kind, entry, options, load=self._loader.bytes, place=place)
                    self._resources = config_generators.absorbed(self._resources, made)
                    if config_generators.is_encrypted(entry, self._loader.bytes):
                        what = f"{kind} {made.name}"
                        raise KustomizationError.unknown(
                            "kustomize-generator-encrypted",
                            f"{what} is made of an encrypted file: its real name and content differ",
                        )
        self._charts += remote_resources.inflated_charts(
            self._file.value,
            namespace=self._file.text("namespace"),
            path=self._loader.inside,
            place=self._file.place,
        )
