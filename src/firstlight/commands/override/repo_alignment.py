"""``override align``: what was changed past Git, made a change of the repo that is proven by rendering it."""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from firstlight.commands.override import alignment_proof, alignment_search
from firstlight.commands.override.alignment_proof import Files, RenderedRepo
from firstlight.commands.override.alignment_search import EditSearch, ProvenEdit
from firstlight.model.component import ObjectId, Side
from firstlight.model.place import Place
from firstlight.ownership.field_values import ABSENT, is_same
from firstlight.render.rendered_diff import Opener
from firstlight.repo import file_patch
from firstlight.repo.field_edits import field_steps
from firstlight.repo.field_edits.edit_candidates import Steps, WantedField
from firstlight.repo.secrecy import secret_text
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass(frozen=True, kw_only=True)
class AlignedField:
    """A field that Git would have."""

    wish: WantedField
    place: Place
    says: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentChoice:
    """One place where a field can be written."""

    place: Place
    says: str
    means: str = ""
    """The value of a chart that it is; several may be written in one place."""
    key: str
    """What it is chosen by: ``apps/web.yaml:12``, or ``apps/web.yaml:12#image.tag`` where that alone does not tell."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class UndecidedField:
    """A field of which a person has to decide."""

    wish: WantedField
    why: str
    choices: tuple[AlignmentChoice, ...] = ()
    obstacles: tuple[str, ...] = ()
    """What else would have been edited, and why it is not."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Alignment:
    """What the repo is to become."""

    aligned: tuple[AlignedField, ...] = ()
    open: tuple[UndecidedField, ...] = ()
    before: Files = dataclasses.field(default_factory=dict, repr=False)
    after: Files = dataclasses.field(default_factory=dict, repr=False)
    """By path; None for what is not there."""

    @property
    def diff(self) -> str:
        """The change, as ``git apply`` takes it."""
        return "".join(_unified(path, self.before[path], self.after[path]) for path in sorted(self.after))

    @property
    def shown(self) -> str:
        """The same for people, without secrets that stand beside it."""
        return "".join(secret_text.masked(each) for each in self.diff.splitlines(keepends=True))


Choose = Callable[[WantedField, Sequence[AlignmentChoice]], str | None]
"""Asks a person where a field is to be written, and gives the key."""


async def align_repo(
    tree: WorkTree, applied: Mapping[ObjectId, Mapping[str, Any] | None], *, cluster: str, open_renderer: Opener,
    component: str = "", made: Collection[ObjectId] = (), choose: Choose = lambda wish, choices: None, say:
    Callable[[str], None] = lambda text: None,
) -> Alignment:  # fmt: skip
    """Find the edits, and prove them.

    Args:
        tree: The repo.
        applied: Objects with the fields that were changed and no others; None for one that was deleted.
        cluster: Where.
        open_renderer: How the repo is rendered.
        component: Where new objects belong, if that is known.
        made: Objects that are known to have been made past Git.
        choose: Asked where there are several ways.
        say: Told what is being done.

    Raises:
        errors.FirstlightError: The repo cannot be rendered at all.
    """
    aligned: list[AlignedField] = []
    left: list[UndecidedField] = []
    async with alignment_proof.opened(tree, open_renderer) as renderings:
        say("rendering the repo")
        first = state = await renderings.state({})
        wishes = wanted_fields(first, cluster, applied)
        for wish in wishes:
            if _is_there(state, wish, cluster):
                last = aligned[-1] if aligned else None
                aligned.append(AlignedField(wish=wish, place=last.place if last else Place(""), says="the same edit"))
                continue
            say(f"looking for {wish}")
            found = await alignment_search.search_edit(
                wish, renderings, state, wishes=wishes, cluster=cluster, origin_state=first, component=component,
                is_made=wish.object in made,
            )  # fmt: skip
            taken = _taken(wish, found, choose)
            if taken is None:
                left.append(_open(wish, found))
            else:
                aligned.append(AlignedField(wish=wish, place=taken.candidate.place, says=taken.candidate.says))
                state = taken.state
    after = {path: content for path, content in state.files.items() if content != _content(tree, path)}
    before = {path: _content(tree, path) for path in after}
    return Alignment(aligned=tuple(aligned), open=tuple(left), before=before, after=after)


def _is_there(state: RenderedRepo, wish: WantedField, cluster: str) -> bool:
    """Whether an edit for another wish has brought this one about."""
    mine = [value for key, value in state.objects.items() if key[0] == cluster and key[2] == wish.object]
    if not wish.steps:
        return wish.is_gone and not mine
    return bool(mine) and all(is_same(field_steps.value_at(each, wish.steps), wish.after) for each in mine)


def _taken(wish: WantedField, found: EditSearch, choose: Choose) -> ProvenEdit | None:
    if not found.proven:
        return None
    if len(found.proven) == 1 and not found.proven[0].candidate.is_asked:
        return found.proven[0]
    choices = _choices(found)
    key = choose(wish, choices)
    return next((one for one, each in zip(found.proven, choices, strict=True) if each.key == key), None)


def _choices(found: EditSearch) -> tuple[AlignmentChoice, ...]:
    places = [each.candidate.place for each in found.proven]
    return tuple(
        AlignmentChoice(
            place=each.candidate.place, says=each.candidate.says, means=each.candidate.means,
            key=f"{each.candidate.place}#{each.candidate.means}" if places.count(each.candidate.place) > 1
            else str(each.candidate.place),
        )
        for each in found.proven
    )  # fmt: skip


def _open(wish: WantedField, found: EditSearch) -> UndecidedField:
    choices = _choices(found)
    if len(choices) > 1:
        why = "there are several places for it"
    elif choices:
        why = "it can be written, but a person has to want it"
    else:
        why = "no edit was found that changes this and nothing else"
    return UndecidedField(wish=wish, why=why, choices=choices, obstacles=found.obstacles)


def _content(tree: WorkTree, path: str) -> bytes | None:
    return tree.bytes(path) if tree.is_file(path) else None


def _unified(path: str, before: bytes | None, after: bytes | None) -> str:
    made = file_patch.unified_diff(path, before, after or b"")
    if after is not None:
        return made
    old, _, *rest = made.split("\n")
    return "\n".join([old, "+++ /dev/null", *rest])


# What an override has applied, as fields that Git renders otherwise.


_NAMES = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
_SERVERS = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "ownerReferences")


def wanted_fields(
    state: RenderedRepo, cluster: str, applied: Mapping[ObjectId, Mapping[str, Any] | None]
) -> tuple[WantedField, ...]:
    """What Git is to have, object by object.

    Args:
        state: The repo, rendered.
        cluster: Which cluster.
        applied: Objects with the fields that were changed and no others; None for one that was deleted.
    """
    found: list[WantedField] = []
    for id, value in applied.items():
        rendered = next(
            (made for side in (Side.GITOPS, Side.BOOTSTRAP) if (made := state.objects.get((cluster, side, id)))), None
        )
        if value is None:
            if rendered is not None:
                found.append(WantedField(object=id, steps=(), before=rendered, after=ABSENT))
        elif rendered is None:
            found.append(WantedField(object=id, steps=(), before=ABSENT, after=without_server_fields(value)))
        else:
            found += [
                WantedField(object=id, steps=steps, before=before, after=after, path=_path(steps, rendered, after))
                for steps, before, after in differing_fields(rendered, without_server_fields(value))
            ]
    return tuple(found)


def differing_fields(rendered: Any, applied: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any, Any]]:
    """Where a form with only some fields says something else than the rendered one."""
    if steps in _NAMES or is_same(rendered, applied):
        return
    if isinstance(rendered, Mapping) and isinstance(applied, Mapping) and applied:
        for name, value in applied.items():
            yield from differing_fields(rendered.get(name, ABSENT), value, (*steps, name))
    elif isinstance(rendered, list) and isinstance(applied, list) and _is_keyed(rendered, applied):
        yield from _items(rendered, applied, steps)
    elif isinstance(rendered, list) and isinstance(applied, list) and len(rendered) == len(applied):
        for number, (one, other) in enumerate(zip(rendered, applied, strict=True)):
            yield from differing_fields(one, other, (*steps, number))
    else:
        yield steps, rendered, applied


def _is_keyed(*lists: list[Any]) -> bool:
    return all(field_steps.key_of(each) is not None for items in lists for each in items)


def _items(rendered: list[Any], applied: list[Any], steps: Steps) -> Iterator[tuple[Steps, Any, Any]]:
    number = len(rendered)
    for item in applied:
        at = next(
            (at for at, each in enumerate(rendered) if field_steps.key_of(each) == field_steps.key_of(item)), None
        )
        if at is not None:
            yield from differing_fields(rendered[at], item, (*steps, at))
        else:
            yield (*steps, number), ABSENT, item
            number += 1


def without_server_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object without what the server and tools put there."""
    metadata = value.get("metadata")
    kept = (
        {name: each for name, each in metadata.items() if name not in _SERVERS} if isinstance(metadata, Mapping) else {}
    )
    notes = kept.get("annotations")
    if isinstance(notes, Mapping):
        own = {
            name: each
            for name, each in notes.items()
            if not name.startswith(("kubectl.kubernetes.io/", "firstlight.dev/"))
        }
        kept = {
            **{name: each for name, each in kept.items() if name != "annotations"},
            **({"annotations": own} if own else {}),
        }
    rest = {name: each for name, each in value.items() if name not in ("status", "metadata")}
    return {**{name: rest.pop(name) for name in ("apiVersion", "kind") if name in rest}, "metadata": kept, **rest}


def _path(steps: Steps, rendered: Any, after: Any) -> str:
    return field_steps.steps_text(steps, field_steps.with_value(rendered, steps, after))
