"""``override align``: what was changed past Git, made a change of the repo that is proven by rendering it."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.operate.auditing import diffing
from firstlight.operate.deciding.renditions import Opener
from firstlight.operate.override import aligning_search, aligning_states, aligning_wishes
from firstlight.operate.override.aligning_search import Proven, Search
from firstlight.operate.override.aligning_states import Files, State
from firstlight.ownership.field_values import is_same
from firstlight.repo.aligning import ways
from firstlight.repo.aligning.wish import Wish
from firstlight.repo.changing import secret_texts
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass(frozen=True, kw_only=True)
class Aligned:
    """A field that Git would have."""

    wish: Wish
    place: Place
    says: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One place where a field can be written."""

    place: Place
    says: str
    means: str = ""
    """The value of a chart that it is; several may be written in one place."""
    key: str
    """What it is chosen by: ``apps/web.yaml:12``, or ``apps/web.yaml:12#image.tag`` where that alone does not tell."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Open:
    """A field of which a person has to decide."""

    wish: Wish
    why: str
    choices: tuple[Choice, ...] = ()
    obstacles: tuple[str, ...] = ()
    """What else would have been edited, and why it is not."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Alignment:
    """What the repo is to become."""

    aligned: tuple[Aligned, ...] = ()
    open: tuple[Open, ...] = ()
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
        return "".join(secret_texts.masked(each) for each in self.diff.splitlines(keepends=True))


Choose = Callable[[Wish, Sequence[Choice]], str | None]
"""Asks a person where a field is to be written, and gives the key."""


async def align(
    tree: WorkTree,
    applied: Mapping[ObjectId, Mapping[str, Any] | None],
    *,
    cluster: str,
    open_renderer: Opener,
    component: str = "",
    made: Collection[ObjectId] = (),
    choose: Choose = lambda wish, choices: None,
    say: Callable[[str], None] = lambda text: None,
) -> Alignment:
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
    aligned: list[Aligned] = []
    left: list[Open] = []
    async with aligning_states.opened(tree, open_renderer) as renderings:
        say("rendering the repo")
        first = state = await renderings.state({})
        wishes = aligning_wishes.of(first, cluster, applied)
        for wish in wishes:
            if _is_there(state, wish, cluster):
                last = aligned[-1] if aligned else None
                aligned.append(Aligned(wish=wish, place=last.place if last else Place(""), says="the same edit"))
                continue
            say(f"looking for {wish}")
            found = await aligning_search.search(
                wish, renderings, state, wishes=wishes, cluster=cluster, origin_state=first, component=component,
                is_made=wish.object in made,
            )  # fmt: skip
            taken = _taken(wish, found, choose)
            if taken is None:
                left.append(_open(wish, found))
            else:
                aligned.append(Aligned(wish=wish, place=taken.candidate.place, says=taken.candidate.says))
                state = taken.state
    after = {path: content for path, content in state.files.items() if content != _content(tree, path)}
    before = {path: _content(tree, path) for path in after}
    return Alignment(aligned=tuple(aligned), open=tuple(left), before=before, after=after)


def _is_there(state: State, wish: Wish, cluster: str) -> bool:
    """Whether an edit for another wish has brought this one about."""
    mine = [value for key, value in state.objects.items() if key[0] == cluster and key[2] == wish.object]
    if not wish.steps:
        return wish.is_gone and not mine
    return bool(mine) and all(is_same(ways.at(each, wish.steps), wish.after) for each in mine)


def _taken(wish: Wish, found: Search, choose: Choose) -> Proven | None:
    if not found.proven:
        return None
    if len(found.proven) == 1 and not found.proven[0].candidate.is_asked:
        return found.proven[0]
    choices = _choices(found)
    key = choose(wish, choices)
    return next((one for one, each in zip(found.proven, choices, strict=True) if each.key == key), None)


def _choices(found: Search) -> tuple[Choice, ...]:
    places = [each.candidate.place for each in found.proven]
    return tuple(
        Choice(
            place=each.candidate.place, says=each.candidate.says, means=each.candidate.means,
            key=f"{each.candidate.place}#{each.candidate.means}" if places.count(each.candidate.place) > 1
            else str(each.candidate.place),
        )
        for each in found.proven
    )  # fmt: skip


def _open(wish: Wish, found: Search) -> Open:
    choices = _choices(found)
    if len(choices) > 1:
        why = "there are several places for it"
    elif choices:
        why = "it can be written, but a person has to want it"
    else:
        why = "no edit was found that changes this and nothing else"
    return Open(wish=wish, why=why, choices=choices, obstacles=found.obstacles)


def _content(tree: WorkTree, path: str) -> bytes | None:
    return tree.bytes(path) if tree.is_file(path) else None


def _unified(path: str, before: bytes | None, after: bytes | None) -> str:
    made = diffing.unified(path, before, after or b"")
    if after is not None:
        return made
    old, _, *rest = made.split("\n")
    return "\n".join([old, "+++ /dev/null", *rest])
