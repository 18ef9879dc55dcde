"""What patches and manifests of an Omni template hold: a file beside it, or what is written in the template itself."""

import dataclasses
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from firstlight import errors
from firstlight.repo.omni import go_yaml

_FORBIDDEN = (
    "cluster.clusterName", "cluster.id", "cluster.controlPlane.endpoint", "cluster.token", "cluster.secret",
    "cluster.aescbcEncryptionSecret", "cluster.secretboxEncryptionSecret", "cluster.acceptedCAs",
    "machine.token", "machine.ca", "machine.type", "machine.install.extensions", "machine.acceptedCAs",
)  # fmt: skip
"""Omni writes these itself, and its client refuses them (config_patch.go)."""
_ROLES = "machine.features.kubernetesTalosAPIAccess.allowedRoles"

Files = Callable[[str, int], tuple[str, str]]
"""Reads a file that a template names, for the line that names it: its text, and what it is called in errors."""


@dataclasses.dataclass(frozen=True)
class Content:
    """A text, and where errors in it are to be looked for."""

    data: str = dataclasses.field(repr=False)
    path: str
    line: int
    """Where it begins."""
    documents: tuple[yaml.Node, ...] = dataclasses.field(repr=False, compare=False)
    shift: int = 0
    """Lines between those of the documents and those of the file."""

    def fail(self, message: str, *, line: int = 0, hint: str = "") -> None:
        """Say what is wrong, at a line of the documents."""
        raise errors.ConfigError(message, path=self.path, line=line + self.shift if line else self.line, hint=hint)


def from_node(node: yaml.Node, path: str, *, line: int) -> Content:
    """What is written in the template: a mapping; newer clients also take a list of them, or a text sent as it is."""
    if isinstance(node, yaml.ScalarNode):
        shift = go_yaml.line_of(node) - (0 if node.style in {"|", ">"} else 1)
        text = str(node.value)
        return Content(text, path, line, tuple(go_yaml.documents(text, path, first_line=shift + 1)), shift)
    roots = list(node.value) if isinstance(node, yaml.SequenceNode) else [node]
    text = "---\n".join(go_yaml.text(go_yaml.value(root, path)) for root in roots)
    return Content(text, path, line, tuple(roots))


def from_text(text: str, path: str) -> Content:
    """What is written in a file of its own."""
    return Content(text, path, 1, tuple(go_yaml.documents(text, path)))


def beside(template: Path) -> Files:
    """Reads files below the template's directory; what lies outside may be anybody's."""
    root = template.parent.resolve()

    def text(name: str, line: int) -> tuple[str, str]:
        try:
            target = (root / name).resolve(strict=True)
        except (OSError, ValueError, RuntimeError) as error:
            hint = f"Files are looked up beside the template, in {root}."
            raise errors.ConfigError(f"there is no file {name}", path=str(template), line=line, hint=hint) from error
        if not target.is_relative_to(root):
            hint = f"Move it into {root}, or the template up to where both are below it."
            message = f"{name} is outside the template's directory"
            raise errors.ConfigError(message, path=str(template), line=line, hint=hint)
        shown = str(template.parent / name)
        return read(target, shown=shown, template=str(template), line=line), shown

    return text


def read(path: Path, *, shown: str, template: str = "", line: int = 0) -> str:
    """The text of an ordinary file of reasonable size; errors are those of the line that names it, if one does."""
    where = template or shown

    def fail(message: str, hint: str) -> None:
        raise errors.ConfigError(f"{shown} {message}", path=where, line=line, hint=hint)

    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            fail("is not an ordinary file", "Name a file, not a directory or a pipe.")
        if status.st_size > go_yaml.SIZE_LIMIT:
            fail(f"is larger than {go_yaml.SIZE_LIMIT >> 20} MiB", "No Talos machine accepts that much.")
        # A name below the directory was resolved already: a link by now means that somebody just put it there.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_NOFOLLOW if template else 0))
        with os.fdopen(descriptor, "rb") as file:
            return file.read(go_yaml.SIZE_LIMIT).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.ConfigError(f"{shown} cannot be read: {error}", path=where, line=line) from error


def check_patch(content: Content) -> None:
    """Refuse what Omni refuses of a patch, as far as one need not know Talos's fields; talosctl knows those."""
    mappings = []
    for root in content.documents:
        if go_yaml.is_null(root):
            continue
        if not isinstance(root, yaml.MappingNode):
            hint = "Write a part of a machine config; Omni takes no JSON patches."
            content.fail("a patch is a mapping of machine config", line=go_yaml.line_of(root), hint=hint)
        if root.value:
            mappings.append(root)
    if not mappings:
        content.fail("the patch is empty", hint="Say what it changes, or leave it out; Omni refuses it.")
    for root in mappings:
        for field in _FORBIDDEN:
            if found := go_yaml.find(root, field.split("."), content.path):
                content.fail(f"{field} is Omni's own", line=found[1], hint="Leave it out: Omni writes it.")
        roles = go_yaml.find(root, _ROLES.split("."), content.path)
        if roles and isinstance(roles[0], yaml.SequenceNode):
            for role in roles[0].value:
                if role.value == "os:admin":
                    hint = "Write os:reader, or what is needed; Omni refuses this one."
                    content.fail("pods may not be os:admin", line=go_yaml.line_of(role), hint=hint)


def objects(content: Content) -> tuple[Mapping[str, Any], ...]:
    """The Kubernetes objects of a manifest."""
    found = []
    for root in content.documents:
        if go_yaml.is_null(root):
            continue
        data = go_yaml.value(root, content.path)
        if not isinstance(data, dict) or not data.get("kind") or not data.get("apiVersion"):
            hint = "Every document of a manifest has apiVersion and kind."
            content.fail("this is no Kubernetes object", line=go_yaml.line_of(root), hint=hint)
        found.append(data)
    return tuple(found)
