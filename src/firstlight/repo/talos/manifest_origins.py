"""The manifests of a cluster's machine configs as origins, and what Talos would say against them."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from firstlight.model.cluster import MachineRole
from firstlight.model.component import Certainty, Origin, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.source import DirectorySource, Embedded
from firstlight.repo.manifest import Manifest
from firstlight.repo.talos import config_files, config_manifests, embedded_yaml
from firstlight.repo.talos.cluster_declaration import ConfigPart, TalosDeclaration, TalosStyle
from firstlight.repo.talos.config_manifests import ListedManifest
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass(frozen=True, slots=True)
class ManifestOrigins:
    """What a cluster's machine configs deploy."""

    origins: tuple[Origin, ...]
    unreached: tuple[Origin, ...]
    """What no machine applies."""
    diagnostics: tuple[Diagnostic, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Entry:
    listed: ListedManifest
    part: ConfigPart | None
    """None: for the whole cluster."""
    is_applied: bool = True
    """Whether a tool says that it is applied; which patches talosctl is given, only a script knows."""


def of(
    tree: WorkTree, cluster: str, declarations: Iterable[TalosDeclaration], roles: Mapping[str, MachineRole]
) -> ManifestOrigins:
    """The origins of a cluster.

    Args:
        tree: The repo.
        cluster: Its name.
        declarations: What declares it.
        roles: Of its machines.
    """
    entries = sorted(_entries(tree, declarations), key=lambda each: each.part.rank if each.part else 0)
    diagnostics = list(dict.fromkeys(diagnostic for each in entries for diagnostic in each.listed.diagnostics))
    kept: dict[object, list[_Entry]] = {}
    left: list[_Entry] = []
    for entry in entries:
        same = kept.setdefault(_key(entry.listed), [])
        if entry.listed.is_deletion:
            diagnostics += _delete(entry, same, left)
        elif _is_for_workers(entry, roles):
            diagnostics.append(_ignored(entry.listed))
            left.append(entry)
        elif not same:
            same.append(entry)
        elif _is_patched(entry, same[0]):
            left.append(_replace(entry, same))
        elif problem := _repeated(entry, same):
            diagnostics.append(problem)
            left.append(_replace(entry, same))
    diagnostics += _shadowed(kept, left)
    counted = [each.listed for same in kept.values() for each in same]
    return ManifestOrigins(
        tuple(_origin(each, cluster, name) for each, name in zip(counted, _names(counted), strict=True)),
        tuple(_origin(entry.listed, cluster, entry.listed.name) for entry in left),
        tuple(dict.fromkeys(diagnostics)),
    )


def objects(tree: WorkTree, origin: Origin) -> tuple[Manifest, ...]:
    """The objects of an inline manifest with lines of the file around it; nothing for what stands elsewhere."""
    source = origin.source
    if isinstance(source, DirectorySource):
        if origin.form not in (SourceForm.INLINE_MANIFEST, SourceForm.EXTRA_MANIFEST) or not tree.is_file(source.path):
            return ()
        return tuple(
            each for document in tree.documents(source.path) for each in config_manifests.objects_of_document(document)
        )
    if not isinstance(source, Embedded):
        return ()
    file = config_files.read_talos_file(tree, source.place.path)
    for document in file.documents:
        if document.line == source.place.line:
            inner, steps, value = embedded_yaml.follow(document, source.steps)
            if isinstance(value, str):
                return tuple(config_manifests.objects_in(embedded_yaml.read(inner, steps, value))[0])
            found = value if isinstance(value, list) else [value]
            return tuple(
                Manifest(each, inner.place(*steps, index), inner, (*steps, index) if value is found else steps)
                for index, each in enumerate(found)
                if isinstance(each, Mapping)
            )
    return ()


def _entries(tree: WorkTree, declarations: Iterable[TalosDeclaration]) -> Iterator[_Entry]:
    for declaration in declarations:
        for listed in declaration.listed:
            yield _Entry(listed, None)
        seen: dict[object, tuple[ListedManifest, ...]] = {}
        for part in declaration.parts:
            # A patch for many machines is a part of each: it is read once.
            key = (id(part.config.document), part.config.prefix)
            if key not in seen:
                seen[key] = tuple(config_manifests.listed_manifests(tree, part.config))
            for listed in seen[key]:
                yield _Entry(listed, part, declaration.style is not TalosStyle.PLAIN)


def _is_for_workers(entry: _Entry, roles: Mapping[str, MachineRole]) -> bool:
    part = entry.part
    if part is None:
        return False
    return (roles.get(part.machine) if part.machine in roles else part.role) is MachineRole.WORKER


def _ignored(listed: ListedManifest) -> Diagnostic:
    message = f"Talos ignores the {listed.form.value} {listed.name} on workers"
    hint = "Move it to the config of the control plane."
    return Diagnostic.warning("manifest-on-worker", message, at=listed.place, fix=hint, subject=listed.subject)


def _key(listed: ListedManifest) -> object:
    """What makes two manifests one: the name of an inline one and of a document, the URL of an extra one."""
    if listed.form is SourceForm.INLINE_MANIFEST or listed.document:
        return listed.form, bool(listed.document) and listed.form is SourceForm.EXTRA_MANIFEST, listed.name
    return listed.form, listed.text or listed.place


def _delete(entry: _Entry, same: list[_Entry], left: list[_Entry]) -> list[Diagnostic]:
    """Take a manifest away that an earlier patch brings."""
    place, name = entry.listed.place, entry.listed.name
    found = [each for each in same if _overlap(entry, each)]
    subject = entry.listed.subject
    if not found:
        message = f"$patch: delete finds no {entry.listed.form.value} {name} before it"
        return [Diagnostic.warning("inline-manifest-delete-finds-nothing", message, at=place, subject=subject)]
    if entry.part is not None and entry.part.machine:
        message = f"{name} is taken away on {entry.part.machine} alone; other control planes bring it back"
        return [Diagnostic.warning("inline-manifest-deleted-on-one-machine", message, at=place, subject=subject)]
    if not entry.is_applied:
        doubt = f"{place} takes it away again, if it is applied too"
        same[:] = [dataclasses.replace(each, listed=dataclasses.replace(each.listed, doubt=doubt)) for each in same]
        return []
    left += found
    same[:] = [each for each in same if each not in found]
    return []


def _repeated(entry: _Entry, same: Sequence[_Entry]) -> Diagnostic | None:
    """What there is to say about a manifest that is there already; None if it is the same."""
    listed, other = entry.listed, same[0].listed
    is_of_list = listed.form is SourceForm.EXTRA_MANIFEST and not listed.document
    if is_of_list or listed.place == other.place:
        return None
    places = listed.place, other.place
    are_documents = bool(listed.document and other.document)
    is_apart = listed.place.path != other.place.path
    if _overlap(entry, same[0]) and not (are_documents and is_apart):
        message = f"the {listed.form.value} {listed.name} is there twice, first in {other.place}"
        hint = "Keep one of them."
        if are_documents:
            message += ": Talos refuses that in a config, and takes the later one in a patch"
        elif listed.document or other.document:
            message += ", as a document and in cluster.inlineManifests: only that of the list counts"
        else:
            message, hint = f"{message}: Talos refuses that", "Rename one, or take one away."
        return Diagnostic.warning("inline-manifest-twice", message, at=places, fix=hint, subject=listed.subject)
    if listed.text == other.text:
        return None
    message = f"the {listed.form.value} {listed.name} is another one here than in {other.place}"
    hint = "Every control-plane machine applies its own: write the same everywhere."
    return Diagnostic.warning("inline-manifest-differs", message, at=places, fix=hint, subject=listed.subject)


def _is_patched(entry: _Entry, other: _Entry) -> bool:
    """Whether a document is a patch of another file's, as one of Talos 1.14 may be: it says what the other said."""
    is_apart = entry.listed.place.path != other.listed.place.path
    return is_apart and bool(entry.listed.document and other.listed.document) and _is_for_all_of(entry, other)


def _is_for_all_of(entry: _Entry, other: _Entry) -> bool:
    """Whether a patch reaches every machine that another part is for; one for fewer makes machines differ."""
    if entry.part is None or other.part is None:
        return True
    return not entry.part.machine or entry.part.machine == other.part.machine


def _replace(entry: _Entry, same: list[_Entry]) -> _Entry:
    """Keep the one of two manifests of one name that Talos takes; the other is returned."""
    # A later document replaces an earlier one, and an entry of the list counts before any document.
    if same[0].listed.document and _overlap(entry, same[0]) and _is_for_all_of(entry, same[0]):
        entry, same[0] = same[0], entry
    return entry


def _shadowed(kept: Mapping[object, list[_Entry]], left: list[_Entry]) -> Iterator[Diagnostic]:
    """Documents with a URL whose name an inline manifest has: Talos takes them as one, and never fetches the URL."""
    inline = {
        each.listed.name: each for same in kept.values() for each in same
        if each.listed.form is SourceForm.INLINE_MANIFEST
    }  # fmt: skip
    for same in kept.values():
        for entry in [each for each in same if each.listed.form is SourceForm.EXTRA_MANIFEST and each.listed.document]:
            other = inline.get(entry.listed.document)
            if other is None or not _overlap(entry, other):
                continue
            same.remove(entry)
            left.append(entry)
            message = f"the extra manifest {entry.listed.name} has the name of an inline one, which counts instead"
            yield Diagnostic.warning(
                "inline-manifest-twice", message, at=(entry.listed.place, other.listed.place), fix="Rename one.",
                subject=entry.listed.subject,
            )  # fmt: skip


def _overlap(one: _Entry, two: _Entry) -> bool:
    """Whether some machine has both."""
    if one.part is None or two.part is None:
        return True
    if one.part.machine and two.part.machine:
        return one.part.machine == two.part.machine
    return one.part.role is None or two.part.role is None or one.part.role is two.part.role


def _names(listed: Sequence[ListedManifest]) -> list[str]:
    """Names that are unique among each form: two files of one repository are told apart by theirs."""
    names: list[str] = []
    taken: set[tuple[SourceForm, str]] = set()
    numbers: dict[tuple[SourceForm, str], int] = {}
    for each in listed:
        name = each.name
        if (each.form, name) in taken and each.form is SourceForm.EXTRA_MANIFEST:
            name = f"{each.name}-{config_files.stem(each.text)}"
        base = name
        while (each.form, name) in taken:
            numbers[each.form, base] = numbers.get((each.form, base), 1) + 1
            name = f"{base}-{numbers[each.form, base]}"
        taken.add((each.form, name))
        names.append(name)
    return names


def _origin(listed: ListedManifest, cluster: str, name: str) -> Origin:
    return Origin(
        form=listed.form,
        side=Side.BOOTSTRAP,
        place=listed.place,
        name=name,
        cluster=cluster,
        phase=Phase.CORE if listed.mode else Phase.INLINE,
        source=listed.source,
        version=listed.version,
        certainty=Certainty.GUESSED if listed.doubt else Certainty.DECLARED,
        doubt=listed.doubt,
        objects=listed.objects,
        stated=listed.stated,
        definition={"name": listed.name, "mode": listed.mode} if listed.mode else {},
    )
