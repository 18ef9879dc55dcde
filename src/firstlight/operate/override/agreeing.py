"""Whether Git has what was changed past it: the server's own trial of what Git renders, applied as the engine."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.execute.overriding import comparing, engines, owned_fields, restoring, snapshot, versions
from firstlight.execute.overriding.ground import Ground
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER, Override
from firstlight.ownership import field_values
from firstlight.ownership.field_set import path_text
from firstlight.ownership.field_values import ABSENT


@dataclasses.dataclass(frozen=True, kw_only=True)
class Git:
    """What Git has for a cluster."""

    wanted: Mapping[ObjectId, Mapping[str, Any]] = dataclasses.field(repr=False)
    revision: str = ""
    """The commit; empty where it is not known."""
    repository: str = ""
    """The URL that the engine follows; empty where it is not known."""
    unread: tuple[str, ...] = ()
    """What could not be rendered."""
    problems: tuple[str, ...] = ()
    """Why the engine will not see that commit: it is not pushed, or files were not committed."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that the engine would change back."""

    object: ObjectId
    field: str
    live: str
    git: str

    def __str__(self) -> str:
        what = f"{self.object} {self.field}".rstrip()
        return f"{what}: {self.live} in the cluster, {self.git} in Git"


async def differences(
    override: Override, ground: Ground, wanted: Mapping[ObjectId, Mapping[str, Any]]
) -> tuple[Difference, ...]:
    """What of the changes Git does not have; nothing is written.

    Raises:
        errors.ClientError: The API does not answer.
    """
    before = await snapshot.read(override, ground.client)
    known = await versions.of(override.changed, ground.client, before=before)
    deleted = {each.object for each in override.changes if each.is_deleted}
    found: list[Difference] = []
    for id in override.changed:
        live = await restoring.look(id, known[id], ground)
        found += await _of(id, live, wanted.get(id), ground, is_whole=id in deleted)
    return tuple(found)


async def _of(
    id: ObjectId, live: Mapping[str, Any] | None, wanted: Mapping[str, Any] | None, ground: Ground, *, is_whole: bool
) -> list[Difference]:
    """What Git has otherwise of an object; of one that was deleted and applied anew also what was left out then."""
    if live is None:
        return [Difference(object=id, field="", live=comparing.NOTHING, git="there")] if wanted is not None else []
    paths = owned_fields.leaves(owned_fields.of(live, MANAGER))
    if not paths:
        return []
    if wanted is None:
        return [Difference(object=id, field="", live="there", git=comparing.NOTHING)]
    manager = engines.applies(live) or "kustomize-controller"
    try:
        after = await ground.client.apply(_complete(wanted, live), manager=manager, force=True, dry_run=True)
    except (kube.Invalid, kube.Forbidden, kube.BadRequest) as error:
        return [Difference(object=id, field="", live="there", git=f"what the server refuses: {error.message}")]
    theirs = {*owned_fields.leaves(owned_fields.of(after, manager))}
    found = []
    for path in paths:
        value, now = field_values.at(after, path), field_values.at(live, path)
        # A list or a map may be one value to the server, and be owned as such.
        if not any(path[:length] in theirs for length in range(1, len(path) + 1)):
            found.append(_difference(id, path, now, ABSENT))
        elif not field_values.is_same(value, now):
            found.append(_difference(id, path, now, value))
    more = theirs - {*paths} if is_whole else set()
    left = [path for path in sorted(more) if path[0] != "f:metadata" and field_values.at(live, path) is ABSENT]
    return [*found, *(_difference(id, path, ABSENT, field_values.at(after, path)) for path in left)]


def _complete(wanted: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
    """What the engine would apply: in the namespace in which it is."""
    metadata = {**(wanted.get("metadata") or {})}
    if namespace := (live.get("metadata") or {}).get("namespace"):
        metadata["namespace"] = namespace
    return {**wanted, "metadata": metadata}


def _difference(id: ObjectId, path: tuple[str, ...], live: Any, git: Any) -> Difference:
    field = path_text(path)
    shown = (comparing.shown(live, id, field), comparing.shown(git, id, field))
    return Difference(object=id, field=field, live=shown[0], git=shown[1])
