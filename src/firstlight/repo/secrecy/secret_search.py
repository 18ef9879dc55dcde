"""Secrets of a repo that anybody can read who can read the repo, wherever a manifest can be; values are never kept."""

import dataclasses
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document import yaml_reader
from firstlight.document.within import at, sequence
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model import secret_words
from firstlight.model.component import ObjectId
from firstlight.model.platform import ClearSecret
from firstlight.repo.secrecy import clear_secrets, hidden_texts, nested_manifests, secret_text
from firstlight.repo.work_tree import YAML, WorkTree

_HOLDERS = ("stringData", "data")
_SECRET = re.compile(rb"\bSecret\b|\bsecretGenerator\b")
"""Not an ExternalSecret, of which there are many: their files need not be parsed."""
_READ = (*YAML, ".json", *hidden_texts.SCRIPTS, *hidden_texts.TEMPLATES)
_TEMPLATE_MARKS = ("{{", "{%")


def clear_secrets_of(tree: WorkTree) -> tuple[ClearSecret, ...]:
    """Return every Secret with values in clear.

    They are found in files, in other manifests, in base64, in scripts, in templates, and where kustomize makes them.
    """
    held: list[ClearSecret] = []
    for path in tree.files:
        content = tree.bytes(path) if path.endswith(_READ) else None
        if content is None or not _may_hold(content) or clear_secrets.is_filtered(tree, path):
            continue
        for first, document in _documents(tree, path):
            if not isinstance(document.value, Mapping | list) or "sops" in document.value:
                continue
            found = [
                *_generated(tree, document),
                *(
                    each
                    for steps, value in nested_manifests.manifests(document.value)
                    if (each := _of(document, steps, value)) is not None
                ),
            ]
            held += [_moved(each, first) for each in found]
    return tuple(held)


def _may_hold(content: bytes) -> bool:
    """Whether a file is worth parsing; words are found much faster than expressions."""
    if (b"Secret" in content or b"secretGenerator" in content) and _SECRET.search(content):
        return True
    return any(mark in content for mark in hidden_texts.SECRET_MARKS)


def _documents(tree: WorkTree, path: str) -> Iterator[tuple[int, YamlDocument]]:
    """Yield the documents of a file, each with the number of lines before the text that it was read from."""
    text = tree.text(path) or ""
    parts: Iterable[tuple[int, str]] = ()
    if path.endswith(hidden_texts.SCRIPTS):
        parts = hidden_texts.here_documents(text)
    elif path.endswith(hidden_texts.TEMPLATES):
        parts = [(0, hidden_texts.without_template(text))]
    else:
        contents = tree.contents(path)
        if contents.diagnostics and any(mark in text for mark in _TEMPLATE_MARKS):
            parts = [(0, hidden_texts.without_template(text))]
        else:
            yield from ((0, each) for each in contents.documents)
    for first, part in parts:
        yield from ((first, each) for each in yaml_reader.read_text(part, path).documents)


def _moved(secret: ClearSecret, lines: int) -> ClearSecret:
    place = secret.place
    return dataclasses.replace(secret, place=dataclasses.replace(place, line=place.line + lines)) if lines else secret


def _of(document: YamlDocument, steps: nested_manifests.Steps, value: Mapping[str, Any]) -> ClearSecret | None:
    if not ObjectId.of(value).is_secret or "sops" in value:
        return None
    for holder in _HOLDERS:
        entries = value.get(holder)
        pairs = entries.items() if isinstance(entries, Mapping) else ()
        names = [str(name) for name, held in pairs if _is_readable(holder, str(name), held)]
        if names:
            # A text has one place, whatever is in it.
            is_text = isinstance(at(document.value, *steps), str)
            place = document.place(*steps) if is_text else document.place(*steps, holder, names[0])
            return ClearSecret(id=ObjectId.of(value), keys=tuple(names), place=place)
    return None


def _generated(tree: WorkTree, document: YamlDocument) -> Iterator[ClearSecret]:
    """Yield the Secrets that a kustomization makes of literals, of files with ``NAME=value``, and of whole files."""
    namespace = str(at(document.value, "namespace") or "")
    for number, generator in enumerate(sequence(document.value, "secretGenerator")):
        pairs = [*_literals(generator), *_settings(tree, document, generator), *_files(tree, document, generator)]
        names = [name for name, text in pairs if _is_readable("stringData", name, text)]
        if names:
            id = ObjectId("", "Secret", str(at(generator, "namespace") or namespace), str(at(generator, "name") or ""))
            place = document.place("secretGenerator", number)
            yield ClearSecret(id=id, keys=tuple(dict.fromkeys(names)), place=place)


def _literals(generator: Any) -> Iterator[tuple[str, str]]:
    yield from _assigned(str(each) for each in sequence(generator, "literals"))


def _settings(tree: WorkTree, document: YamlDocument, generator: Any) -> Iterator[tuple[str, str]]:
    for each in (*sequence(generator, "envs"), *([env] if (env := at(generator, "env")) else [])):
        lines = (_text(tree, document, str(each)) or "").splitlines()
        yield from _assigned(line.strip() for line in lines if not line.lstrip().startswith("#"))


def _assigned(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, mark, text = line.partition("=")
        if mark:
            yield name, text.strip("\"'")


def _files(tree: WorkTree, document: YamlDocument, generator: Any) -> Iterator[tuple[str, str]]:
    """Yield whole files as ``[KEY=]PATH`` names them, without those that sops or Git encrypts."""
    for each in map(str, sequence(generator, "files")):
        name, mark, path = each.rpartition("=")
        text = _text(tree, document, path)
        if text is not None and "ENC[" not in text and '"sops"' not in text:
            yield (name if mark else posixpath.basename(path)), text


def _text(tree: WorkTree, document: YamlDocument, path: str) -> str | None:
    real = posixpath.normpath(posixpath.join(posixpath.dirname(document.place().path), path))
    return tree.text(real) if tree.is_file(real) and not clear_secrets.is_filtered(tree, real) else None


def _is_readable(holder: str, name: str, value: Any) -> bool:
    """Whether a value is a secret, and there: teams keep plain settings in Secrets as well, and words for later."""
    text = clear_secrets.decoded(value) if holder == "data" and isinstance(value, str) else value
    is_one = secret_words.is_secret_name(name) or (isinstance(text, str) and secret_text.is_secret_text(text))
    return is_one and not clear_secrets.is_placeholder(text) and clear_secrets.stands_clear((holder, name), value)
