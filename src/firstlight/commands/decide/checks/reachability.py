"""Whether what was changed does its work: Services have somebody who answers, and routes answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube, web
from firstlight.commands.decide.checks import answer, check_input
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput
from firstlight.document.within import at, mapping, sequence, text
from firstlight.gates import services as gates_services
from firstlight.model.decision import Decision
from firstlight.model.rendition import Object
from firstlight.observe.gate_watch import Watching

_FAILING = 500
_NONE = "there is no Service and no route to ask"
_TRY = "try what it is for, as its users do"


async def look(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Services by their endpoints, routes by asking them; what neither tells is for a person."""
    touched = check_input.touched(decision)
    objects = [
        each for one in touched for each in scene.after.objects(one.cluster, one.component).values()
        if scene.is_reached(one.cluster)
    ]  # fmt: skip
    if scene.client is None:
        return [answer.skipped(scene.unreached)]
    answers = [*await _services(objects, scene.client), *await _routes(objects, scene)]
    if answers:
        return answers
    return [answer.person("function-unchecked", _NONE, fix=_TRY) if touched else answer.skipped(_NONE)]


async def _services(objects: list[Object], client: kube.Client) -> list[CheckAnswer]:
    services = [each for each in objects if _has_endpoints(each)]
    looks = {each.id: gates_services.endpoint_slices(each.id.namespace, each.id.name) for each in services}
    async with Watching(client) as watching:
        view = await watching.view(looks.values())
    answers, answering = [], list[str]()
    for each in services:
        name = f"{each.id.namespace}/{each.id.name}"
        if count := gates_services.count_ready(view, looks[each.id]):
            answering.append(f"{name} ({count})")
        else:
            fix = f"see: kubectl -n {each.id.namespace} get endpointslices -l kubernetes.io/service-name={each.id.name}"
            answers.append(
                answer.failed(
                    "service-without-endpoints", f"nobody answers for Service {name}: it has no ready endpoint", fix=fix
                )
            )
    if answering:
        answers.append(answer.passed(f"Services with ready endpoints: {', '.join(answering)}"))
    return answers


def _has_endpoints(item: Object) -> bool:
    return (
        (item.id.group, item.id.kind) == ("", "Service")
        and text(item.value, "spec", "type") != "ExternalName"
        and bool(mapping(item.value, "spec", "selector"))
    )


async def _routes(objects: list[Object], scene: CheckInput) -> list[CheckAnswer]:
    found = urls(objects)
    if scene.is_offline and found:
        return [answer.skipped(f"{', '.join(found)} was not asked: --offline")]
    answers = []
    for url, said in (await ask_routes(found, scene)).items():
        if isinstance(said, str):
            answers.append(answer.person("route-not-asked", f"{url} cannot be asked from here: {said}", fix=_TRY))
        elif said[0] >= _FAILING:
            answers.append(
                answer.failed("route-failing", f"{url} answers {said[0]}", fix="see the logs of what it leads to")
            )
        else:
            answers.append(answer.passed(f"{url} answers {said[0]} in {said[1] * 1000:.0f} ms"))
    return answers


# Where a component is reached over HTTP from outside, and what answers there.


TIMEOUT = 5.0
MOST_ROUTES = 10
"""Routes that are asked."""
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?", re.IGNORECASE)
_PATH = re.compile(r"/[A-Za-z0-9._~/-]*")
_TRAEFIK = re.compile(r"Host\(`([^`]+)`\)")

Answered = tuple[int, float]
"""A status, and the seconds that it took."""


def urls(objects: Iterable[Object]) -> tuple[str, ...]:
    """The addresses of Ingresses, HTTPRoutes and IngressRoutes; those with a star or a variable are nobody's."""
    found = dict.fromkeys(url for each in objects for url in _of(each))
    return tuple(found)[:MOST_ROUTES]


async def ask_routes(addresses: Iterable[str], scene: CheckInput) -> dict[str, Answered | str]:
    """What answers at each address, or why nothing does."""
    asked = tuple(addresses)
    answers = await asyncio.gather(*(_ask(each, scene) for each in asked))
    return dict(zip(asked, answers, strict=True))


async def _ask(url: str, scene: CheckInput) -> Answered | str:
    begun = scene.clock()
    try:
        status = await web.status(url, timeout=TIMEOUT, plain_http=scene.plain_http)
    except errors.FirstlightError as error:
        return error.message
    return status, scene.clock() - begun


def _of(item: Object) -> Iterator[str]:
    value, kind = item.value, (item.id.group, item.id.kind)
    if kind == ("networking.k8s.io", "Ingress"):
        secure = {host for tls in sequence(value, "spec", "tls") for host in sequence(tls, "hosts")}
        for rule in sequence(value, "spec", "rules"):
            host = text(rule, "host")
            paths = sequence(rule, "http", "paths")
            yield from _url(host, text(paths[0], "path") if paths else "", is_secure=host in secure)
    elif kind == ("gateway.networking.k8s.io", "HTTPRoute"):
        for host in sequence(value, "spec", "hostnames"):
            yield from _url(str(host), _first_path(value), is_secure=True)
    elif item.id.kind == "IngressRoute" and item.id.group.startswith("traefik."):
        is_secure = at(value, "spec", "tls") is not None
        for route in sequence(value, "spec", "routes"):
            for host in _TRAEFIK.findall(text(route, "match")):
                yield from _url(host, "", is_secure=is_secure)


def _first_path(route: Mapping[str, Any]) -> str:
    for rule in sequence(route, "spec", "rules"):
        for match in sequence(rule, "matches"):
            if text(mapping(match, "path"), "type") in ("", "PathPrefix", "Exact"):
                return text(match, "path", "value")
    return ""


def _url(host: str, path: str, *, is_secure: bool) -> Iterator[str]:
    if _HOST.fullmatch(host):
        yield f"{'https' if is_secure else 'http'}://{host}{path if _PATH.fullmatch(path) else '/'}"
