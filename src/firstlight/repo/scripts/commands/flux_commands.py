"""``flux``: bootstrap, install, and objects that it creates."""

import posixpath
from collections.abc import Sequence

from firstlight.model import flux_names
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.component import ObjectId, Origin, Phase, SourceForm
from firstlight.model.source import DirectorySource, Embedded, RemoteSource, Source, Unresolved
from firstlight.repo.scripts import command_context, masked_lines
from firstlight.repo.scripts.command_context import (
    CommandContext,
    CommandReading,
    Flags,
    Invocation,
    StepRole,
    command_origin,
)

_VALUED = command_context.flag_names(
    """
    owner repository branch path url hostname namespace context kubeconfig version components components-extra
    registry image-pull-secret watch-all-namespaces secret-name interval timeout author-email author-name
    private-key-file username password token-auth team network-policy cluster-domain log-level toleration-keys
    source chart chart-version target-namespace values tag semver ref commit secret-ref depends-on prune-timeout
    decryption-provider decryption-secret health-check ssh-key-algorithm ssh-ecdsa-curve ca-file repository-id
    reconcile-timeout label gpg-key-ring gpg-passphrase gpg-key-id commit-message-appendix wait-timeout provider
    """
)
_SWITCHES = {"token-auth", "network-policy", "watch-all-namespaces"}
_SHORT = {"n": "namespace", "s": "silent", "A": "all-namespaces"}
_GATES = {"get", "check", "events", "logs", "tree", "trace", "stats", "version", "diff", "build", "export", "list"}
_CHANGES = {"reconcile", "suspend", "resume", "delete", "uninstall", "migrate", "push", "pull", "tag"}
_KINDS = {
    "source git": (flux_names.SOURCE_GROUP, flux_names.GIT_REPOSITORY),
    "source oci": (flux_names.SOURCE_GROUP, flux_names.OCI_REPOSITORY),
    "source helm": (flux_names.SOURCE_GROUP, flux_names.HELM_REPOSITORY),
    "source bucket": (flux_names.SOURCE_GROUP, flux_names.BUCKET),
    "kustomization": (flux_names.KUSTOMIZE_GROUP, flux_names.KUSTOMIZATION),
    "helmrelease": (flux_names.HELM_GROUP, flux_names.HELM_RELEASE),
}


def read(invocation: Invocation, context: CommandContext) -> CommandReading | None:
    """What a flux command means."""
    words = _flags(invocation)
    verb = words.positional[0].text if words.positional else ""
    kind = f"flux {verb}"
    if verb in _GATES:
        return CommandReading(kind, StepRole.GATE)
    if verb in _CHANGES:
        return CommandReading(kind, StepRole.CHANGE)
    if verb not in ("bootstrap", "install", "create"):
        return None
    if words.has("export"):
        return CommandReading(kind, StepRole.SUPPORT)
    made = _origin([invocation], words, context)
    cluster = _cluster(invocation, words, made) if verb == "bootstrap" else None
    return CommandReading(kind, StepRole.DEPLOY, made, cluster=cluster)


def exported(pipeline: Sequence[Invocation], context: CommandContext) -> Origin:
    """``flux install --export | kubectl apply -f -``."""
    return _origin(pipeline, _flags(pipeline[0]), context)


def _flags(invocation: Invocation) -> Flags:
    return command_context.parse_flags(invocation.words[1:], valued=_VALUED - _SWITCHES, short=_SHORT)


def _origin(pipeline: Sequence[Invocation], words: Flags, context: CommandContext) -> Origin:
    verb = words.positional[0].text if words.positional else ""
    namespace = words.one("namespace").text or flux_names.FLUX_SYSTEM
    name, objects, source, doubts = "flux", [], _where(pipeline[0], words, context), []
    if verb == "create":
        kind, name = _created(words)
        group, object_kind = _KINDS.get(kind, ("", "Secret" if kind.startswith("secret") else kind.capitalize()))
        objects = [ObjectId(group, object_kind, namespace, name)]
    elif verb == "install":
        source = Unresolved(text="flux install", reason="the manifests are inside of the flux program")
    if isinstance(source, Unresolved) and verb == "bootstrap":
        doubts.append(source.reason)
    facts = ("path", "branch", "owner", "repository", "url", "hostname", "secret-name", "components-extra", "source")
    return command_origin(
        pipeline,
        form=SourceForm.FLUX_COMMAND,
        name=name,
        namespace=namespace,
        source=source,
        version=words.one("version").text,
        phase=Phase.ENGINE,
        cluster=context.cluster(words.one("context").text, posixpath.basename(words.one("path").text.rstrip("/"))),
        objects=objects,
        doubts=doubts,
        definition={
            "verb": " ".join(each.text for each in words.positional[:3]),
            **{key: masked_lines.masked_url(words.one(key).text) for key in facts if words.one(key).text},
        },
    )


def _created(words: Flags) -> tuple[str, str]:
    """``create source git NAME`` and ``create kustomization NAME``."""
    rest = [each.text for each in words.positional[1:]]
    length = 2 if rest and rest[0] in ("source", "secret", "image") else 1
    return " ".join(rest[:length]), rest[length] if len(rest) > length else ""


def _where(invocation: Invocation, words: Flags, context: CommandContext) -> Source:
    path = words.one("path")
    if not path.text:
        url = words.one("url").text
        return (
            RemoteSource(url=url, revision=words.one("branch").text)
            if url
            else Embedded(place=invocation.place, steps=())
        )
    found = context.lookup.find(".", path)
    if found.path:
        return DirectorySource(path=found.path)
    return Unresolved(text=path.shown, reason=found.doubt)


def _cluster(invocation: Invocation, words: Flags, made: Origin) -> Cluster | None:
    """Where Flux starts: bootstrap writes its own objects to that path."""
    path = words.one("path")
    clean = posixpath.normpath(path.text.strip("/")) if path.text else ""
    if not path.is_known or not clean or clean.startswith(".."):
        return None
    kind = words.positional[1].text if len(words.positional) > 1 else ""
    owner, repository = words.one("owner"), words.one("repository")
    url = words.one("url")
    if not url.text and owner.text and repository.text and owner.is_known and repository.is_known:
        host = words.one("hostname").text or {"github": "github.com", "gitlab": "gitlab.com"}.get(kind, "")
        address = f"https://{host}/{owner.text}/{repository.text}" if host else ""
    else:
        address = url.text if url.is_known else ""
    branch = words.one("branch")
    return Cluster(
        name=posixpath.basename(clean),
        place=invocation.place,
        engine=Engine.FLUX,
        url=masked_lines.masked_url(address),
        branch=(branch.text or "main") if branch.is_known else "",
        path=clean,
        said={"path": invocation.place, "engine": invocation.place},
    )
