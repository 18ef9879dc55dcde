"""What the placeholders of procedures stand for: the names that a repo has for the things of a change."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from firstlight.document.within import mapping
from firstlight.model.change import Level
from firstlight.model.cluster import Engine, Machine
from firstlight.model.component import Component, Form, Origin, Side
from firstlight.model.decision import Item
from firstlight.policy.deciding import siding
from firstlight.policy.deciding.branch_names import branches
from firstlight.policy.deciding.facts import Facts
from firstlight.policy.deciding.procedure_form import PLACEHOLDER, Step
from firstlight.policy.deciding.touching import Scene

_FORMS = {"kustomization": Form.KUSTOMIZATION, "helmrelease": Form.HELM_RELEASE, "application": Form.APPLICATION}
_NEEDED = ("topic", "fresh", "files")
"""What a command cannot do without."""
_OBJECT = ("name", "namespace")
_OPTIONS = ("asked", "revert", "policy")
"""What we have written ourselves, options included."""
_DNS = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_REVERT = "git revert --no-edit {revert}"
_RESTORE = "git restore --source={since} --staged --worktree -- {files} && git commit"
_FLAGS = {"prune": "--auto-prune", "selfHeal": "--self-heal", "allowEmpty": "--allow-empty"}
Values = Mapping[str, str | Sequence[str]]


class Names:
    """What placeholders stand for, for some of the items."""

    def __init__(
        self,
        items: Sequence[Item],
        everything: Sequence[Item],
        scene: Scene,
        facts: Facts,
        *,
        sides: Collection[Side | None] = (),
    ) -> None:
        self._items, self._scene, self._sides = items, scene, sides
        self._is_revertible = bool(facts.revert or not facts.is_committed or not facts.since)
        platform = scene.after.platform
        clusters = [platform.cluster(name) for item in items for name in item.clusters]
        followed = [each.branch for each in (*clusters, *platform.clusters) if each is not None and each.branch]
        named = branches(everything, facts, followed=followed)
        self._everywhere: dict[str, str | Sequence[str]] = {
            "branch": followed[0] if followed else "main",
            "topic": named.topic,
            "fresh": named.fresh,
            "files": changed_files(everything),
            "asked": facts.asked or ["--staged"],
            "revert": facts.revert.split() or ["HEAD"],
            "since": facts.since or "HEAD~1",
        }

    def taken_back(self, step: Step) -> Step:
        """The step, with files put back where ``git revert`` fails."""
        if self._is_revertible or _REVERT not in step.command:
            return step
        return msgspec.structs.replace(step, command=step.command.replace(_REVERT, _RESTORE))

    def each(self, step: Step) -> Iterator[Values]:
        """The values of each thing that a step is written for, each once."""
        needed = {match["name"] for match in PLACEHOLDER.finditer(step.command)} & set(_NEEDED)
        if not all(self._everywhere[name] for name in needed):
            return
        found: dict[tuple[object, ...], Values] = {}
        for values in self._values(step):
            whole = {**self._everywhere, **values}
            found.setdefault(tuple((name, str(value)) for name, value in sorted(whole.items())), whole)
        yield from found.values()

    def _values(self, step: Step) -> Iterator[Values]:
        clusters = [name for name in self._clusters() if self._has_engine(name, step.engine)]
        components = [each for each in self._components() if self._has_engine(each.cluster, step.engine)]
        match step.each:
            case "":
                if not step.engine or clusters:
                    yield {}
            case "cluster":
                yield from ({"cluster": name} for name in clusters)
            case "machine":
                for name in clusters:
                    for machine in self._machines(name):
                        yield {"cluster": name, "machine": machine.name, "address": machine.address or machine.name}
            case "component":
                yield from map(self._component, components)
            case "components":
                for name in dict.fromkeys(each.cluster for each in components):
                    mine = [each.name for each in components if each.cluster == name]
                    yield {"cluster": name, "components": mine}
            case "inline":
                for each in components:
                    if any(origin.form is Form.INLINE_MANIFEST for origin in each.origins):
                        yield {"cluster": each.cluster, "component": each.name}
            case form:
                for each in components:
                    yield from self._declarations(each, _FORMS[form])

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
        # A file may be about what bootstrap keeps and about what Git owns: each has steps of its own.
        mine = [each for each in found.values() if siding.owned(each) in self._sides]
        return mine or list(found.values())

    def _component(self, component: Component) -> Values:
        return {
            "cluster": component.cluster,
            "component": component.name,
            "version": component.version,
            "dependents": self._scene.dependents(component),
        }

    def _declarations(self, component: Component, form: Form) -> Iterator[Values]:
        """Objects of the engine that apply a component: its own, else that of the nearest that brings it."""
        seen: set[str] = set()
        at: Component | None = component
        while at is not None and at.name not in seen:
            seen.add(at.name)
            own = [each for each in at.origins if each.form is form]
            for each in own:
                found = {"cluster": at.cluster, "component": component.name, "name": each.name}
                yield {**found, "namespace": each.namespace or "default", "policy": _policy(each)}
            if own or form is Form.HELM_RELEASE:
                return
            parents = self._scene.after.named(at.cluster, at.parent) if at.parent else ()
            at = parents[0] if parents else None


def is_typeable(command: str, values: Values) -> bool:
    """Whether a program takes the names in a command for names: one like ``--all`` it would take for an option."""
    for name in {match["name"] for match in PLACEHOLDER.finditer(command)} - set(_OPTIONS):
        value = values.get(name, "")
        for each in [value] if isinstance(value, str) else value:
            if each.startswith("-") or (name in _OBJECT and not _DNS.fullmatch(each)):
                return False
    return True


def _policy(origin: Origin) -> list[str]:
    """What ``argocd app set --sync-policy`` gives an Application back what it has with."""
    policy = mapping(origin.definition, "spec", "syncPolicy")
    automated = mapping(policy, "automated")
    if not isinstance(policy.get("automated"), Mapping) or automated.get("enabled") is False:
        return ["none"]
    return ["automated", *(flag for name, flag in _FLAGS.items() if automated.get(name) is True)]


def changed_files(items: Iterable[Item]) -> list[str]:
    """The files that differ; those that only a rendering led to do not."""
    changes = [each.change for each in items if each.change.level is Level.SOURCE]
    return sorted({path for each in changes for path in (each.place.path, each.old_path) if path})
