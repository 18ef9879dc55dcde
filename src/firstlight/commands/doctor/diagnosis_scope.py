"""A diagnosis of one component or object: the way from it down to what is behind it, and nothing else."""

import dataclasses
import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.commands.doctor.symptoms import Diagnosis, RootCause, Symptom
from firstlight.document.within import mapping, sequence, text
from firstlight.model import flux_names, helm_names
from firstlight.model.component import Component
from firstlight.observe.cluster import observation
from firstlight.observe.cluster.observation import ClusterObservation

_MARKS = (
    flux_names.KUSTOMIZATION_NAME_LABEL, flux_names.HELM_RELEASE_NAME_LABEL, helm_names.RELEASE_NAME_ANNOTATION,
    "app.kubernetes.io/instance",
)  # fmt: skip
"""Labels and annotations by which objects say whose they are."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisScope:
    """What is asked about."""

    asked: str
    names: frozenset[str]
    """Objects that are meant, as symptoms call them."""
    namespaces: frozenset[str] = frozenset()
    """Namespaces of which all is meant."""

    def holds(self, subject: str) -> bool:
        """Whether a symptom's subject is meant."""
        return subject in self.names or _namespace(subject) in self.namespaces


def scope(
    asked: str, scene: ClusterObservation, found: Diagnosis, components: Sequence[Component] = ()
) -> DiagnosisScope | None:
    """What is meant: a component, a namespace, or an object as ``NAME``, ``NAMESPACE/NAME`` or ``KIND NAMESPACE/NAME``.

    None where nothing is called so.
    """
    kind, namespace, name = _parts(asked)
    called = {observation.name_of(each): each for each in scene.objects}
    known = {*called, *(one.subject for each in found.causes for one in (each.symptom, *each.effects))}
    known |= {f"{word} {each.name}" for each in scene.machines for word in ("Machine", "Node")}
    meant = {each for each in known if _is_meant(each, kind, namespace, name)}
    spaces = {name} if f"Namespace {name}" in known and not namespace and kind in ("", "namespace") else set()
    mine = [each for each in components if each.name == name and not kind and not namespace]
    for each in mine:
        meant |= _of_component(each, called)
    if not meant and not spaces and not mine:
        return None
    return DiagnosisScope(asked=asked, names=frozenset(_with_children(meant, called)), namespaces=frozenset(spaces))


def near(asked: str, scene: ClusterObservation, components: Sequence[Component] = ()) -> tuple[str, ...]:
    """What may have been meant."""
    names = {each.name for each in components} | {
        observation.name_of(each).rpartition(" ")[2] for each in scene.objects
    }
    return tuple(difflib.get_close_matches(asked, sorted(names), n=3))


def narrow(found: Diagnosis, scope: DiagnosisScope) -> Diagnosis:
    """Only the causes that keep what is meant from working; each with the way from it up to that."""
    by_key = {one.key: one for each in found.causes for one in (each.symptom, *each.effects)}
    meant = [each for each in by_key.values() if scope.holds(each.subject)]
    keys = {key for each in meant for key in _way_down(each, by_key)}
    kept = [
        RootCause(symptom=each.symptom, effects=tuple(one for one in each.effects if one.key in keys))
        for each in found.causes
        if each.symptom.key in keys
    ]
    return dataclasses.replace(found, causes=tuple(kept))


def _way_down(symptom: Symptom, by_key: Mapping[str, Symptom]) -> Iterable[str]:
    """It, and all that explains it."""
    seen: set[str] = set()
    waiting = [symptom.key]
    while waiting:
        key = waiting.pop()
        if key in seen or key not in by_key:
            continue
        seen.add(key)
        waiting += by_key[key].because
    return seen


def _parts(asked: str) -> tuple[str, str, str]:
    """Kind in small letters, namespace and name, as far as they are given."""
    kind, _, place = asked.strip().rpartition(" ")
    namespace, _, name = place.rpartition("/")
    return kind.lower(), namespace, name


def _is_meant(subject: str, kind: str, namespace: str, name: str) -> bool:
    its_kind, _, place = subject.rpartition(" ")
    its_namespace, _, its_name = place.rpartition("/")
    return (
        its_name == name
        and (not kind or its_kind.lower() == kind)
        and (not namespace or its_namespace == namespace)
    )  # fmt: skip


def _namespace(subject: str) -> str:
    kind, _, place = subject.rpartition(" ")
    namespace, slash, name = place.rpartition("/")
    return name if kind == "Namespace" else namespace if slash else ""


def _of_component(component: Component, called: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """What declares a component, what it applies itself, and what says of itself that it is one of them."""
    found: set[str] = set()
    marks: set[tuple[str, str]] = set()
    for each in component.origins:
        found.add(f"{each.form.value} {each.namespace}/{each.name}" if each.namespace else "")
        found |= {_place(one.kind, one.namespace, one.name) for one in each.objects}
        marks |= {(label, each.name) for label in _MARKS}
    found |= {
        name
        for name, value in called.items()
        if any(
            mapping(value, "metadata", where).get(label) == owner
            for label, owner in marks
            for where in ("labels", "annotations")
        )
    }
    return found - {""}


def _with_children(names: set[str], called: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """These, and what they have made: ReplicaSets, pods, claims."""
    found, grown = set(names), True
    while grown:
        before = len(found)
        found |= {
            name
            for name, value in called.items()
            if any(
                _place(text(one, "kind"), text(value, "metadata", "namespace"), text(one, "name")) in found
                for one in sequence(value, "metadata", "ownerReferences")
                if text(one, "kind") != "Node"
            )
        }
        grown = len(found) > before
    return found


def _place(kind: str, namespace: str, name: str) -> str:
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
