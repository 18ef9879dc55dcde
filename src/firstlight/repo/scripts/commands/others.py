"""``argocd app create`` and ``cilium install``."""

from firstlight.model.component import Form, ObjectId, Phase
from firstlight.model.source import Chart, Directory, Remote, Source, Unresolved
from firstlight.repo.scripts import flags, masking
from firstlight.repo.scripts.commands.context import Context, Reading, origin
from firstlight.repo.scripts.commands.helm import settings
from firstlight.repo.scripts.invocation import Invocation
from firstlight.repo.scripts.step import Role

_ARGOCD = flags.names(
    """
    repo path dest-server dest-name dest-namespace project revision helm-chart helm-set values file sync-policy
    sync-option release-name app-namespace server auth-token grpc-web-root-path port-forward-namespace
    """
)
_CILIUM = flags.names(
    """
    version set values namespace context chart-directory repository set-string set-file helm-release-name
    """
)


def argocd(invocation: Invocation, context: Context) -> Reading:
    """An application that is made by a command; everything else of argocd looks or changes."""
    words = flags.parse(invocation.words[1:], valued=_ARGOCD, short={"f": "file", "N": "app-namespace"})
    verbs = [each.text for each in words.positional[:2]]
    if verbs != ["app", "create"]:
        kind = " ".join(["argocd", *verbs])
        looks = {"list", "get", "wait", "diff", "history", "version", "manifests", "logs"}
        return Reading(kind, Role.GATE if looks & set(verbs) else Role.CHANGE)
    name = words.positional[2].text if len(words.positional) > 2 else ""
    path, url = words.one("path"), words.one("repo")
    source: Source
    found = context.lookup.find(".", path) if path.text else None
    if words.one("helm-chart").text:
        source = Chart(
            name=words.one("helm-chart").text, repository=url.text, version=words.one("revision").text, release=name,
            namespace=words.one("dest-namespace").text,
        )  # fmt: skip
    elif found is not None and found.path:
        has_kustomization = any(name.startswith("kustomization.") for name in context.lookup.tree.listing(found.path))
        source = Directory(
            path=found.path,
            kustomize=has_kustomization,
            recurse=False,
            target_namespace=words.one("dest-namespace").text,
        )
    elif url.text and url.is_known:
        source = Remote(url=url.text, revision=words.one("revision").text, path=path.text)
    else:
        source = Unresolved(text=name, reason="the command names neither a repo nor a path that is known")
    namespace = words.one("app-namespace").text or "argocd"
    made = origin(
        [invocation],
        form=Form.APPLICATION,
        name=name,
        namespace=namespace,
        source=source,
        phase=Phase.ENGINE,
        objects=[ObjectId("argoproj.io", "Application", namespace, name)],
        definition={"repo": masking.url(url.text), "path": path.text, "revision": words.one("revision").text},
    )
    return Reading("argocd app create", Role.DEPLOY, made)


def cilium(invocation: Invocation, context: Context) -> Reading:
    """``cilium install`` is Helm inside: the chart of the same version, in kube-system."""
    words = flags.parse(invocation.words[1:], valued=_CILIUM, short={"n": "namespace", "f": "values"})
    verb = words.positional[0].text if words.positional else ""
    if verb not in ("install", "upgrade"):
        return Reading(
            f"cilium {verb}".strip(), Role.GATE if verb in ("status", "connectivity", "version") else Role.CHANGE
        )
    version = words.one("version").text.removeprefix("v")
    namespace = words.one("namespace").text or "kube-system"
    values = [
        each
        for flag in ("set", "set-string")
        for given in words.all(flag)
        for each in settings(given, invocation.place, is_text=flag == "set-string")
    ]
    made = origin(
        [invocation],
        form=Form.HELM_COMMAND,
        name=words.one("helm-release-name").text or "cilium",
        namespace=namespace,
        version=version,
        cluster=context.cluster(words.one("context").text),
        source=Chart(
            name="cilium",
            repository="https://helm.cilium.io",
            version=version,
            release="cilium",
            namespace=namespace,
            values=tuple(values),
        ),
        doubts=[] if version else ["the version is the one that the cilium program has inside"],
    )
    return Reading(f"cilium {verb}", Role.DEPLOY, made)
