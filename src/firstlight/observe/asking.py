"""What cannot be watched, asked once: readiness, discovery, dry runs, URLs and commands. An answer, never an error."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, assert_never

from firstlight import errors
from firstlight.clients import kube, web
from firstlight.model.observation import Answer, Ask, Asked

MANAGER = "firstlight"
"""As whom a dry run is made; nothing of it is stored."""
HTTP_TIMEOUT = 10.0
_SAID = 300
"""Characters of an answer that are kept."""

RunCommand = Callable[[Asked], Awaitable[Answer]]
"""Runs a command that was allowed, or says that it was not."""


async def ask(client: kube.Client, asked: Asked, *, run_command: RunCommand | None = None) -> Answer:
    """The answer to one question, asked now."""
    try:
        match asked.ask:
            case Ask.READYZ:
                return await _readyz(client)
            case Ask.SERVED:
                return await _served(client, asked.of)
            case Ask.DRY_RUN:
                return await _dry_run(client, asked.given)
            case Ask.HTTP:
                return await _http(asked.of, asked.given)
            case Ask.COMMAND:
                if run_command is None:
                    return Answer(False, f"the command {asked.of} is not run here")
                return await run_command(asked)
            case _:
                assert_never(asked.ask)
    except errors.FirstlightError as error:
        return Answer(False, _short(error.message))


async def _readyz(client: kube.Client) -> Answer:
    ready = await client.ready()
    if ready.is_ready:
        return Answer(True, "ready")
    return Answer(False, f"not ready: {', '.join(ready.failed)}" if ready.failed else "not ready")


async def _served(client: kube.Client, of: str) -> Answer:
    api_version, _, kind = of.rpartition("/")
    catalog = await client.catalog(refresh=True)
    if api_version in catalog.stale:
        return Answer(False, f"the server behind {api_version} does not answer")
    if (api_version, kind) in catalog.resources:
        return Answer(True, f"{kind} is served in {api_version}")
    return Answer(False, f"{kind} is not served in {api_version} yet")


async def _dry_run(client: kube.Client, given: Mapping[str, Any]) -> Answer:
    """As ``client.apply`` does it, but sent once: a refusal is the answer, not something to be overcome."""
    import msgspec

    metadata = given.get("metadata") or {}
    resource = await client.resource(str(given.get("apiVersion") or ""), str(given.get("kind") or ""))
    place = (metadata.get("namespace") or client.config.namespace) if resource.is_namespaced else ""
    name = str(metadata.get("name") or "")
    params = {"dryRun": "All", "fieldManager": MANAGER}
    await client.request(
        "PATCH" if name else "POST",
        resource.path(namespace=place, name=name),
        params={**params, "force": "true"} if name else params,
        headers={
            "Content-Type": "application/apply-patch+yaml" if name else "application/json",
            "Accept": "application/json",
        },
        body=msgspec.json.encode(given),
        repeat=kube.Repeat.NEVER,
    )
    return Answer(True, "the server would take it")


async def _http(url: str, given: Mapping[str, Any]) -> Answer:
    wanted = int(given.get("status") or 200)
    found = await web.status(
        url, timeout=float(given.get("timeout") or HTTP_TIMEOUT), plain_http=tuple(given.get("plain_http") or ())
    )
    return Answer(found == wanted, f"it answers {found}" + ("" if found == wanted else f", not {wanted}"))


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _SAID else f"{words[: _SAID - 1]}…"
