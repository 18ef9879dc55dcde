"""The flags of kubectl."""

import dataclasses
from collections.abc import Sequence

from firstlight.model.component import ObjectId, Origin, SourceForm
from firstlight.model.source import DirectorySource, Embedded, SeveralSources, Unresolved
from firstlight.repo import well_known_components
from firstlight.repo.scripts import command_context, masked_lines
from firstlight.repo.scripts.command_context import (
    CommandContext,
    CommandReading,
    Flags,
    HelmfileCall,
    Invocation,
    StepRole,
    command_origin,
)
from firstlight.repo.scripts.commands import flux_commands, helm_commands, manifest_arguments
from firstlight.repo.scripts.commands.manifest_arguments import Manifests
from firstlight.repo.scripts.shell.shell_expansion import ExpandedText

_VALUED = command_context.flag_names(
    """
    filename kustomize namespace context cluster user kubeconfig server token output selector field-manager
    from-literal from-file from-env-file type docker-server docker-username docker-password docker-email cert
    key prune-allowlist timeout template as as-group request-timeout v overrides image for field-selector port
    clusterrole role serviceaccount verb resource resource-name schedule from tail container subresource patch
    patch-file replicas grace-period username password tls-server-name certificate-authority client-key
    client-certificate cache-dir
    """
)
_SHORT = {"f": "filename", "k": "kustomize", "n": "namespace", "o": "output", "l": "selector", "R": "recursive",
          "s": "server", "c": "container", "p": "patch", "A": "all-namespaces"}  # fmt: skip


def parse_kubectl(invocation: Invocation) -> Flags:
    """The command line of a kubectl command; its verb is the first that is no flag."""
    return command_context.parse_flags(invocation.words[1:], valued=_VALUED, short=_SHORT)


def is_dry_run(words: Flags) -> bool:
    """Whether nothing reaches the cluster."""
    return words.has("dry-run") and words.one("dry-run").text != "none"


# ``kubectl create`` of a single object: Secrets, ConfigMaps and their likes; namespaces are no components.


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
    words = parse_kubectl(invocation)
    is_create = len(words.positional) > 1 and words.positional[0].text == "create"
    return invocation.program == "kubectl" and is_create and is_dry_run(words)


def is_namespace(invocation: Invocation) -> bool:
    """Whether a command creates a namespace, which belongs to whoever needs it and is no component of its own."""
    words = parse_kubectl(invocation)
    return [each.text for each in words.positional[:2]] in (["create", "namespace"], ["create", "ns"])


def created_object(pipeline: Sequence[Invocation], context: CommandContext) -> Origin:
    """``kubectl create secret …``, ``kubectl create configmap …``; keys of Secrets are kept, values never."""
    words = parse_kubectl(pipeline[0])
    kind, *rest = words.positional[1:]
    keys: tuple[str, ...] = ()
    if kind.text == "secret":
        name = rest[1] if len(rest) > 1 else ExpandedText("")
        object_kind = "Secret"
        keys = tuple(_key(each.text) for each in words.all("from-literal", "from-file"))
    else:
        name = rest[0] if rest else ExpandedText("")
        object_kind = _KINDS.get(kind.text.partition(".")[0], kind.text.capitalize())
    namespace = words.one("namespace")
    inside = "" if object_kind in CLUSTER_WIDE else namespace.text if namespace.is_known else ""
    made = ObjectId(_GROUPS.get(object_kind, ""), object_kind, inside, name.text)
    source: Unresolved | Embedded = Embedded(place=pipeline[0].place, steps=())
    if object_kind == "Secret":
        source = Unresolved(text=f"kubectl create secret {name.text}", reason="its values are only known when it runs")
    return command_origin(
        pipeline,
        form=SourceForm.KUBECTL_COMMAND,
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


# What feeds ``kubectl apply -f -``: the commands before it in the pipeline, or a heredoc.


_KUSTOMIZE = {
    "load-restrictor",
    "enable-alpha-plugins",
    "output",
    "env",
    "reorder",
    "mount",
    "network-name",
    "as-current-user",
}
_OP = {"i", "in-file", "o", "out-file", "account", "in", "file-mode", "session", "config", "format", "encoding"}
_PLAIN_FEEDERS = {
    "cat",
    "curl",
    "wget",
    "envsubst",
    "sops",
    "op",
    "gomplate",
    "minijinja-cli",
    "yq",
    "sed",
    "jq",
    "gpg",
}
_DECRYPTS = {"sops": "sops", "gpg": "gpg"}
_INSTALLERS = {"linkerd", "istioctl", "velero", "clusterctl", "dapr", "vcluster", "cmctl"}
"""Programs that print the manifests of what they are named after; what others print has no name."""


@dataclasses.dataclass(frozen=True, slots=True)
class FedManifests:
    """Manifests that come out of other commands."""

    manifests: Manifests
    form: SourceForm = SourceForm.KUBECTL_COMMAND


def read_feed(
    before: Sequence[Invocation], applier: Invocation, context: CommandContext
) -> FedManifests | Origin | HelmfileCall | None:
    """What arrives at the command that applies it; the first command that can be the source of it counts.

    None is for a namespace, which is no component.
    """
    if applier.feed is not None and not before:
        return FedManifests(_feed(applier, context))
    whole = [*before, applier]
    for n, invocation in enumerate(before):
        verb = next((word.text for word in invocation.words[1:] if not word.text.startswith("-")), "")
        program = invocation.program
        if program == "helm" and "template" in [word.text for word in invocation.words[1:4]]:
            return helm_commands.helm_release(whole[n:], context)
        if program == "helmfile":
            return helm_commands.helmfile_call(invocation, context, pipeline=whole)
        if program == "kustomize" or (program == "kubectl" and verb == "kustomize"):
            return FedManifests(_kustomize(invocation, context), SourceForm.KUSTOMIZE_COMMAND)
        if is_dry_create(invocation):
            return None if is_namespace(invocation) else created_object(whole[n:], context)
        if program == "flux":
            return flux_commands.exported(whole[n:], context)
        if invocation.feed is not None:
            return FedManifests(_feed(invocation, context))
        found = _file(invocation, context)
        if found is not None:
            return FedManifests(found)
    text = masked_lines.one_line(masked_lines.masked_line([each.words[:3] for each in before])) or "standard input"
    reason = "what it applies is the output of another command"
    return FedManifests(Manifests(Unresolved(text=text, reason=reason), _installer(before), doubt=reason))


def _installer(before: Sequence[Invocation]) -> str:
    """The program that prints its own manifests; empty if text merely passes through."""
    return next((each.program for each in before if each.program in _INSTALLERS), "")


def _passes_live_objects(before: Sequence[Invocation]) -> bool:
    """Whether a pipeline reads objects from the cluster, to change or copy them."""
    if not before or before[0].program not in PROGRAMS:
        return False
    words = parse_kubectl(before[0]).positional
    return bool(words) and words[0].text == "get"


def _feed(invocation: Invocation, context: CommandContext) -> Manifests:
    assert invocation.feed is not None
    if invocation.feed.is_file:
        return manifest_arguments.from_path(context.lookup, invocation.directory, invocation.feed.text, kustomize=False)
    return manifest_arguments.from_feed(invocation.feed, invocation.place.path)


def _kustomize(invocation: Invocation, context: CommandContext) -> Manifests:
    words = command_context.parse_flags(invocation.words[1:], valued=_KUSTOMIZE, short={"o": "output", "e": "env"})
    paths = [each for each in words.positional if each.text not in ("build", "kustomize")]
    return manifest_arguments.from_path(
        context.lookup, invocation.directory, paths[0] if paths else ExpandedText("."), kustomize=True
    )


def _file(invocation: Invocation, context: CommandContext) -> Manifests | None:
    """A file of the repo, or a URL, that a command reads and passes on, perhaps decrypted or with values put in."""
    words = command_context.parse_flags(invocation.words[1:], valued=_OP, short={})
    for path in (*words.all("i", "in-file"), *words.positional):
        is_url = path.text.startswith(("http://", "https://"))
        if not is_url and not context.lookup.find(invocation.directory, path).path:
            continue
        found = manifest_arguments.from_path(context.lookup, invocation.directory, path, kustomize=False)
        if isinstance(found.source, DirectorySource) and context.lookup.tree.is_dir(found.source.path):
            continue
        if isinstance(found.source, DirectorySource) and invocation.program in _DECRYPTS:
            found = dataclasses.replace(found, source=dataclasses.replace(found.source, decryption="sops"))
        if invocation.program not in _PLAIN_FEEDERS:
            doubt = f"it is what {masked_lines.masked_line([invocation.words[:2]])} makes of the file"
            found = dataclasses.replace(found, doubt=found.doubt or doubt)
        return found
    return None


# ``kubectl``: what it applies and creates; what only looks, waits or changes is no component.


PROGRAMS = {"kubectl", "k", "oc", "kubecolor"}
_APPLIES = {"apply", "create", "replace"}
_GATES = {"get", "wait", "describe", "logs", "diff", "version", "cluster-info", "config", "top", "explain", "auth",
          "api-resources", "api-versions", "port-forward", "exec", "proxy", "cp", "events", "kustomize"}  # fmt: skip
_CHANGES = {"delete", "patch", "label", "annotate", "scale", "set", "edit", "taint", "cordon", "uncordon", "drain",
            "expose", "autoscale", "run", "debug", "certificate"}  # fmt: skip


def read_kubectl(pipeline: Sequence[Invocation], at: int, context: CommandContext) -> CommandReading | None:
    """What a kubectl command means; what feeds it stands before it in the pipeline."""
    invocation = pipeline[at]
    words = parse_kubectl(invocation)
    verb = words.positional[0].text if words.positional else ""
    kind = f"kubectl {verb}"
    second = words.positional[1].text if len(words.positional) > 1 else ""
    if verb == "rollout":
        return CommandReading(f"{kind} {second}", StepRole.GATE if second in ("status", "history") else StepRole.CHANGE)
    if verb in _GATES or (verb == "create" and second == "token"):
        return CommandReading(kind, StepRole.GATE)
    if verb in _CHANGES:
        return CommandReading(kind, StepRole.CHANGE)
    if verb not in _APPLIES:
        return None
    if verb == "create" and second:
        kind = f"{kind} {second}"
    if second == "job" or _passes_live_objects(pipeline[:at]):
        return CommandReading(kind, StepRole.CHANGE)  # a job that is run once, or an object that is there already
    if is_dry_run(words):
        # Printed for the next command of the pipeline, or for nobody.
        return CommandReading(kind, StepRole.SUPPORT if at + 1 < len(pipeline) else StepRole.GATE)
    if is_namespace(invocation):
        return CommandReading(kind, StepRole.SUPPORT)
    if verb == "create" and second:
        return CommandReading(kind, StepRole.DEPLOY, created_object(pipeline[at:], context))
    return _applied(pipeline, at, words, kind, context)


def _applied(
    pipeline: Sequence[Invocation], at: int, words: Flags, kind: str, context: CommandContext
) -> CommandReading:
    invocation = pipeline[at]
    found: list[Manifests] = []
    form = SourceForm.KUBECTL_COMMAND
    for given in words.all("filename"):
        for each in given.text.split(","):
            path = ExpandedText(each.strip(), given.unknowns)
            if each in ("-", "/dev/stdin"):
                made = read_feed(pipeline[:at], invocation, context)
                if made is None:
                    return CommandReading(kind, StepRole.SUPPORT)
                if isinstance(made, HelmfileCall):
                    return CommandReading(kind, StepRole.DEPLOY, helmfile=made)
                if isinstance(made, Origin):
                    return CommandReading(kind, StepRole.DEPLOY, made)
                form = made.form
                found.append(made.manifests)
            elif path.text.strip() in context.made or path.text in invocation.inner:
                before = invocation.inner.get(path.text) or context.made[path.text.strip()]
                made = read_feed(before, invocation, context)
                if made is None:
                    return CommandReading(kind, StepRole.SUPPORT)
                if isinstance(made, Origin):
                    return CommandReading(kind, StepRole.DEPLOY, made)
                if isinstance(made, FedManifests):
                    found.append(made.manifests)
            else:
                is_deep = words.has("recursive")
                found.append(
                    manifest_arguments.from_path(
                        context.lookup, invocation.directory, path, kustomize=False, recurse=is_deep
                    )
                )
    found += [
        manifest_arguments.from_path(context.lookup, invocation.directory, given, kustomize=True)
        for given in words.all("kustomize")
    ]
    if not found:
        found = [Manifests(Unresolved(text=kind, reason="the command names no files"), "", doubt="it names no files")]
    return CommandReading(kind, StepRole.DEPLOY, _origin(pipeline, words, found, form, context))


def _origin(
    pipeline: Sequence[Invocation], words: Flags, found: Sequence[Manifests], form: SourceForm, context: CommandContext
) -> Origin:
    namespace = words.one("namespace")
    inside = namespace.text if namespace.is_known else ""
    objects = [_placed(each, inside) for one in found for each in one.objects]
    texts = [each.source.path if isinstance(each.source, DirectorySource) else each.name for each in found]
    written = [
        word.text for invocation in pipeline for word in invocation.words[1:] if "/" in word.text or "crd" in word.text
    ]
    return command_origin(
        pipeline,
        form=form,
        name=found[0].name,
        namespace=inside or (found[0].namespace if len(found) == 1 else ""),
        source=found[0].source if len(found) == 1 else SeveralSources(each=tuple(each.source for each in found)),
        version=found[0].version,
        cluster=context.cluster(words.one("context").text, *_of_path(texts)),
        phase=well_known_components.phase_of([*texts, *written], objects=objects, names=[each.name for each in found]),
        objects=objects,
        doubts=[each.doubt for each in found],
        definition={key: True for key in ("server-side", "force-conflicts", "prune") if words.has(key)},
    )


def _placed(made: ObjectId, namespace: str) -> ObjectId:
    """An object that names no namespace goes to the one that the command names."""
    if made.namespace or made.kind in CLUSTER_WIDE:
        return made
    return dataclasses.replace(made, namespace=namespace)


def _of_path(texts: Sequence[str]) -> list[str]:
    """The name after ``clusters/`` in all paths, if it is the same: such files are that cluster's alone."""
    names = {parts[parts.index("clusters") + 1] for text in texts if "clusters" in (parts := text.split("/"))[:-1]}
    return list(names) if len(names) == 1 else []
