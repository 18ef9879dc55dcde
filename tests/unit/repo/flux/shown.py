"""What was found in a repo, as text that people can check."""

from collections.abc import Iterator

from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId, Origin
from firstlight.model.source import ChartSource, DirectorySource, RemoteSource, Unresolved, Values
from firstlight.repo.reader_result import ReaderResult


def text(found: ReaderResult) -> str:
    """All of it, one thing a line."""
    lines: list[str] = []
    for cluster in found.clusters:
        lines += [*_cluster(cluster), ""]
        for origin in found.origins:
            if origin.cluster == cluster.name:
                lines += [*_origin(origin), ""]
    if found.unreached:
        lines += ["unreached"]
        lines += [f"  {each.id} ({each.place}): {each.doubt}" for each in found.unreached] + [""]
    lines += [
        f"{each.severity} {each.code} {each.place} {each.message}" + _if(" | ", each.fix)
        for each in sorted(found.diagnostics)
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _if(before: str, value: object) -> str:
    return f"{before}{value}" if value else ""


def _cluster(cluster: Cluster) -> Iterator[str]:
    yield f"cluster {cluster.name} ({cluster.place}) {cluster.engine}"
    yield f"  path {cluster.path}" + _if(" of ", cluster.url) + _if(" at ", cluster.branch)
    if cluster.settings:
        yield f"  settings {', '.join(f'{name}={value}' for name, value in cluster.settings.items())}"
    if cluster.network.load_balancers:
        yield f"  load balancers {', '.join(cluster.network.load_balancers)}"
    yield "  said " + ", ".join(f"{name}: {place}" for name, place in sorted(cluster.said.items()))


def _origin(origin: Origin) -> Iterator[str]:
    marks = [
        each for each in (origin.phase, origin.side, origin.version, "suspended" if origin.suspended else "") if each
    ]
    yield f"{origin.id} ({origin.place}) {' '.join(marks)}"
    if origin.parent:
        yield f"  brought by {origin.parent}"
    match origin.source:
        case DirectorySource():
            yield from _directory(origin.source)
        case ChartSource():
            yield from _chart(origin.source)
        case RemoteSource():
            yield (
                f"  elsewhere {origin.source.url}"
                + _if(" at ", origin.source.revision)
                + _if(" in ", origin.source.path)
            )
        case Unresolved():
            yield f"  unresolved {origin.source.text}: {origin.source.reason}"
        case _:
            raise AssertionError(origin.source)
    for need in origin.needs:
        yield f"  needs {need.id} ({need.place.line}, {need.why})"
    if origin.objects:
        yield f"  applies {', '.join(map(_object, origin.objects))}"
    for secret in origin.secrets:
        keys = _if(" ", "/".join(secret.keys))
        yield f"  secret {secret.namespace}/{secret.name}{keys} ({secret.place}) {secret.why}"
    if origin.doubt:
        yield f"  doubt {origin.doubt}"


def _object(each: ObjectId) -> str:
    return f"{each.kind} {_if('', each.namespace)}{'/' if each.namespace else ''}{each.name}"


def _directory(source: DirectorySource) -> Iterator[str]:
    yield f"  directory {source.path}" + _if(" from ", source.source) + ("" if source.kustomize else " as it is")
    for name in ("target_namespace", "name_prefix", "name_suffix", "components", "decryption"):
        if value := getattr(source, name):
            yield f"    {name} {value if isinstance(value, str) else ', '.join(value)}"
    if source.substitute:
        yield f"    substitute {', '.join(f'{name}={value}' for name, value in source.substitute.items())}"
    for each in source.substitute_from:
        yield f"    substitute from {each}{' (optional)' if each.optional else ''}"
    for name in ("patches", "images", "common_metadata"):
        if value := getattr(source, name):
            yield f"    {len(value)} {name}"


def _chart(source: ChartSource) -> Iterator[str]:
    origin = f" ({source.origin})" if source.origin else ""
    version = _if(" ", source.version) + _if(" ", source.digest)
    origin += " without TLS" if source.insecure else ""
    yield f"  chart {source.name}{version} of {source.repository or 'this repo'}{origin}"
    storage = "" if source.storage_namespace == source.namespace else f", stored in {source.storage_namespace}"
    yield f"  release {source.namespace}/{source.release}{storage}" + _if(" with ", source.credentials)
    for each in source.values:
        yield f"    values {_values(each)} ({each.place})"
    if source.post_renderers:
        yield f"    {len(source.post_renderers)} post renderers"


def _values(values: Values) -> str:
    where = values.reference + _if("#", values.key if values.reference else "") or "own"
    what = f" = {values.inline}" if values.inline is not None else _if(" = ", values.text)
    marks = _if(" unresolved: ", values.unresolved) + (" optional" if values.optional else "")
    return where + _if(" → ", values.target) + what + marks
