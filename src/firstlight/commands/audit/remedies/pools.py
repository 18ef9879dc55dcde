"""Pins kept, and moved into pools: a block more where a pool is the cluster's own, else a pool for the pin alone."""

from collections.abc import Iterator, Sequence

from firstlight.commands.audit import address_pins
from firstlight.commands.audit.address_pins import AddressPin
from firstlight.commands.audit.interview import AnswerForm, Interview
from firstlight.commands.audit.rule_remedy import Remedy
from firstlight.model import address_range
from firstlight.model.cluster import Cluster
from firstlight.model.component import Side
from firstlight.model.decision import ProcedureStep
from firstlight.model.finding import EditVerb, FileEdit, Finding
from firstlight.repo import address_pools, gitops_tree
from firstlight.repo.address_pools import CILIUM, METALLB, AddressPool
from firstlight.repo.platform_view import PlatformView

_SERVICES = {"clustermesh.apiserver.service": "clustermesh-apiserver", "ingressController.service": "cilium-ingress"}
"""The Services that Cilium's chart makes of its values, all in kube-system."""
_NEIGHBOURS = 24
"""Addresses are thought to be of one network if these many bits are equal."""


def take_in(scene: PlatformView, findings: Sequence[Finding], interview: Interview) -> Remedy:
    """How every pinned address comes to lie in a pool that serves it; no pin is taken away."""
    edits: list[FileEdit] = []
    steps: list[ProcedureStep] = []
    for cluster in scene.clusters:
        pools = address_pools.pools(scene, cluster.name)
        for pin in address_pins.pins(scene, cluster.name):
            fitting = [each for each in pools if pin.kind in ("", each.kind)]
            if not fitting or not all(each.is_known for each in fitting):
                continue
            holding = [each for each in fitting if any(block.covers(pin.address) for block in each.blocks)]
            if holding and (pin.labels is None or any(address_pools.selects(each, pin.labels) for each in holding)):
                continue
            if holding:
                steps.append(_served(pin, holding))
            elif not _is_routed(cluster, pin, pools, interview):
                text = f"Choose another address for {pin.who} ({pin.place}): {pin.address} is not led to {cluster.name}"
                steps.append(ProcedureStep(side=Side.GITOPS, text=text))
            else:
                made, step = _covered(scene, cluster, pin, fitting, interview)
                edits += made
                steps.append(step)
    return Remedy(
        rule=findings[0].code if findings else "pin-outside-pool",
        title="Keep every pinned address, and let a pool of its cluster have it",
        steps=(*steps, *_seeing(scene, edits)),
        edits=tuple(edits),
    )


def _served(pin: AddressPin, holding: Sequence[AddressPool]) -> ProcedureStep:
    """The pool has the address, and is for others: which labels it wants is its owner's decision."""
    pool = holding[0]
    text = f"Let the pool {pool.name} ({pool.place}) serve {pin.who}: give it the labels that its serviceSelector wants"
    return ProcedureStep(side=Side.GITOPS, text=text)


def _covered(
    scene: PlatformView, cluster: Cluster, pin: AddressPin, fitting: Sequence[AddressPool], interview: Interview
) -> tuple[list[FileEdit], ProcedureStep]:
    own = [each for each in fitting if _is_own(scene, each)]
    if own:
        pool = own[0]
        text = f"The pool {pool.name} ({pool.place}) gets a block for {pin.address} of {pin.who}"
        return [_block(pool, pin)], ProcedureStep(side=Side.GITOPS, text=text)
    kind = fitting[0].kind
    service = _service(pin, kind, interview)
    name = f"pin-{service[1] if service else str(pin.address).replace('.', '-').replace(':', '-')}"
    directory = interview.directory(scene, cluster)
    if not gitops_tree.is_flux(cluster) or not directory or (service is None and kind == CILIUM):
        text = f"Write a pool for {pin.address} of {pin.who} that {cluster.name} alone applies and that serves it alone"
        return [], ProcedureStep(side=Side.GITOPS, text=text)
    text = f"{cluster.name} alone gets the pool {name} for {pin.address} of {pin.who}: its other pools are not its own"
    version = str(fitting[0].item.value.get("apiVersion")) if fitting[0].item else "cilium.io/v2alpha1"
    edits = list(gitops_tree.into(scene.files, directory, f"{name}.yaml", _pool(name, pin, version, service)))
    return edits, ProcedureStep(side=Side.GITOPS, text=text)


def _is_own(scene: PlatformView, pool: AddressPool) -> bool:
    """Whether it can be edited for one cluster: written out, for all services, and in no other cluster."""
    if pool.item is None or pool.item.object.way is None or pool.selector:
        return False
    elsewhere = [
        each
        for cluster in scene.clusters
        if cluster.name != pool.cluster
        for each in address_pools.pools(scene, cluster.name)
        if each.place == pool.place
    ]
    return not elsewhere


def _block(pool: AddressPool, pin: AddressPin) -> FileEdit:
    assert pool.item is not None
    assert pool.item.object.way is not None
    document, steps = pool.item.object.way
    address = str(pin.address)
    value: object = {"start": address, "stop": address}
    field = "blocks"
    if pool.kind == METALLB:
        field, value = "addresses", f"{address}-{address}"
    elif "blocks" not in pool.item.value["spec"]:
        field, value = "cidrs", {"cidr": f"{address}/{32 if pin.address.version == 4 else 128}"}
    path = pool.item.object.place.path
    return FileEdit(path=path, verb=EditVerb.APPEND, steps=(*steps, "spec", field), value=value, document=document)


def _service(pin: AddressPin, kind: str, interview: Interview) -> tuple[str, str] | None:
    """The namespace and name of the Service that asks."""
    labels = pin.labels or {}
    if "io.kubernetes.service.name" in labels:
        return labels["io.kubernetes.service.namespace"], labels["io.kubernetes.service.name"]
    if pin.component.endswith("cilium"):
        found = next((name for path, name in _SERVICES.items() if pin.who.endswith(path)), "")
        if found:
            return "kube-system", found
    if kind == METALLB:
        return None
    question = f"Which Service asks for {pin.address}? {pin.who} does not tell its name"
    namespace, _, name = interview.ask(f"service.{pin.address}", question, AnswerForm.SERVICE).partition("/")
    return (namespace, name) if name else None


def _pool(name: str, pin: AddressPin, version: str, service: tuple[str, str] | None) -> str:
    if pin.kind == METALLB or service is None:
        return (
            f"apiVersion: {version}\nkind: IPAddressPool\nmetadata:\n  name: {name}\n  namespace: metallb-system\n"
            f"spec:\n  addresses:\n    - {pin.address}-{pin.address}\n  autoAssign: false\n"
        )
    namespace, called = service
    return (
        "# For one address that others rely on, and for nobody else.\n"
        f"apiVersion: {version}\nkind: CiliumLoadBalancerIPPool\nmetadata:\n  name: {name}\n"
        f'spec:\n  blocks:\n    - start: "{pin.address}"\n      stop: "{pin.address}"\n'
        "  serviceSelector:\n    matchLabels:\n"
        f"      io.kubernetes.service.namespace: {namespace}\n      io.kubernetes.service.name: {called}\n"
    )


def _is_routed(cluster: Cluster, pin: AddressPin, pools: Sequence[AddressPool], interview: Interview) -> bool:
    """An address of a network that nothing else of the cluster is in may be a slip of the pen; only "no" counts."""
    if pin.address.version != 4:
        return True
    near = address_range.around(pin.address, _NEIGHBOURS)
    known = [address_range.address(each.address.partition("/")[0]) for each in cluster.machines]
    others = [*(each for each in known if each), *(block for each in pools for block in each.blocks)]
    if not others or any(near.overlaps(each) for each in others):
        return True
    question = f"Is {pin.address} led to {cluster.name}? No machine and no pool of it is in {near}"
    return interview.ask(f"routed.{pin.address}", question, AnswerForm.YES_NO) != "no"


def _seeing(scene: PlatformView, edits: Sequence[FileEdit]) -> Iterator[ProcedureStep]:
    if edits:
        yield ProcedureStep(
            side=None,
            text="See that every Service has the address that it asks for",
            command="kubectl get services --all-namespaces --field-selector spec.type=LoadBalancer",
        )


REMEDIES = {"pin-outside-pool": take_in}
