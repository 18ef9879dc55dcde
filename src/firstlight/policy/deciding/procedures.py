"""How a change is done and taken back: the templates of procedures, filled with the repo's own names."""

import dataclasses
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from firstlight.model.component import Side
from firstlight.model.decision import Approval, Item, ProcedureStep, Risk
from firstlight.policy.deciding import needing
from firstlight.policy.deciding.book import Book
from firstlight.policy.deciding.facts import Facts
from firstlight.policy.deciding.placeholders import Names, Values, is_known, is_typeable
from firstlight.policy.deciding.procedure_form import PLACEHOLDER, PLACEHOLDERS, STAGES, Procedure, Stage, Step
from firstlight.policy.deciding.touching import Scene

_CLUSTER_DOWN, _ENGINE_DOWN = "emergency-cluster", "emergency-engine"
_FIRST = "bootstrap's half comes first: what the engine applies after the merge may need it"
_SPACED = re.compile(rf"(?P<space> ?){PLACEHOLDER.pattern}")
"""A placeholder with what goes with it where it stands for nothing."""
_FEW = 3
"""Of one step, that are written one by one; of more the first, with the names of the rest."""
_OF_THE_SAME = ("version", "dependents", "namespace", "address", "policy", "image", "to", "which", "machines")
"""Placeholders that tell nothing apart."""
_UNTYPED = "; by hand, since what it is called is no name that a command can have"
_COMMITTED: tuple[Stage, ...] = ("add", "commit")
"""Stages that are over where a change is committed."""
_MERGED: tuple[Stage, ...] = ("branch", *_COMMITTED, "push", "review", "merge")


@dataclasses.dataclass(frozen=True)
class _Filled:
    stage: Stage
    step: ProcedureStep
    needs_engine: bool = False
    """Whether it asks one of the engines for something."""


def forward(items: Sequence[Item], *, scene: Scene, book: Book, facts: Facts) -> tuple[ProcedureStep, ...]:
    """What to do, in order."""
    whole = Names(items, items, scene, facts)
    first: list[_Filled] = []
    filled = list(_filled(items, scene=scene, book=book, facts=facts, field="steps"))
    if facts.operational is False:
        first = _ordered(_emergency(_CLUSTER_DOWN, book, whole))
    elif facts.engine_works is False:
        filled = [*_emergency(_ENGINE_DOWN, book, whole), *(each for each in filled if not each.needs_engine)]
    is_alone = max((each.risk for each in items), default=Risk.LOW).approval is Approval.SELF
    steps = [each for each in _ordered(filled) if not _is_over(each, facts, whole, is_alone=is_alone)]
    return _once([*first, *_with_reason(steps)])


def _is_over(filled: _Filled, facts: Facts, names: Names, *, is_alone: bool) -> bool:
    """Whether a step is done already, or nobody needs it."""
    stage = filled.stage
    if names.is_merged and (stage in _MERGED or (stage == "check" and filled.step.side is Side.GITOPS)):
        return True
    return (facts.is_committed and stage in _COMMITTED) or (is_alone and stage == "approve")


def back(items: Sequence[Item], *, scene: Scene, book: Book, facts: Facts) -> tuple[ProcedureStep, ...]:
    """How to take it back, in order, with what cannot be taken back."""
    return _once(_ordered(_filled(items, scene=scene, book=book, facts=facts, field="rollback")))


def _with_reason(steps: Sequence[_Filled]) -> Iterator[_Filled]:
    """Why bootstrap's half comes first, said before it where there are two."""
    stages = {each.stage for each in steps if each.step.side is Side.GITOPS}
    is_told = not stages & {"merge", "engine"}
    for each in steps:
        if each.stage == "bootstrap" and each.step.side is Side.BOOTSTRAP and not is_told:
            yield _Filled("bootstrap", ProcedureStep(side=Side.BOOTSTRAP, text=_FIRST))
            is_told = True
        yield each


def _once(filled: Iterable[_Filled]) -> tuple[ProcedureStep, ...]:
    """Each command once, where it comes first; one that both halves have belongs to neither."""
    found: dict[tuple[str, str], ProcedureStep] = {}
    for each in filled:
        key = (each.step.command, "" if each.step.command else each.step.text)
        known = found.setdefault(key, each.step)
        if known.side is not each.step.side:
            found[key] = dataclasses.replace(known, side=None)
    return tuple(found.values())


def _ordered(filled: Iterable[_Filled]) -> list[_Filled]:
    return sorted(filled, key=lambda each: STAGES.index(each.stage))


def _emergency(name: str, book: Book, names: Names) -> list[_Filled]:
    return list(_steps(book.procedures[name].steps, names)) if name in book.procedures else []


def _filled(items: Sequence[Item], *, scene: Scene, book: Book, facts: Facts, field: str) -> Iterator[_Filled]:
    """The steps of all procedures that the items need, each filled with the names of the items that need it."""
    needed: dict[Step, tuple[dict[int, tuple[Item, dict[str, None]]], set[Side | None]]] = {}
    wanted = list(zip(items, needing.needed(items, scene=scene, book=book), strict=True))
    works = facts.operational is not False and facts.engine_works is not False
    is_carried = works and all(book.procedures[name].carried for _, own in wanted for _, name in own)
    for item, own in wanted:
        for (side, name), clusters in own.items():
            usual = tuple(needing.names("", book, side=side, matter=item.change.matter))
            for step in all_of(book.procedures[name], book, field, usual=usual):
                if step.each == "carried" and not is_carried:
                    continue
                mine, sides = needed.setdefault(step, ({}, set()))
                mine.setdefault(id(item), (item, {}))[1].update(clusters)
                sides.add(side)
    for step, (mine, sides) in needed.items():
        parts = tuple(needing.within(item, clusters) for item, clusters in mine.values())
        yield from _steps([step], Names(parts, items, scene, facts, sides=sides, is_back=field == "rollback"))


def unfilled(wanted: Iterable[str], book: Book, field: str) -> tuple[ProcedureStep, ...]:
    """The steps of several procedures as they are written, in order and each once."""
    steps = dict.fromkeys(step for name in wanted for step in all_of(book.procedures[name], book, field))
    ordered = sorted(steps, key=lambda each: STAGES.index(each.stage))
    made = (ProcedureStep(side=_side(each), text=each.text, command=each.command) for each in ordered)
    return tuple(dict.fromkeys(made))


def _side(step: Step) -> Side | None:
    return Side(step.side) if step.side else None


def all_of(
    procedure: Procedure, book: Book, field: str, seen: tuple[str, ...] = (), *, usual: Sequence[str] = ("gitops",)
) -> Sequence[Step]:
    """Its own steps after those of the procedures that it is like; a rollback of its own mostly stands alone.

    Args:
        procedure: The procedure.
        book: Where the others are.
        field: ``steps`` or ``rollback``.
        seen: Those from which it was come by.
        usual: What ``usual`` means among the procedures that it is like.
    """
    own: tuple[Step, ...] = getattr(procedure, field)
    if field == "rollback" and own and not procedure.rollback_is_added:
        return own
    seen = (*seen, procedure.id)
    like = [name for each in procedure.like for name in (usual if each == needing.USUAL else (each,))]
    others = [book.procedures[each] for each in like if each in book.procedures and each not in seen]
    taken = (step for each in others for step in all_of(each, book, field, seen, usual=usual))
    return tuple(dict.fromkeys([*taken, *own]))


def _steps(steps: Iterable[Step], names: Names) -> Iterator[_Filled]:
    for step in map(names.taken_back, steps):
        for filled in _of_one(step, names):
            yield _Filled(step.stage, filled, needs_engine=bool(step.engine))


def _of_one(step: Step, names: Names) -> Iterator[ProcedureStep]:
    """One step, for each thing that it is written for; of many things only once."""
    side = _side(step)
    found: dict[str, tuple[str, Values]] = {}
    clusters: dict[str, dict[str, None]] = {}
    for values in names.each(step):
        if is_typeable(step.command, values):
            command = _typed(step.command, values) if is_known(step.command, values) else ""
            key = command or _said(step.text, values)
            found.setdefault(key, (command, values))
            clusters.setdefault(key, {}).update(dict.fromkeys(_list(values, "cluster")))
        else:
            yield ProcedureStep(side=side, text=f"{_said(step.text, values)}{_UNTYPED}")
    if len(found) <= _FEW:
        for key, (command, values) in found.items():
            yield ProcedureStep(side=side, text=f"{_said(step.text, values)}{_where(clusters[key])}", command=command)
    else:
        key, (command, values) = next(iter(found.items()))
        others = ", ".join(_label(step, each) for _, each in list(found.values())[1:])
        text = f"{_said(step.text, values)}{_where(clusters[key])}; the same for {others}"
        yield ProcedureStep(side=side, text=text, command=command)


def _where(clusters: Iterable[str]) -> str:
    """That one command is for several clusters, which it does not name."""
    named = [each for each in clusters if each]
    return f"; in each of {', '.join(named)}: the current context decides in which" if len(named) > 1 else ""


def _label(step: Step, values: Values) -> str:
    """What a step is about in one case, in a word or two: ``home``, ``web of home``."""
    own = [name for name in PLACEHOLDERS[step.each] if name not in _OF_THE_SAME]
    cluster, *things = [", ".join(_list(values, name)) for name in own]
    return f"{things[-1]} of {cluster}" if things else cluster


def _said(text: str, values: Values) -> str:
    return PLACEHOLDER.sub(lambda match: ", ".join(_list(values, match["name"])), text)


def _typed(text: str, values: Values) -> str:
    """A command; whatever a repo calls its things, a shell takes it as one word."""

    def filled(match: re.Match[str]) -> str:
        before = f"{match['option']} " if match["option"] else ""
        words = " ".join(f"{before}{shlex.quote(each)}" for each in _list(values, match["name"]))
        return f"{match['space']}{words}" if words else ""

    return _SPACED.sub(filled, text)


def _list(values: Values, name: str) -> Sequence[str]:
    found = values.get(name, "")
    return [found] if isinstance(found, str) else found
