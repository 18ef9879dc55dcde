"""What the placeholders of procedures stand for: the names that a repo has for the things of a change."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from firstlight.commands.decide import machine_names
from firstlight.commands.decide import sides as decide_sides
from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.git_names import GitNames, branches
from firstlight.commands.decide.rule_form import PLACEHOLDER, StepForm
from firstlight.commands.decide.touched import DecisionContext
from firstlight.document.within import mapping, sequence
from firstlight.model import argocd_names
from firstlight.model.change import Level
from firstlight.model.cluster import Engine
from firstlight.model.component import Component, Origin, Side, SourceForm
from firstlight.model.decision import DecisionItem
from firstlight.model.upgrade_plan import UpgradeProduct
from firstlight.plan import cluster_facts, upgrade_controllers
from firstlight.plan.upgrade_controllers import UpgradeController

_FORMS = {
    "kustomization": SourceForm.KUSTOMIZATION,
    "helmrelease": SourceForm.HELM_RELEASE,
    "application": SourceForm.APPLICATION,
    "orphan": SourceForm.APPLICATION,
}
_PRODUCTS = {"talos": UpgradeProduct.TALOS, "kubernetes": UpgradeProduct.KUBERNETES}
_UPGRADES = {f"{name}-upgrade": product for name, product in _PRODUCTS.items()}
"""What procedures upgrade."""
_NEEDED = ("topic", "fresh", "undo", "files", "patch", "mentions")
"""What a step cannot do without."""
_WANTED = ("image", "to", "machine", "address", "cluster", "name", "namespace")
"""What a command cannot do without."""
_TARGETS = ("address", "machine", "cluster")
_TARGET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
"""What a machine or cluster is called in a command; not what a template leaves open."""
_OBJECT = ("name", "namespace")
_OPTIONS = ("asked", "carried", "which", "revert", "policy", "patch")
"""What we have written ourselves, options included."""
_DNS = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_REVERT = "git revert --no-edit {revert}"
_RESTORE = "git restore --source={since} --staged --worktree -- {files} && git commit"
_FLAGS = {"prune": "--auto-prune", "selfHeal": "--self-heal", "allowEmpty": "--allow-empty"}
Values = Mapping[str, str | Sequence[str]]


class PlaceholderNames:
    """What placeholders stand for, for some of the items."""

    def __init__(
        self,
        items: Sequence[DecisionItem],
        everything: Sequence[DecisionItem],
        scene: DecisionContext,
        facts: DecisionFacts,
        *,
        sides: Collection[Side | None] = (),
        is_back: bool = False,
    ) -> None:
        """Names for steps of these items.

        Args:
            items: Those that need the steps.
            everything: All items of the change.
            scene: Both states of the platform.
            facts: What is known besides.
            sides: The sides of the rulings that need the steps.
            is_back: Whether the change is taken back, so that what was before it is there afterwards.
        """
        self._items, self._scene, self._sides = items, scene, sides
        self._then, self._once = scene.after, scene.before
        if is_back and scene.before is not None:
            self._then, self._once = scene.before, scene.after
        self._facts = facts
        self._is_revertible = bool(facts.revert or not facts.is_committed or not facts.since)
        platform = scene.after.platform
        clusters = [platform.cluster(name) for item in items for name in item.clusters]
        followed = [each.branch for each in (*clusters, *platform.clusters) if each is not None and each.branch]
        named = branches(everything, facts, followed=followed)
        self._git = GitNames(facts, named, branch=followed[0] if followed else "main")
        self._all_files = sorted({*changed_files(everything), *facts.besides})

    @property
    def is_merged(self) -> bool:
        """Whether an engine's branch has the change already."""
        return self._git.branches.is_merged

    def taken_back(self, step: StepForm) -> StepForm:
        """The step, with files put back where ``git revert`` fails."""
        if self._is_revertible or _REVERT not in step.command:
            return step
        return msgspec.structs.replace(step, command=step.command.replace(_REVERT, _RESTORE))

    def each(self, step: StepForm) -> Iterator[Values]:
        """The values of each thing that a step is written for, each once."""
        everywhere = {**self._git.values(step.stage), "files": self._files(step), "mentions": self._facts.mentions}
        named = {match["name"] for text in (step.command, step.text) for match in PLACEHOLDER.finditer(text)}
        if not all(everywhere[name] for name in named & set(_NEEDED)):
            return
        found: dict[tuple[object, ...], Values] = {}
        for values in self._values(step):
            whole = {**everywhere, **values}
            found.setdefault(tuple((name, str(value)) for name, value in sorted(whole.items())), whole)
        yield from found.values()

    def _files(self, step: StepForm) -> list[str]:
        """What ``git add`` takes: nothing of what is staged already, or stands in a patch alone."""
        facts = self._facts
        if step.stage == "add" and (facts.is_staged or self._git.patch):
            return []
        return [each for each in self._all_files if step.stage != "add" or each not in facts.unaddable]

    def _values(self, step: StepForm) -> Iterator[Values]:
        clusters = [name for name in self._clusters() if self._is_meant(name, step)]
        components = [
            each
            for each in self._components()
            if self._is_meant(each.cluster, step)
            and self._is_gone(each) is step.gone
            and (step.gone or _has_halves(each, step))
        ]
        match step.each:
            case "":
                if clusters or (not step.engine and step.omni is not True):
                    yield {}
            case "carried":
                if (carried := self._git.carried) is not None:
                    yield {"carried": carried}
            case "look":
                yield from self._looks(step, clusters)
            case "cluster":
                yield from ({"cluster": name} for name in clusters)
            case _ if step.each in machine_names.OF_MACHINES:
                for name in clusters:
                    yield from ({"cluster": name, **each} for each in self._machines(step, name))
            case "upgrader":
                for name in clusters:
                    yield from ({"cluster": name, "upgrader": str(each.stated.id)} for each in self._upgraders(name))
            case "component":
                yield from map(self._component, components)
            case "components":
                for name in dict.fromkeys(each.cluster for each in components):
                    mine = [each.name for each in components if each.cluster == name]
                    yield {"cluster": name, "components": mine}
            case "inline":
                for each in components:
                    if any(origin.form is SourceForm.INLINE_MANIFEST for origin in each.origins):
                        yield {"cluster": each.cluster, "component": each.name}
            case _:
                yield from self._declared(step)

    def _looks(self, step: StepForm, clusters: Sequence[str]) -> Iterator[Values]:
        """How the same is asked while looking at each cluster; as it was asked, where that was one of them."""
        looked = self._facts.looked
        for name in clusters:
            asked = looked if name in looked else ("--cluster", name)
            yield {"cluster": name, "asked": [*self._git.asked(step.stage), *asked]}
        if not clusters:
            yield {"cluster": ""}

    def _machines(self, step: StepForm, name: str) -> Iterator[Values]:
        before = self._scene.before
        mine = [each for each in self._items if name in each.clusters]
        then, once = self._scene.after.platform.cluster(name), before.platform.cluster(name) if before else None
        product = _PRODUCTS.get(step.each)
        if product is not None and any(each.product is product for each in self._upgraders(name)):
            return iter(())  # a controller upgrades them, and nothing beside it should
        return machine_names.named(step.each, mine, then=then, once=once)

    def _upgraders(self, name: str) -> list[UpgradeController]:
        """The controllers that upgrade the machines of a cluster to versions like those that change."""
        procedures = {ruling.procedure for each in self._items if name in each.clusters for ruling in each.rulings}
        wanted = {product for procedure, product in _UPGRADES.items() if procedure in procedures}
        return [each for each in upgrade_controllers.find(self._scene.after.platform, name) if each.product in wanted]

    def _clusters(self) -> list[str]:
        return list(dict.fromkeys(name for item in self._items for name in item.clusters))

    def _is_meant(self, cluster: str, step: StepForm) -> bool:
        """Whether a step is for clusters like this one: by its engine, and by who keeps its machines."""
        platform, before = self._scene.after.platform, self._scene.before
        found = platform.cluster(cluster) or (before.platform.cluster(cluster) if before else None)
        engine = (found.engine if found else None) or platform.engine
        is_omni = bool(found and found.omni_template)
        return (not step.engine or engine == Engine(step.engine)) and step.omni in (None, is_omni)

    def _components(self) -> list[Component]:
        """Components of the items as they are when all is done, perhaps by another name; else as they were."""
        found: dict[tuple[str, str], Component] = {}
        for cluster, name in self._touched():
            before = self._once.named(cluster, name) if self._once is not None else ()
            ids = [each.id for one in before for each in one.origins]
            renamed = [each for each in (self._then.with_origin(cluster, id) for id in ids) if each is not None]
            for each in self._then.named(cluster, name) or renamed or before:
                found.setdefault((cluster, each.name), each)
        return self._of_sides(found.values())

    def _former(self) -> list[Component]:
        """Components of the items as they were."""
        once = self._once
        return self._of_sides(each for key in self._touched() for each in (once.named(*key) if once else ()))

    def _touched(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys((each.cluster, each.component) for item in self._items for each in item.touched))

    def _of_sides(self, components: Iterable[Component]) -> list[Component]:
        """A file may be about what bootstrap keeps and about what Git owns: each has steps of its own."""
        found = list(components)
        return [each for each in found if decide_sides.owned(each) in self._sides] or found

    def _is_gone(self, component: Component) -> bool:
        """Whether it is not there any more when all is done."""
        is_named = bool(self._then.named(component.cluster, component.name))
        return not is_named and not any(self._stays(component, each) for each in component.origins)

    def _stays(self, component: Component, origin: Origin) -> bool:
        """Whether what declares a component is still there when all is done, as a component of another name perhaps."""
        return self._then.with_origin(component.cluster, origin.id) is not None

    def _is_new(self, component: Component) -> bool:
        """Whether it comes with what is done, or comes back in another namespace."""
        once = self._once
        return once is not None and not any(once.with_origin(component.cluster, each.id) for each in component.origins)

    def _component(self, component: Component) -> Values:
        return {
            "cluster": component.cluster,
            "component": component.name,
            "version": component.version,
            "dependents": self._scene.dependents(component, brought=False),
        }

    def _declared(self, step: StepForm) -> Iterator[Values]:
        """Objects of the engine: those that apply what is there or was, or those that go."""
        form = _FORMS[step.each]
        form = SourceForm.KUSTOMIZATION if (step.each, step.engine) == ("orphan", "flux") else form
        is_about_gone = step.gone or step.each == "orphan"
        for each in self._former() if is_about_gone else self._components():
            if not self._is_meant(each.cluster, step):
                continue
            if not is_about_gone:
                yield from self._appliers(each, form)
                continue
            own = [origin for origin in each.origins if origin.form is form and not self._stays(each, origin)]
            left = [origin for origin in own if step.each != "orphan" or _leaves_objects(origin)]
            yield from (_declaration(each, origin) for origin in left)

    def _appliers(self, component: Component, form: SourceForm, seen: tuple[str, ...] = ()) -> Iterator[Values]:
        """What applies a component: its own, else that of the nearest that brings it and is still there.

        What is new is only there once the one that brings it was asked.
        """
        own = [each for each in component.origins if each.form is form and self._stays(component, each)]
        is_alone = form is SourceForm.HELM_RELEASE or component.name in seen
        if not is_alone and (not own or self._is_new(component)):
            for each in self._parents(component)[:1]:
                yield from self._appliers(each, form, (*seen, component.name))
        yield from (_declaration(component, each) for each in own)

    def _parents(self, component: Component) -> Sequence[Component]:
        if not component.parent:
            return ()
        then = self._then.named(component.cluster, component.parent)
        return then or (self._once.named(component.cluster, component.parent) if self._once else ())


def _has_halves(component: Component, step: StepForm) -> bool:
    """Whether a component has the halves that a step is for."""
    if step.both:
        return all(cluster_facts.origins(component, side) for side in (Side.BOOTSTRAP, Side.GITOPS))
    return step.side != "gitops" or bool(cluster_facts.origins(component, Side.GITOPS))


def is_typeable(command: str, values: Values) -> bool:
    """Whether a program takes the names in a command for names: one like ``--all`` it would take for an option."""
    for name in {match["name"] for match in PLACEHOLDER.finditer(command)} - set(_OPTIONS):
        value = values.get(name, "")
        for each in [value] if isinstance(value, str) else value:
            if each.startswith("-") or (name in _OBJECT and not _DNS.fullmatch(each)):
                return False
            if name in _TARGETS and each and not _TARGET.fullmatch(each):
                return False
    return True


def is_known(command: str, values: Values) -> bool:
    """Whether all is known that a command cannot do without."""
    return all(values.get(match["name"]) for match in PLACEHOLDER.finditer(command) if match["name"] in _WANTED)


def _declaration(component: Component, origin: Origin) -> Values:
    found = {"cluster": component.cluster, "component": component.name, "name": origin.name}
    return {**found, "namespace": origin.namespace or "default", "policy": _policy(origin)}


def _leaves_objects(origin: Origin) -> bool:
    """Whether what it brought stays when it is deleted; what a set of Applications makes, the set sees to."""
    definition = origin.definition
    if origin.form is SourceForm.KUSTOMIZATION:
        spec = mapping(definition, "spec")
        policy = spec.get("deletionPolicy", "MirrorPrune")
        return policy == "Orphan" or (policy == "MirrorPrune" and spec.get("prune") is not True)
    if definition.get("kind") != argocd_names.APPLICATION or mapping(origin.maker):
        return False
    return not any(
        str(each).startswith(argocd_names.RESOURCES_FINALIZER)
        for each in sequence(definition, "metadata", "finalizers")
    )


def _policy(origin: Origin) -> list[str]:
    """What ``argocd app set --sync-policy`` gives an Application back what it has with."""
    policy = mapping(origin.definition, "spec", "syncPolicy")
    automated = mapping(policy, "automated")
    if not isinstance(policy.get("automated"), Mapping) or automated.get("enabled") is False:
        return ["none"]
    return ["automated", *(flag for name, flag in _FLAGS.items() if automated.get(name) is True)]


def changed_files(items: Iterable[DecisionItem]) -> list[str]:
    """The files that differ; those that only a rendering led to do not."""
    changes = [each.change for each in items if each.change.level is Level.SOURCE]
    return sorted({path for each in changes for path in (each.place.path, each.old_path) if path})
