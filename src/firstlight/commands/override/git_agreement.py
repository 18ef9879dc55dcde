"""Whether Git has what was changed past it: the server's own trial of what Git renders, applied as the engine."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.commands.drift import expected_state
from firstlight.execute.means import Means
from firstlight.execute.overrides import held_engines, object_snapshot, owned_fields, restore
from firstlight.execute.overrides.override_context import OverrideContext
from firstlight.model import flux_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER, Override
from firstlight.model.platform import Platform
from firstlight.ownership import field_values
from firstlight.ownership.field_set import path_text
from firstlight.ownership.field_values import ABSENT


@dataclasses.dataclass(frozen=True, kw_only=True)
class RenderedGit:
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
class DisagreeingField:
    """One field that the engine would change back."""

    object: ObjectId
    field: str
    live: str
    git: str

    def __str__(self) -> str:
        what = f"{self.object} {self.field}".rstrip()
        return f"{what}: {self.live} in the cluster, {self.git} in Git"


async def differences(
    override: Override, ground: OverrideContext, wanted: Mapping[ObjectId, Mapping[str, Any]]
) -> tuple[DisagreeingField, ...]:
    """What of the changes Git does not have; nothing is written.

    Raises:
        errors.ClientError: The API does not answer.
    """
    before = await object_snapshot.read(override, ground.client)
    known = await restore.version_of(override.changed, ground.client, before=before)
    deleted = {each.object for each in override.changes if each.is_deleted}
    found: list[DisagreeingField] = []
    for id in override.changed:
        live = await restore.look(id, known[id], ground)
        found += await _of(id, live, wanted.get(id), ground, is_whole=id in deleted)
    return tuple(found)


async def _of(
    id: ObjectId, live: Mapping[str, Any] | None, wanted: Mapping[str, Any] | None, ground: OverrideContext, *,
    is_whole: bool,
) -> list[DisagreeingField]:  # fmt: skip
    """What Git has otherwise of an object; of one that was deleted and applied anew also what was left out then."""
    if live is None:
        return (
            [DisagreeingField(object=id, field="", live=owned_fields.NOTHING, git="there")]
            if wanted is not None
            else []
        )
    paths = owned_fields.leaves(owned_fields.of(live, MANAGER))
    if not paths:
        return []
    if wanted is None:
        return [DisagreeingField(object=id, field="", live="there", git=owned_fields.NOTHING)]
    manager = held_engines.applies(live) or flux_names.KUSTOMIZE_CONTROLLER
    try:
        after = await ground.client.apply(_complete(wanted, live), manager=manager, force=True, dry_run=True)
    except (kube.Invalid, kube.Forbidden, kube.BadRequest) as error:
        return [DisagreeingField(object=id, field="", live="there", git=f"what the server refuses: {error.message}")]
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


def _difference(id: ObjectId, path: tuple[str, ...], live: Any, git: Any) -> DisagreeingField:
    field = path_text(path)
    shown = (owned_fields.shown_value(live, id, field), owned_fields.shown_value(git, id, field))
    return DisagreeingField(object=id, field=field, live=shown[0], git=shown[1])


# What Git has for a cluster now, rendered here: what ``override end`` holds the changes against.


_UNSEEN = frozenset(
    {"commit-unknown", "uncommitted", "commit-not-pushed", "branch-diverged", "branch-missing", "branch-behind"}
)
"""With these, what is rendered here is not what the engine will get."""


async def rendered_git(platform: Platform, cluster: Cluster, means: Means) -> RenderedGit:
    """Render everything, and tell whether the engine will get it.

    Raises:
        errors.FirstlightError: It cannot be rendered at all.
    """
    scene = await expected_state.prepare(platform, cluster.name, means)
    return RenderedGit(
        wanted={each.id: each.object.value for each in scene.wanted if not each.doubt},
        revision=scene.revision,
        repository=cluster.url,
        unread=(*scene.unread, *(f"{each.id}: {each.doubt}" for each in scene.wanted if each.doubt)),
        problems=tuple(each.message for each in scene.problems if each.code in _UNSEEN),
    )
