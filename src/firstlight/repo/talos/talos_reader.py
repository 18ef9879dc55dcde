"""Reads every Talos file of a repo, of every style, into clusters and what their machine configs deploy."""

import dataclasses
import posixpath
from collections.abc import Iterable, Sequence

from firstlight.model.component import Origin
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.repo import work_tree
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.talos import (
    assembled_cluster,
    config_files,
    document_kinds,
    loose_files,
    manifest_origins,
    omni_templates,
    plain_configs,
    talhelper,
    topf,
)
from firstlight.repo.talos.cluster_declaration import TalosDeclaration
from firstlight.repo.talos.config_files import ConfigDocument
from firstlight.repo.talos.loose_files import LooseFile
from firstlight.repo.tofu import tofu_module, tofu_reader
from firstlight.repo.work_tree import WorkTree

inline_objects = manifest_origins.objects

LENGTH = 500
"""Characters of a diagnostic; a list of variables may be long."""


def read(tree: WorkTree) -> ReaderResult:
    """What Talos files say: clusters with machines and networks, inline and extra manifests."""
    everywhere = tuple(loose_files.likely(tree))
    current = frozenset(tree.current_files)
    likely = tuple(path for path in everywhere if path in current)
    fragments = _fragments(tree, likely)
    declared, rejected, diagnostics = _counted(_declared(tree, [path for path in likely if path not in fragments]))
    claimed = {*fragments, *(path for each in (*declared, *rejected) for path in each.kinds)}
    found = [each for path in likely if path not in claimed and (each := loose_files.read_loose(tree, path))]
    declared, own, more = _left_over(tree, found, declared, rejected=rejected)
    plain_ones = plain_configs.read(tree, own)
    parts = [assembled_cluster.cluster(tree, name, same) for name, same in _by_name([*declared, *plain_ones]).items()]
    unreached = [assembled_cluster.cluster(tree, each.cluster, [each]) for each in rejected]
    everything = [
        *diagnostics,
        *more,
        *fragments.values(),
        *(each for part in (*parts, *unreached) for each in part.diagnostics),
        *_empty(tree, claimed | {each.path for each in found}),
        *_about_files(tree, sorted({*everywhere, *claimed})),
        *loose_files.client_diagnostics(tree),
        *loose_files.chart_diagnostics(tree),
        *loose_files.template_tool_diagnostics(tree),
    ]
    return ReaderResult(
        clusters=tuple(cluster for part in parts for cluster in part.clusters),
        origins=tuple(origin for part in parts for origin in part.origins),
        unreached=_unreached(parts, unreached),
        diagnostics=tuple(dict.fromkeys(map(_printable, everything))),
    )


def _printable(diagnostic: Diagnostic) -> Diagnostic:
    """A diagnostic on one line: names and URLs in it are a stranger's."""
    message = "".join(each if each.isprintable() else "?" for each in diagnostic.message)
    return dataclasses.replace(diagnostic, message=message if len(message) <= LENGTH else f"{message[:LENGTH]}…")


def _fragments(tree: WorkTree, likely: Iterable[str]) -> dict[str, Diagnostic]:
    """Parts of Omni templates in files of their own: which template they belong to, only a script knows."""
    found = {}
    for path in likely:
        documents = tree.documents(path) if path.endswith(work_tree.YAML) else ()
        if any(document_kinds.is_omni(each.value) for each in documents) and omni_templates.is_fragment(documents):
            message = "a template without a document of kind Cluster: for which cluster it is, is not known"
            found[path] = Diagnostic.unknown(
                "omni-template-without-cluster", message, at=Place(path), fix="omnictl wants a template in one file."
            )
    return found


def _declared(tree: WorkTree, likely: Iterable[str]) -> list[TalosDeclaration]:
    """What the files of tools declare."""
    found: list[TalosDeclaration] = []
    for path in tree.current_files:
        if talhelper.is_talconfig(path):
            found += talhelper.read(tree, path)
        elif topf.is_topf(path):
            found += topf.read(tree, path)
    found += tofu_reader.read(tree)
    known = {path for each in found for path in each.kinds}
    for path in likely:
        if path in known or not path.endswith(work_tree.YAML):
            continue
        if any(document_kinds.is_omni(each.value) for each in tree.documents(path)):
            found += omni_templates.read(tree, path)
    return found


def _counted(
    found: Sequence[TalosDeclaration],
) -> tuple[list[TalosDeclaration], list[TalosDeclaration], list[Diagnostic]]:
    """Of several declarations of one cluster, the one with the fewest errors; the first if they are equal."""
    kept: list[TalosDeclaration] = []
    rejected: list[TalosDeclaration] = []
    diagnostics: list[Diagnostic] = []
    for name, same in _by_name(found).items():
        same.sort(key=lambda each: sum(diagnostic.severity is Severity.ERROR for diagnostic in each.diagnostics))
        kept.append(same[0])
        for other in same[1:]:
            rejected.append(other)
            message = (
                f"{name or 'a cluster without a name'} is declared twice: {same[0].place.path} counts, this one not"
            )
            hint = "Keep one of them; the one with fewer errors counts, else the first."
            diagnostics.append(Diagnostic.warning("talos-cluster-twice", message, at=other.place, fix=hint))
    return kept, rejected, diagnostics


def _by_name(found: Iterable[TalosDeclaration]) -> dict[str, list[TalosDeclaration]]:
    by_name: dict[str, list[TalosDeclaration]] = {}
    for each in found:
        by_name.setdefault(each.cluster, []).append(each)
    return by_name


def _left_over(
    tree: WorkTree,
    found: Sequence[LooseFile],
    declared: Sequence[TalosDeclaration],
    *,
    rejected: Sequence[TalosDeclaration],
) -> tuple[list[TalosDeclaration], list[LooseFile], list[Diagnostic]]:
    """Files below a tool's own that it does not name: listed with the cluster, and not counted."""
    own: list[LooseFile] = []
    left: dict[str, tuple[LooseFile, tuple[TalosDeclaration, ...]]] = {}
    extra: dict[str, dict[str, tuple[str, ...]]] = {}
    for each in found:
        owners = plain_configs.is_left_over(each, [*declared, *rejected])
        if not owners:
            own.append(each)
            continue
        if len({owner.cluster for owner in owners}) == 1:
            extra.setdefault(owners[0].cluster, {})[each.path] = each.kinds
        if each.is_patch:
            left[each.path] = each, owners
    named = plain_configs.scripts_naming(tree, {posixpath.basename(path) for path in left})
    diagnostics: list[Diagnostic] = []
    for path, (each, owners) in left.items():
        diagnostics.append(_not_led_to(each, owners, named.get(posixpath.basename(path), "")))
        diagnostics += (*each.file.diagnostics, *assembled_cluster.unknown_fields(each.configs))
    with_extra = [dataclasses.replace(each, kinds={**each.kinds, **extra.get(each.cluster, {})}) for each in declared]
    return with_extra, own, diagnostics


def _not_led_to(each: LooseFile, owners: Sequence[TalosDeclaration], script: str) -> Diagnostic:
    names = ", ".join(sorted({owner.place.path for owner in owners}))
    what = f"{names} does not lead to this {_what(each)}"
    named = f"{script} names it, and what comes of it is not known" if script else "no script names it either"
    hint = "Name it there, or delete it; it is listed, and not counted."
    return Diagnostic.unknown("talos-config-unused", f"{what}; {named}", at=each.configs[0].place(), fix=hint)


def _what(each: LooseFile) -> str:
    return "machine config" if each.is_whole else each.kinds[0]


def _unreached(parts: Sequence[ReaderResult], rejected: Sequence[ReaderResult]) -> tuple[Origin, ...]:
    """What no machine applies: ignored manifests, and those of declarations that do not count."""
    counted = {(origin.cluster, origin.place) for part in parts for origin in part.origins}
    found = [
        *(origin for part in parts for origin in part.unreached),
        *(origin for part in rejected for origin in (*part.origins, *part.unreached)),
    ]
    return tuple(each for each in found if (each.cluster, each.place) not in counted)


def _about_files(tree: WorkTree, paths: Iterable[str]) -> Iterable[Diagnostic]:
    """What to say about each file: secrets in it, or that it is encrypted."""
    for path in paths:
        if path.endswith((*tofu_module.ENDINGS, *tofu_module.TEMPLATES)):
            continue  # not YAML: their texts are looked at where they are evaluated
        file = config_files.read_talos_file(tree, path)
        yield from document_kinds.exposed_secrets(ConfigDocument(each.value, each, file) for each in file.documents)
        if any(document_kinds.of(each.value, is_near=True) for each in file.documents):
            yield from loose_files.encrypted_diagnostics(path, file)


def _empty(tree: WorkTree, talos: Iterable[str]) -> Iterable[Diagnostic]:
    """Files without anything in them, among patches."""
    known = set(talos)
    for directory in sorted({posixpath.dirname(path) for path in known if "patch" in posixpath.dirname(path)}):
        for name in tree.listing(directory or "."):
            path = posixpath.join(directory, name)
            if name.endswith(work_tree.YAML) and path not in known and not tree.documents(path):
                yield Diagnostic.warning(
                    "talos-patch-empty", "there is nothing in this file, which stands among patches", at=Place(path)
                )
