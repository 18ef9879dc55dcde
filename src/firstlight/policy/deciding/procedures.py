"""How a change is done and taken back: the templates of procedures, filled with the repo's own names."""

import dataclasses
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from firstlight.model.change import Matter
from firstlight.model.cluster import Engine, Machine
from firstlight.model.component import Component, Form, Side
from firstlight.model.decision import Item, ProcedureStep, Ruling
from firstlight.policy.deciding.book import Book
from firstlight.policy.deciding.checklist import halves
from firstlight.policy.deciding.facts import Facts
from firstlight.policy.deciding.procedure_form import STAGES, Procedure, Stage, Step
from firstlight.policy.deciding.touching import Scene

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_NOT_IN_BRANCHES = re.compile(r"[^a-z0-9]+")
_FORMS = {"kustomization": Form.KUSTOMIZATION, "helmrelease": Form.HELM_RELEASE, "application": Form.APPLICATION}
_EMERGENCY = ("emergency-cluster", "emergency-engine")
_FIRST = "bootstrap's half comes first: what the engine applies after the merge may need it"
_Values = Mapping[str, str | Sequence[str]]


@dataclasses.dataclass(frozen=True)
class _Filled:
    stage: Stage
    step: ProcedureStep


def forward(items: Sequence[Item], *, scene: Scene, book: Book, facts: Facts) -> tuple[ProcedureStep, ...]:
    """What to do, in order."""
    first = _emergency(items, scene, book, facts)
    filled = _filled(items, scene=scene, book=book, facts=facts, field="steps")
    steps = [each for each in _ordered(filled) if not (facts.is_committed and each.stage == "commit")]
    return _once([*first, *_with_reason(steps)])


def back(items: Sequence[Item], *, scene: Scene, book: Book, facts: Facts) -> tuple[ProcedureStep, ...]:
    """How to take it back, in order, with what cannot be taken back."""
    return _once(_ordered(_filled(items, scene=scene, book=book, facts=facts, field="rollback")))


def _with_reason(steps: Sequence[_Filled]) -> Iterator[_Filled]:
    """Why bootstrap's half comes first, said before it where there are two."""
    stages = {each.stage for each in steps if each.step.side is Side.GITOPS}
    is_told = not stages & {"merge", "engine"}
    for each in steps:
        if each.stage == "bootstrap" and not is_told:
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


def _emergency(items: Sequence[Item], scene: Scene, book: Book, facts: Facts) -> Iterator[_Filled]:
    is_true = (facts.operational is False, facts.operational is not False and facts.engine_works is False)
    for name, applies in zip(_EMERGENCY, is_true, strict=True):
        if applies and name in book.procedures:
            yield from _ordered(_steps(book.procedures[name].steps, _Names(items, items, scene, facts)))


def _filled(items: Sequence[Item], *, scene: Scene, book: Book, facts: Facts, field: str) -> Iterator[_Filled]:
    """The steps of all procedures that the items need, each filled with the names of the items that need it."""
    needed: dict[str, dict[int, Item]] = {}
    for item in items:
        for ruling in item.rulings:
            for name in _names(ruling, item, book):
                needed.setdefault(name, {})[id(item)] = item
    for name, mine in needed.items():
        names = _Names(tuple(mine.values()), items, scene, facts)
        yield from _steps(_all_of(book.procedures[name], book, field), names)


def _names(ruling: Ruling, item: Item, book: Book) -> Iterator[str]:
    """The procedures of a ruling: its own, else the usual ones of its side."""
    if ruling.procedure:
        usual = [ruling.procedure]
    elif ruling.side is None:
        usual = ["none"]
    elif item.change.matter is Matter.MACHINE and "machine" in book.procedures:
        usual = ["machine", *(["gitops"] if ruling.side is Side.HYBRID else [])]
    elif ruling.side is Side.HYBRID and "hybrid" in book.procedures:
        usual = ["hybrid"]
    else:
        usual = list(halves(ruling.side))
    yield from (each for each in usual if each in book.procedures)


def _all_of(procedure: Procedure, book: Book, field: str, seen: tuple[str, ...] = ()) -> Sequence[Step]:
    """Its own steps after those of the procedures that it is like; a rollback of its own stands alone."""
    own: tuple[Step, ...] = getattr(procedure, field)
    if field == "rollback" and own:
        return own
    seen = (*seen, procedure.id)
    others = [book.procedures[each] for each in procedure.like if each in book.procedures and each not in seen]
    return tuple(dict.fromkeys([*(step for each in others for step in _all_of(each, book, field, seen)), *own]))


def _steps(steps: Iterable[Step], names: "_Names") -> Iterator[_Filled]:
    for step in steps:
        for values in names.each(step):
            side = Side(step.side) if step.side else None
            text, command = _said(step.text, values), _typed(step.command, values)
            yield _Filled(step.stage, ProcedureStep(side=side, text=text, command=command))


def _said(text: str, values: _Values) -> str:
    return _PLACEHOLDER.sub(lambda match: ", ".join(_list(values, match[1])), text)


def _typed(text: str, values: _Values) -> str:
    """A command; whatever a repo calls its things, a shell takes it as one word."""
    return _PLACEHOLDER.sub(lambda match: " ".join(map(shlex.quote, _list(values, match[1]))), text)


def _list(values: _Values, name: str) -> Sequence[str]:
    found = values.get(name, "")
    return [found] if isinstance(found, str) else found


class _Names:
    """What placeholders stand for, for some of the items."""

    def __init__(self, items: Sequence[Item], everything: Sequence[Item], scene: Scene, facts: Facts) -> None:
        self._items, self._scene = items, scene
        platform = scene.after.platform
        clusters = [platform.cluster(name) for item in items for name in item.clusters]
        branches = [each.branch for each in clusters if each is not None and each.branch]
        files = sorted({each for item in everything for each in (item.change.place.path, item.change.old_path) if each})
        self._everywhere: dict[str, str | Sequence[str]] = {
            "branch": branches[0] if branches else "main",
            "topic": facts.topic or _topic(everything),
            "files": files,
            "asked": facts.asked or ["--staged"],
            "revert": facts.revert.split() or ["HEAD"],
            "since": facts.since or "HEAD~1",
        }

    def each(self, step: Step) -> Iterator[_Values]:
        """The values of each thing that a step is written for, each once."""
        found: dict[tuple[object, ...], _Values] = {}
        for values in self._values(step):
            whole = {**self._everywhere, **values}
            found.setdefault(tuple((name, str(value)) for name, value in sorted(whole.items())), whole)
        yield from found.values()

    def _values(self, step: Step) -> Iterator[_Values]:
        match step.each:
            case "":
                if not step.engine or any(self._has_engine(name, step.engine) for name in self._clusters()):
                    yield {}
            case "cluster":
                yield from ({"cluster": name} for name in self._clusters() if self._has_engine(name, step.engine))
            case "machine":
                for name in self._clusters():
                    for machine in self._machines(name) if self._has_engine(name, step.engine) else ():
                        yield {"cluster": name, "machine": machine.name, "address": machine.address or machine.name}
            case "component":
                for component in self._components():
                    if self._has_engine(component.cluster, step.engine):
                        yield self._component(component)
            case form:
                for component in self._components():
                    if self._has_engine(component.cluster, step.engine):
                        yield from self._declarations(component, _FORMS[form])

    def _clusters(self) -> list[str]:
        return list(dict.fromkeys(name for item in self._items for name in item.clusters))

    def _has_engine(self, cluster: str, engine: str) -> bool:
        platform = self._scene.after.platform
        found = platform.cluster(cluster)
        return not engine or ((found.engine if found else None) or platform.engine) == Engine(engine)

    def _machines(self, cluster: str) -> Iterable[Machine]:
        """The machines that the items are about: those whose own files change, else all."""
        found = self._scene.after.platform.cluster(cluster)
        paths = {each.change.place.path for each in self._items if cluster in each.clusters}
        machines = found.machines if found else ()
        shared = {each.path for each in (found.files if found else ())}
        own = [each for each in machines if paths & {place.path for place in each.patches}]
        alone = {place.path for each in own for place in each.patches}
        return own if own and not (paths & shared) - alone else machines

    def _components(self) -> list[Component]:
        """Components of the items as they are now, else as they were."""
        found: dict[tuple[str, str], Component] = {}
        belongings = [each for each in (self._scene.after, self._scene.before) if each is not None]
        for item in self._items:
            for touched in item.touched:
                key = (touched.cluster, touched.component)
                for belonging in belongings:
                    for each in belonging.named(*key):
                        found.setdefault(key, each)
        return list(found.values())

    def _component(self, component: Component) -> _Values:
        return {
            "cluster": component.cluster,
            "component": component.name,
            "version": component.version,
            "dependents": self._scene.dependents(component),
        }

    def _declarations(self, component: Component, form: Form) -> Iterator[Mapping[str, str]]:
        """Objects of the engine that apply a component: its own, else that of the nearest that brings it."""
        seen: set[str] = set()
        at: Component | None = component
        while at is not None and at.name not in seen:
            seen.add(at.name)
            own = [each for each in at.origins if each.form is form]
            for each in own:
                found = {"cluster": at.cluster, "component": component.name, "name": each.name}
                yield {**found, "namespace": each.namespace or "default"}
            if own or form is Form.HELM_RELEASE:
                return
            parents = self._scene.after.named(at.cluster, at.parent) if at.parent else ()
            at = parents[0] if parents else None


def _topic(items: Sequence[Item]) -> str:
    """A name for a branch: what the gravest item is about."""
    names = [touched.component for item in items[:1] for touched in item.touched[:1]]
    names += [item.change.object.name for item in items[:1] if item.change.object]
    names += [item.change.title for item in items[:1]]
    word = _NOT_IN_BRANCHES.sub("-", (names or ["repo"])[0].rpartition("/")[2].lower()).strip("-")
    return f"change-{word or 'repo'}"
