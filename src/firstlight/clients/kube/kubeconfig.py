"""Kubeconfig files as kubectl reads them: found, parsed with their lines, and merged.

``config.load`` calls ``read`` and picks a context out of what comes back. All scalars stay the strings that
were written, since every field of a kubeconfig but a few booleans is a string (a token of digits is still a
token).
"""

import dataclasses
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec
import yaml

from firstlight import errors

_NULL = "tag:yaml.org,2002:null"
_BOOLEANS = {"true": True, "false": False}
_LOADER: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclasses.dataclass(frozen=True)
class KubeconfigEntry:
    """A mapping of a kubeconfig, and where it stands: ``label`` is how messages call it."""

    path: Path
    label: str
    line: int
    node: yaml.MappingNode | None

    @property
    def fields(self) -> dict[str, yaml.Node]:
        """The values by key; nulls count as absent, and of a repeated key the last."""
        if self.node is None:
            return {}
        return {key.value: value for key, value in self.node.value if value.tag != _NULL}

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key as it is written, also repeated ones and those without a value."""
        return tuple(str(key.value) for key, _ in self.node.value) if self.node is not None else ()

    def text(self, key: str) -> str:
        """A string, empty if it is absent."""
        node = self.fields.get(key)
        if node is None:
            return ""
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(key, "must be a string")
        return str(node.value)

    def flag(self, key: str) -> bool:
        """A boolean, false if it is absent."""
        text = self.text(key)
        if text and text.lower() not in _BOOLEANS:
            raise self.error(key, f"must be true or false, and is {text!r}")
        return _BOOLEANS.get(text.lower(), False)

    def entry(self, key: str) -> Self | None:
        """A mapping inside, or none."""
        node = self.fields.get(key)
        if node is None:
            return None
        if not isinstance(node, yaml.MappingNode):
            raise self.error(key, "must be a mapping")
        return dataclasses.replace(self, label=f"{self.label}.{key}", line=_line(node), node=node)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        return tuple(self._scalar(key, item) for item in self._items(key))

    def entries(self, key: str) -> tuple[Self, ...]:
        """A list of mappings."""
        found = []
        for index, item in enumerate(self._items(key)):
            if not isinstance(item, yaml.MappingNode):
                raise self.error(key, "must be a list of mappings")
            label = f"{self.label}.{key}[{index}]".lstrip(".")
            found.append(dataclasses.replace(self, label=label, line=_line(item), node=item))
        return tuple(found)

    def lists(self, key: str) -> dict[str, tuple[str, ...]]:
        """A mapping of lists of strings."""
        inside = self.entry(key)
        return {} if inside is None else {name: inside.texts(name) for name in inside.fields}

    def plain(self, key: str) -> Any:
        """Whatever is there, as JSON would have it: for what kubectl passes on without looking."""
        node = self.fields.get(key)
        return None if node is None else _plain(node)

    def file(self, key: str) -> Path | None:
        """A path, relative to the file that names it."""
        text = self.text(key)
        return self.path.parent / text if text else None

    def error(self, key: str, message: str, *, hint: str = "") -> errors.ConfigError:
        """An error about a field of this entry, or about the entry itself if ``key`` is empty."""
        node = self.fields.get(key)
        place = f"{self.label}.{key}" if key else self.label
        line = _line(node) if node is not None else self.line
        return errors.ConfigError(f"{place.lstrip('.')} {message}", path=str(self.path), line=line, hint=hint)

    def _items(self, key: str) -> Sequence[yaml.Node]:
        node = self.fields.get(key)
        if node is None:
            return ()
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(key, "must be a list")
        items: Sequence[yaml.Node] = node.value
        return items

    def _scalar(self, key: str, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(key, "must be a list of strings")
        return str(node.value)


@dataclasses.dataclass(frozen=True)
class Kubeconfig:
    """Several files as one: of each name the first, as kubectl merges them."""

    paths: tuple[Path, ...]
    current_context: str
    clusters: Mapping[str, KubeconfigEntry]
    users: Mapping[str, KubeconfigEntry]
    contexts: Mapping[str, KubeconfigEntry]

    @property
    def source(self) -> str:
        """The files, as messages name them."""
        return ":".join(str(path) for path in self.paths)


def locate(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The files that kubectl would read: those of KUBECONFIG, else ``~/.kube/config``."""
    named = [part for part in environ.get("KUBECONFIG", "").split(":") if part]
    if named:
        return tuple(Path(part) for part in dict.fromkeys(named))
    return (Path(environ.get("HOME") or Path.home()) / ".kube" / "config",)


class KubeconfigMissing(errors.ConfigError):
    """None of the files exists that could be one."""


def read(paths: Sequence[Path]) -> Kubeconfig:
    """Read and merge files; of several, those that do not exist are passed over, as kubectl does.

    Raises:
        KubeconfigMissing: None of them exists.
        errors.ConfigError: One cannot be read.
    """
    documents = [found for path in paths if (found := read_document(path)) is not None]
    if not documents:
        names = " or ".join(str(path) for path in paths)
        raise KubeconfigMissing("there is no kubeconfig", path=names, hint="set KUBECONFIG to the file of your cluster")
    current = next((text for each in documents if (text := each.text("current-context"))), "")
    return Kubeconfig(
        paths=tuple(each.path for each in documents),
        current_context=current,
        clusters=_merge(documents, "clusters", "cluster"),
        users=_merge(documents, "users", "user"),
        contexts=_merge(documents, "contexts", "context"),
    )


def _merge(documents: Sequence[KubeconfigEntry], plural: str, singular: str) -> dict[str, KubeconfigEntry]:
    merged: dict[str, KubeconfigEntry] = {}
    for each in documents:
        of_file: dict[str, KubeconfigEntry] = {}
        for item in each.entries(plural):
            name = item.text("name")
            if not name:
                raise item.error("name", "is missing", hint=f"every entry of {plural} needs a name")
            inside = item.entry(singular) or dataclasses.replace(item, node=None)
            # Inside one file the last of a name counts, between files the first: both as kubectl does.
            of_file[name] = dataclasses.replace(inside, label=f"{singular} {name!r}:")
        merged = of_file | merged
    return merged


def read_document(path: Path) -> KubeconfigEntry | None:
    """A file as it is written; None if it does not exist.

    Raises:
        errors.ConfigError: It cannot be read, or is not a kubeconfig.
    """
    path = path.absolute()
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise errors.ConfigError(f"cannot be read: {error.strerror}", path=str(path)) from error
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it cannot be decoded"
        # From None: the original quotes the line, which may hold a key.
        raise errors.ConfigError(f"is no YAML: {problem}", path=str(path), line=mark.line + 1 if mark else 0) from None
    except RecursionError:
        raise errors.ConfigError("is nested too deeply", path=str(path)) from None
    if node is not None and not isinstance(node, yaml.MappingNode):
        if node.tag != _NULL:
            raise errors.ConfigError("is no kubeconfig: it must be a mapping", path=str(path), line=1)
        node = None
    return KubeconfigEntry(path=path, label="", line=1, node=node)


def _plain(node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {key.value: _plain(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item) for item in node.value]
    match node.tag:
        case "tag:yaml.org,2002:null":
            return None
        case "tag:yaml.org,2002:bool":
            return _BOOLEANS.get(node.value.lower(), node.value)
        case "tag:yaml.org,2002:int" | "tag:yaml.org,2002:float":
            try:
                return msgspec.json.decode(node.value)
            except msgspec.DecodeError:
                return node.value
        case _:
            return node.value


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


# What a kubeconfig may say that lies where others could have put it: everything in the file itself, nothing elsewhere.
#
# It names no file, whose content would be sent to the server as a token or a key; no program; no proxy; and no server
# that is not known by its certificate.


_ALLOWED = {
    "cluster": ("server", "certificate-authority-data", "tls-server-name", "disable-compression", "extensions"),
    "user": ("client-certificate-data", "client-key-data", "token", "username", "password"),
    "context": ("cluster", "user", "namespace", "extensions"),
}
_HINT = "Delete it, and let firstlight make it again; or name your own: --kubeconfig FILE"


def check_inline(path: Path) -> None:
    """See that a kubeconfig has everything in itself.

    Raises:
        errors.Refused: It names a file, a program, a proxy or a server that cannot be known.
        errors.ConfigError: It is not a kubeconfig.
    """
    document = read_document(path)
    if document is None:
        return
    # Every entry, used or not: programs that are given the file may choose others, and read keys in other ways.
    for kind, allowed in _ALLOWED.items():
        for item in document.entries(f"{kind}s"):
            inside = item.entry(kind)
            for key in inside.keys if inside is not None else ():
                if key not in allowed:
                    what = _program(inside, key) if inside is not None else ""
                    raise errors.Refused(
                        f"{path}:{item.line}: the {kind} {item.text('name')} has {key}{what}, which is not allowed in "
                        "a kubeconfig that firstlight keeps",
                        hint=_HINT,
                    )
            if kind == "cluster" and inside is not None:
                _check_server(path, inside)


def _check_server(path: Path, cluster: KubeconfigEntry) -> None:
    server = cluster.text("server")
    if server and urllib.parse.urlsplit(server).scheme != "https":
        raise errors.Refused(
            f"{path}:{cluster.line}: the server {server} is not an https:// address, and credentials would be sent in "
            "the clear",
            hint=_HINT,
        )


def _program(user: KubeconfigEntry, key: str) -> str:
    plugin = user.entry("exec") if key == "exec" else None
    return f" (runs {plugin.text('command')})" if plugin is not None else ""
