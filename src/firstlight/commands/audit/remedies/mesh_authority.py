"""The files that give all clusters of a mesh one certificate authority, from the store that they have."""

import dataclasses
import posixpath
from collections.abc import Mapping, Sequence

from firstlight.commands.audit import cluster_mesh
from firstlight.commands.audit.cluster_mesh import AuthorityOrigin, MeshMember
from firstlight.commands.audit.interview import AnswerForm, Interview
from firstlight.model import helm_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Phase, Side
from firstlight.model.decision import ProcedureStep
from firstlight.model.finding import FileEdit
from firstlight.repo import gitops_tree
from firstlight.repo.gitops_tree import ExternalSecretStore
from firstlight.repo.platform_view import PlatformView

KEY = "mesh-authority"
"""What the store is asked for."""
ISSUER = {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "mesh"}
_NAME = "mesh"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MeshAuthorityPlan:
    """How all clusters get one authority."""

    method: str = ""
    """``certmanager`` where its issuer signs; empty where the chart signs as it does."""
    edits: tuple[FileEdit, ...] = ()
    steps: tuple[ProcedureStep, ...] = ()


def plan(scene: PlatformView, members: Sequence[MeshMember], interview: Interview) -> MeshAuthorityPlan:
    """One authority for all of them; nothing to do where they share one."""
    trusts = [cluster_mesh.authority_of(scene, each) for each in members]
    if (
        trusts
        and all(each.trust is AuthorityOrigin.GIVEN for each in trusts)
        and len({each.mark for each in trusts}) == 1
    ):
        return MeshAuthorityPlan()
    unknown = [each.why for each in trusts if each.trust is AuthorityOrigin.UNKNOWN]
    if unknown:
        question = f"Do the clusters share an authority? The repo does not tell: {'; '.join(unknown)}"
        if interview.ask("authority-shared", question, AnswerForm.YES_NO) != "no":
            return MeshAuthorityPlan()
    clusters = [each for one in members if (each := scene.platform.cluster(one.cluster))]
    stores = {each.name: gitops_tree.store(scene, each.name) for each in clusters}
    without = [name for name, store in stores.items() if store is None]
    if without:
        interview.tell(
            f"From where does {', '.join(without)} get the authority? No ClusterSecretStore of External Secrets "
            f"is there: bring the Secret kube-system/{cluster_mesh.AUTHORITY} (ca.crt, ca.key) with SOPS, or as a "
            "foundation Secret"
        )
        return MeshAuthorityPlan()
    found = {name: store for name, store in stores.items() if store}
    if others := {each.name for each in found.values()} - {next(iter(found.values())).name}:
        names = ", ".join(sorted({*others, next(iter(found.values())).name}))
        interview.tell(f"Which store has the authority? The clusters have {names}; the files name one")
    directories = {each.name: interview.directory(scene, each) for each in clusters}
    managers = {each.cluster: manager for each in members if (manager := _cert_manager(scene, each))}
    with_issuer = len(managers) == len(clusters)
    release = members[0].component.origins[0].name
    files = _files(
        scene, clusters, found, managers=managers if with_issuer else {}, release=release, directories=directories
    )
    return MeshAuthorityPlan(
        method="certmanager" if with_issuer else "",
        edits=files,
        steps=(*_making(with_issuer=with_issuer), *_waiting(clusters, with_issuer=with_issuer)),
    )


def _cert_manager(scene: PlatformView, member: MeshMember) -> Component | None:
    """What signs; not where bootstrap installs Cilium and waits for all of it before cert-manager is there."""
    if member.component.halves[0] and scene.platform.declared is None:
        return None
    for each in scene.with_role("certificates", member.cluster):
        if each.phase is not Phase.CRDS and "cert-manager" in each.name and gitops_tree.release_namespace(each):
            return each
    return None


def _files(
    scene: PlatformView,
    clusters: Sequence[Cluster],
    stores: dict[str, ExternalSecretStore],
    *,
    managers: dict[str, Component],
    release: str,
    directories: Mapping[str, str],
) -> tuple[FileEdit, ...]:
    """A directory that all clusters share, and what makes each of them apply it after the store is there."""
    directory = gitops_tree.beside(clusters, _NAME)
    store = next(iter(stores.values()))
    if managers:
        namespace = gitops_tree.release_namespace(next(iter(managers.values())))
        files = {"authority.yaml": _issuers_authority(store, namespace), "issuer.yaml": _issuer()}
    else:
        files = {"authority.yaml": _ciliums_authority(store, release)}
    edits = [gitops_tree.write(posixpath.join(directory, name), text) for name, text in files.items()]
    listed = "".join(f"  - {name}\n" for name in files)
    kustomization = f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{listed}"
    edits.append(gitops_tree.write(posixpath.join(directory, "kustomization.yaml"), kustomization))
    for cluster in clusters:
        if not gitops_tree.is_flux(cluster):
            continue
        manager = managers.get(cluster.name)
        after = [gitops_tree.bringing(stores[cluster.name].item.component)]
        after += [gitops_tree.bringing(manager)] if manager else []
        text = gitops_tree.flux_kustomization(
            scene, cluster, _NAME, path=directory, after=[each for each in after if each and each != cluster.name]
        )
        # A mesh concerns all that share a directory, until somebody says which is of one alone.
        own = cluster.path.removeprefix("./").rstrip("/")
        edits += gitops_tree.into(scene.files, directories[cluster.name] or own, "mesh.yaml", text)
    return tuple(edits)


def _issuers_authority(store: ExternalSecretStore, namespace: str) -> str:
    target = "    template:\n      type: kubernetes.io/tls\n"
    return _external_secret(store, f"{namespace}/{KEY}", target, {"tls.crt": "tls.crt", "tls.key": "tls.key"})


def _ciliums_authority(store: ExternalSecretStore, release: str) -> str:
    """The chart has the Secret among its own, and Helm takes over only what is marked as the release's."""
    target = (
        "    # The authority stays if this goes.\n    creationPolicy: Orphan\n"
        "    template:\n      metadata:\n        labels:\n"
        f"          {helm_names.MANAGED_BY_LABEL}: {helm_names.MANAGED_BY_HELM}\n"
        f"        annotations:\n          {helm_names.RELEASE_NAME_ANNOTATION}: {release}\n"
        f"          {helm_names.RELEASE_NAMESPACE_ANNOTATION}: kube-system\n"
    )
    return _external_secret(
        store, f"kube-system/{cluster_mesh.AUTHORITY}", target, {"ca.crt": "tls.crt", "ca.key": "tls.key"}
    )


def _external_secret(store: ExternalSecretStore, secret: str, target: str, fields: Mapping[str, str]) -> str:
    namespace, _, name = secret.partition("/")
    data = "".join(
        f"    - secretKey: {key}\n      remoteRef:\n        key: {KEY}\n        property: {field}\n"
        for key, field in fields.items()
    )
    return (
        "# One authority for all clusters of the mesh: whoever trusts it trusts the others.\n"
        f"apiVersion: {store.version}\n"
        "kind: ExternalSecret\n"
        f"metadata:\n  name: {name}\n  namespace: {namespace}\n"
        "spec:\n  refreshInterval: 1h\n"
        f"  secretStoreRef:\n    kind: ClusterSecretStore\n    name: {store.name}\n"
        f"  target:\n    name: {name}\n{target}"
        f"  data:\n{data}"
    )


def _issuer() -> str:
    return (
        "apiVersion: cert-manager.io/v1\nkind: ClusterIssuer\nmetadata:\n"
        f"  name: {ISSUER['name']}\nspec:\n  ca:\n    secretName: {KEY}\n"
    )


def _making(*, with_issuer: bool) -> tuple[ProcedureStep, ...]:
    signs = "cert-manager signs with it" if with_issuer else "Cilium signs with it"
    return (
        ProcedureStep(
            side=None,
            text=f"Make one authority for all clusters; {signs}",
            command="openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=mesh "
            "-addext keyUsage=critical,keyCertSign,cRLSign -keyout tls.key -out tls.crt",
        ),
        ProcedureStep(
            side=None, text=f"Put both into the store as {KEY} (tls.crt and tls.key), then delete the files here"
        ),
    )


def _waiting(clusters: Sequence[Cluster], *, with_issuer: bool) -> tuple[ProcedureStep, ...]:
    steps: list[ProcedureStep] = []
    for cluster in clusters:
        if with_issuer:
            command = f"kubectl --context {cluster.name} wait --for=condition=Ready clusterissuer/{ISSUER['name']}"
            what = "the issuer is ready"
        else:
            secret = f"externalsecret/{cluster_mesh.AUTHORITY}"
            command = f"kubectl --context {cluster.name} --namespace kube-system wait --for=condition=Ready {secret}"
            what = "the authority is there"
        text = f"Push the directory of the mesh, and see that {what} in {cluster.name}"
        if not gitops_tree.is_flux(cluster):
            text = f"Let the engine of {cluster.name} apply the directory of the mesh, and see that {what}"
        steps.append(ProcedureStep(side=Side.GITOPS, text=text, command=command))
    if not with_issuer:
        steps += [
            ProcedureStep(
                side=Side.BOOTSTRAP,
                text="Delete the certificates that the old authorities signed, so that Cilium makes them anew: "
                "clustermesh-apiserver-*-cert, hubble-server-certs and hubble-relay-client-certs in kube-system",
            ),
            ProcedureStep(
                side=Side.BOOTSTRAP,
                text=f"Let bootstrap bring kube-system/{cluster_mesh.AUTHORITY}, too, with the same marks of Helm: "
                "a cluster that is built anew needs it before Cilium",
            ),
        ]
    return tuple(steps)
