"""Hooks and commands of bootstrap that do not bear a second run, or run when they should not."""

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.audit import bootstrap_needs
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import at, sequence, text
from firstlight.model.component import Component, Origin, Side, SourceForm
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, DirectorySource
from firstlight.plan import cluster_facts
from firstlight.repo.platform_view import PlatformView

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


def hooks_not_repeatable(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Commands that fail the second time."""
    for component, origin in _helmfile(scene):
        for hook in sequence(origin.definition, "hooks"):
            if found := _once(text(hook, "command")):
                place = _hook_place(scene, origin, text(hook, "command"))
                yield _finding(rule, component.cluster, place, found, f"a hook of {component.name}", component.name)
    for cluster in scene.clusters:
        before = ""
        for place, line in bootstrap_needs.script_lines(scene, cluster.name):
            statement = bootstrap_needs.statement(scene, place)
            if (found := _once(statement)) and not _GUARDED.search(before):
                yield _finding(rule, cluster.name, place, found, "bootstrap")
            before = line
    yield from _jobs(rule, scene)


def _jobs(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Jobs among the inline manifests: Talos makes them again where they are gone."""
    for item in scene.of_kind("batch/Job"):
        if item.origin.form is not SourceForm.INLINE_MANIFEST:
            continue
        for number, container in enumerate(sequence(item.value, "spec", "template", "spec", "containers")):
            words = [*sequence(container, "command"), *sequence(container, "args")]
            if found := _once(" ".join(str(each) for each in words)):
                place = item.object.at("spec", "template", "spec", "containers", number, "command")
                who = f"the inline Job {at(item.value, 'metadata', 'name')}"
                yield _finding(rule, item.cluster, place, found, who, item.component.name)


def _finding(
    rule: AuditRule, cluster: str, place: Place, found: tuple[str, str], who: str, component: str = ""
) -> Finding:
    name, refuses = found
    return rule.finding(
        f"{who} runs {name}, which refuses {refuses}",
        at=place,
        clusters=(cluster,),
        subject=component,
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


def hooks_after_failure(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Hooks after a sync that write: helmfile runs them where the sync failed, too."""
    for component, origin in _helmfile(scene):
        for hook in sequence(origin.definition, "hooks"):
            command = text(hook, "command")
            if "postsync" in sequence(hook, "events") and _WRITES.search(command):
                yield rule.finding(
                    f"the postsync hook of {component.name} writes to the cluster also when the sync failed",
                    at=_hook_place(scene, origin, command),
                    clusters=(component.cluster,),
                    subject=component.name,
                )


def _helmfile(scene: PlatformView) -> Iterator[tuple[Component, Origin]]:
    for component in scene.platform.components:
        for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
            if origin.form is SourceForm.HELMFILE:
                yield component, origin


def _hook_place(scene: PlatformView, origin: Origin, command: str) -> Place:
    """Where a hook of a release stands; its release where that is not known."""
    found: list[Any] = [
        each.place
        for component in scene.platform.components_of(origin.cluster)
        for each in cluster_facts.origins(component, Side.BOOTSTRAP)
        if each.form is SourceForm.HOOK and each.parent == origin.id and each.command == command
    ]
    return found[0] if found else origin.place


# Steps of bootstrap that change a cluster by hand, so that no file says what it is to be.


_VERBS = "scale|patch|annotate|label|edit|taint|delete|set (?:env|image|resources)|rollout restart"
_CHANGES = re.compile(rf"\bkubectl\b(?:\s+--?\w[\w-]*(?:=\S+| (?!-)\S+)?)*\s+({_VERBS})\b(?!-)(.*)")
_NAME = re.compile(r"[a-z][a-z0-9./-]{0,80}")
_HARMLESS = re.compile(r"--dry-run|^\s*(?:pods?|po|jobs?)\b")
"""What others make again: to delete a Job is the way to run it once more."""


def changes_by_hand(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Commands of bootstrap's scripts that change what is there."""
    for cluster in scene.clusters:
        for place, line in bootstrap_needs.script_lines(scene, cluster.name):
            match = _CHANGES.search(line)
            if match is None or _HARMLESS.search(match[2]):
                continue
            yield rule.finding(
                f"bootstrap changes {_what(match[2])} by hand: kubectl {match[1]}",
                at=place,
                clusters=(cluster.name,),
                fix="Say in a manifest, in the chart's values or in Git what it is to be, and take this command away.",
            )


def _what(arguments: str) -> str:
    """The kind or name that a command is about; nothing that could be a value."""
    try:
        words = shlex.split(arguments.rstrip("\\ "))
    except ValueError:
        return "something"
    is_value = False
    for word in words:
        if not is_value and not word.startswith("-"):
            return word if _NAME.fullmatch(word) else "something"
        is_value = word.startswith("-") and "=" not in word and not is_value
    return "something"


# Files that bootstrap reads and Git does not track: whoever clones the repo does not have them.


_OWN = re.compile(
    r"secret|kubeconfig|talosconfig|credential|\.agekey|age\.key|\.env|\.pem|\.key|clusterconfig|generated", re.I
)
"""What stays on one machine on purpose, or is made from what is tracked."""


def untracked_inputs(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Inputs of bootstrap that are not tracked, and those that Git ignores."""
    if scene.tracked is None:
        return
    for path, place, cluster in _named(scene):
        if scene.files.is_file(path) and path not in scene.tracked and not _OWN.search(path):
            yield rule.finding(
                f"bootstrap reads {path}, which Git does not track",
                at=place,
                clusters=(cluster,) if cluster else (),
                fix=f"git add {path}",
            )
    for path in scene.ignored:
        if not _OWN.search(path):
            yield rule.finding(
                f"bootstrap reads {path}, which Git ignores",
                at=_mention(scene, path),
                fix="Take it out of .gitignore and commit it, encrypted if it holds secrets.",
            )


def _named(scene: PlatformView) -> Iterator[tuple[str, Place, str]]:
    """Files that bootstrap names, where it does, and for which cluster."""
    for component in scene.platform.components:
        for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
            yield origin.place.path, origin.place, component.cluster
            for source in cluster_facts.sources(origin):
                if isinstance(source, ChartSource):
                    yield from ((each.file, each.place, component.cluster) for each in source.values if each.file)
                elif isinstance(source, DirectorySource):
                    yield source.path, origin.place, component.cluster
    for cluster in scene.clusters:
        yield from ((each.path, each, cluster.name) for each in cluster.files)


def _mention(scene: PlatformView, path: str) -> Place:
    """Where a file is named that the readers did not find: a line that they complain about."""
    name = posixpath.basename(path)
    return next((each.place for each in scene.platform.diagnostics if name in _line(scene, each.place)), Place(path))


def _line(scene: PlatformView, place: Place) -> str:
    lines = (scene.files.text(place.path) or "").splitlines() if scene.files.is_file(place.path) else []
    return lines[place.line - 1] if 0 < place.line <= len(lines) else ""
