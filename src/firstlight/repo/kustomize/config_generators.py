"""ConfigMaps and Secrets that a kustomization makes of literals and files, with the hashes that end their names."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from firstlight.model.place import Place
from firstlight.repo.kustomize.resources import KustomizationError, KustomizeResource, labels_of
from firstlight.repo.manifest import Manifest

Load = Callable[[str], bytes]
"""Reads a file beside the kustomization; raises Problem."""

_HASH = str.maketrans("013ae", "ghkmt")
"""Digits that could make a bad word, as kubectl replaces them."""
_LINE = 70
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


def generate(
    kind: str, entry: Mapping[str, Any], options: Mapping[str, Any], *, load: Load, place: Place
) -> KustomizeResource:
    """What one entry of configMapGenerator or secretGenerator makes.

    Args:
        kind: ConfigMap or Secret.
        entry: As it is written.
        options: The generatorOptions of the kustomization.
        load: Reads the files that it names.
        place: Where it is written.

    Raises:
        Problem: It cannot be made.
    """
    name = str(entry.get("name") or "")
    if not name:
        raise KustomizationError("kustomization-field-wrong", f"a {kind} that is generated needs a name")
    metadata: dict[str, Any] = {"name": name}
    if entry.get("namespace"):
        metadata["namespace"] = str(entry["namespace"])
    own = entry.get("options") if isinstance(entry.get("options"), dict) else {}
    assert isinstance(own, dict)
    for field in ("labels", "annotations"):
        if found := {**_texts(options.get(field)), **_texts(own.get(field))}:
            metadata[field] = found
    value: dict[str, Any] = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    if kind == "Secret":
        value |= {"type": str(entry.get("type") or "Opaque"), "data": {}}
    for key, content in _pairs(entry, load, name).items():
        field, text = _encoded(kind, content)
        value.setdefault(field, {})[key] = text
    if options.get("immutable") is True or own.get("immutable") is True:
        value["immutable"] = True
    is_hashed = options.get("disableNameSuffixHash") is not True and own.get("disableNameSuffixHash") is not True
    behavior = str(entry.get("behavior") or "create")
    return KustomizeResource(value, Manifest(value, place), behavior=behavior, is_hashed=is_hashed)


def is_encrypted(entry: Mapping[str, Any], load: Load) -> bool:
    """Whether sops has encrypted one of the files, which Flux decrypts before it builds."""
    files = [*_list(entry, "envs"), *(each.rpartition("=")[2] for each in _list(entry, "files"))]
    return any(b"ENC[AES256_GCM," in content and b"sops" in content for content in map(load, files))


def absorbed(resources: Sequence[KustomizeResource], made: KustomizeResource) -> list[KustomizeResource]:
    """Objects with one that was made: added, merged into one that is there, or instead of it.

    Raises:
        Problem: It is there and must not be, or the other way round.
    """
    found = [each for each in resources if each.is_called(made.id)]
    what = f"{made.gvk.kind} {made.name}"
    if not found:
        if made.behavior in ("merge", "replace"):
            raise KustomizationError("kustomize-generator-behavior-wrong", f"there is no {what} to {made.behavior}")
        return [*resources, made]
    if len(found) > 1 or made.behavior not in ("merge", "replace"):
        raise KustomizationError(
            "kustomize-generator-behavior-wrong",
            f"{what} is there already",
            fix="write behavior: merge or behavior: replace",
        )
    return [_combined(each, made) if each is found[0] else each for each in resources]


def _combined(old: KustomizeResource, made: KustomizeResource) -> KustomizeResource:
    value = dict(made.value)
    metadata = {**made.metadata, "name": old.metadata.get("name")}
    metadata.pop("namespace", None)
    if old.namespace:
        metadata["namespace"] = old.namespace
    for field in ("labels", "annotations"):
        if both := {**labels_of(old, field), **labels_of(made, field)}:
            metadata[field] = both
    value["metadata"] = metadata
    if made.behavior == "merge":
        for field in ("data", "binaryData"):
            if field in old.value or field in value:
                value[field] = {**(old.value.get(field) or {}), **(value.get(field) or {})}
    return KustomizeResource(
        value, old.source, old.previous, old.prefixes, old.suffixes, old.behavior, old.is_hashed and made.is_hashed
    )


def hashed(resource: KustomizeResource) -> KustomizeResource:
    """With a hash of its content at the end of its name."""
    value = resource.value
    # kustomize looks for the name where no object has it, so the name has never been a part of the hash.
    content: dict[str, Any] = {"kind": resource.gvk.kind, "name": "", "data": value.get("data", "")}
    if resource.gvk.kind == "ConfigMap":
        content |= {"binaryData": value["binaryData"]} if isinstance(value.get("binaryData"), dict) else {}
    elif resource.gvk.kind == "Secret":
        content["type"] = str(value.get("type", ""))
        content |= {"stringData": value["stringData"]} if isinstance(value.get("stringData"), dict) else {}
    else:
        content = dict(value)
    digest = hashlib.sha256(_go_json(content)).hexdigest()[:10].translate(_HASH)
    return resource.remembering().with_metadata(name=f"{resource.name}-{digest}")


def _go_json(value: Any) -> bytes:
    """JSON as Go writes it, which escapes what HTML would trip over."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text.encode(errors="replace")


def _texts(found: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def _load_all(paths: Iterable[str], load: Load) -> dict[str, bytes]:
    """Return the contents of files; an error names all of them that do not exist."""
    contents: dict[str, bytes] = {}
    missing: list[KustomizationError] = []
    for path in paths:
        try:
            contents[path] = load(path)
        except KustomizationError as error:
            if not error.missing:
                raise
            missing.append(error)
    if missing:
        raise missing[0].together(missing[1:])
    return contents


def _pairs(entry: Mapping[str, Any], load: Load, name: str) -> dict[str, bytes]:
    pairs: list[tuple[str, bytes]] = []
    envs = [*_list(entry, "envs"), *([str(entry["env"])] if entry.get("env") else [])]
    contents = _load_all((*envs, *(_path_of(each) for each in _list(entry, "files"))), load)
    for path in envs:
        pairs += _variables(contents[path], path)
    for literal in _list(entry, "literals"):
        key, equals, text = literal.partition("=")
        if not key or not equals:
            raise KustomizationError("kustomize-generator-wrong", f"a literal of {name} is not of the form key=value")
        pairs.append((key, _unquoted(text).encode()))
    for file in _list(entry, "files"):
        key, equals, _ = file.partition("=")
        pairs.append((key if equals else file.rpartition("/")[2], contents[_path_of(file)]))
    found: dict[str, bytes] = {}
    for key, content in pairs:
        if not _KEY.fullmatch(key):
            raise KustomizationError("kustomize-generator-wrong", f"{key[:80]!r} cannot be a key of {name}")
        if key in found:
            raise KustomizationError("kustomize-generator-wrong", f"{name} has the key {key} twice")
        found[key] = content
    return found


def _path_of(file: str) -> str:
    key, equals, path = file.partition("=")
    if (equals and not (key and path)) or "=" in path:
        raise KustomizationError("kustomize-generator-wrong", f"{file[:80]!r} is neither a file nor key=file")
    return path or file


def _list(entry: Mapping[str, Any], field: str) -> list[str]:
    found = entry.get(field)
    if found is not None and not (isinstance(found, list) and all(isinstance(each, str) for each in found)):
        raise KustomizationError("kustomization-field-wrong", f"{field} of a generator must be a list of texts")
    return found or []


def _variables(content: bytes, path: str) -> list[tuple[str, bytes]]:
    """The lines of an env file; what is only a name would come from the environment, and is empty."""
    found = []
    for line in content.removeprefix(b"\xef\xbb\xbf").splitlines():
        text = line.decode(errors="replace").lstrip()
        if not text or text.startswith("#"):
            continue
        key, _, value = text.partition("=")
        if not _VARIABLE.fullmatch(key):
            raise KustomizationError(
                "kustomize-generator-wrong", f"{path} has a line that does not start with the name of a variable"
            )
        found.append((key, value.encode()))
    return found


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _encoded(kind: str, content: bytes) -> tuple[str, str]:
    """The field where a content goes, and how it is written there."""
    if kind == "ConfigMap":
        try:
            return "data", content.decode()
        except UnicodeDecodeError:
            return "binaryData", _base64(content)
    return "data", _base64(content)


def _base64(content: bytes) -> str:
    text = base64.b64encode(content).decode()
    if len(text) < _LINE:
        return text
    return "".join(f"{text[at : at + _LINE]}\n" for at in range(0, len(text), _LINE))
