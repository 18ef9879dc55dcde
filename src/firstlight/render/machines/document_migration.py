"""The machine configs and patches of a cluster, rewritten as documents of Talos 1.14; nothing is written.

Groups of fields move in all files of a cluster or in none, since Talos refuses a document beside the fields that it
replaces, whichever file they come from. Files that cannot be edited (templates, what sops encrypted) keep the groups of
their fields in the other files as well.
"""

import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.document import yaml_editor, yaml_reader, yaml_writer
from firstlight.document.yaml_reader import YamlDialect, YamlDocument
from firstlight.model import talos_documents, versions
from firstlight.model.cluster import Cluster, ConfigBase, MachineConfig, MachineRole
from firstlight.model.place import Place
from firstlight.render.machines import document_form, document_groups
from firstlight.render.machines.document_form import DocumentForm
from firstlight.repo.talos import config_files, document_kinds, talhelper
from firstlight.repo.work_tree import WorkTree

_STAYS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "install": (("machine", "install"), "by document Talos installs in another way; machines that run do not need it"),
    "API server": (("cluster", "apiServer"), "by document it authenticates and authorizes in another way"),
}
"""Groups of whole configs that would not mean the same, with the field that has them."""
_IDENTITY = "cluster"
"""The group of name and endpoint, which whole configs keep with their keys; Talos takes it beside documents."""
_MARK = re.compile(r"(?m)^---(?=\s|$).*\n?")
_COMMENT = re.compile(r"(?:^|\s)(#.*)$")


@dataclasses.dataclass(frozen=True, slots=True)
class MigratedFile:
    """A file in the new form."""

    path: str
    before: str = dataclasses.field(repr=False)
    after: str = dataclasses.field(repr=False)
    comments: tuple[str, ...] = ()
    """Comments beside fields that moved: they are lost."""


@dataclasses.dataclass(frozen=True, slots=True)
class StayingFields:
    """A group of fields that stays as it is in the whole cluster."""

    group: str
    field: str
    why: str
    place: Place


@dataclasses.dataclass(frozen=True, slots=True)
class DocumentMigration:
    """What becomes of a cluster's files."""

    files: tuple[MigratedFile, ...] = ()
    staying: tuple[StayingFields, ...] = ()
    left: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Files that are not edited, with the reason."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Old:
    """A v1alpha1 document in a file."""

    document: YamlDocument
    role: MachineRole | None
    is_whole: bool
    others: frozenset[tuple[str, str]]
    """Kinds and names of the documents in the same file."""
    is_talhelper: bool

    def form(self, keep: Collection[str] = (), patched: Collection[str] = ()) -> DocumentForm:
        form = document_form.in_documents(
            self.document.value, document_groups.GROUPS, is_whole=self.is_whole, role=self.role, keep=keep,
            beside=self.others, patched=patched,
        )  # fmt: skip
        if not self.is_talhelper:
            return form
        return dataclasses.replace(form, documents=tuple(map(document_form.escaped, form.documents)))


def migrate(tree: WorkTree, cluster: Cluster) -> DocumentMigration:
    """Rewrite the files of a cluster.

    Raises:
        errors.Refused: Its configs are generated in the old form, or nothing says what its patches are applied to.
    """
    _require_base(cluster)
    found, left, staying = _old_documents(tree, cluster)
    is_whole = cluster.base is ConfigBase.WHOLE
    for group, (steps, why) in _STAYS.items() if is_whole else ():
        for old in found:
            if document_form.value_at(old.document.value, *steps) is not None:
                staying.setdefault(group, StayingFields(group, ".".join(steps), why, old.document.place(*steps)))
    # A group that stays may keep another one: the node's address among the kubelet's fields.
    while True:
        before = len(staying)
        for old in found:
            for kept in old.form(_keeping(staying, is_whole=is_whole)).kept:
                place = old.document.place(*kept.field.split("."))
                staying.setdefault(kept.group, StayingFields(kept.group, kept.field, kept.why, place))
        if len(staying) == before:
            break
    by_path: dict[str, list[_Old]] = {}
    for old in found:
        by_path.setdefault(old.document.path, []).append(old)
    keep = _keeping(staying, is_whole=is_whole)
    patched = {group for old in found if not old.is_whole for group in old.form(keep).moved}
    files = (_migrated(path, several, keep, patched) for path, several in by_path.items())
    return DocumentMigration(
        files=tuple(each for each in files if each.before != each.after),
        staying=tuple(staying.values()), left=left,
    )  # fmt: skip


def _keeping(staying: Collection[str], *, is_whole: bool) -> frozenset[str]:
    return frozenset(staying) | ({_IDENTITY, *_STAYS} if is_whole else set())


def _require_base(cluster: Cluster) -> None:
    if cluster.base is ConfigBase.GENERATED:
        contract = versions.minor(cluster.talos_contract)
        if contract is None or contract < talos_documents.FIRST:
            raise errors.Refused(
                f"the machine configs of {cluster.name} are generated, and nothing says that they are for Talos 1.14: "
                "patches in the new form would be refused",
                hint=f"Set clusters.{cluster.name}.talosContract: v1.14 in firstlight.yaml, and read docs/machines.md "
                "about what else changes with it. Then run this again.",
            )
    elif cluster.base is not ConfigBase.WHOLE:
        raise errors.Refused(
            f"nothing in the repo says what the patches of {cluster.name} are applied to",
            hint="Patches take the form of the config below them. Put that into the repo, or declare the machines in "
            "firstlight.yaml.",
        )


def _old_documents(
    tree: WorkTree, cluster: Cluster
) -> tuple[list[_Old], dict[str, str], dict[str, StayingFields]]:  # fmt: skip
    """The v1alpha1 documents that can be edited, the files that cannot, and the groups that stay because of those."""
    roles = {each.name: each.role for each in cluster.machines} | {each.id: each.role for each in cluster.machines}
    reach: dict[tuple[str, int], set[MachineRole | None]] = {}
    left: dict[str, str] = {}
    staying: dict[str, StayingFields] = {}
    is_talhelper = any("talconfig" in each for each in cluster.documents.values())
    for part in cluster.parts:
        document = getattr(part.config, "document", None)
        if part.kind or not isinstance(document, YamlDocument) or not isinstance(part.config.value, Mapping):
            continue
        if why := _uneditable(tree, document, part.config, is_talhelper=is_talhelper):
            left[document.path] = why
            form = document_form.in_documents(
                part.config.value, document_groups.GROUPS, is_whole=False, role=MachineRole.CONTROL_PLANE
            )
            named = {group: steps for group, steps in form.moved.items() if group != _IDENTITY}
            for group, steps in named.items():
                at = part.config.place(*steps)
                staying[group] = StayingFields(group, ".".join(steps), f"it is also in {document.path}: {why}", at)
            continue
        role = roles.get(part.machine, part.role) if part.machine else part.role
        reach.setdefault((document.path, document.index), set()).add(role)
    found = []
    for (path, index), several in reach.items():
        documents = yaml_reader.read_text(tree.text(path) or "", path, dialect=YamlDialect.TALOS).documents
        document = next((each for each in documents if each.index == index), None)
        if document is None or path in left:
            continue
        is_whole = cluster.base is ConfigBase.WHOLE and bool(document_form.value_at(document.value, "machine", "type"))
        role = _role_of(document.value) or (several.copy().pop() if len(several) == 1 else None)
        others = frozenset(
            (str(each.value.get("kind")), str(each.value.get("name") or ""))
            for each in documents
            if isinstance(each.value, Mapping) and each.value.get("kind")
        )
        found.append(_Old(document, role, is_whole, others, is_talhelper))
    return found, left, staying


def _role_of(value: Any) -> MachineRole | None:
    said = document_form.value_at(value, "machine", "type")
    return {"controlplane": MachineRole.CONTROL_PLANE, "worker": MachineRole.WORKER}.get(str(said))


def _uneditable(tree: WorkTree, document: YamlDocument, config: MachineConfig, *, is_talhelper: bool) -> str:
    """Why a document stays as it is; empty if it can be edited."""
    path = document.path
    if config_files.is_template(path):
        return "a template: only a script knows what it is given"
    if talhelper.is_talconfig(path) or document.value is not config.value:
        return "the patch is part of another file"
    if is_talhelper and "${" in (tree.text(path) or ""):
        return "talhelper fills in its variables"
    if any(document_kinds.is_encrypted(each.value) for each in tree.documents(path)):
        return "sops signs the whole of it"
    return ""


def _migrated(
    path: str, several: Sequence[_Old], keep: Collection[str], patched: Collection[str]
) -> MigratedFile:  # fmt: skip
    before = several[0].document.text
    text = before
    for old in sorted(several, key=lambda each: each.document.index, reverse=True):
        form = old.form(keep, patched)
        if not form.documents and form.rest == old.document.value:
            continue
        text = _edited(text, old.document, form, path)
    return MigratedFile(path, before, text, tuple(_lost(before, text)))


def _edited(text: str, document: YamlDocument, form: DocumentForm, path: str) -> str:
    """The text with one of its documents in the new form."""
    written = yaml_writer.dump_all(form.documents) if form.documents else ""
    if not form.rest:
        return _replaced(text, document.index, written, path)
    for steps in _gone(document.value, form.rest):
        text = yaml_editor.remove(text, steps, document=document.index, path=path, dialect=YamlDialect.TALOS)
    joined = f"{text.rstrip()}\n---\n{written}" if written else text
    _require_meaning(joined, [form.rest, *form.documents], path)
    return joined


def _gone(before: Mapping[str, Any], rest: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in before.items():
        if key not in rest:
            yield (*above, key)
        elif isinstance(value, Mapping) and isinstance(rest[key], Mapping):
            yield from _gone(value, rest[key], (*above, key))


def _replaced(text: str, index: int, written: str, path: str) -> str:
    """The text with other documents in the place of one that has nothing left; comments above it stay."""
    marks = [*_MARK.finditer(text)]
    starts = [0, *(each.end() for each in marks)]
    ends = [*(each.start() for each in marks), len(text)]
    # What stands above the first mark is a document only if something is said there.
    first = 0 if _says_something(text[starts[0] : ends[0]]) or not marks else 1
    start, end = starts[first + index], ends[first + index]
    head = "".join(line for line in _above(text[start:end].splitlines(keepends=True)))
    return text[:start] + head + written + text[end:]


def _says_something(text: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith(("#", "%")) for line in text.splitlines())


def _above(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.strip() and not line.startswith("#"):
            return
        yield line


def _require_meaning(text: str, wanted: Sequence[Mapping[str, Any]], path: str) -> None:
    """See that what was written is read back."""
    found = [each.value for each in yaml_reader.read_text(text, path, dialect=YamlDialect.TALOS).documents]
    if any(each not in found for each in wanted):
        raise errors.ConfigError("it is written in a way that cannot be edited safely", path=path)


def _lost(before: str, after: str) -> Iterator[str]:
    """Comments that are not there any more."""
    left = [match[1] for line in after.splitlines() if (match := _COMMENT.search(line))]
    for number, line in enumerate(before.splitlines(), 1):
        if match := _COMMENT.search(line):
            if match[1] in left:
                left.remove(match[1])
            else:
                yield f"line {number}: {match[1]}"
