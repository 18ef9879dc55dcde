"""``firstlight lab fault``: trouble on the way to the API server, and with the processes of the control plane."""

import asyncio
from typing import Any

import click

from firstlight.cli import output, which_lab

FAULTS = [
    "latency", "reset-before", "reset-after", "truncate", "status", "blackhole", "slow", "tls-close", "watch-cut",
    "watch-gone", "duplicate-event", "stale-list",
]  # fmt: skip
CLASSES = ["discovery", "get", "list", "watch", "create", "update", "delete", "other"]


@click.group(no_args_is_help=True)
def fault() -> None:
    """Faults for clients that use `firstlight lab kubeconfig --faults`, and for processes."""


@fault.command()
@click.argument("kind", metavar="FAULT", type=click.Choice(FAULTS))
@which_lab.option
@click.option("--on", "classes", multiple=True, type=click.Choice(CLASSES), help="Only requests of this class; repeat.")
@click.option("--path", default="", help="Only requests whose path begins or matches so.")
@click.option("--skip", type=click.IntRange(0), default=0, help="Let this many matching requests pass first.")
@click.option("--times", type=click.IntRange(0), default=0, help="Strike this often.  [default: until cleared]")
@click.option("--rate", type=click.FloatRange(0, 1), help="Strike this share of the matching requests, seeded.")
@click.option("--code", type=int, help="status: the HTTP status (401, 403, 409, 429, 500, 503, 504).")
@click.option("--retry-after", type=int, help="status: seconds in Retry-After.")
@click.option("--milliseconds", type=int, help="latency, blackhole: how long.")
@click.option("--bytes-per-second", type=int, help="slow: how fast.")
@click.option("--after-bytes", type=int, help="truncate: where to cut.  [default: half of the body]")
@click.option("--after-events", type=int, help="watch-cut, watch-gone: after how many events.")
def add(kind: str, name: str, **given: Any) -> None:
    """Let a fault happen, for example: firstlight lab fault add status --code 503 --on list --times 2."""
    one = which_lab.existing(name)
    print(asyncio.run(one.faults.add(kind, **rule(given))))  # type: ignore[arg-type]  # checked by click.Choice


@fault.command("list")
@which_lab.option
@output.option
def list_faults(name: str, output: str) -> None:
    """The faults in force, and how often each has struck."""
    from firstlight.cli import output as out
    from firstlight.report import table

    active = asyncio.run(which_lab.existing(name).faults.active())
    if output == "json":
        out.write_json({"faults": active})
        return
    rows = [
        [
            str(each.rule["id"]),
            each.rule["fault"],
            f"struck {each.hits} of {each.matched}",
            str(each.rule["match"] or ""),
        ]
        for each in active
    ]
    print("\n".join(table.render(rows)) if rows else "no faults")


@fault.command()
@click.argument("rule_id", metavar="[ID]", required=False, default="")
@which_lab.option
def clear(rule_id: str, name: str) -> None:
    """End one fault, or all."""
    asyncio.run(which_lab.existing(name).faults.clear(rule_id))


@fault.command()
@click.argument("part")
@click.argument("action", type=click.Choice(["kill", "stop", "continue", "slow"]))
@which_lab.option
@click.option("--share", type=click.FloatRange(0.01, 0.99), default=0.1, help="slow: the share of time it may run.")
def process(part: str, action: str, name: str, share: float) -> None:
    """Kill, stop (SIGSTOP), continue or slow the process of a PART; a killed one comes back by itself."""
    asyncio.run(which_lab.existing(name).process(part, action, share=share))  # type: ignore[arg-type]  # click.Choice


def rule(given: dict[str, Any]) -> dict[str, Any]:
    """The options as a rule of the proxy: what was not given is left out."""
    match = {"classes": list(given["classes"]), "path": given["path"]}
    names = {
        "code": "code", "retry_after": "retryAfter", "milliseconds": "milliseconds",
        "bytes_per_second": "bytesPerSecond", "after_bytes": "bytes", "after_events": "afterEvents",
        "skip": "skip", "times": "times", "rate": "rate",
    }  # fmt: skip
    found = {there: given[here] for here, there in names.items() if given[here]}
    return {"match": {key: value for key, value in match.items() if value}, **found}
