"""What comes of a difference: at the first reconcile, when bootstrap is run again, and at ``talosctl upgrade-k8s``.

The rules are those of the field: what Talos, Helm, Flux and Argo CD really do (ownership of objects and fields).
"""

import dataclasses
import enum
from collections.abc import Iterator, Sequence
from typing import Any, Self

from firstlight.document.within import sequence
from firstlight.model.boundary import Compared, Consequence, Event, Standing
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Form, Owner, Phase, Side
from firstlight.model.plan import Severity
from firstlight.plan import facts, versions
from firstlight.plan.comparing import ABSENT, Path

_INVENTORY = (1, 13)
"""Since this version Talos applies server-side, keeps an inventory, and prunes."""


class First(enum.Enum):
    """How bootstrap applies."""

    TALOS = "Talos"
    HELM = "helm"
    KUBECTL = "kubectl"


class Then(enum.Enum):
    """How the engine applies."""

    HELM_RELEASE = "helm-controller"
    KUSTOMIZATION = "kustomize-controller"
    SERVER_SIDE = "Argo CD"
    CLIENT_SIDE = "Argo CD without ServerSideApply"


@dataclasses.dataclass(frozen=True, slots=True)
class Ways:
    """How both sides apply a component."""

    first: First
    then: Then
    talos: tuple[int, int] | None = None
    stays: bool = False
    """Whether Talos keeps it in the end, so that no engine puts back what an upgrade takes."""

    @classmethod
    def of(cls, component: Component, cluster: Cluster) -> Self:
        """As its origins say."""
        forms = {each.form for each in facts.origins(component, Side.BOOTSTRAP)}
        first = First.HELM if facts.charts(component, Side.BOOTSTRAP) else First.KUBECTL
        if component.phase == Phase.INLINE or forms & {Form.INLINE_MANIFEST, Form.EXTRA_MANIFEST}:
            first = First.TALOS
        then = Then.KUSTOMIZATION
        for origin in facts.origins(component, Side.GITOPS):
            if origin.form == Form.HELM_RELEASE:
                then = Then.HELM_RELEASE
            elif origin.form == Form.APPLICATION:
                options = sequence(origin.definition, "spec", "syncPolicy", "syncOptions")
                then = Then.SERVER_SIDE if "ServerSideApply=true" in options else Then.CLIENT_SIDE
        stays = first == First.TALOS and component.owner == Owner.BOOTSTRAP
        return cls(first, then, versions.minor(cluster.talos), stays)

    @property
    def engine(self) -> str:
        """Who reconciles."""
        return "Flux" if self.then in (Then.HELM_RELEASE, Then.KUSTOMIZATION) else "Argo CD"


def told(compared: Compared, ways: Ways) -> Compared:
    """The object, with what will come of it."""
    found = [_reconcile(compared, ways)]
    if ways.first == First.TALOS:
        found += _upgrade(compared, ways)
    else:
        found.append(_again(compared, ways))
    return dataclasses.replace(compared, consequences=tuple(found))


def staying(component: Component, cluster: Cluster) -> Consequence | None:
    """What an upgrade does with all objects of a component that Talos keeps; None for others.

    Nobody but Talos writes them: whatever was changed of them since they were created is what it takes back.
    """
    ways = Ways.of(component, cluster)
    if not ways.stays:
        return None
    before = "writes whole objects as the manifest has them: all that was changed since is lost; never deletes any"
    after = (
        "takes the manifest's values back by force, keeps fields that it does not name, and deletes objects that have "
        "left it"
    )
    effect = f"to 1.12: {before}; from 1.13: {after}"
    if ways.talos is not None:
        effect = after if ways.talos >= _INVENTORY else before
    return Consequence(Event.UPGRADE, effect, Severity.WARNING)


def _reconcile(compared: Compared, ways: Ways) -> Consequence:
    event, changes = Event.RECONCILE, compared.differences
    if compared.standing == Standing.ONLY_GITOPS:
        return Consequence(event, "creates it")
    if compared.standing == Standing.ONLY_BOOTSTRAP:
        if ways.first == First.HELM and ways.then == Then.HELM_RELEASE:
            return Consequence(event, "deletes it: the release's next revision does not have it", Severity.WARNING)
        return Consequence(event, "leaves it alone: Git does not know it, nobody updates it", Severity.WARNING)
    if fixed := [each for each in changes if each.is_fixed]:
        what = ".".join(fixed[0].path[:2])
        return Consequence(event, f"fails: {what} cannot be changed", Severity.ERROR)
    how = "one helm upgrade" if ways.then == Then.HELM_RELEASE else f"{ways.engine}'s apply"
    if compared.standing == Standing.EQUAL:
        return Consequence(event, f"adopts it: {how} changes nothing but labels")
    parts = [f"{how} makes it Git's"]
    if any(each.rolls for each in changes):
        parts.append("its pods are replaced")
    left = sum(each.gitops is None for each in changes)
    if left and ways.then != Then.HELM_RELEASE:
        parts.append(
            f"{left} field{'s stay' if left > 1 else ' stays'} that Git does not have, unless owners are migrated"
        )
    if ways.then == Then.CLIENT_SIDE:
        parts.append("without ServerSideApply bootstrap stays an owner")
    rolls = any(each.rolls for each in changes)
    return Consequence(event, "; ".join(parts), Severity.WARNING if rolls or len(parts) > 1 else Severity.INFO)


def _again(compared: Compared, ways: Ways) -> Consequence:
    """A helmfile or a script that is run again after the handover."""
    event, helm = Event.RERUN, ways.first == First.HELM
    owned = helm and ways.then == Then.HELM_RELEASE
    match compared.standing:
        case Standing.ONLY_BOOTSTRAP:
            return Consequence(event, "creates it again")
        case Standing.ONLY_GITOPS if owned:
            effect = "deletes it: bootstrap's release does not have it; helm-controller brings it back"
            return Consequence(event, effect, Severity.ERROR)
        case Standing.ONLY_GITOPS:
            return Consequence(event, "leaves it alone")
        case Standing.EQUAL if owned:
            return Consequence(event, "makes a new revision of the release; helm-controller upgrades once more")
        case Standing.EQUAL:
            return Consequence(event, "changes nothing")
    rolls = "; its pods are replaced twice" if any(each.rolls for each in compared.differences) else ""
    until = "helm-controller upgrades again" if owned else f"{ways.engine}'s next reconcile"
    return Consequence(event, f"makes it bootstrap's until {until}{rolls}", Severity.WARNING)


def _upgrade(compared: Compared, ways: Ways) -> Iterator[Consequence]:
    event = Event.UPGRADE
    if ways.talos is None:
        before, after = _before_inventory(compared, ways), _with_inventory(compared, ways)
        effect = (
            before.effect if before.effect == after.effect else f"to 1.12: {before.effect}; from 1.13: {after.effect}"
        )
        worse = min(before.severity, after.severity, key=list(Severity).index)
        yield Consequence(event, effect, worse)
    else:
        yield _with_inventory(compared, ways) if ways.talos >= _INVENTORY else _before_inventory(compared, ways)


def _before_inventory(compared: Compared, ways: Ways) -> Consequence:
    """Talos writes the whole object, as its manifest has it; it never deletes."""
    match compared.standing:
        case Standing.ONLY_GITOPS:
            return Consequence(Event.UPGRADE, "leaves it alone")
        case Standing.ONLY_BOOTSTRAP:
            return Consequence(Event.UPGRADE, "writes it again; never deletes it")
        case Standing.EQUAL:
            effect = f"writes it without the labels of {ways.engine}, which puts them back"
            return Consequence(Event.UPGRADE, effect)
    rolls = "; its pods are replaced twice" if any(each.rolls for each in compared.differences) else ""
    if ways.stays:
        return Consequence(Event.UPGRADE, "writes the whole object as bootstrap has it, for good", Severity.WARNING)
    effect = f"writes the whole object as bootstrap has it; {ways.engine} puts Git's back at its next reconcile{rolls}"
    return Consequence(Event.UPGRADE, effect, Severity.WARNING)


def _with_inventory(compared: Compared, ways: Ways) -> Consequence:
    """Talos applies server-side and by force, and deletes what has left its manifests but not its inventory."""
    match compared.standing:
        case Standing.ONLY_GITOPS:
            return Consequence(Event.UPGRADE, "leaves it alone")
        case Standing.ONLY_BOOTSTRAP:
            effect = "deletes it once it has left the machine config, unless it was released from Talos's inventory"
            return Consequence(Event.UPGRADE, effect, Severity.WARNING)
        case Standing.EQUAL:
            return Consequence(Event.UPGRADE, "changes nothing; deletes it if it left the config before its release")
    if ways.stays:
        return Consequence(Event.UPGRADE, "takes bootstrap's values back by force, for good", Severity.WARNING)
    rolls = "; its pods are replaced twice" if any(each.rolls for each in compared.differences) else ""
    effect = f"takes bootstrap's values back by force until the next reconcile{rolls}"
    return Consequence(Event.UPGRADE, effect, Severity.WARNING)


def words(path: Path, left: Any, right: Any) -> str:
    """A difference as people say it, bootstrap's side first."""
    name = path[-1] if path else ""
    if left is ABSENT or right is ABSENT:
        return f"{_title(path)} only in {'gitops' if left is ABSENT else 'bootstrap'}"
    if left == right:
        return f"{_title(path)} differs"  # both are masked
    if name == "image" and isinstance(left, str) and isinstance(right, str):
        return _image(left, right)
    if isinstance(left, str) and isinstance(right, str) and ("\n" in left or "\n" in right):
        ours, theirs = left.splitlines(), right.splitlines()
        changed = len({*ours} ^ {*theirs})
        return f"{_title(path)}: {changed or 'the order of'} of {max(len(ours), len(theirs))} lines differ"
    if isinstance(left, str | int | float) and isinstance(right, str | int | float):
        return f"{_title(path)} {_short(left)} › {_short(right)}"
    return f"{_title(path)} differs"


def _title(path: Path) -> str:
    """The path, or the word for it where there is a common one."""
    match path:
        case ("spec", "replicas"):
            return "replicas"
        case (*_, "labels", "helm.sh/chart"):
            return "chart"
        case (*_, "labels", "app.kubernetes.io/version"):
            return "version label"
        case (*_, "labels", label):
            return f"label {label}"
        case (*_, "annotations", annotation):
            return f"annotation {annotation}"
        case ("data", key):
            return f"value {key}"
        case (*_, "env", key, "value"):
            return f"environment {_bare(key)}"
        case ("spec", "template", "spec", "containers" | "initContainers", container, *rest) if rest:
            return f"{_bare(container)}: {_dotted(rest)}"
        case ("spec", "template", *rest) if rest:
            return f"pods: {_dotted(rest)}"
    return _dotted(path) or "the object"


def _bare(key: str) -> str:
    return key.removeprefix("[name=").removesuffix("]")


def _dotted(path: Sequence[str]) -> str:
    return ".".join(path).replace(".[", "[")


def _image(left: str, right: str) -> str:
    ours, theirs = _split(left), _split(right)
    bare = ours[0].rpartition("/")[2]
    if ours[0] != theirs[0]:
        return f"image {left.partition('@')[0]} › {right.partition('@')[0]}"
    if ours[1] == theirs[1]:
        return f"image {bare} {ours[1]}: another digest"
    return f"image {bare} {ours[1]} › {theirs[1]}"


def _split(image: str) -> tuple[str, str]:
    name, _, tag = image.partition("@")[0].rpartition(":")
    return (name, tag) if name and "/" not in tag else (image.partition("@")[0], "latest")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
