"""Sources of Flux that cannot be fetched: credentials, host keys, branches, charts, the way to the server."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import engine_state, error_messages, symptoms
from firstlight.commands.doctor.symptoms import NextCommand, Symptom
from firstlight.document import conditions
from firstlight.document.within import at, mapping, text
from firstlight.gates.causes import message_codes
from firstlight.model import flux_names
from firstlight.observe.cluster.observation import ClusterObservation, name_of

_COMMANDS = {
    flux_names.GIT_REPOSITORY: "source git",
    flux_names.OCI_REPOSITORY: "source oci",
    flux_names.HELM_REPOSITORY: "source helm",
    flux_names.BUCKET: "source bucket",
    flux_names.HELM_CHART: "source chart",
}


def failing_sources(scene: ClusterObservation) -> Iterator[Symptom]:
    """Sources that are not Ready by their own word."""
    for value, reason, said in engine_state.failing(scene, *engine_state.SOURCES):
        kind, space = text(value, "kind"), text(value, "metadata", "namespace")
        code = (message_codes.git_code if kind == flux_names.GIT_REPOSITORY else message_codes.chart_code)(
            said
        ) or "source-failed"
        what = message_codes.REPOSITORY_MESSAGES.get(code, f"it cannot be fetched ({reason or 'no reason given'})")
        secret = text(value, "spec", "secretRef", "name")
        if code.endswith("authentication") and secret and _is_absent(scene, space, secret):
            what = f"the Secret {space}/{secret} with the credentials does not exist"
        yield symptoms.symptom(
            code=code,
            subject=name_of(value),
            message=f"{name_of(value)} ({_address(value)}): {what}",
            evidence=(symptoms.of_condition(value, "Ready"),),
            next=_next(code, value, secret),
            since=conditions.condition_since(value, "Ready"),
            needs=symptoms.names(
                error_messages.needs_of_repository(said),
                error_messages.needs_of_apply(said, space),
                engine_state.rests_on(value),
                f"Secret {space}/{secret}" if secret else "",
            ),
        )


def _is_absent(scene: ClusterObservation, space: str, name: str) -> bool:
    return scene.is_listed("/Secret") and scene.one("/Secret", name, namespace=space) is None


def _address(value: Mapping[str, Any]) -> str:
    if text(value, "kind") == flux_names.HELM_CHART:
        return f"{text(value, 'spec', 'chart')} {text(value, 'spec', 'version')}".strip()
    url = text(value, "spec", "url") or text(value, "spec", "endpoint")
    branch = text(value, "spec", "ref", "branch") or text(value, "spec", "ref", "tag")
    return f"{url}, {branch}" if branch else url


def _next(code: str, value: Mapping[str, Any], secret: str) -> tuple[NextCommand, ...]:
    space, name, kind = text(value, "metadata", "namespace"), text(value, "metadata", "name"), text(value, "kind")
    again = symptoms.command(f"flux reconcile {_COMMANDS[kind]} {name} -n {space}", "once it is mended: try at once")
    match code:
        case "git-authentication" | "chart-authentication" | "git-host-key" if secret:
            why = "which keys it has: known_hosts and identity for SSH, username and password for HTTPS"
            return (symptoms.command(f"kubectl -n {space} describe secret {secret}", why), again)
        case "git-reference":
            return (
                symptoms.command(f"git ls-remote {text(value, 'spec', 'url')}", "which branches and tags there are"),
                again,
            )
        case "git-unreachable" | "chart-unreachable":
            return (
                symptoms.command(f"kubectl -n {space} logs deployment/{flux_names.SOURCE_CONTROLLER}", "how it fails"),
                again,
            )
        case "chart-missing" if kind == flux_names.HELM_CHART:
            return (symptoms.kubectl("describe", value, "which chart and version is asked for"), again)
    return (symptoms.kubectl("describe", value), again)


# Kustomizations that are not ready: what they build, decrypt, substitute, apply, wait for, and depend on.


_BUILDING = (
    (r"kustomization path not found", "path-missing"),
    (r"variable not set \(strict mode\)|variable substitution failed|substitute from '", "variable-missing"),
    (r"sops|decrypt", "decryption-failed"),
    (r"[Ss]ource artifact not found|[Ss]ource is not ready|artifact not found", "source-waits"),
    (r"(GitRepository|OCIRepository|Bucket)\S* \"[^\"]+\" not found|[Ss]ource '[^']+' not found", "source-missing"),
    (r"health check failed|HealthCheckFailed", "health-check"),
    (r"kustomize build failed|failed to build|accumulating resources|^build failed", "build-failed"),
)  # fmt: skip
_REASONS = {
    "DependencyNotReady": "dependency-waits",
    "HealthCheckFailed": "health-check",
    "BuildFailed": "build-failed",
    "ArtifactFailed": "source-waits",
    "SourceNotReady": "source-waits",
}


def failing_kustomizations(scene: ClusterObservation) -> Iterator[Symptom]:
    """Kustomizations that are not Ready by their own word."""
    for value, reason, said in engine_state.failing(scene, flux_names.KUSTOMIZATION_GROUP_KIND):
        if reason == "DependencyNotReady":
            continue  # told with all that depend on something
        space = text(value, "metadata", "namespace")
        code = next((code for pattern, code in _BUILDING if re.search(pattern, said)), "") or message_codes.apply_code(
            said
        )
        code = code or _REASONS.get(reason, "") or "kustomization-failed"
        if code == "health-check" and not _is_hopeless(value, said, scene):
            continue
        secret = text(value, "spec", "decryption", "secretRef", "name")
        yield symptoms.symptom(
            code=code,
            subject=name_of(value),
            message=f"{name_of(value)}: {_says(code, value, said, scene)}",
            evidence=(symptoms.of_condition(value, "Ready"),),
            next=_kustomizations_next(code, value, said),
            since=conditions.condition_since(value, "Ready"),
            needs=symptoms.names(
                engine_state.rests_on(value),
                error_messages.needs_of_apply(said, space),
                engine_state.inventory(value) if code in ("health-check", "kustomization-failed") else (),
                f"Secret {space}/{secret}" if code == "decryption-failed" and secret else "",
                _substituted(said, space) if code == "variable-missing" else (),
            ),
        )


def _is_hopeless(value: Mapping[str, Any], said: str, scene: ClusterObservation) -> bool:
    """A check that timed out says so; one that is at its first try has not failed yet."""
    return (
        "timeout" in said
        or "failed early" in said
        or scene.is_over(conditions.condition_since(value, "Ready"), times=5)
    )


def _says(code: str, value: Mapping[str, Any], said: str, scene: ClusterObservation) -> str:
    told, space = conditions.said(said), text(value, "metadata", "namespace")
    match code:
        case "path-missing":
            return f"the path {text(value, 'spec', 'path')} is not in its source"
        case "variable-missing":
            if match := re.search(r'strict mode\): "?([^"\s]+)"?', said):
                return f"the variable {match[1]} is not set by anything that it substitutes from"
            return f"a variable cannot be substituted: {told}"
        case "decryption-failed":
            return _decryption(value, scene, space)
        case "source-waits":
            return f"its source {engine_state.reference(value, 'spec', 'sourceRef')} has no artifact"
        case "source-missing":
            return f"its source {engine_state.reference(value, 'spec', 'sourceRef')} does not exist"
        case "health-check":
            waits = ", ".join(message_codes.unready_objects(said)) or "what it applies"
            return f"{waits} did not become ready in time"
        case "kind-missing":
            kinds = ", ".join(message_codes.missing_kinds(said)) or "a kind"
            return (
                f"the server does not know {kinds}: the CRD is not there yet, and nothing that it depends on brings it"
            )
        case "immutable-field":
            return (
                f"{message_codes.refused_object(said) or 'an object'} has a field that cannot be "
                "changed once it is there"
            )
        case "namespace-missing":
            name = next(iter(re.findall(r'namespaces "([^"]+)" not found', said)), "")
            return f"the namespace {name} does not exist"
    return told or "no reason given"


def _decryption(value: Mapping[str, Any], scene: ClusterObservation, space: str) -> str:
    secret = text(value, "spec", "decryption", "secretRef", "name")
    if not at(value, "spec", "decryption"):
        return "it has encrypted Secrets, and no spec.decryption that says how they are decrypted"
    if not secret:
        return "its Secrets cannot be decrypted: no key fits"
    live = scene.one("/Secret", secret, namespace=space)
    if live is None and scene.is_listed("/Secret"):
        return f"the Secret {space}/{secret} with the key for decryption does not exist"
    return f"its Secrets cannot be decrypted: no key in the Secret {space}/{secret} fits"


def _substituted(said: str, space: str) -> Iterator[str]:
    for kind, name in re.findall(r"substitute from '(ConfigMap|Secret)/([^']+)'", said):
        yield f"{kind} {space}/{name}"


def _kustomizations_next(code: str, value: Mapping[str, Any], said: str) -> tuple[NextCommand, ...]:
    space, name = text(value, "metadata", "namespace"), text(value, "metadata", "name")
    again = symptoms.command(f"flux reconcile kustomization {name} -n {space} --with-source", "once it is mended")
    secret = text(value, "spec", "decryption", "secretRef", "name")
    match code:
        case "decryption-failed" if secret:
            return (
                symptoms.command(f"kubectl -n {space} describe secret {secret}", "which keys it holds, by name"),
                again,
            )
        case "health-check":
            return (symptoms.command(f"flux tree kustomization {name} -n {space}", "what it applies"), again)
        case "path-missing" | "build-failed" | "variable-missing":
            return (symptoms.command("firstlight render", "the same build on this computer"), again)
        case "apply-conflict" | "immutable-field":
            return (
                symptoms.command("firstlight owners --flaws", "who owns the object, and what is wrong with that"),
                again,
            )
        case "kind-missing":
            return (symptoms.command("kubectl get crds", "whether something has brought it since"), again)
    return (symptoms.kubectl("describe", value), again)


def waiting_for_dependencies(scene: ClusterObservation) -> Iterator[Symptom]:
    """Kustomizations and HelmReleases that wait for others: for one that is missing, in a circle, or just waiting."""
    kinds = (flux_names.KUSTOMIZATION_GROUP_KIND, flux_names.HELM_RELEASE_GROUP_KIND)
    known = {name_of(each): each for each in scene.of(*kinds)}
    graph = {name: [each for each in engine_state.depends(value) if each in known] for name, value in known.items()}
    yield from _circles(graph, known)
    for value, reason, _ in engine_state.failing(scene, *kinds):
        if reason != "DependencyNotReady":
            continue
        missing = [each for each in engine_state.depends(value) if each not in known]
        if missing:
            yield _missing(value, missing[0])
        elif scene.is_over(conditions.condition_since(value, "Ready"), times=10) or _is_held(
            name_of(value), known, graph
        ):
            yield _waits(value, known)


def _is_held(name: str, known: Mapping[str, Mapping[str, Any]], graph: Mapping[str, list[str]]) -> bool:
    """Whether something that it waits for, near or far, fails or rests; what still starts holds nobody for long."""
    seen, todo = {name}, list(graph[name])
    for each in todo:
        if each in seen:
            continue
        seen.add(each)
        ready = conditions.condition(known[each], "Ready")
        if engine_state.is_resting(known[each]):
            return True
        if text(ready, "status") == "False" and text(ready, "reason") != "DependencyNotReady":
            return True
        todo += graph[each]
    return False


def _circles(graph: Mapping[str, list[str]], known: Mapping[str, Mapping[str, Any]]) -> Iterator[Symptom]:
    told: set[str] = set()
    for start in sorted(graph):
        circle = _circle(start, graph)
        if not circle or told & set(circle):
            continue
        told |= set(circle)
        value = known[start]
        yield symptoms.symptom(
            code="dependency-cycle",
            subject=start,
            message=f"{' waits for '.join([*circle, circle[0]])}: none of them is ever applied",
            evidence=tuple(
                symptoms.of_field(known[each], "spec.dependsOn", ", ".join(engine_state.depends(known[each])))
                for each in circle
            ),
            next=(
                symptoms.command("firstlight graph", "what needs what"),
                symptoms.kubectl("get -o yaml", value),
            ),
            since=conditions.condition_since(value, "Ready"),
            names=frozenset(circle),
        )


def _circle(start: str, graph: Mapping[str, list[str]]) -> list[str]:
    """The shortest way from one back to itself."""
    before: dict[str, str] = {}
    todo = [start]
    for each in todo:
        for one in sorted(graph[each]):
            if one == start:
                way = [each]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if one not in before:
                before[one] = each
                todo.append(one)
    return []


def _missing(value: Mapping[str, Any], missing: str) -> Symptom:
    return symptoms.symptom(
        code="dependency-missing",
        subject=name_of(value),
        message=f"{name_of(value)} depends on {missing}, which does not exist",
        evidence=(symptoms.of_condition(value, "Ready"),),
        next=(
            symptoms.command("flux get all -A", "what there is, and how it is called"),
            symptoms.kubectl("describe", value),
        ),
        since=conditions.condition_since(value, "Ready"),
        needs=symptoms.names(missing, symptoms.controller(engine_state.CONTROLLERS[_kind(value)])),
    )


def _kind(value: Mapping[str, Any]) -> str:
    return (
        flux_names.KUSTOMIZATION_GROUP_KIND
        if text(value, "kind") == flux_names.KUSTOMIZATION
        else flux_names.HELM_RELEASE_GROUP_KIND
    )


def _waits(value: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> Symptom:
    others = engine_state.depends(value)
    named = re.search(r"dependency '([^']+)'", text(conditions.condition(value, "Ready"), "message"))
    waits = next((each for each in others if named and each.endswith(f" {named[1]}")), others[0] if others else "")
    state = "which is suspended" if at(known.get(waits), "spec", "suspend") is True else "which is not ready"
    return symptoms.symptom(
        code="dependency-waits",
        subject=name_of(value),
        message=f"{name_of(value)} waits for {waits or 'what it depends on'}, {state}",
        evidence=(symptoms.of_condition(value, "Ready"),),
        next=(symptoms.kubectl("describe", mapping(known.get(waits)) or value, "why it is not ready"),),
        since=conditions.condition_since(value, "Ready"),
        names=engine_state.kinds_of(value),
        needs=symptoms.names(others, f"Namespace {text(value, 'metadata', 'namespace')}"),
    )
