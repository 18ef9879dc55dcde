"""All rules: their ids, where what they find is wrong, and what one can do; and the functions that find it."""

import dataclasses
from collections.abc import Callable, Iterator

from firstlight.model.diagnosis import Layer
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.rules import (
    admission,
    announcing,
    argocd,
    control_plane,
    deletions,
    engine,
    flux_sources,
    gateways,
    helm,
    kustomizations,
    load_balancers,
    machines,
    network,
    nodes,
    owners,
    resting,
    secrets,
    storage,
    talos_services,
    workloads,
)
from firstlight.policy.diagnosing.scene import Scene


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can be wrong."""

    id: str
    layer: Layer
    title: str
    remedy: str
    """What one can do about it."""


_FINDERS: tuple[Callable[[Scene], Iterator[Found]], ...] = (
    machines.standings, machines.other_addresses, machines.leases, machines.parts,
    talos_services.services, talos_services.clocks, talos_services.full_disks, talos_services.warnings,
    talos_services.kubelet_certificates,
    control_plane.etcd_health, control_plane.etcd_alarms, control_plane.api, control_plane.api_flags,
    nodes.unready_nodes, nodes.pressed_nodes, nodes.tainted_nodes, nodes.waiting_requests, nodes.missing_nodes,
    network.agents, network.dns,
    load_balancers.without_address, announcing.not_announced, announcing.down_sessions, announcing.bgp_configs,
    admission.webhooks, admission.aggregated_apis, admission.definitions,
    secrets.missing_foundation, secrets.secret_stores, secrets.external_secrets, secrets.issuers, secrets.certificates,
    secrets.expired_certificates,
    engine.engine_down, engine.failing_instances, engine.silent_objects, engine.revisions_behind,
    resting.left_suspended, resting.left_overrides,
    flux_sources.failing_sources, kustomizations.failing_kustomizations, kustomizations.waiting_for_dependencies,
    helm.failing_releases, helm.pending_releases, argocd.applications,
    owners.in_two_inventories, owners.in_two_applications, owners.fights, owners.pruned_by_another,
    deletions.stuck_deletions, deletions.going_namespaces, deletions.going_pods,
    storage.pending_claims, workloads.sick_workloads, gateways.gateways, gateways.ingresses,
)  # fmt: skip
"""What looks for it; one function may find several things that exclude each other."""

_M, _E, _A, _N, _D = Layer.MACHINE, Layer.ETCD, Layer.API, Layer.NETWORK, Layer.DNS
_W, _S, _G, _R, _C, _P = Layer.ADMISSION, Layer.SECRETS, Layer.ENGINE, Layer.SOURCE, Layer.COMPONENT, Layer.WORKLOAD

_RULES = (
    Rule("machine-unreachable", _M, "A machine does not answer",
         "Power, cables, its address, and port 50000 on the way to it."),
    Rule("machine-without-address", _M, "A machine has no address", "Declare its address."),
    Rule("machine-address-differs", _M, "A machine has another address than is declared",
         "Reserve its lease, or declare a fixed address."),
    Rule("machine-foreign", _M, "A machine belongs to another cluster",
         "Check its address; wipe it only if it is really meant."),
    Rule("machine-in-maintenance", _M, "A machine waits for a config though its cluster lives",
         "Configure it again with firstlight up."),
    Rule("no-dhcp-lease", _M, "A machine gets no address by DHCP", "The DHCP server, the VLAN, or a fixed address."),
    Rule("install-disk-missing", _M, "No disk is the one that the config names", "Name one that the machine has."),
    Rule("install-disk-ambiguous", _M, "Several disks are what the config names",
         "A selector that fits one, by serial or wwid."),
    Rule("interface-missing", _M, "No interface is the one that the config names",
         "A deviceSelector by hardwareAddr or busPath."),
    Rule("extension-waits", _M, "An extension waits for its config", "A document ExtensionServiceConfig of that name."),
    Rule("extension-failed", _M, "An extension fails", "Its log, and its ExtensionServiceConfig."),
    Rule("service-failed", _M, "A service of Talos fails", "Its log."),
    Rule("clock-skew", _M, "The clock of a machine is wrong", "A time server that it reaches: machine.time.servers."),
    Rule("disk-full", _M, "The disk of a machine is full", "What fills EPHEMERAL: images, logs, local volumes."),
    Rule("talos-warning", _M, "Talos warns of something", "What the warning says."),
    Rule("kubelet-certificate-expired", _M, "The certificate of a kubelet has expired",
         "Set the clock, restart the kubelet."),
    Rule("node-silent", _M, "A node does not report any more", "Whether its machine runs, and its network."),
    Rule("node-not-ready", _M, "A node is not ready", "What its condition says."),
    Rule("node-pressure", _M, "A node runs out of something", "What uses it, or a larger disk or more memory."),
    Rule("node-taint", _N, "A node keeps a taint that should go", "The controller that takes it away."),
    Rule("node-missing", _M, "A machine runs and is no node", "The log of its kubelet."),
    Rule("csr-pending", _M, "A kubelet waits for a certificate", "Approve it, or run an approver."),
    Rule("etcd-split", _E, "There are two etcd clusters", "Keep the one with the data, reset the other's machine."),
    Rule("etcd-no-quorum", _E, "etcd has no quorum", "Bring machines back, or recover from a snapshot."),
    Rule("etcd-member-missing", _E, "A control plane is no member of etcd", "The log of its etcd."),
    Rule("etcd-learner", _E, "A member of etcd does not get beyond learning", "Its disk and network must keep up."),
    Rule("etcd-stranger", _E, "A machine that is gone is still a member", "Remove it from etcd."),
    Rule("etcd-nospace", _E, "etcd is out of space", "Defragment, then disarm the alarm."),
    Rule("etcd-alarm", _E, "etcd has raised an alarm", "What the alarm means."),
    Rule("api-unreachable", _A, "The Kubernetes API is not reached",
         "etcd, kube-apiserver on the control planes, the way there."),
    Rule("api-foreign", _A, "Another cluster's API answers", "The address of the endpoint, or the kubeconfig."),
    Rule("api-not-ready", _A, "The Kubernetes API is not ready", "The checks that it names."),
    Rule("api-certificate-expired", _A, "The API's certificate has expired", "Talos renews it: its clock, its log."),
    Rule("kubeconfig-expired", _A, "The certificate of the kubeconfig has expired", "A new kubeconfig from Talos."),
    Rule("kubeconfig-refused", _A, "The API does not accept the kubeconfig", "A new kubeconfig from Talos."),
    Rule("apiserver-flags", _A, "kube-apiserver does not know a flag", "cluster.apiServer.extraArgs."),
    Rule("node-without-network", _N, "A node has no network", "The CNI's pod on it."),
    Rule("cni-missing", _N, "No CNI is there", "Bring it up."),
    Rule("cni-agents-down", _N, "The CNI does not run everywhere", "Why its pods do not run."),
    Rule("lb-no-pool", _N, "There is no pool of addresses", "A pool."),
    Rule("lb-pool-exhausted", _N, "A pool of addresses is used up", "A larger pool, or fewer Services."),
    Rule("lb-pool-selector", _N, "No pool selects a Service", "The pool's serviceSelector, or the Service's labels."),
    Rule("lb-address-outside", _N, "A Service asks for an address outside of all pools",
         "Another address, or a wider pool."),
    Rule("lb-address-taken", _N, "A Service asks for an address that another one has", "Another address."),
    Rule("lb-not-advertised", _N, "No advertisement selects a Service", "Labels of the Service, or the selector."),
    Rule("lb-not-announced", _N, "No router learns the address of a Service", "The BGP sessions."),
    Rule("l2-no-policy", _N, "No L2 policy selects a Service", "A CiliumL2AnnouncementPolicy."),
    Rule("l2-no-lease", _N, "No node announces a Service",
         "l2announcements.enabled, and the policy's nodes and interfaces."),
    Rule("bgp-session-down", _N, "A BGP session is down", "Address, AS number and password on both sides."),
    Rule("bgp-config", _N, "Cilium cannot use a BGP object", "What its condition says."),
    Rule("dns-down", _D, "Names are not found in the cluster", "CoreDNS's pods."),
    Rule("webhook-no-ca", _W, "A webhook has no CA bundle", "Whoever writes it: cainjector, a Job."),
    Rule("webhook-silent", _W, "Nobody answers for a webhook", "The pods behind its Service."),
    Rule("webhook-blocks-itself", _W, "A webhook blocks its own repair", "failurePolicy Ignore until its pods run."),
    Rule("webhook-in-the-way", _W, "A webhook does not answer when something is applied",
         "The pods behind its Service."),
    Rule("apiservice-down", _W, "An aggregated API does not answer", "The pods behind it, or delete the APIService."),
    Rule("crd-not-served", _W, "A CRD is not served", "Its conditions: usually two CRDs claim one name."),
    Rule("crd-stuck", _W, "The API server has not finished installing a CRD", "Any write to its status wakes it."),
    Rule("foundation-missing", _S, "A foundation secret is missing", "firstlight up --only secrets."),
    Rule("secret-store", _S, "A secret store cannot be used", "Its credentials and address."),
    Rule("external-secret", _S, "An external secret is not fetched", "What its events say."),
    Rule("issuer-not-ready", _S, "An issuer cannot issue", "What its condition says."),
    Rule("certificate-not-ready", _S, "A certificate is not issued", "Its requests, orders and challenges."),
    Rule("certificate-expired", _S, "A certificate has expired", "Renew it."),
    Rule("decryption-failed", _S, "Secrets cannot be decrypted", "The Secret with the key, and the key in it."),
    Rule("engine-down", _G, "A controller of the engine does not run", "Why its pods do not run."),
    Rule("engine-missing", _G, "A controller of the engine is not there", "firstlight up --until engine."),
    Rule("engine-scaled-down", _G, "A controller of the engine is scaled to nothing", "Scale it up again."),
    Rule("engine-instance", _G, "Flux's operator cannot bring Flux", "What its condition says."),
    Rule("engine-silent", _G, "The engine does not come to an object", "Its controllers, and their logs."),
    Rule("engine-suspended", _G, "The engine was left suspended", "Resume it."),
    Rule("engine-rights", _G, "The engine may not do what it is told", "The rights of its service account."),
    Rule("suspension-over", _G, "Something is suspended for longer than was said", "Resume it, or say for how long."),
    Rule("override-expired", _G, "An override has expired", "firstlight override end."),
    Rule("override-left", _G, "An override was cut off while it began or ended", "firstlight override end."),
    Rule("handover-left", _G, "A handover was not finished", "firstlight handover."),
    Rule("git-authentication", _R, "Git does not accept the credentials",
         "The Secret of the source, or the deploy key."),
    Rule("git-host-key", _R, "The host key of the Git server is unknown", "known_hosts in the Secret of the source."),
    Rule("git-reference", _R, "A branch, tag or commit does not exist", "The name of the branch, or push it."),
    Rule("git-unreachable", _R, "The Git server is not reached", "DNS, proxy, firewall, certificates."),
    Rule("chart-authentication", _R, "A registry does not accept the credentials", "The Secret of the source."),
    Rule("chart-missing", _R, "A chart or version does not exist", "Its name and version."),
    Rule("chart-unreachable", _R, "The repository of a chart is not reached", "DNS, proxy, firewall, certificates."),
    Rule("source-failed", _R, "A source cannot be fetched", "What its condition says."),
    Rule("source-missing", _R, "A source does not exist", "Its name, or bring it."),
    Rule("source-waits", _R, "A source has no artifact", "Why it cannot be fetched."),
    Rule("revision-behind", _C, "An older revision is applied than is there",
         "Reconcile; look at the controller's log."),
    Rule("path-missing", _C, "A path is not in the repository", "spec.path, or push it."),
    Rule("build-failed", _C, "Manifests cannot be built", "firstlight render shows the same."),
    Rule("variable-missing", _C, "A variable is not set", "postBuild.substituteFrom and what it names."),
    Rule("dependency-missing", _C, "Something depends on what does not exist", "The name in dependsOn."),
    Rule("dependency-cycle", _C, "Things wait for each other in a circle", "Take one edge out of dependsOn."),
    Rule("dependency-waits", _C, "Something waits for what it depends on", "Why that is not ready."),
    Rule("health-check", _C, "What was applied does not become ready", "The workloads that it names."),
    Rule("kind-missing", _C, "A kind is not known to the server", "Bring the CRD first, and depend on it."),
    Rule("immutable-field", _C, "A field cannot be changed",
         "Make it anew: kustomize.toolkit.fluxcd.io/force: enabled."),
    Rule("namespace-missing", _C, "A namespace does not exist", "Bring it first."),
    Rule("namespace-going", _C, "A namespace is being deleted while something is applied", "Why it does not go."),
    Rule("namespace-conflict", _C, "Two own a namespace", "One of them declares it."),
    Rule("namespace-terminating", _C, "A namespace does not go", "What its conditions name."),
    Rule("two-owners", _C, "Two own an object", "One of them declares it."),
    Rule("pruned-by-another", _C, "One removes what another brings", "One of them declares it."),
    Rule("apply-conflict", _C, "Somebody else owns a field", "firstlight owners; hand the field over."),
    Rule("policy-refuses", _C, "A policy refuses something", "What the policy says."),
    Rule("stuck-finalizer", _C, "A finalizer is not removed", "The controller that must remove it."),
    Rule("kustomization-failed", _C, "A Kustomization fails", "What its condition says."),
    Rule("helm-failed", _C, "A Helm release fails", "Its history, and the workloads of it."),
    Rule("helm-exhausted", _C, "A Helm release failed and is not tried again", "Mend it, then reconcile with --reset."),
    Rule("helm-pending", _C, "A Helm release is pending", "Roll back, or let helm-controller take it up."),
    Rule("helm-ownership", _C, "Helm finds an object of somebody else", "firstlight owners; hand it over."),
    Rule("values-error", _C, "Values of a chart cannot be used", "valuesFrom and what it names."),
    Rule("argocd-comparison", _C, "Argo CD cannot compare an Application", "What its condition says."),
    Rule("argocd-spec", _C, "An Application is not allowed as it is", "Its project, destination and source."),
    Rule("sync-failed", _C, "A sync fails", "The objects that it names."),
    Rule("hook-failed", _C, "A hook fails", "The log of its Job."),
    Rule("hook-waits", _C, "A sync waits for a hook", "Why it does not end."),
    Rule("wave-waits", _C, "A sync waits for something to become healthy", "Why it is not."),
    Rule("self-heal-loop", _C, "Something differs again after every sync", "Who else writes it; ignoreDifferences."),
    Rule("application-degraded", _C, "An Application is degraded", "Its workloads."),
    Rule("gateway-not-programmed", _C, "A Gateway carries no traffic", "Its class, listeners and Service."),
    Rule("ingress-class-missing", _C, "An Ingress is of a class that does not exist", "The class, or its controller."),
    Rule("claim-pending", _P, "A volume claim is not bound", "Its provisioner."),
    Rule("no-default-class", _P, "No storage class is the default one", "Mark one, or name one."),
    Rule("storage-class-missing", _P, "A storage class does not exist", "Its name, or bring it."),
    Rule("image-pull", _P, "An image cannot be pulled", "Its name, its credentials, the way to the registry."),
    Rule("crash-loop", _P, "A container crashes again and again", "Its log."),
    Rule("out-of-memory", _P, "A container uses more memory than it may", "A higher limit, or less use."),
    Rule("reference-missing", _P, "A pod needs a Secret or ConfigMap that is missing", "Who should make it."),
    Rule("container-refused", _P, "A container cannot be made", "What its state says."),
    Rule("quota-exceeded", _P, "A quota is used up", "A larger quota, or smaller requests."),
    Rule("limit-range", _P, "A LimitRange refuses pods", "Limits within it."),
    Rule("pod-security", _P, "Pod security refuses pods", "The namespace's label, or the pod's security context."),
    Rule("pods-refused", _P, "The server takes no pods of a workload", "What it answers."),
    Rule("unschedulable", _P, "No node takes a pod", "What the scheduler says of each node."),
    Rule("scheduler-silent", _A, "The scheduler does not look at a pod", "Whether kube-scheduler runs."),
    Rule("controller-manager-silent", _A, "Nobody makes pods of a workload", "Whether kube-controller-manager runs."),
    Rule("volume-mount", _P, "A volume cannot be mounted", "The CSI driver on the node."),
    Rule("pod-sandbox", _P, "The network of a pod cannot be set up", "The CNI on its node."),
    Rule("probe-failing", _P, "A probe fails", "The log of the container, and the probe."),
    Rule("pod-not-ready", _P, "A pod does not become ready", "Its events and its log."),
    Rule("pod-terminating", _P, "A pod does not end", "Its node."),
    Rule("job-failed", _P, "A Job failed", "Its log."),
)  # fmt: skip
RULES = {each.id: each for each in _RULES}
"""All rules by their ids."""


def findings(scene: Scene) -> list[Found]:
    """Everything that is wrong, each thing once, in an order that does not depend on that of what was seen."""
    found: dict[tuple[str, str], Found] = {}
    for finder in _FINDERS:
        for each in sorted(finder(scene), key=lambda one: (one.rule, one.subject, one.says)):
            key = (each.rule, each.subject)
            found[key] = _together(found[key], each) if key in found else each
    return [found[key] for key in sorted(found)]


def _together(one: Found, other: Found) -> Found:
    return dataclasses.replace(one, names=one.names | other.names, needs=one.needs | other.needs)
