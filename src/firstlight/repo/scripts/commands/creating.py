"""``kubectl create`` of a single object: Secrets, ConfigMaps and their likes; namespaces are no components."""

from collections.abc import Sequence

from firstlight.model.component import Form, ObjectId, Origin
from firstlight.model.source import Embedded, Unresolved
from firstlight.repo.scripts.commands import kubectl_flags
from firstlight.repo.scripts.commands.context import Context, origin
from firstlight.repo.scripts.invocation import Invocation
from firstlight.repo.scripts.shell.expansion import Text

_KINDS = {"ns": "Namespace", "namespace": "Namespace", "cm": "ConfigMap", "configmap": "ConfigMap",
          "sa": "ServiceAccount", "serviceaccount": "ServiceAccount", "deployment": "Deployment", "job": "Job",
          "clusterrole": "ClusterRole", "clusterrolebinding": "ClusterRoleBinding", "role": "Role",
          "rolebinding": "RoleBinding", "service": "Service", "ingress": "Ingress", "cronjob": "CronJob",
          "quota": "ResourceQuota", "priorityclass": "PriorityClass"}  # fmt: skip
_GROUPS = {"Deployment": "apps", "Job": "batch", "CronJob": "batch", "ClusterRole": "rbac.authorization.k8s.io",
           "ClusterRoleBinding": "rbac.authorization.k8s.io", "Role": "rbac.authorization.k8s.io",
           "RoleBinding": "rbac.authorization.k8s.io", "Ingress": "networking.k8s.io"}  # fmt: skip
CLUSTER_WIDE = {"Namespace", "ClusterRole", "ClusterRoleBinding", "PriorityClass", "CustomResourceDefinition",
                "StorageClass", "IngressClass", "GatewayClass", "PersistentVolume", "ClusterIssuer", "APIService",
                "ClusterSecretStore", "ClusterExternalSecret", "ValidatingWebhookConfiguration",
                "MutatingWebhookConfiguration", "RuntimeClass", "Node", "CSIDriver", "VolumeSnapshotClass"}  # fmt: skip
"""Kinds without a namespace, as far as bootstraps have them."""


def is_dry_create(invocation: Invocation) -> bool:
    """Whether a command only prints an object, for another one to apply."""
    words = kubectl_flags.parse(invocation)
    is_create = len(words.positional) > 1 and words.positional[0].text == "create"
    return invocation.program == "kubectl" and is_create and kubectl_flags.is_dry(words)


def is_namespace(invocation: Invocation) -> bool:
    """Whether a command creates a namespace, which belongs to whoever needs it and is no component of its own."""
    words = kubectl_flags.parse(invocation)
    return [each.text for each in words.positional[:2]] in (["create", "namespace"], ["create", "ns"])


def created(pipeline: Sequence[Invocation], context: Context) -> Origin:
    """``kubectl create secret …``, ``kubectl create configmap …``; keys of Secrets are kept, values never."""
    words = kubectl_flags.parse(pipeline[0])
    kind, *rest = words.positional[1:]
    keys: tuple[str, ...] = ()
    if kind.text == "secret":
        name = rest[1] if len(rest) > 1 else Text("")
        object_kind = "Secret"
        keys = tuple(_key(each.text) for each in words.all("from-literal", "from-file"))
    else:
        name = rest[0] if rest else Text("")
        object_kind = _KINDS.get(kind.text.partition(".")[0], kind.text.capitalize())
    namespace = words.one("namespace")
    inside = "" if object_kind in CLUSTER_WIDE else namespace.text if namespace.is_known else ""
    made = ObjectId(_GROUPS.get(object_kind, ""), object_kind, inside, name.text)
    source: Unresolved | Embedded = Embedded(place=pipeline[0].place, steps=())
    if object_kind == "Secret":
        source = Unresolved(text=f"kubectl create secret {name.text}", reason="its values are only known when it runs")
    return origin(
        pipeline,
        form=Form.KUBECTL_COMMAND,
        name=name.text,
        namespace=inside,
        source=source,
        cluster=context.cluster(words.one("context").text),
        objects=[made],
        definition={"keys": keys} if keys else {},
    )


def _key(given: str) -> str:
    """The key of ``--from-literal=key=value`` or ``--from-file=path``."""
    name, equals, _ = given.partition("=")
    return name if equals else name.rpartition("/")[2]
