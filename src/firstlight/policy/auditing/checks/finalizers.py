"""Applications whose deletion deletes what nobody wants to lose."""

from collections.abc import Iterator

from firstlight.document.within import sequence
from firstlight.model.component import Component, Form
from firstlight.model.finding import Edit, Evidence, Severity
from firstlight.policy.auditing import declared, editing
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_FINALIZER = "resources-finalizer.argocd.argoproj.io"
_LOST = {
    "cni": "the network of every pod",
    "storage": "what serves the volumes",
    "engine": "the engine itself",
}
"""What goes with an Application, by the role of its component; CRDs do not, since Argo CD marks none as its own."""


def applications(scene: Scene) -> Iterator[Hit]:
    """Applications of the foundation, and those that bring others, that delete all they have when they are deleted."""
    for component in scene.platform.components:
        for origin in component.origins:
            written = [str(each) for each in sequence(origin.definition, "metadata", "finalizers")]
            cascading = [each for each in written if each.partition("/")[0] == _FINALIZER]
            if origin.form is not Form.APPLICATION or not cascading:
                continue
            children = [
                each
                for each in scene.platform.components_of(component.cluster)
                if any(inner.parent == origin.id for inner in each.origins)
            ]
            lost = _LOST.get(component.role) or _counted(children)
            if not lost:
                continue
            stated = declared.of(scene, origin)
            edits: tuple[Edit, ...] = ()
            if not origin.maker:
                steps = ("metadata", "finalizers")
                whole = len(written) == len(cascading)
                edits = editing.remove(stated, *steps, *(() if whole else (written.index(cascading[0]),)))
            yield Hit(
                message=f"Application {origin.name} has the finalizer {cascading[0]}: deleted, it deletes {lost}",
                place=stated.at("metadata", "finalizers") if stated else origin.place,
                clusters=(component.cluster,),
                component=component.name,
                evidence=tuple(Evidence(f"it brings {each.name}", each.origins[0].place) for each in children[:8]),
                edits=edits,
                severity=None if component.role in _LOST else Severity.WARNING,
            )


def _counted(children: list[Component]) -> str:
    return "" if not children else "an Application" if not children[1:] else f"{len(children)} Applications"
