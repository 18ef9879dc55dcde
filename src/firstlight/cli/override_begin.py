"""``firstlight override begin``."""

import asyncio
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import duration, output, override_reaching
from firstlight.model.override import Emergency

if TYPE_CHECKING:
    from firstlight.execute.overriding.ground import Ground
    from firstlight.model.override import Override, Route
    from firstlight.operate.override.beginning import Wish

BLOCKED = 3


@click.command()
@click.argument("cluster", default="")
@click.option("--emergency", type=click.Choice([each.value for each in Emergency]), required=True, help="Which sort.")
@click.option("--reason", required=True, help="What is broken, and what is done; it stands on everything that rests.")
@click.option(
    "--for", "seconds", type=duration.SECONDS, required=True, metavar="2h",
    help="How long it may stand, 24h at most: 30m, 2h, 1h30m.",
)  # fmt: skip
@click.option("--component", "components", multiple=True, metavar="NAME", help="All of a component. May be repeated.")
@click.option("--object", "objects", multiple=True, metavar="KIND/NS/NAME", help="One object. May be repeated.")
@click.option("--anyway", is_flag=True, help="Although another way is the right one, as long as the API answers.")
@click.option("--yes", is_flag=True, help="Do not ask before the engine is suspended.")
@override_reaching.options
@output.option
def begin(
    cluster: str, emergency: str, reason: str, seconds: float, components: tuple[str, ...], objects: tuple[str, ...],
    anyway: bool, yes: bool, kubeconfig: Path | None, context: str, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Open an override: who owns the scope rests, and whatever above would wake it; all is looked at before.

    Two questions choose the way: does the API answer, does the engine work? Exit code 3 means that another way is the
    right one; it is named, with what was seen.
    """
    if not components and not objects:
        raise errors.UsageError("an override needs a scope", hint="--component NAME or --object Deployment/shop/web")
    from firstlight.operate.override import beginning, routing, scoping

    wish = beginning.Wish(emergency=Emergency(emergency), reason=reason, seconds=seconds)
    beginning.check(wish)
    place = override_reaching.Place(cluster, root=root, kubeconfig=kubeconfig, context=context)

    async def run() -> int:
        route = None
        try:
            async with place.opened() as ground:
                route = await routing.route(place.cluster, ground.client)
                if not _is_right(route, anyway=anyway, form=form):
                    return BLOCKED
                owners = [
                    each for name in components for each in scoping.owners(place.platform, place.cluster, name)
                ]  # fmt: skip
                named = [await scoping.named(each, ground.client) for each in objects]
                found = dataclasses.replace(
                    wish, owners=tuple(dict.fromkeys(owners)), objects=tuple(dict.fromkeys(named)),
                    scope=(*(f"component {each}" for each in components), *map(str, named)),
                )  # fmt: skip
                return await _begun(found, ground, yes=yes, form=form)
        except errors.Unreachable as error:
            if route is not None:
                raise
            _is_right(routing.unreachable(error), anyway=False, form=form)
            return BLOCKED

    return asyncio.run(run())


def _is_right(route: "Route", *, anyway: bool, form: str) -> bool:
    """Whether an override is the right way; the way is told, whichever it is."""
    from firstlight.model.override import Path as Way
    from firstlight.report import override as report
    from firstlight.report import override_data

    is_right = anyway or route.path is Way.OVERRIDE
    if form == "json" and not is_right:
        output.write_json({"begun": None, "route": override_data.route(route)})
    else:
        print("\n".join(report.route(route)), file=sys.stderr)
    return is_right


async def _begun(wish: "Wish", ground: "Ground", *, yes: bool, form: str) -> int:
    from firstlight.operate.override import beginning
    from firstlight.operate.override.working import working

    scope = await beginning.look(wish.owners, wish.objects, ground)
    rests = ", ".join(map(str, scope.held)) or "nobody: no engine owns any of it"
    override_reaching.agreed(f"these rest until it is ended: {rests}", yes=yes)
    async with working(ground):
        override = await beginning.begin(wish, ground)
    _print(override, form=form, now=ground.now())
    return 0


def _print(override: "Override", *, form: str, now: float) -> None:
    from firstlight.model.override import Seen
    from firstlight.report import override as report
    from firstlight.report import override_data, table

    text = report.status([Seen(override=override)], cluster=override.cluster, now=now, columns=table.terminal_columns())
    output.answer(form, text, {"begun": override_data.one(override, now=now)})
