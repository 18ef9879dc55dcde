"""HelmReleases of the foundation that Flux would uninstall when something fails."""

from collections.abc import Iterator

from firstlight.document.within import at, mapping, text
from firstlight.model.component import Component, Form, Origin, Side
from firstlight.model.finding import Edit, Evidence, Severity
from firstlight.plan import facts
from firstlight.policy.auditing import declared, editing, foundation
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_WORST = ("cni", "storage", "engine")
_PLAIN = (Form.KUBECTL_COMMAND, Form.KUSTOMIZE_COMMAND)


def uninstalls(scene: Scene) -> Iterator[Hit]:
    """Remediation that uninstalls what the cluster stands on."""
    for component in scene.platform.components:
        if component.role not in foundation.ROLES:
            continue
        for origin in facts.origins(component, Side.GITOPS):
            if origin.form is Form.HELM_RELEASE:
                yield from _after_upgrade(scene, component, origin)
                yield from _after_install(scene, component, origin)


def _after_upgrade(scene: Scene, component: Component, origin: Origin) -> Iterator[Hit]:
    upgrade = mapping(origin.definition, "spec", "upgrade")
    said = mapping(upgrade, "remediation")
    if text(said, "strategy") != "uninstall" or not _is_active(upgrade):
        return
    stated = declared.of(scene, origin)
    steps = ("spec", "upgrade", "remediation", "strategy")
    edits: tuple[Edit, ...] = editing.put(stated, *steps, value="rollback")
    yield Hit(
        message=f"a failed upgrade of {component.name} uninstalls it, since upgrade.remediation.strategy is uninstall",
        place=stated.at(*steps) if stated else origin.place,
        clusters=(component.cluster,),
        component=component.name,
        edits=edits,
        severity=None if component.role in _WORST else Severity.ERROR,
    )


def _after_install(scene: Scene, component: Component, origin: Origin) -> Iterator[Hit]:
    """What bootstrap applied without Helm is installed once more, over what is there; a failure takes it away."""
    install = mapping(origin.definition, "spec", "install")
    first = facts.origins(component, Side.BOOTSTRAP)
    is_plain = facts.is_inline(component) or (bool(first) and all(each.form in _PLAIN for each in first))
    is_taken = facts.is_adopted(component) and at(install, "disableTakeOwnership") is not True
    if not is_plain or not is_taken or not _is_active(install):
        return
    stated = declared.of(scene, origin)
    yield Hit(
        message=f"Flux installs {component.name} over what bootstrap applied, and install.remediation uninstalls it "
        "when that fails",
        place=stated.at("spec", "install", "remediation") if stated else origin.place,
        clusters=(component.cluster,),
        component=component.name,
        evidence=(
            Evidence(f"bootstrap applies {component.name} without Helm", facts.place(component, Side.BOOTSTRAP)),
        ),
        fix="Write install.strategy.name: RetryOnFailure instead of install.remediation.",
        severity=Severity.ERROR,
    )


def _is_active(action: object) -> bool:
    """Whether a failure is remediated: not by default, and not with RetryOnFailure."""
    retries = at(action, "remediation", "retries")
    is_on = (isinstance(retries, int) and retries != 0) or at(action, "remediation", "remediateLastFailure") is True
    return is_on and text(action, "strategy", "name") != "RetryOnFailure"
