"""How a change is done and taken back: the templates of procedures, filled with the repo's own names."""

import dataclasses
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from firstlight.commands.decide import procedure_choice
from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.placeholders import PlaceholderNames, Values, is_known, is_typeable
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.commands.decide.rule_form import PLACEHOLDER, PLACEHOLDERS, STAGES, Procedure, Stage, StepForm
from firstlight.commands.decide.touched import DecisionContext
from firstlight.document import go_regex
from firstlight.model.change import Change, Level, Matter
from firstlight.model.component import Side
from firstlight.model.decision import Approval, DecisionItem, ProcedureStep, Risk

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


def forward(
    items: Sequence[DecisionItem], *, scene: DecisionContext, book: RuleBook, facts: DecisionFacts
) -> tuple[ProcedureStep, ...]:
    """What to do, in order."""
    whole = PlaceholderNames(items, items, scene, facts)
    first: list[_Filled] = []
    filled = list(_filled(items, scene=scene, book=book, facts=facts, field="steps"))
    if facts.operational is False:
        first = _ordered(_emergency(_CLUSTER_DOWN, book, whole))
    elif facts.engine_works is False:
        filled = [*_emergency(_ENGINE_DOWN, book, whole), *(each for each in filled if not each.needs_engine)]
    is_alone = max((each.risk for each in items), default=Risk.LOW).approval is Approval.SELF
    steps = [each for each in _ordered(filled) if not _is_over(each, facts, whole, is_alone=is_alone)]
    return _once([*first, *_with_reason(steps)])


def _is_over(filled: _Filled, facts: DecisionFacts, names: PlaceholderNames, *, is_alone: bool) -> bool:
    """Whether a step is done already, or nobody needs it."""
    stage = filled.stage
    if names.is_merged and (stage in _MERGED or (stage == "check" and filled.step.side is Side.GITOPS)):
        return True
    return (facts.is_committed and stage in _COMMITTED) or (is_alone and stage == "approve")


def back(
    items: Sequence[DecisionItem], *, scene: DecisionContext, book: RuleBook, facts: DecisionFacts
) -> tuple[ProcedureStep, ...]:
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


def _emergency(name: str, book: RuleBook, names: PlaceholderNames) -> list[_Filled]:
    return list(_steps(book.procedures[name].steps, names)) if name in book.procedures else []


def _filled(
    items: Sequence[DecisionItem], *, scene: DecisionContext, book: RuleBook, facts: DecisionFacts, field: str
) -> Iterator[_Filled]:
    """The steps of all procedures that the items need, each filled with the names of the items that need it."""
    needed: dict[StepForm, tuple[dict[int, tuple[DecisionItem, dict[str, None]]], set[Side | None]]] = {}
    wanted = list(zip(items, procedure_choice.needed(items, scene=scene, book=book), strict=True))
    works = facts.operational is not False and facts.engine_works is not False
    is_carried = works and all(book.procedures[name].carried for _, own in wanted for _, name in own)
    for item, own in wanted:
        for (side, name), clusters in own.items():
            usual = tuple(procedure_choice.procedure_names("", book, side=side, matter=item.change.matter))
            for step in filled_steps(book.procedures[name], book, field, usual=usual):
                if step.each == "carried" and not is_carried:
                    continue
                mine, sides = needed.setdefault(step, ({}, set()))
                mine.setdefault(id(item), (item, {}))[1].update(clusters)
                sides.add(side)
    for step, (mine, sides) in needed.items():
        parts = tuple(procedure_choice.within_clusters(item, clusters) for item, clusters in mine.values())
        yield from _steps(
            [step], PlaceholderNames(parts, items, scene, facts, sides=sides, is_back=field == "rollback")
        )


def unfilled(wanted: Iterable[str], book: RuleBook, field: str) -> tuple[ProcedureStep, ...]:
    """The steps of several procedures as they are written, in order and each once."""
    steps = dict.fromkeys(step for name in wanted for step in filled_steps(book.procedures[name], book, field))
    ordered = sorted(steps, key=lambda each: STAGES.index(each.stage))
    made = (ProcedureStep(side=_side(each), text=each.text, command=each.command) for each in ordered)
    return tuple(dict.fromkeys(made))


def _side(step: StepForm) -> Side | None:
    return Side(step.side) if step.side else None


def filled_steps(
    procedure: Procedure, book: RuleBook, field: str, seen: tuple[str, ...] = (), *, usual: Sequence[str] = ("gitops",)
) -> Sequence[StepForm]:
    """Its own steps after those of the procedures that it is like; a rollback of its own mostly stands alone.

    Args:
        procedure: The procedure.
        book: Where the others are.
        field: ``steps`` or ``rollback``.
        seen: Those from which it was come by.
        usual: What ``usual`` means among the procedures that it is like.
    """
    own: tuple[StepForm, ...] = getattr(procedure, field)
    if field == "rollback" and own and not procedure.rollback_is_added:
        return own
    seen = (*seen, procedure.id)
    like = [name for each in procedure.like for name in (usual if each == procedure_choice.USUAL else (each,))]
    others = [book.procedures[each] for each in like if each in book.procedures and each not in seen]
    taken = (step for each in others for step in filled_steps(each, book, field, seen, usual=usual))
    return tuple(dict.fromkeys([*taken, *own]))


def _steps(steps: Iterable[StepForm], names: PlaceholderNames) -> Iterator[_Filled]:
    for step in map(names.taken_back, steps):
        for filled in _of_one(step, names):
            yield _Filled(step.stage, filled, needs_engine=bool(step.engine))


def _of_one(step: StepForm, names: PlaceholderNames) -> Iterator[ProcedureStep]:
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
        is_one_cluster = len({_list(each, "cluster")[0] for _, each in found.values()}) == 1
        labels = [_label(step, each, is_one_cluster=is_one_cluster) for _, each in list(found.values())[1:]]
        others = _shortened(labels)
        text = f"{_said(step.text, values)}{_where(clusters[key])}; the same for {others}"
        yield ProcedureStep(side=side, text=text, command=command)


def _where(clusters: Iterable[str]) -> str:
    """That one command is for several clusters, which it does not name."""
    named = [each for each in clusters if each]
    return f"; in each of {', '.join(named)}: the current context decides in which" if len(named) > 1 else ""


def _label(step: StepForm, values: Values, *, is_one_cluster: bool) -> str:
    """What a step is about in one case, in a word or two: ``home``, ``web of home``; of one cluster ``web``."""
    own = [name for name in PLACEHOLDERS[step.each] if name not in _OF_THE_SAME]
    cluster, *things = [", ".join(_list(values, name)) for name in own]
    if not things:
        return cluster
    return things[-1] if is_one_cluster else f"{things[-1]} of {cluster}"


def _said(text: str, values: Values) -> str:
    def filled(match: re.Match[str]) -> str:
        found = _list(values, match["name"])
        return _shortened(found) if match["name"] == "components" else ", ".join(found)

    return PLACEHOLDER.sub(filled, text)


def _shortened(names: Sequence[str]) -> str:
    """The first of many names, and how many there are besides: ``a, b, c and 4 more``."""
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW + 1 else ""
    return ", ".join(names[:_FEW] if more else names) + more


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


# What is done before anything else of a change: broken files are repaired, secrets encrypted, moved objects kept.


_HARMLESS = (Matter.DOCUMENTATION, Matter.TOOLING)
"""What stops nobody if it is broken."""
_MOVES = "moves-component"
_KEEP = (
    "whoever brought it until now may delete it, with its data, before the other one has it. In a change before this "
    "one give it the annotation kustomize.toolkit.fluxcd.io/prune: disabled (Flux) or "
    "argocd.argoproj.io/sync-options: Prune=false (Argo CD), and take that off afterwards"
)
_SHOWN = 4
_LONGEST = 250
"""Characters of a path that is tried."""


def first_steps(items: Sequence[DecisionItem], *, sops: Sequence[str] = ()) -> tuple[ProcedureStep, ...]:
    """The first steps, broken files before all others.

    Args:
        items: What is decided.
        sops: Expressions for the paths that sops has keys for; an empty one is for all.
    """
    changes = [each.change for each in items if each.change.level is Level.SOURCE]
    broken = [each for each in changes if each.broken and each.matter not in _HARMLESS]
    clear = [each for each in changes if any(field.is_clear for field in each.fields)]
    return (
        *dict.fromkeys(ProcedureStep(side=None, text=f"repair {each.place}: {each.broken}") for each in broken),
        *(_encrypted(each, sops) for each in _first_things_once(clear)),
        *_kept([each for each in items if each.change.level is Level.SOURCE]),
    )


def _kept(items: Sequence[DecisionItem]) -> Iterable[ProcedureStep]:
    """What another Kustomization or Application brings from now on, and the old one must not delete."""
    moved = [
        each.change.title
        for each in items
        if any(factor.id == _MOVES for ruling in each.rulings for factor in ruling.factors)
    ]
    names = list(dict.fromkeys(moved))
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield ProcedureStep(side=None, text=f"{', '.join(names[:_SHOWN])}{more}: {_KEEP}")


def _first_things_once(changes: Iterable[Change]) -> Iterable[Change]:
    """One of each file: it is encrypted as a whole."""
    return {each.place.path: each for each in changes}.values()


def _encrypted(change: Change, sops: Sequence[str]) -> ProcedureStep:
    path = change.place.path
    if change.matter is Matter.KUSTOMIZE:
        text = f"what {path} makes a Secret of comes from an encrypted file; until then nothing is pushed"
        return ProcedureStep(side=None, text=text)
    text = f"{path} is encrypted, or an ExternalSecret takes its place; until then nothing is pushed"
    found = [_fits(each, path) for each in sops]
    if any(found) and not path.startswith("-"):
        return ProcedureStep(side=None, text=text, command=f"sops --encrypt --in-place {shlex.quote(path)}")
    is_unknown = bool(found) and None not in found
    return ProcedureStep(side=None, text=f"{text} (.sops.yaml has no rule for this path)" if is_unknown else text)


def _fits(expression: str, path: str) -> bool | None:
    """Whether an expression fits a path; None where nobody can say."""
    if len(path) > _LONGEST:
        return None
    try:
        return go_regex.search(expression, path)
    except ValueError:
        return None
