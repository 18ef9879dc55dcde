"""A platform as data, for ``inventory --output json``: stable names, no values of charts and no secrets."""

from collections.abc import Mapping

from firstlight.cli import diagnostic_data
from firstlight.commands.inventory.output_form import (
    ClusterData,
    ComponentData,
    InventoryData,
    OriginData,
    SourceData,
    ValuesData,
)
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Origin
from firstlight.model.platform import Platform
from firstlight.model.remote_url import without_credentials
from firstlight.model.source import (
    ChartSource,
    DirectorySource,
    Embedded,
    RemoteSource,
    SeveralSources,
    Source,
    Unresolved,
    Values,
)


def data(platform: Platform) -> InventoryData:
    """The whole inventory."""
    dependents = platform.dependents()
    return {
        "name": platform.name,
        "engine": platform.engine,
        "declared": diagnostic_data.place(platform.declared),
        "clusters": [_cluster(each) for each in platform.clusters],
        "components": [component(each, dependents) for each in platform.components],
        "secrets": [
            {
                "name": each.name,
                "namespace": each.namespace,
                "data": dict(each.data),
                "place": diagnostic_data.place(each.place),
            }
            for each in platform.secrets
        ],
        "unreached": [_origin(each) for each in platform.unreached],
        "diagnostics": diagnostic_data.of_all(platform.diagnostics),
    }


def component(each: Component, dependents: Mapping[tuple[str, str], list[str]]) -> ComponentData:
    """One component."""
    bootstrap, gitops = each.halves
    return {
        "name": each.name,
        "cluster": each.cluster,
        "phase": each.phase,
        "side": each.side,
        "owner": each.owner,
        "role": each.role,
        "why": each.why,
        "whyDeclared": each.is_why_declared,
        "version": each.version,
        "needs": each.needs,
        "missing": [
            {"id": need.id, "why": need.why, "place": diagnostic_data.place(need.place)} for need in each.missing
        ],
        "dependents": dependents.get((each.cluster, each.name), []),
        "parent": each.parent,
        "partOf": each.part_of,
        "bootstrap": [_origin(origin) for origin in bootstrap],
        "gitops": [_origin(origin) for origin in gitops],
    }


def _cluster(cluster: Cluster) -> ClusterData:
    network = cluster.network
    return {
        "name": cluster.name,
        "role": cluster.role,
        "engine": cluster.engine,
        "url": cluster.url,
        "branch": cluster.branch,
        "path": cluster.path,
        "talos": cluster.talos,
        "kubernetes": cluster.kubernetes,
        "schedulesOnControlPlanes": cluster.schedules_on_control_planes,
        "network": {
            "pods": network.pods,
            "services": network.services,
            "loadBalancers": network.load_balancers,
            "endpoint": network.endpoint,
            "vip": network.vip,
            "dnsDomain": network.dns_domain,
            "cni": network.cni,
            "kubeProxy": network.kube_proxy,
            "coreDns": network.core_dns,
        },
        "machines": [
            {
                "name": each.name,
                "role": each.role,
                "address": each.address,
                "id": each.id,
                "installDisk": each.install_disk,
                "schematic": each.schematic,
                "extensions": each.extensions,
                "patches": [diagnostic_data.place(place) for place in each.patches],
                "place": diagnostic_data.place(each.place),
            }
            for each in cluster.machines
        ],
        "settings": sorted(cluster.settings),
        "files": [
            {
                "path": each.path,
                "line": each.line,
                "column": each.column,
                "holds": cluster.documents.get(each.path, ()),
            }
            for each in cluster.files
        ],
        "place": diagnostic_data.place(cluster.place),
        "said": {field: diagnostic_data.place(place) for field, place in sorted(cluster.said.items())},
    }


def _origin(origin: Origin) -> OriginData:
    sources = origin.source.each if isinstance(origin.source, SeveralSources) else (origin.source,)
    return {
        "id": origin.id,
        "form": origin.form,
        "name": origin.name,
        "namespace": origin.namespace,
        "place": diagnostic_data.place(origin.place),
        "sources": [_source(each) for each in sources],
        "version": origin.version,
        "needs": [
            {"id": need.id, "why": need.why, "place": diagnostic_data.place(need.place)} for need in origin.needs
        ],
        "parent": origin.parent,
        "certainty": origin.certainty,
        "doubt": origin.doubt,
        "wave": origin.wave,
        "suspended": origin.suspended,
        "objects": [
            {"group": each.group, "kind": each.kind, "namespace": each.namespace, "name": each.name}
            for each in origin.objects
        ],
        "command": origin.command,
    }


def _source(source: Source) -> SourceData:
    match source:
        case ChartSource():
            return {
                "type": "chart",
                "name": source.name,
                "repository": without_credentials(source.repository),
                "version": source.version,
                "digest": source.digest,
                "release": source.release,
                "namespace": source.namespace,
                "storageNamespace": source.storage_namespace,
                "values": [_values(each) for each in source.values],
                "place": diagnostic_data.place(source.origin),
            }
        case DirectorySource():
            return {
                "type": "directory",
                "path": source.path,
                "kustomize": source.kustomize,
                "source": str(source.source or ""),
                "targetNamespace": source.target_namespace,
                "substitutes": sorted(source.substitute),
                "substituteFrom": [str(each) for each in source.substitute_from],
                "components": source.components,
                "decryption": source.decryption,
            }
        case RemoteSource():
            return {"type": "remote", "url": source.url, "revision": source.revision, "path": source.path}
        case Embedded():
            return {"type": "embedded", "place": diagnostic_data.place(source.place), "size": source.size}
        case Unresolved():
            return {"type": "unresolved", "text": source.text, "reason": source.reason}


def _values(values: Values) -> ValuesData:
    """Where values come from; not what they are."""
    return {
        "from": values.file or values.reference or "inline",
        "place": diagnostic_data.place(values.place),
        "optional": values.optional,
        "unresolved": values.unresolved,
    }
