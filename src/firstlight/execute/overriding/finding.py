"""Who must rest for an override: those that own what is to be changed, and those above them that would wake them."""

from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.clients import kube
from firstlight.document.within import text
from firstlight.execute.overriding import engines
from firstlight.model.component import ObjectId
from firstlight.model.override import Held
from firstlight.ownership import engine_marks


async def held(
    owners: Iterable[tuple[str, str]], client: "kube.Client"
) -> tuple[tuple[Held, ...], dict[str, Mapping[str, Any]], tuple[str, ...]]:
    """Everybody who must rest, outermost first.

    Args:
        owners: Those who own what is to be changed, with the reason: ``("Kustomization flux-system/shop", "owns …")``.
        client: The API.

    Returns:
        Who; each as it is now, by its name; and owners that are not there.

    Raises:
        errors.ClientError: The API does not answer.
    """
    direct = dict(owners)
    lives: dict[str, Mapping[str, Any]] = {}
    reasons: dict[str, str] = {}
    missing: list[str] = []
    waiting = [*direct.items()]
    while waiting:
        name, why = waiting.pop(0)
        live = await engines.get(name, client)
        if live is None:
            missing.append(name)
            continue
        own = str(ObjectId.of(live))
        if own in lives:
            continue
        lives[own], reasons[own] = live, why
        # A Kustomization above is told to leave it alone; that needs no rest of its own.
        above = [each for each in engines.above(live) if not each.startswith("Kustomization ")]
        waiting += [(each, f"applies {own}") for each in above if each not in direct]
    depths = _depths(lives)
    rest = [
        Held(
            kind=str(live["kind"]), namespace=text(live, "metadata", "namespace"), name=text(live, "metadata", "name"),
            uid=text(live, "metadata", "uid"), why=reasons[own], depth=depths[own],
            is_above=reasons[own].startswith("applies "), was_suspended=engine_marks.is_suspended(live),
        )
        for own, live in lives.items()
    ]  # fmt: skip
    gone = [each for each in missing if each in direct]
    return tuple(sorted(rest, key=lambda each: (each.depth, str(each)))), lives, tuple(gone)


def _depths(lives: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """How many of the others are above each one, one above the other."""
    called = {own: {own, f"{live['kind']} {text(live, 'metadata', 'name')}"} for own, live in lives.items()}
    parents = {
        own: [
            other
            for other in lives
            if other != own and called[other] & {*engines.above(live)}
        ]
        for own, live in lives.items()
    }  # fmt: skip
    depths = dict.fromkeys(lives, 0)
    for _ in lives:  # marks may run in a circle
        for own in lives:
            depths[own] = min(len(lives), max((depths[each] + 1 for each in parents[own]), default=0))
    return depths
