"""Who brings what: the things that each component of a cluster makes appear."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from firstlight.document.within import at, text
from firstlight.model.component import Component, ObjectId, Phase, Side
from firstlight.model.rendition import Object
from firstlight.plan import facts, hosts, known
from firstlight.plan.facts import Facts
from firstlight.plan.things import ANY, Sort, Supply, Thing

Index = Mapping[Thing, tuple[Supply, ...]]
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_STORES = {"SecretStore", "ClusterSecretStore"}
_SECRETS_GROUP = "external-secrets.io"


def index(known_facts: Facts) -> Index:
    """Everything that anybody brings, by thing; bootstrap's supplies come first."""
    found: dict[Thing, list[Supply]] = defaultdict(list)
    for secret in known_facts.secrets:
        thing = Thing(Sort.SECRET, secret.name, secret.namespace)
        found[thing].append(
            Supply(thing=thing, component="", side=Side.BOOTSTRAP, place=secret.place, how="by the secrets foundation")
        )
    for component in (*known_facts.bootstrap, *known_facts.gitops):
        for side in facts.sides(component):
            for supply in of(known_facts, component, side):
                found[supply.thing].append(supply)
    return {
        thing: tuple(sorted(supplies, key=lambda each: each.side != Side.BOOTSTRAP))
        for thing, supplies in found.items()
    }


def of(known_facts: Facts, component: Component, side: Side) -> Iterator[Supply]:
    """What one side of a component brings."""
    place = facts.place(component, side)
    rendition = known_facts.rendition(component, side)
    if rendition is not None:
        for item in rendition.objects:
            for thing, requires in _of_object(item):
                yield Supply(
                    thing=thing, component=component.name, side=side, place=place, how=_how(item.id, thing),
                    requires=requires, in_git=_is_plain(item.id),
                )  # fmt: skip
    else:
        for origin in facts.origins(component, side):
            for made in origin.objects:
                for thing, requires in _of_identity(made):
                    yield Supply(
                        thing=thing, component=component.name, side=side, place=origin.place, how=_how(made, thing),
                        requires=requires, in_git=_is_plain(made),
                    )  # fmt: skip
    yield from _known(known_facts, component, side)


def _known(known_facts: Facts, component: Component, side: Side) -> Iterator[Supply]:
    place, things = facts.place(component, side), []
    if found := known.of(component):
        _, about = found
        if about.late or known_facts.rendition(component, side) is None:
            things += [Thing(Sort.KIND, f"{group}/{ANY}") for group in about.kinds]
        if component.phase != Phase.CRDS:
            things += [Thing(Sort.OPERATOR, group) for group in about.operates]
    if component.role == "storage":
        things.append(Thing(Sort.STORAGE_CLASS, ANY))
    for thing in things:
        yield Supply(thing=thing, component=component.name, side=side, place=place, how="when it runs")


def _of_object(item: Object) -> Iterator[tuple[Thing, tuple[Thing, ...]]]:
    identity = item.id
    if item.is_crd:
        yield Thing(Sort.KIND, f"{text(item.value, 'spec', 'group')}/{text(item.value, 'spec', 'names', 'kind')}"), ()
        return
    if (maker := known.table().makers.get(identity.kind)) and maker.group == identity.group:
        name = text(item.value, *maker.name) if maker.name else ""
        requires = [Thing(Sort.OPERATOR, maker.group)]
        if store := store_of(item):
            requires.append(store)
        yield Thing(Sort.SECRET, name or identity.name, identity.namespace), tuple(requires)
    if identity.kind == "StorageClass":
        yield Thing(Sort.STORAGE_CLASS, identity.name), ()
        if at(item.value, "metadata", "annotations", _DEFAULT_CLASS) == "true":
            yield Thing(Sort.STORAGE_CLASS, ""), ()
    if identity.kind == "APIService":
        yield Thing(Sort.KIND, f"{text(item.value, 'spec', 'group')}/{ANY}"), ()
    for host in hosts.served(item):
        yield Thing(Sort.HOST, host), ()
    if identity.kind not in known.table().makers:
        yield from _of_identity(identity)


def _of_identity(identity: ObjectId) -> Iterator[tuple[Thing, tuple[Thing, ...]]]:
    """What is told by the name of an object alone."""
    match identity.kind:
        case "Secret" if not identity.group:
            yield Thing(Sort.SECRET, identity.name, identity.namespace), ()
        case "ConfigMap" if not identity.group:
            yield Thing(Sort.CONFIG_MAP, identity.name, identity.namespace), ()
        case "Service" if not identity.group:
            yield Thing(Sort.SERVICE, identity.name, identity.namespace), ()
        case "PriorityClass":
            yield Thing(Sort.PRIORITY_CLASS, identity.name), ()
        case "StorageClass":
            yield Thing(Sort.STORAGE_CLASS, identity.name), ()
        case "CustomResourceDefinition":
            # It is named after its plural; which kind that is, only the object itself tells.
            yield Thing(Sort.KIND, f"{identity.name.partition('.')[2]}/{ANY}"), ()
        case kind if kind in _STORES:
            yield _store(kind, identity.namespace, identity.name), (Thing(Sort.OPERATOR, _SECRETS_GROUP),)
        case kind if (maker := known.table().makers.get(kind)) and maker.group == identity.group:
            yield Thing(Sort.SECRET, identity.name, identity.namespace), (Thing(Sort.OPERATOR, maker.group),)


def store_of(item: Object) -> Thing | None:
    """The store that an ExternalSecret reads from."""
    if not item.id.kind.endswith("ExternalSecret"):
        return None
    spec = at(item.value, "spec") if item.id.kind == "ExternalSecret" else at(item.value, "spec", "externalSecretSpec")
    name = text(spec, "secretStoreRef", "name")
    kind = text(spec, "secretStoreRef", "kind") or "SecretStore"
    return _store(kind, item.id.namespace, name) if name and kind in _STORES else None


def _store(kind: str, namespace: str, name: str) -> Thing:
    return Thing(Sort.STORE, name, "" if kind == "ClusterSecretStore" else namespace)


def _is_plain(identity: ObjectId) -> bool:
    return identity.kind in {"Secret", "ConfigMap"}


def _how(identity: ObjectId, thing: Thing) -> str:
    name = "/".join(each for each in (identity.namespace, identity.name) if each)
    return "" if identity.kind == thing.sort else f"by {identity.kind} {name}"
