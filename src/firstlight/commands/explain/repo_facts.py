"""What a repo declares of a cluster, by the names that the glossary uses for it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from firstlight.commands.explain.explanation import Sentence
from firstlight.commands.inventory.text import count
from firstlight.engines import adapters
from firstlight.model import fact, talos_facts
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.component import Component, Owner, Phase, Side
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource, DirectorySource
from firstlight.plan import cluster_facts

_SHOWN = 6
ENGINES = {each.engine: each.title for each in adapters.ADAPTERS.values()}
"""What engines are called."""


def told(name: str, platform: Platform, cluster: Cluster) -> list[Sentence]:
    """What a fact is in a cluster; nothing where the repo does not say."""
    return list(FACTS[name](platform, cluster))


def listed(names: Sequence[str], limit: int = _SHOWN) -> str:
    """Names in a row, and how many more there are."""
    shown = ", ".join(names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def _field(label: str, field: str, values: Callable[[Cluster], Sequence[str]]) -> "Fact":
    """A fact that has a place of its own where it is said."""

    def fact(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
        if found := [each for each in values(cluster) if each]:
            yield Sentence(text=f"{label} {', '.join(found)}", place=cluster.said.get(field, cluster.place))

    return fact


def _machines(*roles: MachineRole) -> "Fact":
    def fact(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
        mine = [each for each in cluster.machines if not roles or each.role in roles]
        for each in mine[:_SHOWN]:
            yield Sentence(text=machine(each), place=each.place)
        if len(mine) > _SHOWN:
            yield Sentence(text=f"and {len(mine) - _SHOWN} more")

    return fact


def machine(each: Machine) -> str:
    """A machine in a few words."""
    role = "control plane" if each.role == MachineRole.CONTROL_PLANE else "worker"
    return ", ".join(part for part in (each.name, role, each.address) if part)


def _clusters(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    number = count(len(cluster.machines), "machine") if cluster.machines else "machines that the repo does not list"
    yield Sentence(
        text=f"{cluster.name}: {number}, {count(len(platform.components_of(cluster.name)), 'component')}",
        place=cluster.place,
    )


def _platform(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    yield Sentence(text=f"{platform.name}, with the cluster {cluster.name}", place=platform.declared)


def _components(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    if names := [each.name for each in platform.components_of(cluster.name)]:
        yield Sentence(text=f"{count(len(names), 'component')}: {listed(names, 12)}")


def _by(label: Callable[[Component], str], order: Sequence[str]) -> "Fact":
    def fact(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
        mine = platform.components_of(cluster.name)
        for value in order:
            if names := [each.name for each in mine if label(each) == value]:
                yield Sentence(text=f"{value}: {listed(names)}")

    return fact


def _handed(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    if names := [each.name for each in platform.components_of(cluster.name) if cluster_facts.is_adopted(each)]:
        yield Sentence(text=f"bootstrap brings and Git takes over: {listed(names)}")
    kept = [each.name for each in platform.components_of(cluster.name) if each.owner == Owner.BOOTSTRAP]
    if kept:
        yield Sentence(text=f"bootstrap keeps: {listed(kept)}")


def _gates(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    for each in platform.components_of(cluster.name):
        if each.gates:
            yield Sentence(
                text=f"{each.name} has {count(len(each.gates), 'gate')} of its own", place=each.gates[0].place
            )


def _quorum(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    members = sum(each.role == MachineRole.CONTROL_PLANE for each in cluster.machines)
    if members:
        spare = (members - 1) // 2
        down = f"{spare} may be down" if spare else "none may be down"
        yield Sentence(text=f"{count(members, 'control plane')}: {members // 2 + 1} must be up, {down}")


def _control_plane_pods(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    yield from _talos(
        cluster,
        talos_facts.schedules_on_control_planes(cluster),
        {True: "pods of yours may run on control planes", False: "pods of yours may not run on control planes"},
    )


def _talos(cluster: Cluster, known: fact.Fact[bool], words: Mapping[bool, str]) -> Iterator[Sentence]:
    """What Talos does, of a cluster of which the repo says anything about Talos; a default with its name."""
    if known.is_known and (cluster.machines or cluster.parts or known.is_read):
        why = f" ({known.why})" if known.why else ""
        yield Sentence(text=f"{words[known.value]}{why}", place=known.place)


def _kube_proxy(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    words = {True: "Talos runs kube-proxy", False: "Talos is told not to run kube-proxy"}
    yield from _talos(cluster, talos_facts.kube_proxy(cluster), words)


def _dns(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    words = {True: "Talos brings CoreDNS itself", False: "Talos is told not to bring CoreDNS"}
    yield from _talos(cluster, talos_facts.core_dns(cluster), words)
    if cluster.network.dns_domain:
        yield Sentence(text=f"names end in {cluster.network.dns_domain}")


def _files(*kinds: str) -> "Fact":
    """Files that shape the machines; with kinds, those that hold them."""

    def fact(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
        mine = [
            each
            for each in cluster.files
            if not kinds or set(kinds) & {kind.lower() for kind in _holds(cluster, each.path)}
        ]
        for each in mine[:_SHOWN]:
            yield Sentence(text=" and ".join(_holds(cluster, each.path)) or "machine configuration", place=each)
        if len(mine) > _SHOWN:
            yield Sentence(text=f"and {len(mine) - _SHOWN} more")

    return fact


def _holds(cluster: Cluster, path: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cluster.documents.get(path, ())))


def _extensions(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    if names := sorted({each for one in cluster.machines for each in one.extensions}):
        yield Sentence(text=f"extensions {listed(names, 12)}", place=cluster.machines[0].place)
    yield from _files("extensionserviceconfig")(platform, cluster)


def _schematics(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    for name in sorted({each.schematic for each in cluster.machines if each.schematic})[:_SHOWN]:
        place = next(each.place for each in cluster.machines if each.schematic == name)
        yield Sentence(text=f"schematic {name}", place=place)


def _omni(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    if cluster.omni_template:
        yield Sentence(text=f"its machines come from the template {cluster.omni_template}")


def _secrets(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    for each in platform.secrets:
        if each.cluster in ("", cluster.name):
            why = f": {each.why}" if each.why else ""
            yield Sentence(text=f"{each.namespace}/{each.name}{why}", place=each.place)


def _charts(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    found: dict[str, None] = {}
    for each in platform.components_of(cluster.name):
        for origin in each.origins:
            for source in cluster_facts.sources(origin):
                if isinstance(source, ChartSource):
                    found[f"{each.name} {source.version}".rstrip()] = None
    if found:
        yield Sentence(text=f"{count(len(found), 'chart')}: {listed([*found], 12)}")


def _oci(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    found = {
        source.repository: each.name
        for each in reversed(platform.components_of(cluster.name))
        for origin in each.origins
        for source in cluster_facts.sources(origin)
        if isinstance(source, ChartSource) and source.repository.startswith("oci://")
    }
    for repository, name in list(found.items())[:_SHOWN]:
        yield Sentence(text=f"{repository}, from which {name} comes")


def _directories(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    found: dict[str, None] = {}
    for each in platform.components_of(cluster.name):
        for origin in each.origins:
            for source in cluster_facts.sources(origin):
                if isinstance(source, DirectorySource) and source.kustomize:
                    found[source.path] = None
    if found:
        yield Sentence(text=f"directories built by it: {listed([*found])}")


def _decryption(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    seen: set[str] = set()
    for each in platform.components_of(cluster.name):
        for origin in each.origins:
            for source in cluster_facts.sources(origin):
                if isinstance(source, DirectorySource) and source.decryption and source.decryption not in seen:
                    seen.add(source.decryption)
                    yield Sentence(text=f"{each.name} is opened with {source.decryption}", place=origin.place)
    if cluster.talos_secrets.startswith("sops:"):
        yield Sentence(text=f"the Talos secrets are in {cluster.talos_secrets.removeprefix('sops:')}")


def _engine(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    if cluster.engine:
        where = f" follows {cluster.url}" if cluster.url else ""
        branch = f", branch {cluster.branch}" if cluster.branch else ""
        path = f", from {cluster.path}" if cluster.path else ""
        yield Sentence(text=f"{ENGINES[cluster.engine]}{where}{branch}{path}")


def _waves(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    numbers = Counter(
        origin.wave
        for each in platform.components_of(cluster.name)
        for origin in each.origins
        if origin.wave is not None
    )
    if numbers:
        waves = (f"{wave} ({count(numbers[wave], 'component')})" for wave in sorted(numbers))
        yield Sentence(text=f"waves {', '.join(waves)}")


def _suspended(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    for each in platform.components_of(cluster.name):
        for origin in each.origins:
            if origin.suspended:
                yield Sentence(text=f"{each.name} is suspended", place=origin.place)


def _declared(platform: Platform, cluster: Cluster) -> Iterator[Sentence]:
    if platform.declared:
        yield Sentence(text=f"declares the cluster {cluster.name}", place=platform.declared)


Fact = Callable[[Platform, Cluster], Iterator[Sentence]]
FACTS: dict[str, Fact] = {
    "platform": _platform,
    "clusters": _clusters,
    "components": _components,
    "phases": _by(lambda each: each.phase, [*Phase]),
    "sides": _by(lambda each: each.side, [*Side]),
    "owners": _by(lambda each: each.owner, [*Owner]),
    "handed": _handed,
    "gates": _gates,
    "declared": _declared,
    "machines": _machines(),
    "control planes": _machines(MachineRole.CONTROL_PLANE),
    "workers": _machines(MachineRole.WORKER),
    "quorum": _quorum,
    "control-plane pods": _control_plane_pods,
    "kubernetes": _field("Kubernetes", "kubernetes", lambda each: [each.kubernetes]),
    "talos": _field("Talos", "talos", lambda each: [each.talos]),
    "endpoint": _field("the API is", "network.endpoint", lambda each: [each.network.endpoint]),
    "vip": _field("the virtual address is", "network.vip", lambda each: [each.network.vip]),
    "pods": _field("pods have", "network.pods", lambda each: each.network.pods),
    "services": _field("Services have", "network.services", lambda each: each.network.services),
    "load balancers": _field("load balancers have", "network.load_balancers", lambda each: each.network.load_balancers),
    "cni": _field("Talos is told to bring the CNI", "network.cni", lambda each: [each.network.cni]),
    "kube-proxy": _kube_proxy,
    "dns": _dns,
    "machine files": _files(),
    "talconfig": _files("talconfig"),
    "extensions": _extensions,
    "schematics": _schematics,
    "talos secrets": _field("they are at", "talos_secrets", lambda each: [each.talos_secrets]),
    "omni": _omni,
    "secrets": _secrets,
    "charts": _charts,
    "oci": _oci,
    "directories": _directories,
    "decryption": _decryption,
    "engine": _engine,
    "path": _field("it begins with", "path", lambda each: [each.path]),
    "waves": _waves,
    "suspended": _suspended,
}
"""Every fact that a word may name."""
