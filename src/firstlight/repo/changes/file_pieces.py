"""A file as the pieces that it is made of, or as lines where it is no document."""

import dataclasses
import functools
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.change import Matter
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo.changes import compared_pieces, file_classification, file_documents, line_changes
from firstlight.repo.changes.compare_fields import PLAIN, FieldManner, Way
from firstlight.repo.changes.compared_pieces import Piece
from firstlight.repo.changes.kustomization_uses import KustomizationUse, KustomizationUses
from firstlight.repo.changes.platform_files import PlatformFiles
from firstlight.repo.secrecy import clear_secrets, secret_fields
from firstlight.repo.talos import config_files, document_kinds
from firstlight.repo.work_tree import WorkTree

SIZE = 8 << 20
"""Bytes of a file that is looked into."""
_NAMES = {Matter.MACHINE: "machine config", Matter.VALUES: "values", Matter.KUSTOMIZE: "kustomization"}
_BESIDE = {Matter.DOCUMENTATION, Matter.TOOLING}
"""What nobody applies, unless somebody takes it in."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FilePieces:
    """A file of one state of the repo."""

    path: str
    matter: Matter
    pieces: tuple[Piece, ...] | None = None
    """None where it is no document, and only its lines can be compared."""
    text: str | None = dataclasses.field(default=None, repr=False)
    """None where it is no text, or too large."""
    is_template: bool = False
    is_secret: bool = False
    doubt: str = ""
    mistake: Diagnostic | None = None
    """Why it cannot be read."""


def read(
    tree: WorkTree, path: str, known: PlatformFiles, uses: KustomizationUses, *, is_stored: bool = False
) -> FilePieces | None:
    """A file; None if the tree has none of this path. In Git, no filter encrypts what is stored there any more."""
    if not tree.is_file(path):
        return None
    data = tree.bytes(path)
    use = uses.of(path)
    sort = file_classification.of_file(tree, path, known, use=use)
    if use is None and (sort in _BESIDE or file_classification.is_documentation(path)):
        use = uses.anywhere(path)
        sort = file_classification.of_file(tree, path, known, use=use) if use is not None else sort
    if use is not None and file_classification.is_aside(path) and not uses.reaches(path.partition("/")[0]):
        sort = file_classification.of_file(tree, path, known)  # an example that only its own kustomization takes in
    is_secret = path in known.machine_secrets or use is KustomizationUse.HIDDEN
    found = FilePieces(
        path=path,
        matter=sort or file_classification.by_place(tree, path, known, use=use),
        is_secret=is_secret or path in known.secrets or secret_fields.is_secret_file(path),
    )
    if data is None or len(data) > SIZE:
        return dataclasses.replace(found, doubt="it is too large to be looked into")
    if b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return dataclasses.replace(found, doubt="it is no text")
    text = data.decode("utf-8-sig", errors="replace")
    is_hidden = found.is_secret or secret_fields.is_secret_text(text, is_script=found.matter is Matter.SCRIPT)
    found = dataclasses.replace(found, text=text, is_secret=is_hidden)
    is_template = config_files.is_template(path)
    is_yaml = use in (KustomizationUse.RESOURCE, KustomizationUse.PATCH) or path in known.declared
    documents, wrong = (
        (file_documents.documents_of_template(tree, path), None)
        if is_template
        else file_documents.documents_of_file(tree, path, is_yaml=is_yaml)
    )
    if wrong is not None and (sort is Matter.RELEASE or wrong.code == "yaml-template"):
        is_template, documents = True, file_documents.documents_of_template(tree, path)
        wrong = None if documents is not None else wrong
    doubt = f"it cannot be read: {wrong.message}" if wrong is not None else ""
    # What a template lacks to be YAML is nobody's mistake.
    mistake = None if is_template else wrong
    found = dataclasses.replace(found, doubt=doubt, mistake=mistake, is_template=is_template)
    if documents is None and found.matter is Matter.UNKNOWN and wrong is None and not is_template:
        documents = _machines(tree, path, text)
    if documents is None:
        is_plain = sort is None and found.matter is Matter.UNKNOWN
        return dataclasses.replace(found, matter=file_classification.of_broken(text)) if is_plain else found
    is_encrypted = any(document_kinds.is_encrypted(each.value) for each in documents)
    rest = sort or file_classification.by_place(tree, path, known, use=use, is_encrypted=is_encrypted)
    maker = _Maker(
        path=path,
        sort=sort,
        rest=rest,
        known=known,
        is_secret=is_secret,
        is_patch=use is KustomizationUse.PATCH,
        is_filtered=not is_stored and b"Secret" in data and clear_secrets.is_filtered(tree, path),
    )
    made = maker.pieces(documents)
    return dataclasses.replace(found, pieces=made, matter=made[0].matter if made else rest)


def _machines(tree: WorkTree, path: str, text: str) -> tuple[YamlDocument, ...] | None:
    """The documents of a file that is not called so, if they are machine configuration."""
    if not file_classification.may_be_machine(text):
        return None
    documents, _ = file_documents.documents_of_file(tree, path, is_yaml=True)
    is_machine = documents and any(
        file_classification.of_document(each.value, path) is Matter.MACHINE for each in documents
    )
    return documents if is_machine else None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Maker:
    """Makes pieces of the documents of one file."""

    path: str
    sort: Matter | None
    """What the file is whatever its documents say."""
    rest: Matter
    """What a document is that says nothing."""
    known: PlatformFiles
    is_secret: bool
    is_patch: bool
    is_filtered: bool
    """Whether Git encrypts it."""

    def pieces(self, documents: Iterable[YamlDocument]) -> tuple[Piece, ...]:
        """What the documents hold; of those that have no names the number tells them apart."""
        made: list[Piece] = []
        counts: dict[tuple[Any, ...], int] = {}
        for document in documents:
            for steps, value in _items(document.value, ()):
                piece = self._piece(document, steps, value)
                number = counts[piece.identity] = counts.get(piece.identity, 0) + 1
                made.append(dataclasses.replace(piece, identity=(*piece.identity, number)) if number > 1 else piece)
        return tuple(made)

    def _piece(self, document: YamlDocument, steps: Way, value: Any) -> Piece:
        own = file_classification.of_document(value, self.path)
        sort = self.sort or own or self.rest
        if self.sort in (Matter.RELEASE, Matter.KUSTOMIZE, Matter.VALUES) and own is Matter.OBJECT:
            sort = own
        is_values = self.sort is None and self.rest is Matter.VALUES
        if own is Matter.MACHINE and is_values and not file_classification.is_surely_machine(value):
            sort = self.rest  # of Cilium's, say, which have a cluster in them, too
        found = ObjectId.of(value) if file_documents.is_object(value) else None
        is_encrypted = document_kinds.is_encrypted(value)
        kind, title = _named(sort, value, found, self.path)
        identity = (
            compared_pieces.same_object(found) if found and sort in _OBJECTS else (sort, kind, _own_name(value, sort))
        )
        place = document.place(*steps) if steps else Place(self.path, document.line)
        ways: Mapping[tuple[str, ...], int] = {}
        inside, values = self._inside(sort, value, found)
        if (
            isinstance(value, list)
            and sort in (Matter.MACHINE, Matter.KUSTOMIZE)
            and file_documents.is_json_patch(value)
        ):
            value, ways = file_documents.read_json_patch(value)
        whole = self.is_secret or _is_key(value, kind)
        is_readable = not is_encrypted and not self.is_filtered
        inner = file_documents.expanded(value, inside)
        return Piece(
            matter=sort,
            value=inner,
            path=self.path,
            title=title,
            kind=kind,
            object=found,
            place=place,
            document=document,
            steps=steps,
            ways=ways,
            manner=FieldManner(
                values=functools.partial(file_documents.values_at, values),
                is_secret=_is_secret(inner, sort, is_whole=whole),
                is_clear=clear_secrets.stands_clear if is_readable and _may_be_clear(sort, found) else PLAIN.is_clear,
                shown=file_documents.of_machine if sort is Matter.MACHINE else PLAIN.shown,
                is_whole=file_documents.is_schema,
                refined=line_changes.refined if sort is Matter.SCRIPT else PLAIN.refined,
            ),
            identity=(*identity, self.is_patch),
            is_patch=self.is_patch and found is not None,
            is_encrypted=is_encrypted,
        )

    def _inside(
        self, sort: Matter, value: Any, found: ObjectId | None
    ) -> tuple[tuple[file_documents.Pattern, ...], tuple[file_documents.Pattern, ...]]:
        """Which texts of a document are documents, and where it has values of a chart."""
        if sort is Matter.MACHINE:
            return file_documents.MACHINES, ()
        if sort is Matter.VALUES:
            return (), ((),)
        if sort is Matter.KUSTOMIZE:
            return file_documents.KUSTOMIZATION, file_documents.KUSTOMIZATION_VALUES
        if sort is Matter.RELEASE:
            return (), file_documents.HELMFILE_VALUES
        if found is None:
            return (), ()
        if found.kind == "ConfigMap" and self._holds_values(found):
            return file_documents.HOLDER, file_documents.HOLDER
        return file_documents.of_object(value)

    def _holds_values(self, found: ObjectId) -> bool:
        return any(name == found.name and found.namespace in ("", at) for at, name in self.known.holders)


_OBJECTS = (Matter.OBJECT, Matter.SECRET)


def _items(value: Any, steps: Way) -> Iterator[tuple[Way, Any]]:
    """A document, or the items of a List."""
    items = value.get("items") if isinstance(value, Mapping) and _is_list(value) else None
    if not isinstance(items, list) or len(steps) > 8:
        yield steps, value
        return
    for number, item in enumerate(items):
        yield from _items(item, (*steps, "items", number))


def _is_list(value: Mapping[str, Any]) -> bool:
    """Whether it stands for its items, and is not an object of a kind that is called so."""
    if value.get("kind") == "List":
        return value.get("apiVersion") in (None, "v1")
    items = value.get("items")
    is_full = isinstance(items, list) and bool(items) and all(map(file_documents.is_object, items))
    return str(value.get("kind")).endswith("List") and is_full and not file_documents.is_object(value)


def _named(sort: Matter, value: Any, found: ObjectId | None, path: str) -> tuple[str, str]:
    """The kind of a document, and what people call it."""
    if sort is Matter.MACHINE:
        return _machine(value, found, path)
    if found is not None and sort is not Matter.KUSTOMIZE:
        return found.kind, str(found)
    return "", _NAMES.get(sort, posixpath.basename(path))


def _machine(value: Any, found: ObjectId | None, path: str) -> tuple[str, str]:
    kind = document_kinds.of(value, is_near=True)
    if found is not None and not kind:
        return found.kind, str(found)
    if document_kinds.is_omni(value):
        return str(value["kind"]), f"Omni {value['kind']} {value.get('name') or ''}".strip()
    if isinstance(value, Mapping) and {"clusterName", "nodes"} <= value.keys():
        return "talconfig", "talconfig"
    if kind in (document_kinds.CONFIG, document_kinds.PATCH, document_kinds.JSON_PATCH):
        return "v1alpha1", _NAMES[Matter.MACHINE]
    if kind:
        name = value.get("name") if isinstance(value, Mapping) else ""
        return kind, f"{kind} {name}" if name else kind
    return "", posixpath.basename(path)


def _own_name(value: Any, sort: Matter) -> str:
    """The name of a document that is no object."""
    name = value.get("name") if sort is Matter.MACHINE and isinstance(value, Mapping) else None
    return str(name) if isinstance(name, str | int) else ""


def _is_secret(value: Any, sort: Matter, *, is_whole: bool) -> secret_fields.IsSecret:
    """What is secret in a document; keys of firstlight.yaml are names of components, which may be called anything."""
    if is_whole:
        return secret_fields.of_everything
    if sort in (Matter.PLATFORM, Matter.POLICY):
        return secret_fields.of_names
    return secret_fields.of_document(value, is_machine=sort is Matter.MACHINE)


def _may_be_clear(sort: Matter, found: ObjectId | None) -> bool:
    """Whether it is a Secret that a cluster gets, or may make one."""
    return sort is Matter.KUSTOMIZE or (sort is Matter.OBJECT and found is not None and found.is_secret)


def _is_key(value: Any, kind: str) -> bool:
    """Whether a document is nothing but keys: a bundle of secrets, a talosconfig, a kubeconfig."""
    if kind == document_kinds.SECRETS:
        return True
    return isinstance(value, Mapping) and "contexts" in value and ("context" in value or "users" in value)
