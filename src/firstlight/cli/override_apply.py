"""``firstlight override apply`` and ``override delete``."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firstlight import errors
from firstlight.cli import output, override_reaching

if TYPE_CHECKING:
    from firstlight.execute.overriding.ground import Ground
    from firstlight.model.override import Override


@click.command()
@click.argument("cluster", default="")
@click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE", help="Manifests, whole or in part; - reads stdin."
)
@click.option(
    "--patch", "patches", multiple=True, type=(str, str), metavar="KIND/NS/NAME JSON", help="A part of one object."
)
@click.option(
    "--also", is_flag=True, help="Also what was not in the scope: it is looked at, and its owner rests, first."
)
@override_reaching.which
@override_reaching.options
@output.option
def apply(
    cluster: str, files: tuple[str, ...], patches: tuple[tuple[str, str], ...], also: bool, id: str,
    kubeconfig: Path | None, context: str, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Apply objects past Git, server-side, as the manager firstlight-override; each is tried and recorded first.

    What is left out of an object stays as it is, so a part is enough: its name and the fields that must change.
    """
    if not files and not patches:
        raise errors.UsageError(
            "there is nothing to apply", hint="-f FILE, or --patch Deployment/shop/web '{\"spec\": …}'"
        )
    values = [each for file in files for each in read(file)]
    place = override_reaching.Place(cluster, root=root, kubeconfig=kubeconfig, context=context)

    async def run() -> int:
        from firstlight.operate.override import changing
        from firstlight.operate.override.working import working

        async with place.opened() as ground:
            given = [*values, *[await _patched(name, text, ground) for name, text in patches]]
            async with working(ground):
                override = await override_reaching.chosen(ground, id)
                before = len(override.changes)
                override = await changing.apply(override, given, ground, is_more_allowed=also)
            _print(override, form, before=before)
        return 0

    return asyncio.run(run())


@click.command()
@click.argument("object_name", metavar="KIND/NS/NAME")
@click.argument("cluster", default="")
@click.option(
    "--also", is_flag=True, help="Also what was not in the scope: it is looked at, and its owner rests, first."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@override_reaching.which
@override_reaching.options
@output.option
def delete(
    object_name: str, cluster: str, also: bool, yes: bool, id: str, kubeconfig: Path | None, context: str,
    root: Path | None, form: str,
) -> int:  # fmt: skip
    """Delete an object past Git; what it was is in the snapshot, and abort makes it again."""
    place = override_reaching.Place(cluster, root=root, kubeconfig=kubeconfig, context=context)

    async def run() -> int:
        from firstlight.operate.override import changing, scoping
        from firstlight.operate.override.working import working

        async with place.opened() as ground:
            what = await scoping.named(object_name, ground.client)
            override_reaching.agreed(
                f"deletes {what}; what it holds beside its own fields, such as data, is gone", yes=yes
            )
            async with working(ground):
                override = await override_reaching.chosen(ground, id)
                before = len(override.changes)
                override = await changing.delete(override, what, ground, is_more_allowed=also)
            _print(override, form, before=before)
        return 0

    return asyncio.run(run())


def _print(override: "Override", form: str, *, before: int) -> None:
    from firstlight.report import override as report
    from firstlight.report import override_data

    changes = override.changes[before:]
    output.answer(form, "\n".join(report.changes(changes)), override_data.changes(override, changes))


def read(file: str) -> list[dict[str, Any]]:
    """The objects of a file; values of Secrets in it are never told."""
    from firstlight.clients import safe_yaml

    try:
        text = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise errors.UsageError(f"{file} cannot be read: {error.strerror or error}") from error
    try:
        documents = safe_yaml.load_all(text)
    except ValueError as error:
        problem, line = safe_yaml.problem_of(error)
        raise errors.ConfigError(problem, path=file, line=line) from error
    found: list[dict[str, Any]] = []
    for each in documents:
        if each is None:
            continue
        if not isinstance(each, dict):
            raise errors.ConfigError("this is no object of Kubernetes", path=file, hint="apiVersion, kind, metadata …")
        items = each.get("items") if str(each.get("kind") or "").endswith("List") else None
        found += [one for one in items if isinstance(one, dict)] if isinstance(items, list) else [each]
    if not found:
        raise errors.ConfigError("there is no object in it", path=file)
    return found


async def _patched(name: str, text: str, ground: "Ground") -> dict[str, Any]:
    """A part of an object that is named apart from it."""
    import msgspec

    from firstlight.execute.overriding import versions
    from firstlight.operate.override import scoping

    try:
        part = msgspec.json.decode(text.encode())
    except msgspec.DecodeError as error:
        raise errors.UsageError(
            f"the patch of {name} is not JSON: {error}", hint='\'{"spec": {"replicas": 3}}\''
        ) from error
    if not isinstance(part, dict):
        raise errors.UsageError(f"the patch of {name} is no object", hint='\'{"spec": {"replicas": 3}}\'')
    id = await scoping.named(name, ground.client)
    version = (await versions.of([id], ground.client))[id]
    metadata = part.get("metadata") if isinstance(part.get("metadata"), dict) else {}
    place = {"name": id.name, **({"namespace": id.namespace} if id.namespace else {})}
    return {**part, "apiVersion": version, "kind": id.kind, "metadata": {**(metadata or {}), **place}}
