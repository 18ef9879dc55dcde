"""Where a component is reached over HTTP from outside, and what answers there."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import web
from firstlight.document.within import at, mapping, sequence, text
from firstlight.model.rendition import Object
from firstlight.operate.deciding.checks.scene import Scene

TIMEOUT = 5.0
MOST = 10
"""Routes that are asked."""
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?", re.IGNORECASE)
_PATH = re.compile(r"/[A-Za-z0-9._~/-]*")
_TRAEFIK = re.compile(r"Host\(`([^`]+)`\)")

Answered = tuple[int, float]
"""A status, and the seconds that it took."""


def urls(objects: Iterable[Object]) -> tuple[str, ...]:
    """The addresses of Ingresses, HTTPRoutes and IngressRoutes; those with a star or a variable are nobody's."""
    found = dict.fromkeys(url for each in objects for url in _of(each))
    return tuple(found)[:MOST]


async def ask(addresses: Iterable[str], scene: Scene) -> dict[str, Answered | str]:
    """What answers at each address, or why nothing does."""
    asked = tuple(addresses)
    answers = await asyncio.gather(*(_ask(each, scene) for each in asked))
    return dict(zip(asked, answers, strict=True))


async def _ask(url: str, scene: Scene) -> Answered | str:
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
