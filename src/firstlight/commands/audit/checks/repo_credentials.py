"""Whether the credentials that an engine is given for a repository fit the URL by which it fetches it."""

import re
from collections.abc import Iterator, Mapping

from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import at, mapping, sequence, text
from firstlight.model import argocd_names, flux_names
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.repo.platform_view import AppliedObject, PlatformView

_SCP = re.compile(r"[\w.-]+@[\w.-]+:(?!//)[^\s]+")
_EXTERNAL_SECRETS = ("external-secrets.io/ExternalSecret",)
_SSH_KEY = frozenset({"identity", "sshPrivateKey"})
_HTTPS_LOGIN = frozenset({
    "username", "password", "bearerToken", "githubAppID", "githubAppPrivateKey", "tls.crt", "certFile",
    "tlsClientCertData",
})  # fmt: skip
_ARGOCD_PLAIN = frozenset({"type", "url", "name", "project", "insecure", "enableLfs", "proxy", "noProxy"})
_VARIABLE = re.compile(r"\$\{|\{\{|<<|ENC\[")


def mismatched(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Sources of Flux and repositories of Argo CD whose URL and credentials do not fit."""
    yield from _of_flux(rule, scene)
    yield from _of_argocd(rule, scene)


def _of_flux(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    kinds = {
        flux_names.GIT_REPOSITORY_GROUP_KIND: (("spec", "url"), ("spec", "secretRef", "name")),
        flux_names.FLUX_INSTANCE_GROUP_KIND: (("spec", "sync", "url"), ("spec", "sync", "pullSecret")),
    }
    for kind, (url_steps, secret_steps) in kinds.items():
        for item in scene.of_kind(kind):
            url, secret = text(item.value, *url_steps), text(item.value, *secret_steps)
            if not url or _VARIABLE.search(url) or _VARIABLE.search(secret) or _is_oci(item):
                continue
            found = _flux_problem(scene, item, url, secret, ".".join(secret_steps[1:-1] or secret_steps[-1:]))
            if found is not None:
                message, fix, evidence = found
                yield rule.finding(
                    f"{item.object.id.kind} {item.object.id.name} {message}",
                    at=item.object.at(*url_steps),
                    clusters=(item.cluster,),
                    subject=item.component.name,
                    evidence=evidence,
                    fix=fix,
                )


def _is_oci(item: AppliedObject) -> bool:
    return text(item.value, "spec", "sync", "kind") not in ("", flux_names.GIT_REPOSITORY)


def _flux_problem(
    scene: PlatformView, item: AppliedObject, url: str, secret: str, field: str
) -> tuple[str, str, tuple[Evidence, ...]] | None:
    """Return what is wrong, what to write, and what shows it; None where nothing is, or where it is not known."""
    if _SCP.fullmatch(url):
        user_and_host, _, path = url.partition(":")
        return f"has the URL {url}, and Flux takes only ssh:// and https://", f"Write ssh://{user_and_host}/{path}.", ()
    is_ssh = url.startswith("ssh://")
    if is_ssh and not secret:
        return (
            "has an ssh URL and no secretRef: Flux cannot log in without a key",
            f"Name a Secret with identity and known_hosts under {field}, or use https:// for a public repository.",
            (),
        )
    known = _keys(scene, item.cluster, item.object.id.namespace, secret) if secret else None
    if known is None:
        return None
    keys, place = known
    evidence = (Evidence(f"Secret {secret} has {', '.join(sorted(keys))}", place),)
    if is_ssh and "identity" not in keys:
        return (
            f"has an ssh URL, and its Secret {secret} has no identity",
            "Put identity and known_hosts into the Secret, or use an https:// URL.",
            evidence,
        )
    if url.startswith("https://") and keys & _SSH_KEY and not keys & _HTTPS_LOGIN:
        return (
            f"has an https URL, and its Secret {secret} has only an SSH key",
            "Put username and password (a token) into the Secret, or use an ssh:// URL.",
            evidence,
        )
    return None


def _keys(scene: PlatformView, cluster: str, namespace: str, name: str) -> tuple[frozenset[str], Place] | None:
    """Return the keys of a Secret, and where it is made; None where nobody can tell all of them."""
    for item in scene.of_cluster(cluster, "/Secret"):
        if (item.object.id.namespace, item.object.id.name) == (namespace, name):
            keys = frozenset({**mapping(item.value, "data"), **mapping(item.value, "stringData")})
            return (keys, item.object.place) if keys else None
    for item in scene.of_cluster(cluster, *_EXTERNAL_SECRETS):
        target = text(item.value, "spec", "target", "name") or item.object.id.name
        if (item.object.id.namespace, target) == (namespace, name):
            keys = _external_keys(item)
            return (keys, item.object.place) if keys else None
    return None


def _external_keys(item: AppliedObject) -> frozenset[str]:
    """Return the keys of the Secret that an ExternalSecret makes; none where the store decides about them."""
    template = mapping(item.value, "spec", "target", "template")
    written = mapping(template, "data")
    merges = text(template, "mergePolicy") == "Merge"
    if sequence(template, "templateFrom") or ((not written or merges) and sequence(item.value, "spec", "dataFrom")):
        return frozenset()
    fetched = {text(each, "secretKey") for each in sequence(item.value, "spec", "data")}
    return frozenset({*written, *(fetched if merges or not written else ())} - {""})


# Argo CD finds the credentials of a repository by its URL.


def _of_argocd(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    for cluster in scene.clusters:
        secrets = list(_argocd_secrets(scene, cluster.name))
        used = {url: place for url, place in _used_urls(scene, cluster.name)}
        logins = {_plain(url) for _, url, _, _ in secrets}
        for item, url, keys, is_prefix in secrets:
            problem = _argocd_problem(url, keys)
            name = f"{item.object.id.kind} {item.object.id.name}"
            if problem:
                yield rule.finding(
                    f"{name} {problem}",
                    at=item.object.place,
                    clusters=(cluster.name,),
                    fix="Write sshPrivateKey for an ssh URL, username and password (a token) for an https URL.",
                )
                continue
            if is_prefix or _plain(url) in {_plain(each) for each in used}:
                continue
            other = next((each for each in used if _same_repository(each, url) and _plain(each) not in logins), None)
            if other is not None:
                yield rule.finding(
                    f"{name} is for {url}, and Applications use {other}: Argo CD does not use these credentials for it",
                    at=item.object.place,
                    clusters=(cluster.name,),
                    evidence=(Evidence(f"repoURL: {other}", used[other]),),
                    fix="Write the same URL in the Secret and in the Applications.",
                    # A public repository needs none.
                    severity=Severity.WARNING,
                )


def _argocd_secrets(scene: PlatformView, cluster: str) -> Iterator[tuple[AppliedObject, str, frozenset[str], bool]]:
    """Yield the Secrets of repositories: the object, the URL, the keys, and whether the URL is only a beginning."""
    for item in scene.of_cluster(cluster, "/Secret", *_EXTERNAL_SECRETS):
        is_plain = item.object.id.is_secret
        template = item.value if is_plain else mapping(item.value, "spec", "target", "template")
        kind = text(template, "metadata", "labels", argocd_names.SECRET_TYPE_LABEL)
        if kind not in ("repository", "repo-creds"):
            continue
        data: Mapping[str, object] = mapping(template, "stringData" if is_plain else "data")
        url, form = data.get("url"), data.get("type", "git")
        keys = frozenset(data) if is_plain else _external_keys(item)
        if is_plain and mapping(template, "data"):
            continue
        if isinstance(url, str) and url and not _VARIABLE.search(url) and form == "git":
            yield item, url, keys - _ARGOCD_PLAIN, kind == "repo-creds"


def _argocd_problem(url: str, keys: frozenset[str]) -> str:
    if not keys:
        return ""
    is_ssh = url.startswith("ssh://") or _SCP.fullmatch(url) is not None
    if is_ssh and "sshPrivateKey" not in keys:
        return f"is for the ssh URL {url} and has no sshPrivateKey"
    if url.startswith("https://") and keys <= {"sshPrivateKey"}:
        return f"is for the https URL {url} and has only an sshPrivateKey"
    return ""


def _used_urls(scene: PlatformView, cluster: str) -> Iterator[tuple[str, Place]]:
    for component in scene.platform.components_of(cluster):
        for origin in component.origins:
            for steps in (("spec", "source"), *(("spec", "sources", n) for n in range(_sources(origin.definition)))):
                url = text(origin.definition, *steps, "repoURL")
                if url and not _VARIABLE.search(url) and not at(origin.definition, *steps, "chart"):
                    yield url, origin.place


def _sources(definition: Mapping[str, object]) -> int:
    return len(sequence(definition, "spec", "sources"))


def _plain(url: str) -> str:
    """Return a URL as Argo CD compares it: without case and endings, and scp's form as ssh's."""
    url = url.strip().lower().rstrip("/").removesuffix(".git")
    if _SCP.fullmatch(url):
        host, _, path = url.partition(":")
        return f"ssh://{host}/{path.lstrip('/')}"
    return url


def _same_repository(one: str, other: str) -> bool:
    """Whether two URLs lead to one repository in two ways."""
    bare = [_plain(each).partition("://")[2].rpartition("@")[2] for each in (one, other)]
    return bare[0] == bare[1]
