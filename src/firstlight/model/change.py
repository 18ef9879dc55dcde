"""What a change of a repo is made of: objects, machine configs and other things, each with the fields that differ.

Comments, blank lines, the order of keys and the file that something stands in are not among it.
"""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.model.component import ObjectId
from firstlight.model.place import Place


class ChangeVerb(enum.StrEnum):
    """What became of something."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    MOVED = "moved"
    """It is the same in another file."""


class Matter(enum.StrEnum):
    """What sort of thing a piece of a repo is."""

    OBJECT = "object"
    """A Kubernetes object, those that declare Kustomizations, HelmReleases and Applications among them."""
    MACHINE = "machine"
    """What makes machines what they are: a Talos config or patch, talconfig, an Omni template, a schematic."""
    VALUES = "values"
    """A file with values of a chart."""
    KUSTOMIZE = "kustomize"
    """A kustomization or a component of one, or a file that one takes in and that is no object."""
    RELEASE = "release"
    """A helmfile."""
    SCRIPT = "script"
    """A Taskfile, justfile, makefile or script that does something to a cluster."""
    CHART = "chart"
    """A piece of a chart that is in the repo."""
    PLATFORM = "platform"
    """firstlight.yaml."""
    POLICY = "policy"
    """A team's own rules for decisions, or who may approve them."""
    SECRET = "secret"  # noqa: S105
    """Something encrypted, of which only the names can be read."""
    TOOLING = "tooling"
    """What developers and CI use, and no cluster sees."""
    DOCUMENTATION = "documentation"
    UNKNOWN = "unknown"


class Level(enum.StrEnum):
    """Where a difference was seen."""

    SOURCE = "source"
    """In the files."""
    RENDERED = "rendered"
    """In what an engine would apply."""


def written(steps: Sequence[str]) -> str:
    """A way as rules write it: a step that has a dot or a bracket in it stands in double quotes."""
    return "".join(
        each if each.startswith("[") else f'."{each}"' if any(mark in each for mark in ".[]") else f".{each}"
        for each in steps
    ).removeprefix(".")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChangedField:
    """One value that differs."""

    steps: tuple[str, ...]
    """The way to it from the top of its document. An item of a list is ``[name=web]`` where its name tells it from the
    others, else ``[0]``."""
    verb: ChangeVerb
    place: Place
    before: Any = dataclasses.field(default=None, repr=False)
    after: Any = dataclasses.field(default=None, repr=False)
    """Plain values; of what is secret, and of what was or will not be there, None."""
    values: tuple[str, ...] | None = None
    """The way to it inside the values of a chart, where it is one of them."""
    is_secret: bool = False
    is_clear: bool = False
    """Whether it is a secret that anybody can read in Git from now on."""

    @property
    def path(self) -> str:
        """The way to it for people, and for rules: ``spec.containers[name=web].image``, ``labels."example.org/a"``."""
        return written(self.steps)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of one object, config or file."""

    matter: Matter
    verb: ChangeVerb
    place: Place
    """Where it stands now; where it stood, if it is gone."""
    title: str
    """What people call it: ``HelmRelease kube-system/cilium``, ``machine config``, ``values``, else the file's name."""
    old_path: str = ""
    """The file it stood in, if that is another."""
    object: ObjectId | None = None
    kind: str = ""
    """Of an object its kind; of a document of Talos its kind, ``v1alpha1`` for the oldest; of other things empty."""
    fields: tuple[ChangedField, ...] = ()
    """What differs. Of something new or gone every leaf of it."""
    level: Level = Level.SOURCE
    before: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    after: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    """All of it, where it is a mapping and not secret."""
    cluster: str = ""
    component: str = ""
    """Of which component it was rendered; what is seen in files belongs to components by its path."""
    doubt: str = ""
    """What could not be told: a file that is broken, or too large, or no text."""
    is_unread: bool = False
    """Whether its content could not be read for that, before or after."""
    broken: str = ""
    """What is wrong with it, so that it cannot be read as it is now; its place is where."""
    is_hooked: bool = False
    """Whether a hook or a command gate of firstlight.yaml runs the file, or reads it."""
    apart: tuple["Change", ...] = dataclasses.field(default=(), repr=False)
    """Of what stands in another file now: that it went here and came there, for those who look only in one place."""
