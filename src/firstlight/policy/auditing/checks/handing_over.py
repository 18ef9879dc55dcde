"""Applications that could not take over what bootstrap brought."""

from collections.abc import Iterator

from firstlight.document.within import sequence, text
from firstlight.model.component import Form, Side
from firstlight.model.finding import Evidence
from firstlight.plan import facts
from firstlight.policy.auditing import declared, editing
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_SERVER_SIDE = "ServerSideApply=true"
_REPLACE = "Replace=true"


def applications(scene: Scene) -> Iterator[Hit]:
    """Applications without server-side apply of components that bootstrap installs first."""
    for component in scene.platform.components:
        first = facts.origins(component, Side.BOOTSTRAP)
        if not first or not facts.is_adopted(component):
            continue
        for origin in facts.origins(component, Side.GITOPS):
            options = [str(each) for each in sequence(origin.definition, "spec", "syncPolicy", "syncOptions")]
            replaces = _REPLACE in options
            if origin.form is not Form.APPLICATION or (_SERVER_SIDE in options and not replaces):
                continue
            stated = declared.of(scene, origin)
            is_set = bool(text(origin.maker, "kind"))
            steps = (*(("spec", "template") if is_set else ()), "spec", "syncPolicy", "syncOptions")
            why = f"{_REPLACE} wins over {_SERVER_SIDE}" if replaces else f"it has no {_SERVER_SIDE}"
            yield Hit(
                message=f"Application {origin.name} cannot take {component.name} over from bootstrap: {why}",
                place=stated.at(*steps) if stated else origin.place,
                clusters=(component.cluster,),
                component=component.name,
                evidence=(Evidence(f"bootstrap brings {component.name}, too", first[0].place),),
                edits=() if replaces else editing.append(stated, *steps, value=_SERVER_SIDE),
                fix=f"Leave {_REPLACE} out of syncOptions." if replaces else "",
            )
