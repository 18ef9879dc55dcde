"""Hooks and commands of bootstrap that do not bear a second run, or run when they should not."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import at, sequence, text
from firstlight.model.component import Component, Form, Origin, Side
from firstlight.model.place import Place
from firstlight.plan import facts
from firstlight.policy.auditing import script_ranges
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_OPTIONS = r"(?:\s+--?\w[\w-]*(?:=\S+| (?!create\b|install\b|-)\S+)?)*"
_CREATES = re.compile(rf"\bkubectl\b{_OPTIONS}\s+create\b(?!\s+token)")
_INSTALLS = re.compile(rf"\bhelm\b{_OPTIONS}\s+install\b")
_CILIUM = re.compile(r"\bcilium\b\s+install\b")
_GUARDED = re.compile(r"--dry-run|\|\||\bif\b|--replace\b|--generate-name|\bunless\b")
_WRITES = re.compile(r"\bkubectl\b.*\b(?:apply|create|replace|patch|delete)\b|\bhelm\b.*\b(?:install|upgrade)\b")
_NAMES = (
    (_CREATES, "kubectl create", "what is there already"),
    (_INSTALLS, "helm install", "a release that is there already"),
    (_CILIUM, "cilium install", "Cilium where it is installed already"),
)


def not_repeatable(scene: Scene) -> Iterator[Hit]:
    """Commands that fail the second time."""
    for component, origin in _helmfile(scene):
        for hook in sequence(origin.definition, "hooks"):
            if found := _once(text(hook, "command")):
                place = _hook_place(scene, origin, text(hook, "command"))
                yield _hit(component.cluster, place, found, f"a hook of {component.name}", component.name)
    for cluster in scene.clusters:
        before = ""
        for place, line in script_ranges.lines(scene, cluster.name):
            statement = script_ranges.statement(scene, place)
            if (found := _once(statement)) and not _GUARDED.search(before):
                yield _hit(cluster.name, place, found, "bootstrap")
            before = line
    yield from _jobs(scene)


def _jobs(scene: Scene) -> Iterator[Hit]:
    """Jobs among the inline manifests: Talos makes them again where they are gone."""
    for item in scene.of_kind("batch/Job"):
        if item.origin.form is not Form.INLINE_MANIFEST:
            continue
        for number, container in enumerate(sequence(item.value, "spec", "template", "spec", "containers")):
            words = [*sequence(container, "command"), *sequence(container, "args")]
            if found := _once(" ".join(str(each) for each in words)):
                place = item.object.at("spec", "template", "spec", "containers", number, "command")
                who = f"the inline Job {at(item.value, 'metadata', 'name')}"
                yield _hit(item.cluster, place, found, who, item.component.name)


def _hit(cluster: str, place: Place, found: tuple[str, str], who: str, component: str = "") -> Hit:
    name, refuses = found
    return Hit(
        message=f"{who} runs {name}, which refuses {refuses}",
        place=place,
        clusters=(cluster,),
        component=component,
        fix=_FIXES[name],
    )


_FIXES: Mapping[str, str] = {
    "kubectl create": "Write kubectl apply --server-side, or add --dry-run=client -o yaml | kubectl apply -f -.",
    "helm install": "Write helm upgrade --install.",
    "cilium install": "Render Cilium and embed its manifests, or let the command run only where Cilium is missing.",
}


def _once(command: str) -> tuple[str, str] | None:
    """The part of a command that fails where its work is done already."""
    if _GUARDED.search(command):
        return None
    return next(((name, refuses) for pattern, name, refuses in _NAMES if pattern.search(command)), None)


def after_failure(scene: Scene) -> Iterator[Hit]:
    """Hooks after a sync that write: helmfile runs them where the sync failed, too."""
    for component, origin in _helmfile(scene):
        for hook in sequence(origin.definition, "hooks"):
            command = text(hook, "command")
            if "postsync" in sequence(hook, "events") and _WRITES.search(command):
                yield Hit(
                    message=f"the postsync hook of {component.name} writes to the cluster also when the sync failed",
                    place=_hook_place(scene, origin, command),
                    clusters=(component.cluster,),
                    component=component.name,
                )


def _helmfile(scene: Scene) -> Iterator[tuple[Component, Origin]]:
    for component in scene.platform.components:
        for origin in facts.origins(component, Side.BOOTSTRAP):
            if origin.form is Form.HELMFILE:
                yield component, origin


def _hook_place(scene: Scene, origin: Origin, command: str) -> Place:
    """Where a hook of a release stands; its release where that is not known."""
    found: list[Any] = [
        each.place
        for component in scene.platform.components_of(origin.cluster)
        for each in facts.origins(component, Side.BOOTSTRAP)
        if each.form is Form.HOOK and each.parent == origin.id and each.command == command
    ]
    return found[0] if found else origin.place
