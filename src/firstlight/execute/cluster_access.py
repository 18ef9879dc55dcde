"""The keys of a cluster for one run: its Talos secrets, and what follows from them.

The secrets come from where the repo says, or from whoever made them once and keeps them encrypted. Where a repo has
whole machine configs, the secrets are inside of those, and a talosconfig stands beside them.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from firstlight import errors
from firstlight.clients import omnictl, talosctl
from firstlight.execute import cluster_identity
from firstlight.execute.world import World
from firstlight.model.cluster import MachineRole
from firstlight.model.secret import Secret
from firstlight.observe.machine_survey import MachineAccess

_HINT = "Let firstlight.yaml say where they are: clusters.NAME.talosSecrets: sops:talos/talsecret.sops.yaml"


def talosctl_program(world: World) -> talosctl.Talosctl:
    """Talosctl for what is done offline.

    Raises:
        errors.ToolError: It is not there.
    """
    if world.programs.talosctl is None:
        raise errors.ToolError("talosctl is needed for machines", hint="firstlight tools install talosctl")
    return talosctl.Talosctl(world.programs.talosctl)


async def secrets(world: World) -> Secret:
    """The Talos secrets.

    Raises:
        errors.Refused: Nothing says where they are.
    """
    if world.talos_secrets is not None:
        return await world.talos_secrets()
    if not world.cluster.talos_secrets:
        raise errors.Refused(f"nothing says where the Talos secrets of {world.cluster.name} are", hint=_HINT)
    return await world.resolve(world.cluster.talos_secrets)


async def ensure(world: World) -> MachineAccess:
    """Know the administrator's talosconfig and the authority of the Kubernetes API; the way to the machines.

    Raises:
        errors.Refused: Nothing says where the keys are, or they cannot be read.
    """
    if world.cluster.omni_template:
        # New ones would be made, and belong to nothing.
        raise errors.Refused(f"the keys of {world.cluster.name} are Omni's", hint="omnictl talosconfig --cluster NAME")
    offline = talosctl_program(world)
    async with world.keys:
        if world.talosconfig is None:
            if world.cluster.talosconfig and not world.cluster.talos_secrets:
                world.talosconfig = await world.resolve(world.cluster.talosconfig)
            else:
                bundle = await secrets(world)
                world.authority = authority(bundle)
                made = await offline.gen_config(
                    "talosconfig", cluster=world.cluster.name, endpoint=_endpoint(world), secrets=bundle
                )
                world.talosconfig = with_endpoints(made, control_plane_addresses(world))
    assert world.programs.talosctl is not None
    return MachineAccess(program=world.programs.talosctl, talosconfig=world.talosconfig, reach=world.reach)


def authority(bundle: Secret) -> bytes:
    """The certificate of the Kubernetes CA in Talos secrets.

    Raises:
        errors.Refused: They are none.
    """
    value = _mapping(_parsed(bundle))
    return _pem(_mapping(_mapping(value.get("certs")).get("k8s")).get("crt"), "certs.k8s.crt")


def config_authority(config: Secret) -> bytes:
    """The certificate of the Kubernetes CA in a machine config.

    Raises:
        errors.Refused: There is none.
    """
    documents = [_mapping(each) for each in _documents(config)]
    for each in documents:
        if each.get("kind") == "KubeAPIServerCAConfig":  # of Talos 1.14: text, where the field before is base64
            issuing = str(_mapping(each.get("issuingCA")).get("cert") or "").encode()
            return _pem(base64.b64encode(issuing), "KubeAPIServerCAConfig.issuingCA.cert")
    for each in documents:
        if "ca" in _mapping(each.get("cluster")):
            return _pem(_mapping(_mapping(each["cluster"])["ca"]).get("crt"), "cluster.ca.crt")
    raise errors.Refused("the machine config has no authority of Kubernetes: cluster.ca.crt or KubeAPIServerCAConfig")


def with_endpoints(talosconfig: Secret, endpoints: Sequence[str]) -> Secret:
    """A talosconfig whose contexts go through these endpoints."""
    value = _parsed(talosconfig)
    for context in _mapping(_mapping(value).get("contexts")).values():
        context["endpoints"] = list(endpoints)
        context["nodes"] = list(endpoints)
    return Secret(yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False))


def control_plane_addresses(world: World) -> tuple[str, ...]:
    """The declared addresses of the control planes."""
    return tuple(
        each.address for each in world.cluster.machines if each.role is MachineRole.CONTROL_PLANE and each.address
    )


def _endpoint(world: World) -> str:
    if world.cluster.network.endpoint:
        return world.cluster.network.endpoint
    addresses = control_plane_addresses(world)
    return f"https://{addresses[0]}:6443" if addresses else "https://127.0.0.1:6443"


def _parsed(secret: Secret) -> Any:
    values = _documents(secret)
    return values[0] if values else {}


def _documents(secret: Secret) -> list[Any]:
    try:
        return list(yaml.load_all(secret.reveal(), Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError):
        # What it says is a secret, so that the parser's message is not passed on.
        raise errors.Refused("the Talos secrets are no YAML", hint=_HINT) from None


def _pem(text: object, field: str) -> bytes:
    try:
        decoded = base64.b64decode(text if isinstance(text, bytes) else str(text or ""), validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if b"BEGIN CERTIFICATE" not in decoded:
        raise errors.Refused(f"the Talos secrets have no certificate in {field}", hint=_HINT)
    return decoded


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# A cluster of Omni for one run: the program that talks to Omni, and the ways in that it gives.


def omnictl_program(world: World) -> omnictl.Omnictl:
    """Omnictl, as the user has it.

    Raises:
        errors.ToolError: It is not there.
    """
    if world.programs.omnictl is None:
        raise errors.ToolError("omnictl is needed for clusters of Omni", hint="firstlight tools install omnictl")
    return omnictl.Omnictl(world.programs.omnictl)


async def check_omni_id(cluster: str, world: World) -> str:
    """The id of the cluster in Omni, empty if it has none of that name.

    Raises:
        errors.Refused: It is another one than before, or is gone: another Omni may answer.
    """
    try:
        found = await omnictl_program(world).cluster_id(cluster)
    except omnictl.OmniNotFound:
        found = ""
    cluster_identity.check_omni(world, found)
    return found


async def fetch_omni_kubeconfig(cluster: str, world: World) -> Secret:
    """The kubeconfig, from the cluster that it was before; the talosconfig comes along.

    Raises:
        errors.Refused: It is another cluster, or Omni has none of that name.
    """
    id = await check_omni_id(cluster, world)
    if not id:
        raise errors.Refused(
            f"Omni has no cluster {cluster}", hint="omnictl get clusters lists those that this account may see."
        )
    omni = omnictl_program(world)
    kubeconfig = await omni.kubeconfig(cluster, service_account=omni.has_service_account)
    world.talosconfig = await omni.talosconfig(cluster)
    cluster_identity.keep_omni(world, id)
    return kubeconfig
