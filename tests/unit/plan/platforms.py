"""Platforms for tests, written short: what scenarios have in ``platform.yaml``, made the nouns of the model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstlight.document import yaml_reader
from firstlight.model.cluster import Cluster, ConfigBase, Engine, Machine, MachineRole, Network
from firstlight.model.component import (
    Certainty,
    Component,
    ComponentNeed,
    ObjectId,
    Origin,
    Owner,
    Phase,
    SecretNeed,
    Side,
    SourceForm,
)
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place
from firstlight.model.platform import FoundationSecret, Platform
from firstlight.model.rendition import Object, Rendition
from firstlight.model.source import ChartSource, DirectorySource, Embedded, ObjectReference, Source, Values


def load(file: Path) -> tuple[Platform, tuple[Rendition, ...]]:
    """A platform and its renditions from a file."""
    (document,) = yaml_reader.read(file.read_bytes(), file.name).documents
    return make(document.value)


def make(spec: Mapping[str, Any]) -> tuple[Platform, tuple[Rendition, ...]]:
    """A platform and its renditions."""
    clusters = [_cluster(name, each or {}) for name, each in (spec.get("clusters") or {"home": {}}).items()]
    first = clusters[0].name
    given = spec.get("components") or {}
    components = [_component(name, first, each or {}, given) for name, each in given.items()]
    secrets = [
        FoundationSecret(
            name=each["name"], namespace=each["namespace"], data=each.get("data", {}), why=each.get("why", ""),
            place=Place("firstlight.yaml", 4 + index),
        )
        for index, each in enumerate(spec.get("secrets") or ())
    ]  # fmt: skip
    platform = Platform(
        name="test", root=Path("/nowhere"), engine=clusters[0].engine, clusters=tuple(clusters),
        components=tuple(components), secrets=tuple(secrets),
        declared=Place("firstlight.yaml") if spec.get("declared") else None,
        diagnostics=tuple(
            Diagnostic(code=code, severity=Severity(grade), message=message, places=(Place(path, 20),))
            for path, grades in (spec.get("diagnostics") or {}).items()
            for grade, messages in grades.items()
            for code, message in messages.items()
        ),
    )  # fmt: skip
    renditions = [
        _rendition(name, first, Side(side), texts)
        for name, sides in (spec.get("renditions") or {}).items()
        for side, texts in sides.items()
    ]
    return platform, tuple(renditions)


def objects(text: str) -> tuple[Object, ...]:
    """Objects of a YAML text."""
    contents = yaml_reader.read(text.encode(), "objects.yaml")
    assert not contents.diagnostics, contents.diagnostics
    return tuple(Object(each.value) for each in contents.documents)


def _rendition(name: str, cluster: str, side: Side, text: str) -> Rendition:
    if text.startswith("ERROR"):
        diagnostic = Diagnostic.error("?", text, at=Place("values.yaml", 1))
        return Rendition(component=name, cluster=cluster, side=side, diagnostics=(diagnostic,))
    return Rendition(component=name, cluster=cluster, side=side, objects=objects(text))


def _cluster(name: str, spec: Mapping[str, Any]) -> Cluster:
    network = spec.get("network", {})
    machines = []
    for role, prefix in ((MachineRole.CONTROL_PLANE, "cp"), (MachineRole.WORKER, "w")):
        for number in range(1, spec.get("machines", {}).get(role.value, 0) + 1):
            name_of_omni = f"{prefix}{number}" if spec.get("omni") else ""
            place = Place("talos.yaml", 10 + number)
            machines.append(Machine(name=f"{prefix}-{number}", role=role, place=place, id=name_of_omni))
    return Cluster(
        name=name,
        place=Place("talos.yaml", 1),
        engine=Engine(spec["engine"]) if "engine" in spec else None,
        url=spec.get("url", ""),
        path=spec.get("path", ""),
        machines=tuple(machines),
        network=Network(
            cni=network.get("cni", ""), kube_proxy=network.get("kubeProxy"), core_dns=network.get("coreDns")
        ),
        base=ConfigBase(spec.get("base", "generated")),
        files=tuple(Place(each) for each in spec.get("files", {})),
        documents={path: tuple(kinds) for path, kinds in spec.get("files", {}).items()},
        talos=spec.get("talos", ""),
        kubernetes=spec.get("kubernetes", ""),
        schedules_on_control_planes=spec.get("schedulesOnControlPlanes"),
        said={"network.core_dns": Place("talos.yaml", 5), "network.cni": Place("talos.yaml", 6)},
    )


def _component(name: str, cluster: str, spec: Mapping[str, Any], others: Mapping[str, Any]) -> Component:
    phase = Phase(spec.get("phase", "gitops"))
    side = Side(spec.get("side", "gitops" if phase == Phase.GITOPS else "bootstrap"))
    forms = {Side.BOOTSTRAP: _bootstrap_form(spec), Side.GITOPS: SourceForm(spec.get("form", "HelmRelease"))}
    sides = [Side.BOOTSTRAP, Side.GITOPS] if side == Side.HYBRID else [side]
    if spec.get("only"):
        sides = [Side(spec["only"])]
    origins = [_origin(name, cluster, each, forms[each], phase, spec, others) for each in sides]
    needs = [each for each in spec.get("needs", ()) if each in others]
    missing = [each for each in spec.get("needs", ()) if each not in others]
    return Component(
        name=name,
        cluster=cluster,
        phase=phase,
        side=side,
        owner=Owner(spec.get("owner", "bootstrap" if side == Side.BOOTSTRAP else "gitops")),
        role=spec.get("role", ""),
        why=spec.get("why", f"test {name}"),
        is_why_declared="why" in spec,
        version=str(spec.get("version", "")),
        needs=tuple([*spec.get("wishes", ()), *needs, *spec.get("gitopsNeeds", ())]),
        missing=tuple(
            ComponentNeed(
                id=each, place=origins[0].place, why=spec.get("needsWhy", "dependsOn"), is_order=_is_order(spec)
            )
            for each in missing
        ),
        parent=spec.get("parent", ""),
        part_of=spec.get("partOf", ""),
        origins=tuple(origins),
    )


def _origin(
    name: str,
    cluster: str,
    side: Side,
    form: SourceForm,
    phase: Phase,
    spec: Mapping[str, Any],
    others: Mapping[str, Any],
) -> Origin:
    place = Place(f"{side}/{name.replace('/', '-')}.yaml", 3)
    wanted = spec.get("gitopsNeeds", ()) if side == Side.GITOPS and phase != Phase.GITOPS else spec.get("needs", ())
    version = (
        spec.get("bootstrapVersion", spec.get("version", "")) if side == Side.BOOTSTRAP else spec.get("version", "")
    )
    why = spec.get("needsWhy", "dependsOn" if side == Side.GITOPS else "needs")
    definition = {"spec": {"wait": True}} if spec.get("wait") else dict(spec.get("definition", {}))
    return Origin(
        form=form,
        side=side,
        place=place,
        name=name,
        namespace=spec.get("namespace", "apps"),
        cluster=cluster,
        phase=phase if side == Side.BOOTSTRAP else None,
        source=_source(name, place, spec),
        version=str(version),
        needs=tuple(
            ComponentNeed(id=_id(each, side, others), place=Place(place.path, 7), why=why, is_order=_is_order(spec))
            for each in wanted
            if each in others
        ),
        certainty=Certainty(spec.get("certainty", "declared")),
        suspended=spec.get("suspended", False),
        objects=tuple(ObjectId(*each.split(" ")) for each in spec.get("objects", ())),
        secrets=tuple(
            SecretNeed(name=each.partition("/")[2], namespace=each.partition("/")[0], place=place, why="decrypts it")
            for each in spec.get("secrets", ())
        ),
        definition=definition,
    )


def _id(name: str, side: Side, others: Mapping[str, Any]) -> str:
    """The id of the origin that another component has on this side, or on the only one that it has."""
    spec = others[name] or {}
    phase = Phase(spec.get("phase", "gitops"))
    own = Side(spec.get("side", "gitops" if phase == Phase.GITOPS else "bootstrap"))
    chosen = side if own == Side.HYBRID else own
    form = _bootstrap_form(spec) if chosen == Side.BOOTSTRAP else SourceForm(spec.get("form", "HelmRelease"))
    return "/".join([form.value.lower().replace(" ", "-"), spec.get("namespace", "apps"), name])


def _bootstrap_form(spec: Mapping[str, Any]) -> SourceForm:
    default = "inline manifest" if spec.get("phase") == "inline" else "helmfile release"
    return SourceForm(spec.get("bootstrapForm", default))


def _source(name: str, place: Place, spec: Mapping[str, Any]) -> Source:
    if "inline" in spec:
        return Embedded(place=place, steps=("cluster", "inlineManifests", 0), size=spec["inline"])
    if "chart" in spec or "values" in spec:
        values = [Values(place=place, inline=spec["values"])] if "values" in spec else []
        values += [
            Values(place=place, reference=each.removesuffix("?"), optional=each.endswith("?"))
            for each in spec.get("valuesFrom", ())
        ]
        return ChartSource(
            name=spec.get("chart", name), repository=spec.get("repository", ""), version=str(spec.get("version", "")),
            namespace=spec.get("namespace", "apps"), release=name, values=tuple(values),
        )  # fmt: skip
    references = [[*each.removesuffix("?").split("/"), each.endswith("?")] for each in spec.get("substituteFrom", ())]
    return DirectorySource(
        path=f"apps/{name}",
        substitute_from=tuple(
            ObjectReference(kind=kind, namespace=namespace, name=name, optional=optional)
            for kind, namespace, name, optional in references
        ),
    )


def _is_order(spec: Mapping[str, Any]) -> bool:
    return bool(spec.get("needsWhy") == "task order")
