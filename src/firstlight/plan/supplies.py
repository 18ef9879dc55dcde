"""What one component needs and another brings, besides each other: Secrets, kinds, classes, services, hosts."""

import dataclasses
import enum
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from firstlight.document.within import at, mapping, sequence, text
from firstlight.model.component import Component, ObjectId, Phase, Side
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.plan import cluster_facts, well_known
from firstlight.plan.cluster_facts import ClusterFacts

ANY = "*"


class RequisiteKind(enum.StrEnum):
    """What sort of thing."""

    SECRET = "Secret"  # noqa: S105
    CONFIG_MAP = "ConfigMap"
    KIND = "kind"
    """A custom resource definition: ``GROUP/KIND``, or ``GROUP/*`` where only the group is known."""
    OPERATOR = "operator"
    """Somebody who acts upon the objects of a group."""
    STORE = "store"
    """A SecretStore or ClusterSecretStore."""
    STORAGE_CLASS = "StorageClass"
    """By name; the empty name is the default one."""
    PRIORITY_CLASS = "PriorityClass"
    SERVICE = "Service"
    HOST = "host"
    """A name that the cluster itself serves."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Requisite:
    """One thing that must be there."""

    sort: RequisiteKind
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        path = "/".join(each for each in (self.namespace, self.name) if each)
        match self.sort:
            case RequisiteKind.KIND:
                group, _, kind = self.name.rpartition("/")
                return f"the kinds of {group}" if kind == ANY else f"the kind{'s' * (',' in kind)} {kind} ({group})"
            case RequisiteKind.OPERATOR:
                return f"an operator for {self.name}"
            case RequisiteKind.STORE:
                return f"the store {path}"
            case RequisiteKind.STORAGE_CLASS:
                return f"the StorageClass {path}" if path else "a default StorageClass"
            case RequisiteKind.HOST:
                return path
        return f"the {self.sort} {path}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """That a component brings a thing."""

    thing: Requisite
    component: str
    """Empty for the foundation: Secrets that bootstrap creates itself."""
    side: Side
    place: Place
    how: str
    """``by ExternalSecret ns/name`` …"""
    requires: tuple[Requisite, ...] = ()
    """What must be there besides before the thing appears."""
    in_git: bool = False
    """Whether Git has its content, so that rendering can read it before it is in the cluster."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ComponentDemand:
    """That a component needs a thing."""

    thing: Requisite
    component: str
    side: Side
    place: Place
    how: str
    """A sentence without its subject: ``Deployment x reads it into its environment``."""
    severity: Severity = Severity.ERROR
    """How bad it is if the thing comes too late."""
    by_rendering: bool = False
    """Needed to render it, not to run it: what Git holds is enough."""
    is_soft: bool = False
    """Better after it, if bootstrap has it; fine without."""


# Names that a cluster serves itself, and names that it fetches from: where they meet, a cold start fails.


_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>[^:/\s]+):(?!//)")
_ROUTES = {"HTTPRoute", "TLSRoute", "GRPCRoute"}


def host_of_url(url: str) -> str:
    """The host of a URL, or of ``git@host:path``; empty where there is none."""
    scheme, found, rest = url.partition("://")
    if found:
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
        return "" if scheme == "file" else without_port(authority)
    match = _SCP.match(url)
    return match["host"].lower() if match else ""


def without_port(authority: str) -> str:
    """A host in small letters, without its port."""
    if authority.startswith("["):
        return authority.partition("]")[0].removeprefix("[").lower()
    return authority.partition(":")[0].lower()


def served_hosts(item: Object) -> Iterator[str]:
    """The names that an object makes the cluster answer to; wildcards are left out."""
    identity = item.id
    names: list[str] = []
    if identity.kind == "Ingress":
        names = [text(each, "host") for each in sequence(item.value, "spec", "rules")]
    elif identity.kind in _ROUTES:
        names = [each for each in sequence(item.value, "spec", "hostnames") if isinstance(each, str)]
    elif identity.kind == "Service" and not identity.group:
        annotations = mapping(item.value, "metadata", "annotations")
        names = [each.strip() for each in text(annotations, "external-dns.alpha.kubernetes.io/hostname").split(",")]
    yield from (each.lower() for each in names if each and "*" not in each)


def service_of_host(host: str, cluster_domain: str) -> tuple[str, str] | None:
    """The namespace and name of the Service that a host is, such as ``registry.images.svc.cluster.local``."""
    bare = host.removesuffix(".").removesuffix(f".{cluster_domain}")
    parts = bare.split(".")
    return (parts[1], parts[0]) if len(parts) == 3 and parts[2] == "svc" else None


# Who brings what: the things that each component of a cluster makes appear.


Index = Mapping[Requisite, tuple[Supply, ...]]
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_STORES = {"SecretStore", "ClusterSecretStore"}
_SECRETS_GROUP = "external-secrets.io"


def supply_index(known_facts: ClusterFacts) -> Index:
    """Everything that anybody brings, by thing; bootstrap's supplies come first."""
    found: dict[Requisite, list[Supply]] = defaultdict(list)
    for secret in known_facts.secrets:
        thing = Requisite(RequisiteKind.SECRET, secret.name, secret.namespace)
        found[thing].append(
            Supply(thing=thing, component="", side=Side.BOOTSTRAP, place=secret.place, how="by the secrets foundation")
        )
    for component in (*known_facts.bootstrap, *known_facts.gitops):
        for side in cluster_facts.sides(component):
            for supply in supplies_of(known_facts, component, side):
                found[supply.thing].append(supply)
    return {
        thing: tuple(sorted(supplies, key=lambda each: each.side != Side.BOOTSTRAP))
        for thing, supplies in found.items()
    }


def supplies_of(known_facts: ClusterFacts, component: Component, side: Side) -> Iterator[Supply]:
    """What one side of a component brings."""
    place = cluster_facts.place(component, side)
    rendition = known_facts.rendition(component, side)
    if rendition is not None:
        for item in rendition.objects:
            for thing, requires in _of_object(item):
                yield Supply(
                    thing=thing, component=component.name, side=side, place=place, how=_how(item.id, thing),
                    requires=requires, in_git=_is_plain(item.id),
                )  # fmt: skip
    else:
        for origin in cluster_facts.origins(component, side):
            for made in origin.objects:
                for thing, requires in _of_identity(made):
                    yield Supply(
                        thing=thing, component=component.name, side=side, place=origin.place, how=_how(made, thing),
                        requires=requires, in_git=_is_plain(made),
                    )  # fmt: skip
    yield from _known(known_facts, component, side)


def _known(known_facts: ClusterFacts, component: Component, side: Side) -> Iterator[Supply]:
    place, things = cluster_facts.place(component, side), []
    if found := well_known.of(component):
        _, about = found
        if about.late or known_facts.rendition(component, side) is None:
            things += [Requisite(RequisiteKind.KIND, f"{group}/{ANY}") for group in about.kinds]
        if component.phase != Phase.CRDS:
            things += [Requisite(RequisiteKind.OPERATOR, group) for group in about.operates]
    if known_facts.rendition(component, side) is None:
        for chart in cluster_facts.charts(component, side):
            groups = well_known.groups_of_chart(chart.name.rpartition("/")[2])
            things += [Requisite(RequisiteKind.KIND, f"{group}/{ANY}") for group in groups]
    if component.role == "storage":
        things.append(Requisite(RequisiteKind.STORAGE_CLASS, ANY))
    for thing in things:
        yield Supply(thing=thing, component=component.name, side=side, place=place, how="when it runs")


def _of_object(item: Object) -> Iterator[tuple[Requisite, tuple[Requisite, ...]]]:
    identity = item.id
    if item.is_crd:
        yield (
            Requisite(
                RequisiteKind.KIND, f"{text(item.value, 'spec', 'group')}/{text(item.value, 'spec', 'names', 'kind')}"
            ),
            (),
        )
        return
    if (maker := well_known.table().makers.get(identity.kind)) and maker.group == identity.group:
        name = text(item.value, *maker.name) if maker.name else ""
        requires = [Requisite(RequisiteKind.OPERATOR, maker.group)]
        if store := store_of(item):
            requires.append(store)
        yield Requisite(RequisiteKind.SECRET, name or identity.name, identity.namespace), tuple(requires)
    if identity.kind == "StorageClass":
        yield Requisite(RequisiteKind.STORAGE_CLASS, identity.name), ()
        if at(item.value, "metadata", "annotations", _DEFAULT_CLASS) == "true":
            yield Requisite(RequisiteKind.STORAGE_CLASS, ""), ()
    if identity.kind == "APIService":
        yield Requisite(RequisiteKind.KIND, f"{text(item.value, 'spec', 'group')}/{ANY}"), ()
    for host in served_hosts(item):
        yield Requisite(RequisiteKind.HOST, host), ()
    if identity.kind not in well_known.table().makers:
        yield from _of_identity(identity)


def _of_identity(identity: ObjectId) -> Iterator[tuple[Requisite, tuple[Requisite, ...]]]:
    """What is told by the name of an object alone."""
    match identity.kind:
        case "Secret" if not identity.group:
            yield Requisite(RequisiteKind.SECRET, identity.name, identity.namespace), ()
        case "ConfigMap" if not identity.group:
            yield Requisite(RequisiteKind.CONFIG_MAP, identity.name, identity.namespace), ()
        case "Service" if not identity.group:
            yield Requisite(RequisiteKind.SERVICE, identity.name, identity.namespace), ()
        case "PriorityClass":
            yield Requisite(RequisiteKind.PRIORITY_CLASS, identity.name), ()
        case "StorageClass":
            yield Requisite(RequisiteKind.STORAGE_CLASS, identity.name), ()
        case "CustomResourceDefinition":
            # It is named after its plural; which kind that is, only the object itself tells.
            yield Requisite(RequisiteKind.KIND, f"{identity.name.partition('.')[2]}/{ANY}"), ()
        case kind if kind in _STORES:
            yield _store(kind, identity.namespace, identity.name), (Requisite(RequisiteKind.OPERATOR, _SECRETS_GROUP),)
        case kind if (maker := well_known.table().makers.get(kind)) and maker.group == identity.group:
            yield (
                Requisite(RequisiteKind.SECRET, identity.name, identity.namespace),
                (Requisite(RequisiteKind.OPERATOR, maker.group),),
            )


def store_of(item: Object) -> Requisite | None:
    """The store that an ExternalSecret reads from."""
    if not item.id.kind.endswith("ExternalSecret"):
        return None
    spec = at(item.value, "spec") if item.id.kind == "ExternalSecret" else at(item.value, "spec", "externalSecretSpec")
    name = text(spec, "secretStoreRef", "name")
    kind = text(spec, "secretStoreRef", "kind") or "SecretStore"
    return _store(kind, item.id.namespace, name) if name and kind in _STORES else None


def _store(kind: str, namespace: str, name: str) -> Requisite:
    return Requisite(RequisiteKind.STORE, name, "" if kind == "ClusterSecretStore" else namespace)


def _is_plain(identity: ObjectId) -> bool:
    return identity.kind in {"Secret", "ConfigMap"}


def _how(identity: ObjectId, thing: Requisite) -> str:
    name = "/".join(each for each in (identity.namespace, identity.name) if each)
    return "" if identity.kind == thing.sort else f"by {identity.kind} {name}"


# From where a needed thing comes, and whether bootstrap has it: the chain of supplies behind a demand.


class ProvisionStanding(enum.Enum):
    """Who brings a thing."""

    BOOTSTRAP = "bootstrap"
    GITOPS = "gitops"
    NOWHERE = "nowhere"


@dataclasses.dataclass(frozen=True, slots=True)
class Provision:
    """How a thing comes to be there."""

    standing: ProvisionStanding
    chain: tuple[Supply, ...] = ()
    """The supply itself, and then what that one requires."""


def find_provision(demand: ComponentDemand, index: Index, *, cluster_domain: str = "cluster.local") -> Provision:
    """The best way to a thing: bootstrap's if there is one, of the component itself before others."""
    thing = demand.thing
    if thing.sort == RequisiteKind.HOST and (service := service_of_host(thing.name, cluster_domain)):
        namespace, name = service
        thing = Requisite(RequisiteKind.SERVICE, name, namespace)
    return _find(thing, index, demand)


def _find(thing: Requisite, index: Index, demand: ComponentDemand) -> Provision:
    own = (demand.component, demand.side)
    ranked = sorted(_candidates(thing, index), key=lambda each: (each.component, each.side) != own)
    best = Provision(ProvisionStanding.NOWHERE)
    for supply in ranked:
        found = _through(supply, index, demand)
        if found.standing == ProvisionStanding.BOOTSTRAP:
            return found
        if best.standing == ProvisionStanding.NOWHERE:
            best = found
    return best


def _through(supply: Supply, index: Index, demand: ComponentDemand) -> Provision:
    """One supply, as late as the latest thing that it requires: a Secret its store, a store its operator."""
    chain = [supply]
    standing = ProvisionStanding.BOOTSTRAP if supply.side == Side.BOOTSTRAP else ProvisionStanding.GITOPS
    if demand.by_rendering and supply.in_git:
        return Provision(ProvisionStanding.BOOTSTRAP, (supply,))
    for required in supply.requires:
        deeper = _find(required, index, demand)
        chain += deeper.chain
        if deeper.standing == ProvisionStanding.GITOPS:
            standing = ProvisionStanding.GITOPS
    return Provision(standing, tuple(dict.fromkeys(chain)))


def _candidates(thing: Requisite, index: Index) -> tuple[Supply, ...]:
    found = index.get(thing, ())
    if thing.sort == RequisiteKind.KIND:
        group = thing.name.rpartition("/")[0]
        return (*found, *index.get(Requisite(RequisiteKind.KIND, f"{group}/{ANY}"), ()))
    if thing.sort == RequisiteKind.STORAGE_CLASS and not found:
        return index.get(Requisite(RequisiteKind.STORAGE_CLASS, ANY), ())
    return found
