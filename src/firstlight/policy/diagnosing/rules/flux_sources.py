"""Sources of Flux that cannot be fetched: credentials, host keys, branches, charts, the way to the server."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import text
from firstlight.gates import status
from firstlight.model.diagnosis import NextCommand
from firstlight.policy.diagnosing import applying, engine_objects, found, repositories
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.scene import Scene, name_of

_COMMANDS = {
    "GitRepository": "source git",
    "OCIRepository": "source oci",
    "HelmRepository": "source helm",
    "Bucket": "source bucket",
    "HelmChart": "source chart",
}


def failing_sources(scene: Scene) -> Iterator[Found]:
    """Sources that are not Ready by their own word."""
    for value, reason, said in engine_objects.failing(scene, *engine_objects.SOURCES):
        kind, space = text(value, "kind"), text(value, "metadata", "namespace")
        rule = (repositories.of_git if kind == "GitRepository" else repositories.of_charts)(said) or "source-failed"
        what = repositories.WORDS.get(rule, f"it cannot be fetched ({reason or 'no reason given'})")
        secret = text(value, "spec", "secretRef", "name")
        if rule.endswith("authentication") and secret and _is_absent(scene, space, secret):
            what = f"the Secret {space}/{secret} with the credentials does not exist"
        yield Found(
            rule=rule,
            subject=name_of(value),
            says=f"{name_of(value)} ({_address(value)}): {what}",
            evidence=(found.of_condition(value, "Ready"),),
            next=_next(rule, value, secret),
            since=status.since(value, "Ready"),
            needs=found.names(
                repositories.needs(said),
                applying.needs(said, space),
                engine_objects.rests_on(value),
                f"Secret {space}/{secret}" if secret else "",
            ),
        )


def _is_absent(scene: Scene, space: str, name: str) -> bool:
    return scene.is_listed("/Secret") and scene.one("/Secret", name, namespace=space) is None


def _address(value: Mapping[str, Any]) -> str:
    if text(value, "kind") == "HelmChart":
        return f"{text(value, 'spec', 'chart')} {text(value, 'spec', 'version')}".strip()
    url = text(value, "spec", "url") or text(value, "spec", "endpoint")
    branch = text(value, "spec", "ref", "branch") or text(value, "spec", "ref", "tag")
    return f"{url}, {branch}" if branch else url


def _next(rule: str, value: Mapping[str, Any], secret: str) -> tuple[NextCommand, ...]:
    space, name, kind = text(value, "metadata", "namespace"), text(value, "metadata", "name"), text(value, "kind")
    again = found.command(f"flux reconcile {_COMMANDS[kind]} {name} -n {space}", "once it is mended: try at once")
    match rule:
        case "git-authentication" | "chart-authentication" | "git-host-key" if secret:
            why = "which keys it has: known_hosts and identity for SSH, username and password for HTTPS"
            return (found.command(f"kubectl -n {space} describe secret {secret}", why), again)
        case "git-reference":
            return (
                found.command(f"git ls-remote {text(value, 'spec', 'url')}", "which branches and tags there are"),
                again,
            )
        case "git-unreachable" | "chart-unreachable":
            return (found.command(f"kubectl -n {space} logs deployment/source-controller", "how it fails"), again)
        case "chart-missing" if kind == "HelmChart":
            return (found.kubectl("describe", value, "which chart and version is asked for"), again)
    return (found.kubectl("describe", value), again)
