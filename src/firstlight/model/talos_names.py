"""Names of Talos and Omni: resource types, annotations, field managers. Each is written only here."""

from typing import Final

# API domains.
DOMAIN: Final = "talos.dev"
OMNI_DOMAIN: Final = "omni.sidero.dev"

# Types of resources, as ``talosctl get`` takes them.
ADDRESS_STATUSES: Final = f"AddressStatuses.net.{DOMAIN}"
DIAGNOSTICS: Final = f"Diagnostics.runtime.{DOMAIN}"
DISKS: Final = f"Disks.block.{DOMAIN}"
ETCD_MEMBERS: Final = f"EtcdMembers.etcd.{DOMAIN}"
EXTENSION_STATUSES: Final = f"ExtensionStatuses.runtime.{DOMAIN}"
LINK_STATUSES: Final = f"LinkStatuses.net.{DOMAIN}"
MACHINE_CONFIGS: Final = f"MachineConfigs.config.{DOMAIN}"
MACHINE_STATUSES: Final = f"MachineStatuses.runtime.{DOMAIN}"
MANIFESTS: Final = f"Manifests.kubernetes.{DOMAIN}"
MANIFEST_STATUSES: Final = f"ManifestStatuses.kubernetes.{DOMAIN}"
MEMBERS: Final = f"Members.cluster.{DOMAIN}"
NODENAMES: Final = f"Nodenames.kubernetes.{DOMAIN}"
SERVICES: Final = f"Services.v1alpha1.{DOMAIN}"
SYSTEM_DISKS: Final = f"SystemDisks.block.{DOMAIN}"

# The same of Omni, as ``omnictl get`` takes them.
CLUSTER_UUIDS: Final = f"ClusterUUIDs.{OMNI_DOMAIN}"

# Annotations of Nodes in which Talos remembers what it has put there, so that it takes away nothing else.
OWNED_LABELS_ANNOTATION: Final = f"{DOMAIN}/owned-labels"
OWNED_ANNOTATIONS_ANNOTATION: Final = f"{DOMAIN}/owned-annotations"
OWNED_TAINTS_ANNOTATION: Final = f"{DOMAIN}/owned-taints"

# Field managers.
FIELD_MANAGER: Final = "talos"
TALOSCTL_MANAGER: Final = "talosctl"
MACHINED_MANAGER: Final = "machined"
OMNI_MANAGER: Final = "omni"

MANIFESTS_INVENTORY: Final = "talos-bootstrap-manifests-inventory"
"""The ConfigMap of kube-system that lists what Talos applied."""
IMAGE_FACTORY: Final = f"factory.{DOMAIN}"
DISCOVERY_ENDPOINT: Final = f"https://discovery.{DOMAIN}/"
