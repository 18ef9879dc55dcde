"""All rules: their ids, where what they find is wrong, and what one can do; and the functions that find it."""

import dataclasses
from collections.abc import Callable, Iterator

from firstlight.commands.doctor.diagnosis import SymptomLayer
from firstlight.commands.doctor.rule_finding import RuleFinding
from firstlight.commands.doctor.rules import (
    admission,
    argocd_applications,
    cluster_network,
    control_plane,
    deletions,
    double_owners,
    engine_controllers,
    failed_releases,
    flux_objects,
    load_balancers,
    missing_secrets,
    suspensions,
    talos_machines,
    unready_nodes,
    workloads,
)
from firstlight.observe.cluster.observation import ClusterObservation


@dataclasses.dataclass(frozen=True, slots=True)
class DoctorRule:
    """One thing that can be wrong."""

    id: str
    layer: SymptomLayer
    title: str
    remedy: str
    """What one can do about it."""


_FINDERS: tuple[Callable[[ClusterObservation], Iterator[RuleFinding]], ...] = (
    talos_machines.standings,
    talos_machines.other_addresses,
    talos_machines.leases,
    talos_machines.parts,
    talos_machines.services,
    talos_machines.clocks,
    talos_machines.full_disks,
    talos_machines.warnings,
    talos_machines.kubelet_certificates,
    control_plane.etcd_health,
    control_plane.etcd_alarms,
    control_plane.api,
    control_plane.api_flags,
    unready_nodes.unready_nodes,
    unready_nodes.pressed_nodes,
    unready_nodes.tainted_nodes,
    unready_nodes.waiting_requests,
    unready_nodes.missing_nodes,
    cluster_network.agents,
    cluster_network.dns,
    load_balancers.without_address,
    load_balancers.not_announced,
    load_balancers.down_sessions,
    load_balancers.bgp_configs,
    admission.webhooks,
    admission.aggregated_apis,
    admission.definitions,
    missing_secrets.missing_foundation,
    missing_secrets.secret_stores,
    missing_secrets.external_secrets,
    missing_secrets.issuers,
    missing_secrets.certificates,
    missing_secrets.expired_certificates,
    engine_controllers.engine_down,
    engine_controllers.failing_instances,
    engine_controllers.silent_objects,
    engine_controllers.revisions_behind,
    suspensions.left_suspended,
    suspensions.left_overrides,
    flux_objects.failing_sources,
    flux_objects.failing_kustomizations,
    flux_objects.waiting_for_dependencies,
    failed_releases.failing_releases,
    failed_releases.pending_releases,
    argocd_applications.applications,
    double_owners.in_two_inventories,
    double_owners.in_two_applications,
    double_owners.fights,
    double_owners.pruned_by_another,
    deletions.stuck_deletions,
    deletions.going_namespaces,
    deletions.going_pods,
    workloads.pending_claims,
    workloads.sick_workloads,
    cluster_network.gateways,
    cluster_network.ingresses,
)
"""What looks for it; one function may find several things that exclude each other."""

_M, _E, _A, _N, _D = SymptomLayer.MACHINE, SymptomLayer.ETCD, SymptomLayer.API, SymptomLayer.NETWORK, SymptomLayer.DNS
_W, _S, _G, _R, _C, _P = (
    SymptomLayer.ADMISSION,
    SymptomLayer.SECRETS,
    SymptomLayer.ENGINE,
    SymptomLayer.SOURCE,
    SymptomLayer.COMPONENT,
    SymptomLayer.WORKLOAD,
)

_RULES = (
    DoctorRule(
        "machine-unreachable",
        _M,
        "A machine does not answer",
        "Power, cables, its address, and port 50000 on the way to it.",
    ),
    DoctorRule("machine-without-address", _M, "A machine has no address", "Declare its address."),
    DoctorRule(
        "machine-address-differs",
        _M,
        "A machine has another address than is declared",
        "Reserve its lease, or declare a fixed address.",
    ),
    DoctorRule(
        "machine-foreign",
        _M,
        "A machine belongs to another cluster",
        "Check its address; wipe it only if it is really meant.",
    ),
    DoctorRule(
        "machine-in-maintenance",
        _M,
        "A machine waits for a config though its cluster lives",
        "Configure it again with firstlight up.",
    ),
    DoctorRule(
        "no-dhcp-lease", _M, "A machine gets no address by DHCP", "The DHCP server, the VLAN, or a fixed address."
    ),
    DoctorRule(
        "install-disk-missing", _M, "No disk is the one that the config names", "Name one that the machine has."
    ),
    DoctorRule(
        "install-disk-ambiguous",
        _M,
        "Several disks are what the config names",
        "A selector that fits one, by serial or wwid.",
    ),
    DoctorRule(
        "interface-missing",
        _M,
        "No interface is the one that the config names",
        "A deviceSelector by hardwareAddr or busPath.",
    ),
    DoctorRule(
        "extension-waits", _M, "An extension waits for its config", "A document ExtensionServiceConfig of that name."
    ),
    DoctorRule("extension-failed", _M, "An extension fails", "Its log, and its ExtensionServiceConfig."),
    DoctorRule("service-failed", _M, "A service of Talos fails", "Its log."),
    DoctorRule(
        "clock-skew", _M, "The clock of a machine is wrong", "A time server that it reaches: machine.time.servers."
    ),
    DoctorRule("disk-full", _M, "The disk of a machine is full", "What fills EPHEMERAL: images, logs, local volumes."),
    DoctorRule("talos-warning", _M, "Talos warns of something", "What the warning says."),
    DoctorRule(
        "kubelet-certificate-expired",
        _M,
        "The certificate of a kubelet has expired",
        "Set the clock, restart the kubelet.",
    ),
    DoctorRule("node-silent", _M, "A node does not report any more", "Whether its machine runs, and its network."),
    DoctorRule("node-not-ready", _M, "A node is not ready", "What its condition says."),
    DoctorRule("node-pressure", _M, "A node runs out of something", "What uses it, or a larger disk or more memory."),
    DoctorRule("node-taint", _N, "A node keeps a taint that should go", "The controller that takes it away."),
    DoctorRule("node-missing", _M, "A machine runs and is no node", "The log of its kubelet."),
    DoctorRule("csr-pending", _M, "A kubelet waits for a certificate", "Approve it, or run an approver."),
    DoctorRule(
        "etcd-split", _E, "There are two etcd clusters", "Keep the one with the data, reset the other's machine."
    ),
    DoctorRule("etcd-no-quorum", _E, "etcd has no quorum", "Bring machines back, or recover from a snapshot."),
    DoctorRule("etcd-member-missing", _E, "A control plane is no member of etcd", "The log of its etcd."),
    DoctorRule(
        "etcd-learner", _E, "A member of etcd does not get beyond learning", "Its disk and network must keep up."
    ),
    DoctorRule("etcd-stranger", _E, "A machine that is gone is still a member", "Remove it from etcd."),
    DoctorRule("etcd-nospace", _E, "etcd is out of space", "Defragment, then disarm the alarm."),
    DoctorRule("etcd-alarm", _E, "etcd has raised an alarm", "What the alarm means."),
    DoctorRule(
        "api-unreachable",
        _A,
        "The Kubernetes API is not reached",
        "etcd, kube-apiserver on the control planes, the way there.",
    ),
    DoctorRule("api-foreign", _A, "Another cluster's API answers", "The address of the endpoint, or the kubeconfig."),
    DoctorRule("api-not-ready", _A, "The Kubernetes API is not ready", "The checks that it names."),
    DoctorRule(
        "api-certificate-expired", _A, "The API's certificate has expired", "Talos renews it: its clock, its log."
    ),
    DoctorRule(
        "kubeconfig-expired", _A, "The certificate of the kubeconfig has expired", "A new kubeconfig from Talos."
    ),
    DoctorRule("kubeconfig-refused", _A, "The API does not accept the kubeconfig", "A new kubeconfig from Talos."),
    DoctorRule("apiserver-flags", _A, "kube-apiserver does not know a flag", "cluster.apiServer.extraArgs."),
    DoctorRule("node-without-network", _N, "A node has no network", "The CNI's pod on it."),
    DoctorRule("cni-missing", _N, "No CNI is there", "Bring it up."),
    DoctorRule("cni-agents-down", _N, "The CNI does not run everywhere", "Why its pods do not run."),
    DoctorRule("lb-no-pool", _N, "There is no pool of addresses", "A pool."),
    DoctorRule("lb-pool-exhausted", _N, "A pool of addresses is used up", "A larger pool, or fewer Services."),
    DoctorRule(
        "lb-pool-selector", _N, "No pool selects a Service", "The pool's serviceSelector, or the Service's labels."
    ),
    DoctorRule(
        "lb-address-outside",
        _N,
        "A Service asks for an address outside of all pools",
        "Another address, or a wider pool.",
    ),
    DoctorRule("lb-address-taken", _N, "A Service asks for an address that another one has", "Another address."),
    DoctorRule(
        "lb-not-advertised", _N, "No advertisement selects a Service", "Labels of the Service, or the selector."
    ),
    DoctorRule("lb-not-announced", _N, "No router learns the address of a Service", "The BGP sessions."),
    DoctorRule("l2-no-policy", _N, "No L2 policy selects a Service", "A CiliumL2AnnouncementPolicy."),
    DoctorRule(
        "l2-no-lease",
        _N,
        "No node announces a Service",
        "l2announcements.enabled, and the policy's nodes and interfaces.",
    ),
    DoctorRule("bgp-session-down", _N, "A BGP session is down", "Address, AS number and password on both sides."),
    DoctorRule("bgp-config", _N, "Cilium cannot use a BGP object", "What its condition says."),
    DoctorRule("dns-down", _D, "Names are not found in the cluster", "CoreDNS's pods."),
    DoctorRule("webhook-no-ca", _W, "A webhook has no CA bundle", "Whoever writes it: cainjector, a Job."),
    DoctorRule("webhook-silent", _W, "Nobody answers for a webhook", "The pods behind its Service."),
    DoctorRule(
        "webhook-blocks-itself", _W, "A webhook blocks its own repair", "failurePolicy Ignore until its pods run."
    ),
    DoctorRule(
        "webhook-in-the-way", _W, "A webhook does not answer when something is applied", "The pods behind its Service."
    ),
    DoctorRule(
        "apiservice-down", _W, "An aggregated API does not answer", "The pods behind it, or delete the APIService."
    ),
    DoctorRule("crd-not-served", _W, "A CRD is not served", "Its conditions: usually two CRDs claim one name."),
    DoctorRule(
        "crd-stuck", _W, "The API server has not finished installing a CRD", "Any write to its status wakes it."
    ),
    DoctorRule("foundation-missing", _S, "A foundation secret is missing", "firstlight up --only secrets."),
    DoctorRule("secret-store", _S, "A secret store cannot be used", "Its credentials and address."),
    DoctorRule("external-secret", _S, "An external secret is not fetched", "What its events say."),
    DoctorRule("issuer-not-ready", _S, "An issuer cannot issue", "What its condition says."),
    DoctorRule("certificate-not-ready", _S, "A certificate is not issued", "Its requests, orders and challenges."),
    DoctorRule("certificate-expired", _S, "A certificate has expired", "Renew it."),
    DoctorRule("decryption-failed", _S, "Secrets cannot be decrypted", "The Secret with the key, and the key in it."),
    DoctorRule("engine-down", _G, "A controller of the engine does not run", "Why its pods do not run."),
    DoctorRule("engine-missing", _G, "A controller of the engine is not there", "firstlight up --until engine."),
    DoctorRule("engine-scaled-down", _G, "A controller of the engine is scaled to nothing", "Scale it up again."),
    DoctorRule("engine-instance", _G, "Flux's operator cannot bring Flux", "What its condition says."),
    DoctorRule("engine-silent", _G, "The engine does not come to an object", "Its controllers, and their logs."),
    DoctorRule("engine-suspended", _G, "The engine was left suspended", "Resume it."),
    DoctorRule("engine-rights", _G, "The engine may not do what it is told", "The rights of its service account."),
    DoctorRule(
        "suspension-over", _G, "Something is suspended for longer than was said", "Resume it, or say for how long."
    ),
    DoctorRule("override-expired", _G, "An override has expired", "firstlight override end."),
    DoctorRule("override-left", _G, "An override was cut off while it began or ended", "firstlight override end."),
    DoctorRule("handover-left", _G, "A handover was not finished", "firstlight handover."),
    DoctorRule(
        "git-authentication", _R, "Git does not accept the credentials", "The Secret of the source, or the deploy key."
    ),
    DoctorRule(
        "git-host-key", _R, "The host key of the Git server is unknown", "known_hosts in the Secret of the source."
    ),
    DoctorRule("git-reference", _R, "A branch, tag or commit does not exist", "The name of the branch, or push it."),
    DoctorRule("git-unreachable", _R, "The Git server is not reached", "DNS, proxy, firewall, certificates."),
    DoctorRule("chart-authentication", _R, "A registry does not accept the credentials", "The Secret of the source."),
    DoctorRule("chart-missing", _R, "A chart or version does not exist", "Its name and version."),
    DoctorRule(
        "chart-unreachable", _R, "The repository of a chart is not reached", "DNS, proxy, firewall, certificates."
    ),
    DoctorRule("source-failed", _R, "A source cannot be fetched", "What its condition says."),
    DoctorRule("source-missing", _R, "A source does not exist", "Its name, or bring it."),
    DoctorRule("source-waits", _R, "A source has no artifact", "Why it cannot be fetched."),
    DoctorRule(
        "revision-behind", _C, "An older revision is applied than is there", "Reconcile; look at the controller's log."
    ),
    DoctorRule("path-missing", _C, "A path is not in the repository", "spec.path, or push it."),
    DoctorRule("build-failed", _C, "Manifests cannot be built", "firstlight render shows the same."),
    DoctorRule("variable-missing", _C, "A variable is not set", "postBuild.substituteFrom and what it names."),
    DoctorRule("dependency-missing", _C, "Something depends on what does not exist", "The name in dependsOn."),
    DoctorRule("dependency-cycle", _C, "Things wait for each other in a circle", "Take one edge out of dependsOn."),
    DoctorRule("dependency-waits", _C, "Something waits for what it depends on", "Why that is not ready."),
    DoctorRule("health-check", _C, "What was applied does not become ready", "The workloads that it names."),
    DoctorRule("kind-missing", _C, "A kind is not known to the server", "Bring the CRD first, and depend on it."),
    DoctorRule(
        "immutable-field", _C, "A field cannot be changed", "Make it anew: kustomize.toolkit.fluxcd.io/force: enabled."
    ),
    DoctorRule("namespace-missing", _C, "A namespace does not exist", "Bring it first."),
    DoctorRule("namespace-going", _C, "A namespace is being deleted while something is applied", "Why it does not go."),
    DoctorRule("namespace-conflict", _C, "Two own a namespace", "One of them declares it."),
    DoctorRule("namespace-terminating", _C, "A namespace does not go", "What its conditions name."),
    DoctorRule("two-owners", _C, "Two own an object", "One of them declares it."),
    DoctorRule("pruned-by-another", _C, "One removes what another brings", "One of them declares it."),
    DoctorRule("apply-conflict", _C, "Somebody else owns a field", "firstlight owners; hand the field over."),
    DoctorRule("policy-refuses", _C, "A policy refuses something", "What the policy says."),
    DoctorRule("stuck-finalizer", _C, "A finalizer is not removed", "The controller that must remove it."),
    DoctorRule("kustomization-failed", _C, "A Kustomization fails", "What its condition says."),
    DoctorRule("helm-failed", _C, "A Helm release fails", "Its history, and the workloads of it."),
    DoctorRule(
        "helm-exhausted", _C, "A Helm release failed and is not tried again", "Mend it, then reconcile with --reset."
    ),
    DoctorRule("helm-pending", _C, "A Helm release is pending", "Roll back, or let helm-controller take it up."),
    DoctorRule("helm-ownership", _C, "Helm finds an object of somebody else", "firstlight owners; hand it over."),
    DoctorRule("values-error", _C, "Values of a chart cannot be used", "valuesFrom and what it names."),
    DoctorRule("argocd-comparison", _C, "Argo CD cannot compare an Application", "What its condition says."),
    DoctorRule("argocd-spec", _C, "An Application is not allowed as it is", "Its project, destination and source."),
    DoctorRule("sync-failed", _C, "A sync fails", "The objects that it names."),
    DoctorRule("hook-failed", _C, "A hook fails", "The log of its Job."),
    DoctorRule("hook-waits", _C, "A sync waits for a hook", "Why it does not end."),
    DoctorRule("wave-waits", _C, "A sync waits for something to become healthy", "Why it is not."),
    DoctorRule(
        "self-heal-loop", _C, "Something differs again after every sync", "Who else writes it; ignoreDifferences."
    ),
    DoctorRule("application-degraded", _C, "An Application is degraded", "Its workloads."),
    DoctorRule("gateway-not-programmed", _C, "A Gateway carries no traffic", "Its class, listeners and Service."),
    DoctorRule(
        "ingress-class-missing", _C, "An Ingress is of a class that does not exist", "The class, or its controller."
    ),
    DoctorRule("claim-pending", _P, "A volume claim is not bound", "Its provisioner."),
    DoctorRule("no-default-class", _P, "No storage class is the default one", "Mark one, or name one."),
    DoctorRule("storage-class-missing", _P, "A storage class does not exist", "Its name, or bring it."),
    DoctorRule("image-pull", _P, "An image cannot be pulled", "Its name, its credentials, the way to the registry."),
    DoctorRule("crash-loop", _P, "A container crashes again and again", "Its log."),
    DoctorRule("out-of-memory", _P, "A container uses more memory than it may", "A higher limit, or less use."),
    DoctorRule("reference-missing", _P, "A pod needs a Secret or ConfigMap that is missing", "Who should make it."),
    DoctorRule("container-refused", _P, "A container cannot be made", "What its state says."),
    DoctorRule("quota-exceeded", _P, "A quota is used up", "A larger quota, or smaller requests."),
    DoctorRule("limit-range", _P, "A LimitRange refuses pods", "Limits within it."),
    DoctorRule(
        "pod-security", _P, "Pod security refuses pods", "The namespace's label, or the pod's security context."
    ),
    DoctorRule("pods-refused", _P, "The server takes no pods of a workload", "What it answers."),
    DoctorRule("unschedulable", _P, "No node takes a pod", "What the scheduler says of each node."),
    DoctorRule("scheduler-silent", _A, "The scheduler does not look at a pod", "Whether kube-scheduler runs."),
    DoctorRule(
        "controller-manager-silent", _A, "Nobody makes pods of a workload", "Whether kube-controller-manager runs."
    ),
    DoctorRule("volume-mount", _P, "A volume cannot be mounted", "The CSI driver on the node."),
    DoctorRule("pod-sandbox", _P, "The network of a pod cannot be set up", "The CNI on its node."),
    DoctorRule("probe-failing", _P, "A probe fails", "The log of the container, and the probe."),
    DoctorRule("pod-not-ready", _P, "A pod does not become ready", "Its events and its log."),
    DoctorRule("pod-terminating", _P, "A pod does not end", "Its node."),
    DoctorRule("job-failed", _P, "A Job failed", "Its log."),
)
RULES = {each.id: each for each in _RULES}
"""All rules by their ids."""


def findings(scene: ClusterObservation) -> list[RuleFinding]:
    """Everything that is wrong, each thing once, in an order that does not depend on that of what was seen."""
    found: dict[tuple[str, str], RuleFinding] = {}
    for finder in _FINDERS:
        for each in sorted(finder(scene), key=lambda one: (one.rule, one.subject, one.says)):
            key = (each.rule, each.subject)
            found[key] = _together(found[key], each) if key in found else each
    return [found[key] for key in sorted(found)]


def _together(one: RuleFinding, other: RuleFinding) -> RuleFinding:
    return dataclasses.replace(one, names=one.names | other.names, needs=one.needs | other.needs)
