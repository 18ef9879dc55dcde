"""What the rewriting of source URLs makes of an object: pure, one place for each kind that names a source."""

import base64
import binascii
import copy
import re
from collections.abc import Iterator
from typing import Any

from firstlight.lab import rewrites, source_url
from firstlight.lab.rewrites import Rewrite
from firstlight.lab.simulations.world import Object
from firstlight.model import remote_url

ANNOTATION = "lab.firstlight.dev/rewritten-from"
"""The URLs as they were written, without passwords, with a space between several."""
COMPARING = "argocd.argoproj.io/compare-options"
COMPARED = ("ServerSideDiff=true", "IncludeMutationWebhook=true")
"""How an Application must compare: else what it brings would differ for ever from what is stored of it."""
FLUX = "source.toolkit.fluxcd.io"
ARGO = "argoproj.io"
SECRET_TYPE = "argocd.argoproj.io/secret-type"  # noqa: S105 -- a label
SECRET_TYPES = ("repository", "repo-creds")
FLUX_KINDS = ("GitRepository", "OCIRepository", "HelmRepository")
ARGO_PATH = frozenset(
    ("source", "sources", "sourceHydrator", "drySource", "template", "spec", "generators", "git", "matrix", "merge")
)
"""Where Argo CD's sources are; what is elsewhere, such as values of a chart, is the user's own."""
_GLOB = re.compile(r"\*\*|\*|\?|[^*?]+")

Rules = tuple[Rewrite, ...]


def rewritten(obj: Object, rules: Rules) -> Object:
    """The object as it is admitted; the same one if no rule has to do with it."""
    group, kind = obj.get("apiVersion", "").rpartition("/")[0], obj.get("kind")
    made = copy.deepcopy(obj)
    if group == FLUX and kind in FLUX_KINDS:
        originals = _flux(made, rules)
    elif group == ARGO and kind in {"Application", "ApplicationSet"}:
        originals = _argo(made.get("spec"), rules)
        if rules and kind == "Application":
            _compare_as_stored(made)
    elif group == ARGO and kind == "AppProject":
        _permit(made, rules)
        return made
    elif not group and kind == "Secret":
        originals = _argo_secret(made, rules)
    else:
        return obj
    _remember(made, originals, rules)
    return made


def patch(old: Object, new: Object) -> list[dict[str, Any]]:
    """The difference as a JSON patch, by top-level keys and the annotations."""
    changed = [key for key in ("spec", "data") if old.get(key) != new.get(key)]
    found: list[dict[str, Any]] = [{"op": "replace", "path": f"/{key}", "value": new[key]} for key in changed]
    before, after = (each["metadata"].get("annotations") for each in (old, new))
    if before != after:
        action = {"op": "remove"} if after is None else {"op": "add", "value": after}
        found.append({**action, "path": "/metadata/annotations"})
    return found


def _flux(obj: Object, rules: Rules) -> set[str]:
    spec = obj.get("spec") or {}
    url = spec.get("url")
    if not isinstance(url, str) or (led := rewrites.lead(rules, url)) is None:
        return set()
    spec["url"] = led.url
    is_oci = led.url.startswith("oci://")
    if rewrites.is_plain_registry(led.url):
        spec["insecure"] = True
    if obj["kind"] == "HelmRepository":
        if is_oci:
            spec["type"] = "oci"
        elif spec.get("type") == "oci":
            del spec["type"]
            spec.pop("insecure", None)
    if spec.get("provider", "generic") != "generic":
        spec["provider"] = "generic"  # the logins of clouds and of GitHub's apps are not for the lab's servers
    for part in led.rule.drop:
        spec.pop(part, None)
    return {url}


def _compare_as_stored(application: Object) -> None:
    """Let Argo CD ask the server, and its webhooks, for what an object would become; other options stay."""
    annotations = application["metadata"].get("annotations") or {}
    names = {each.partition("=")[0] for each in COMPARED}
    written = [each.strip() for each in annotations.get(COMPARING, "").split(",")]
    options = [each for each in written if each and each.partition("=")[0] not in names]
    application["metadata"]["annotations"] = {**annotations, COMPARING: ",".join((*options, *COMPARED))}


def _argo(value: Any, rules: Rules) -> set[str]:
    found: set[str] = set()
    for source in _argo_sources(value):
        url = source["repoURL"]
        if led := rewrites.lead(rules, url):
            source["repoURL"] = led.url
            found.add(url)
    return found


def _argo_sources(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for each in value:
            yield from _argo_sources(each)
    elif isinstance(value, dict):
        if isinstance(value.get("repoURL"), str):
            yield value
        for key, each in value.items():
            if key in ARGO_PATH:
                yield from _argo_sources(each)


def _argo_secret(obj: Object, rules: Rules) -> set[str]:
    data = obj.get("data") or {}
    url = _decoded(data.get("url"))
    led = rewrites.lead(rules, url) if _is_argo_secret(obj) else None
    if led is None:
        return set()
    data["url"] = _encoded(led.url)
    if rewrites.is_plain_registry(led.url):
        data["insecureOCIForceHttp"] = _encoded("true")
    return {url}


def _is_argo_secret(obj: Object) -> bool:
    return (obj["metadata"].get("labels") or {}).get(SECRET_TYPE) in SECRET_TYPES


def _decoded(value: Any) -> str:
    try:
        return base64.b64decode(value or "", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, TypeError):
        return ""


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _permit(project: Object, rules: Rules) -> None:
    """A project that permits a source permits where it leads."""
    spec = project.get("spec") or {}
    permitted = [each for each in spec.get("sourceRepos") or () if isinstance(each, str)]
    targets = [led.url for each in permitted if not each.startswith("!") and (led := rewrites.lead(rules, each))]
    targets += [rule.target for rule in rules if any(_permits(each, rule.source) for each in permitted)]
    missing = [each for each in dict.fromkeys(targets) if not any(_permits(glob, each) for glob in permitted)]
    if missing:
        spec["sourceRepos"] = [*spec["sourceRepos"], *missing]


def _permits(glob: str, url: str) -> bool:
    if glob == "*" or _translated(glob).fullmatch(url):
        return True
    pattern, place = source_url.place_of(glob), source_url.place_of(url)
    return bool(pattern and place and _translated(_canonical(pattern)).fullmatch(_canonical(place)))


def _canonical(place: source_url.Place) -> str:
    return f"{place.protocol}://{place.host}:{place.port}/{'/'.join(place.steps)}"


def _translated(glob: str) -> re.Pattern[str]:
    """Argo CD's globs: one asterisk stays within a step of the path, two do not."""
    special = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(special.get(each) or re.escape(each) for each in _GLOB.findall(glob)))


def _remember(obj: Object, originals: set[str], rules: Rules) -> None:
    """Keep what was written, also over writes that bring the rewritten URL along; forget what is no longer there."""
    annotations = obj["metadata"].get("annotations") or {}
    present = set(_urls(obj))
    kept = {
        each
        for each in annotations.get(ANNOTATION, "").split()
        if (led := rewrites.lead(rules, each)) is not None and led.url in present
    }
    replaced = {led.url for each in originals if (led := rewrites.lead(rules, each))}
    kept = {each for each in kept if (led := rewrites.lead(rules, each)) is not None and led.url not in replaced}
    words = sorted(remote_url.without_credentials(each.strip()) for each in originals | kept)
    if words:
        obj["metadata"]["annotations"] = {**annotations, ANNOTATION: " ".join(words)}
    elif ANNOTATION in annotations:
        del annotations[ANNOTATION]


def _urls(obj: Object) -> Iterator[str]:
    spec = obj.get("spec") or {}
    if obj["kind"] == "Secret":
        yield _decoded((obj.get("data") or {}).get("url"))
    elif obj["kind"] in FLUX_KINDS:
        yield str(spec.get("url"))
    else:
        yield from (each["repoURL"] for each in _argo_sources(spec))
