"""Source URLs of a rehearsed repository that lead to the lab's servers: a mutating webhook of the lab's own.

Whoever writes a source writes the original; what is stored leads to the lab. Since the same original always becomes the
same object, writing it again changes nothing, and the engine that applies it sees no drift. The webhook exists only
while rewrites are declared. It is asked at an address of the lab, not through a service of the cluster, so that nothing
but its configuration is there to be seen.
"""

import asyncio
import base64
import binascii
import contextlib
import copy
import re
import ssl
from collections.abc import Iterator
from typing import Any

import msgspec
from aiohttp import web

from firstlight import errors
from firstlight.clients import kube
from firstlight.lab import certificates, http_serving, rewrite_rules
from firstlight.lab.rewrite_rules import SourceRewrite
from firstlight.lab.simulations.simulated_cluster import MANAGER, Object, SimulatedCluster, log
from firstlight.model import argocd_names, flux_names, remote_url

# What the rewriting of source URLs makes of an object: pure, one place for each kind that names a source.


ANNOTATION = "lab.firstlight.dev/rewritten-from"
"""The URLs as they were written, without passwords, with a space between several."""
COMPARED = ("ServerSideDiff=true", "IncludeMutationWebhook=true")
"""How an Application must compare: else what it brings would differ for ever from what is stored of it."""
SECRET_TYPES = ("repository", "repo-creds")
FLUX_KINDS = (flux_names.GIT_REPOSITORY, flux_names.OCI_REPOSITORY, flux_names.HELM_REPOSITORY)
ARGO_PATH = frozenset(
    ("source", "sources", "sourceHydrator", "drySource", "template", "spec", "generators", "git", "matrix", "merge")
)
"""Where Argo CD's sources are; what is elsewhere, such as values of a chart, is the user's own."""
_GLOB = re.compile(r"\*\*|\*|\?|[^*?]+")

RewriteRules = tuple[SourceRewrite, ...]


def rewritten(obj: Object, rules: RewriteRules) -> Object:
    """The object as it is admitted; the same one if no rule has to do with it."""
    group, kind = obj.get("apiVersion", "").rpartition("/")[0], obj.get("kind")
    made = copy.deepcopy(obj)
    if group == flux_names.SOURCE_GROUP and kind in FLUX_KINDS:
        originals = _flux(made, rules)
    elif group == argocd_names.GROUP and kind in {argocd_names.APPLICATION, argocd_names.APPLICATION_SET}:
        originals = _argo(made.get("spec"), rules)
        if rules and kind == argocd_names.APPLICATION:
            _compare_as_stored(made)
    elif group == argocd_names.GROUP and kind == argocd_names.APP_PROJECT:
        _permit(made, rules)
        return made
    elif not group and kind == "Secret":
        originals = _argo_secret(made, rules)
    else:
        return obj
    _remember(made, originals, rules)
    return made


def json_patch(old: Object, new: Object) -> list[dict[str, Any]]:
    """The difference as a JSON patch, by top-level keys and the annotations."""
    changed = [key for key in ("spec", "data") if old.get(key) != new.get(key)]
    found: list[dict[str, Any]] = [{"op": "replace", "path": f"/{key}", "value": new[key]} for key in changed]
    before, after = (each["metadata"].get("annotations") for each in (old, new))
    if before != after:
        action = {"op": "remove"} if after is None else {"op": "add", "value": after}
        found.append({**action, "path": "/metadata/annotations"})
    return found


def _flux(obj: Object, rules: RewriteRules) -> set[str]:
    spec = obj.get("spec") or {}
    url = spec.get("url")
    if not isinstance(url, str) or (led := rewrite_rules.rewrite_url(rules, url)) is None:
        return set()
    spec["url"] = led.url
    is_oci = led.url.startswith("oci://")
    if rewrite_rules.is_plain_registry(led.url):
        spec["insecure"] = True
    if obj["kind"] == flux_names.HELM_REPOSITORY:
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
    written = [each.strip() for each in annotations.get(argocd_names.COMPARE_OPTIONS_ANNOTATION, "").split(",")]
    options = [each for each in written if each and each.partition("=")[0] not in names]
    application["metadata"]["annotations"] = {
        **annotations,
        argocd_names.COMPARE_OPTIONS_ANNOTATION: ",".join((*options, *COMPARED)),
    }


def _argo(value: Any, rules: RewriteRules) -> set[str]:
    found: set[str] = set()
    for source in _argo_sources(value):
        url = source["repoURL"]
        if led := rewrite_rules.rewrite_url(rules, url):
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


def _argo_secret(obj: Object, rules: RewriteRules) -> set[str]:
    data = obj.get("data") or {}
    url = _decoded(data.get("url"))
    led = rewrite_rules.rewrite_url(rules, url) if _is_argo_secret(obj) else None
    if led is None:
        return set()
    data["url"] = _encoded(led.url)
    if rewrite_rules.is_plain_registry(led.url):
        data["insecureOCIForceHttp"] = _encoded("true")
    return {url}


def _is_argo_secret(obj: Object) -> bool:
    return (obj["metadata"].get("labels") or {}).get(argocd_names.SECRET_TYPE_LABEL) in SECRET_TYPES


def _decoded(value: Any) -> str:
    try:
        return base64.b64decode(value or "", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, TypeError):
        return ""


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _permit(project: Object, rules: RewriteRules) -> None:
    """A project that permits a source permits where it leads."""
    spec = project.get("spec") or {}
    permitted = [each for each in spec.get("sourceRepos") or () if isinstance(each, str)]
    targets = [
        led.url for each in permitted if not each.startswith("!") and (led := rewrite_rules.rewrite_url(rules, each))
    ]
    targets += [rule.target for rule in rules if any(_permits(each, rule.source) for each in permitted)]
    missing = [each for each in dict.fromkeys(targets) if not any(_permits(glob, each) for glob in permitted)]
    if missing:
        spec["sourceRepos"] = [*spec["sourceRepos"], *missing]


def _permits(glob: str, url: str) -> bool:
    if glob == "*" or _translated(glob).fullmatch(url):
        return True
    pattern, place = rewrite_rules.source_address(glob), rewrite_rules.source_address(url)
    return bool(pattern and place and _translated(_canonical(pattern)).fullmatch(_canonical(place)))


def _canonical(place: rewrite_rules.SourceAddress) -> str:
    return f"{place.protocol}://{place.host}:{place.port}/{'/'.join(place.steps)}"


def _translated(glob: str) -> re.Pattern[str]:
    """Argo CD's globs: one asterisk stays within a step of the path, two do not."""
    special = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(special.get(each) or re.escape(each) for each in _GLOB.findall(glob)))


def _remember(obj: Object, originals: set[str], rules: RewriteRules) -> None:
    """Keep what was written, also over writes that bring the rewritten URL along; forget what is no longer there."""
    annotations = obj["metadata"].get("annotations") or {}
    present = set(_urls(obj))
    kept = {
        each
        for each in annotations.get(ANNOTATION, "").split()
        if (led := rewrite_rules.rewrite_url(rules, each)) is not None and led.url in present
    }
    replaced = {led.url for each in originals if (led := rewrite_rules.rewrite_url(rules, each))}
    kept = {
        each for each in kept if (led := rewrite_rules.rewrite_url(rules, each)) is not None and led.url not in replaced
    }
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


API_VERSION, KIND = "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"
NAME = "source-rewrites.lab.firstlight.dev"
LARGEST = 16 << 20
PATIENCE = 15.0
"""Seconds until the API server must ask; it learns of a configuration within one."""


class SourceRewriteSimulation:
    """The webhook."""

    what = "declared source URLs lead to the lab's servers, rewritten at admission"

    async def start(self, world: SimulatedCluster) -> None:
        """Listen, and have the API server ask; or see to it that it does not."""
        self._rules = world.settings.rewrites
        self._configurations = await world.follow(API_VERSION, KIND)
        self._wanted = None
        if not self._rules:
            await _remove(world)
            return
        authority = certificates.CertificateAuthority(world.home.certificates, "webhook-ca")
        pair = authority.issue(
            "source-rewrites", common_name="firstlight lab webhook", server_names=[world.net.loopback]
        )
        bundle = base64.b64encode(authority.pair.certificate.read_bytes()).decode()
        listening = asyncio.Event()
        world.tasks.create_task(self._serve(world, pair, listening), name="source rewrites")
        await listening.wait()
        self._wanted = webhook_configuration(f"https://{world.net.loopback}:{world.net.admission}/rewrite", bundle)
        await world.client.apply(self._wanted, manager=MANAGER)
        await self._wait_until_asked(world)
        log.info("%s", *rewrite_rules.rewrite_notes(self._rules))

    async def act(self, world: SimulatedCluster) -> None:
        """Put the configuration back if somebody took it away or changed it."""
        if self._wanted is None or fits(self._configurations.get(("", NAME)), self._wanted):
            return
        wanted = self._wanted

        async def restore(_: Object) -> None:
            await world.client.apply(wanted, manager=MANAGER)

        await world.each([wanted], restore)

    async def _serve(
        self, world: SimulatedCluster, pair: certificates.CertificatePair, listening: asyncio.Event
    ) -> None:
        app = web.Application(middlewares=[http_serving.own_user_only], client_max_size=LARGEST)
        app.router.add_post("/rewrite", self._answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.certificate, pair.key)
        context.set_alpn_protocols(["http/1.1"])
        try:
            await web.TCPSite(runner, world.net.loopback, world.net.admission, ssl_context=context).start()
            listening.set()
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        body = msgspec.json.decode(await request.read())
        return web.Response(body=msgspec.json.encode(review(body, self._rules)), content_type="application/json")

    async def _wait_until_asked(self, world: SimulatedCluster) -> None:
        """The API server asks some time after the configuration was accepted: try, without leaving anything behind."""
        first = self._rules[0].source
        probe = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "lab-source-rewrites-probe",
                "namespace": "default",
                "labels": {argocd_names.SECRET_TYPE_LABEL: SECRET_TYPES[0]},
            },
            "data": {"url": base64.b64encode(first.encode()).decode()},
        }

        async def ask() -> None:
            while True:
                if (await world.client.create(probe, manager=MANAGER, dry_run=True))["data"] != probe["data"]:
                    return
                await asyncio.sleep(0.05)

        try:
            await asyncio.wait_for(ask(), PATIENCE)
        except (TimeoutError, errors.ClientError) as error:
            log.info("the API server does not ask for rewrites yet: %s", error)


async def _remove(world: SimulatedCluster) -> None:
    with contextlib.suppress(kube.NotFound):
        await world.client.delete(API_VERSION, KIND, NAME)


def review(body: dict[str, Any], rules: RewriteRules) -> dict[str, Any]:
    """The answer to an AdmissionReview."""
    request = body["request"]
    response: dict[str, Any] = {"uid": request["uid"], "allowed": True}
    obj = request.get("object")
    if obj and (patch := json_patch(obj, rewritten(obj, rules))):
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(msgspec.json.encode(patch)).decode()
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "response": response}


def webhook_configuration(url: str, bundle: str) -> Object:
    """What makes the API server ask."""
    flux = {
        "apiGroups": [flux_names.SOURCE_GROUP],
        "resources": ["gitrepositories", "ocirepositories", "helmrepositories"],
    }
    argo = {"apiGroups": [argocd_names.GROUP], "resources": ["applications", "applicationsets", "appprojects"]}
    secrets = {"apiGroups": [""], "resources": ["secrets"]}
    types = {"key": argocd_names.SECRET_TYPE_LABEL, "operator": "In", "values": list(SECRET_TYPES)}

    def webhook(name: str, *rules: dict[str, Any], selector: dict[str, Any]) -> dict[str, Any]:
        shared = {"apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "scope": "*"}
        return {
            "name": f"{name}.{NAME}",
            "clientConfig": {"url": url, "caBundle": bundle},
            "rules": [{**shared, **rule} for rule in rules],
            "objectSelector": selector,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "reinvocationPolicy": "IfNeeded",
            "timeoutSeconds": 10,
        }

    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": NAME},
        "webhooks": [
            webhook("sources", flux, argo, selector={}),
            webhook("secrets", secrets, selector={"matchExpressions": [types]}),
        ],
    }


def fits(live: Object | None, wanted: Object) -> bool:
    """Whether the webhooks are as wanted; the API server adds defaults."""
    webhooks = (live or {}).get("webhooks") or []
    return len(webhooks) == len(wanted["webhooks"]) and all(
        all(each.get(key) == value for key, value in declared.items())
        for declared, each in zip(wanted["webhooks"], webhooks, strict=True)
    )
