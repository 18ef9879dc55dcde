"""``firstlight lab fault``: trouble on the way to the API server, and with the processes of the control plane."""

import asyncio
import math
from collections.abc import Mapping
from typing import Any, get_args

import click

from firstlight.cli import output
from firstlight.commands.lab import which_lab
from firstlight.drawing import table
from firstlight.lab import faults


def _finite(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("write a finite number")
    return value


@click.group(no_args_is_help=True)
def fault() -> None:
    """Faults for clients that use `firstlight lab kubeconfig --faults`, and for processes."""


@fault.command()
@click.argument("kind", metavar="FAULT", type=click.Choice(get_args(faults.FaultKind)))
@which_lab.option
@click.option(
    "--on", "classes", multiple=True, type=click.Choice(get_args(faults.RequestClass)), help="Only such requests."
)
@click.option("--path", help="Only paths that begin so, or match with * and **.")
@click.option("--resource", "resources", multiple=True, help="Only such resources: pods, deployments.apps, pods/log.")
@click.option("--user", "users", multiple=True, help="Only requests of these users; globs.")
@click.option("--skip", type=click.IntRange(0), help="Let this many matching requests pass first.")
@click.option("--times", type=click.IntRange(1), help="Strike this often.  [default: until cleared]")
@click.option(
    "--rate",
    type=click.FloatRange(0, 1),
    callback=_finite,
    help="Strike this share of the matching requests, by the seed.",
)
@click.option("--code", type=int, help="status: the HTTP status (401, 403, 409, 429, 500, 503, 504).")
@click.option("--retry-after", type=int, help="status: seconds in Retry-After.")
@click.option(
    "--milliseconds", type=click.FloatRange(0, 3_600_000), callback=_finite, help="latency, blackhole: how long."
)
@click.option(
    "--jitter", type=click.FloatRange(0, 3_600_000), callback=_finite, help="latency: up to so many milliseconds more."
)
@click.option("--bytes-per-second", type=int, help="slow: how fast.")
@click.option("--after-bytes", type=int, help="truncate: where to cut.  [default: half of the body]")
@click.option("--after-events", type=int, help="watch-cut, watch-gone as an event: after how many events.")
@click.option("--as", "as_", type=click.Choice(["status", "event"]), help="watch-gone: refused, or told in the stream.")
@click.option("--reset", is_flag=True, default=None, help="watch-cut: by a reset instead of a proper end.")
@click.option("--which", type=click.Choice(["same", "older"]), help="duplicate-event: which one comes again.")
@click.option("--at", type=click.Choice(["headers", "start"]), help="tls-close: when.")
@output.option
def add(kind: str, name: str, form: str, **given: Any) -> None:
    """Let a fault happen, for example: firstlight lab fault add status --code 503 --on list --times 2."""
    added = asyncio.run(which_lab.running(name).faults.add(kind, **rule(given)))  # type: ignore[arg-type]  # click.Choice
    output.answer(form, added, {"id": added})


@fault.command()
@click.argument("number", type=click.IntRange(0))
@which_lab.option
@output.option
def seed(number: int, name: str, form: str) -> None:
    """Draw what --rate strikes from this number on, anew."""
    asyncio.run(which_lab.running(name).faults.seed(number))
    output.answer(form, f"seed {number}", {"seed": number})


@fault.command()
@which_lab.option
@output.option
def cut(name: str, form: str) -> None:
    """End every running watch now."""
    asyncio.run(which_lab.running(name).faults.cut_watches())
    output.answer(form, "watches cut", {"cut": True})


@fault.command("list")
@which_lab.option
@output.option
def list_faults(name: str, form: str) -> None:
    """The faults in force, and how often each has struck."""
    active = asyncio.run(which_lab.running(name).faults.active())
    if form == "json":
        output.write_json({"faults": active})
        return
    rows = [
        [
            str(each.rule["id"]),
            each.rule["fault"],
            f"struck {each.hits} of {each.matched}",
            _scope(each.rule["match"]),
        ]
        for each in active
    ]
    print("\n".join(table.render(rows)) if rows else "no faults")


@fault.command()
@click.argument("rule_id", metavar="[ID]", required=False, default="")
@which_lab.option
@output.option
def clear(rule_id: str, name: str, form: str) -> None:
    """End one fault, or all."""
    asyncio.run(which_lab.running(name).faults.clear(rule_id))
    output.answer(form, "cleared", {"cleared": rule_id or "all"})


@fault.command()
@click.argument("part")
@click.argument("action", type=click.Choice(["kill", "stop", "continue", "slow"]))
@which_lab.option
@click.option(
    "--share",
    type=click.FloatRange(0.01, 0.99),
    default=0.1,
    callback=_finite,
    help="slow: the share of time it may run.",
)
@output.option
def process(part: str, action: str, name: str, share: float, form: str) -> None:
    """Kill, stop (SIGSTOP), continue or slow the process of a PART; a killed one comes back by itself."""
    asyncio.run(which_lab.running(name).process(part, action, share=share))  # type: ignore[arg-type]  # click.Choice
    output.answer(form, f"{part}: {action}", {"part": part, "action": action})


def _scope(match: Mapping[str, Any]) -> str:
    """Which requests a rule is about, in words."""
    return "; ".join(f"{key} {', '.join(value) if isinstance(value, list) else value}" for key, value in match.items())


def rule(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options as a rule of the proxy: what was not given is left out, and zero is a value."""
    match = {key: given[key] for key in ("classes", "path", "resources", "users") if given[key]}
    names = {
        "skip": "skip", "times": "times", "rate": "rate", "code": "code", "retry_after": "retryAfter",
        "milliseconds": "milliseconds", "jitter": "jitter", "bytes_per_second": "bytesPerSecond",
        "after_bytes": "bytes", "after_events": "afterEvents", "as_": "as", "reset": "reset", "which": "which",
        "at": "at",
    }  # fmt: skip
    return {"match": match, **{there: given[here] for here, there in names.items() if given[here] is not None}}
