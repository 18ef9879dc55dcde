"""What sops encrypted, made plain dummies: the lab has no key for it, and needs none. Pure."""

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from firstlight.clients import safe_yaml
from firstlight.document import writing
from firstlight.secrets import dummy_values

LARGEST = 4 << 20
"""Bytes of the largest file that is looked into: nobody encrypts more by sops."""
_MARK = re.compile(rb"(?m)^\s*[\"']?sops[\"']?\s*:|^sops_version=")
_LINE = re.compile(r"(?P<key>[^=\s#]+)=ENC\[.*\]")
_TYPE = re.compile(r"type:(?P<type>\w+)\]$")
_TYPED: dict[str, Any] = {"int": 1, "float": 1.5, "bool": False}


def plain(path: str, content: bytes) -> bytes | None:
    """A file with dummies instead of what is encrypted in it; None if nothing is, or it is no file of a cluster's."""
    if b"ENC[" not in content or not _MARK.search(content):
        return None
    if path.endswith((".yaml", ".yml", ".json")):
        return _documents(path, content)
    text = content.decode(errors="replace")
    kept = [line for line in text.splitlines() if not line.startswith("sops_")]
    return "".join(
        _LINE.sub(lambda match: f"{match['key']}={_text(match['key'], path)}", line) + "\n" for line in kept
    ).encode()


def _documents(path: str, content: bytes) -> bytes | None:
    try:
        documents = safe_yaml.load_all(content)
    except ValueError:
        return None
    if any(_is_bundle(each) for each in documents):
        return None
    made = [_document(each, path) for each in documents]
    if path.endswith(".json"):
        return json.dumps(made[0] if made else {}, indent=2).encode()
    if (
        len(made) == 1
        and isinstance(made[0], Mapping)
        and list(made[0]) == ["data"]
        and isinstance(made[0]["data"], str)
    ):
        return made[0]["data"].encode()  # the form of files that are no YAML themselves
    return writing.dump_all(made).encode()


def _is_bundle(document: Any) -> bool:
    """Whether it is a bundle of Talos secrets: a rehearsal makes its own."""
    return isinstance(document, Mapping) and {"certs", "trustdinfo"} <= document.keys()


def _document(document: Any, path: str) -> Any:
    if not isinstance(document, Mapping) or "sops" not in document:
        return document
    is_secret = document.get("kind") == "Secret" and "apiVersion" in document
    return {
        key: _walked(value, path, str(key), encode=is_secret and key == "data")
        for key, value in document.items()
        if key != "sops"
    }


def _walked(value: Any, path: str, key: str, *, encode: bool) -> Any:
    if isinstance(value, Mapping):
        return {name: _walked(each, path, str(name), encode=encode) for name, each in value.items()}
    if isinstance(value, list):
        return [_walked(each, path, key, encode=encode) for each in value]
    if not isinstance(value, str) or not value.startswith("ENC["):
        return value
    match = _TYPE.search(value)
    if match and match["type"] in _TYPED:
        return _TYPED[match["type"]]
    text = _text(key, path)
    return base64.b64encode(text.encode()).decode() if encode else text


def _text(key: str, path: str) -> str:
    return dummy_values.make(key, base=path).reveal().decode()
