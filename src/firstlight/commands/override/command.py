"""``firstlight override``: break-glass as a transaction. Each of its commands is imported when it is called."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from firstlight.cli import options, output
from firstlight.cli.lazy_group import LazyGroup
from firstlight.cli.options import cluster_options, repo_option
from firstlight.model.override import Emergency

P = ParamSpec("P")
R = TypeVar("R")

id_option = click.option("--id", "id", default="", show_default="the only one that is open", help="Which override.")


def target_options(function: Callable[P, R]) -> Callable[P, R]:
    """Adds what all of them have: ``--kubeconfig``, ``--context`` and ``--repo``."""

    @cluster_options
    @repo_option
    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    return wrapper


COMMANDS: dict[str, tuple[str, str]] = {
    "begin": (
        "firstlight.commands.override.command:begin",
        "Let the engine rest, with a reason, a scope, an end, a snapshot",
    ),
    "apply": (
        "firstlight.commands.override.command:apply",
        "Change objects past Git: recorded, and found again by its manager",
    ),
    "delete": ("firstlight.commands.override.command:delete", "Delete an object past Git; abort makes it again"),
    "status": (
        "firstlight.commands.override.command:status",
        "What is open, until when, what rests, and whether Git has it",
    ),
    "align": ("firstlight.commands.override.command:align", "Bring what was changed into the repo"),
    "end": (
        "firstlight.commands.override.command:end",
        "Git has it: the engine goes on, and an incident record is written",
    ),
    "abort": ("firstlight.commands.override.command:abort", "Back to the snapshot, and the engine goes on"),
    "review": (
        "firstlight.commands.override.command:review",
        "Fill in the cause and the follow-ups of an incident",
    ),
}
"""Command, where it lives, one line."""


@click.group(cls=LazyGroup, table=COMMANDS, no_args_is_help=True)
def override() -> None:
    """An emergency change past Git, with a way back to Git: begin, apply, align, end; or abort.

    Whatever a crash cuts off, the next override, up, handover, node, change or recover on the cluster finishes.
    """


@click.command()
@click.argument("cluster", default="")
@click.option("--emergency", type=click.Choice([each.value for each in Emergency]), required=True, help="Which sort.")
@click.option("--reason", required=True, help="What is broken, and what is done; it stands on everything that rests.")
@click.option(
    "--for", "seconds", type=options.SECONDS, required=True, metavar="2h",
    help="How long it may stand, 24h at most: 30m, 2h, 1h30m.",
)  # fmt: skip
@click.option("--component", "components", multiple=True, metavar="NAME", help="All of a component. May be repeated.")
@click.option("--object", "objects", multiple=True, metavar="KIND/NS/NAME", help="One object. May be repeated.")
@click.option("--anyway", is_flag=True, help="Although another way is the right one, as long as the API answers.")
@click.option("--yes", is_flag=True, help="Do not ask before the engine is suspended.")
@target_options
@output.option
def begin(
    cluster: str, emergency: str, reason: str, seconds: float, components: tuple[str, ...], objects: tuple[str, ...],
    anyway: bool, yes: bool, kubeconfig: Path | None, context: str, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Open an override: who owns the scope rests, and whatever above would wake it; all is looked at before.

    Two questions choose the way: does the API answer, does the engine work? Exit code 3 means that another way is the
    right one; it is named, with what was seen.
    """
    from firstlight.commands.override import begin as override_begin

    return override_begin.begin(
        cluster, emergency=emergency, reason=reason, seconds=seconds, components=components, objects=objects,
        anyway=anyway, yes=yes, kubeconfig=kubeconfig, context=context, root=root, form=form,
    )  # fmt: skip


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
@id_option
@target_options
@output.option
def apply(
    cluster: str, files: tuple[str, ...], patches: tuple[tuple[str, str], ...], also: bool, id: str,
    kubeconfig: Path | None, context: str, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Apply objects past Git, server-side, as the manager firstlight-override; each is tried and recorded first.

    What is left out of an object stays as it is, so a part is enough: its name and the fields that must change.
    """
    from firstlight.commands.override import apply as override_apply

    return override_apply.apply(
        cluster, files=files, patches=patches, also=also, id=id, kubeconfig=kubeconfig, context=context,
        root=root, form=form,
    )  # fmt: skip


@click.command()
@click.argument("object_name", metavar="KIND/NS/NAME")
@click.argument("cluster", default="")
@click.option(
    "--also", is_flag=True, help="Also what was not in the scope: it is looked at, and its owner rests, first."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@id_option
@target_options
@output.option
def delete(
    object_name: str, cluster: str, also: bool, yes: bool, id: str, kubeconfig: Path | None, context: str,
    root: Path | None, form: str,
) -> int:  # fmt: skip
    """Delete an object past Git; what it was is in the snapshot, and abort makes it again."""
    from firstlight.commands.override import apply as override_apply

    return override_apply.delete(
        object_name, cluster=cluster, also=also, yes=yes, id=id, kubeconfig=kubeconfig, context=context,
        root=root, form=form,
    )  # fmt: skip


@click.command()
@click.argument("cluster", default="")
@click.option("--all", "is_all", is_flag=True, help="Also those that are over.")
@click.option("--git", "is_rendered", is_flag=True, help="Render the repo, and say whether Git has what was changed.")
@click.option("--offline", is_flag=True, help="With --git: fetch nothing, charts come from the cache.")
@target_options
@output.option
def status(
    cluster: str, is_all: bool, is_rendered: bool, offline: bool, kubeconfig: Path | None, context: str,
    root: Path | None, form: str,
) -> int:  # fmt: skip
    """What is overridden now: until when, who rests, what was changed, whether Git has it, and what comes next.

    Exit code 0 means that nothing is, 2 that an override is open, 1 that one has expired.
    """
    from firstlight.commands.override import status as override_status

    return override_status.status(
        cluster, is_all=is_all, is_rendered=is_rendered, offline=offline, kubeconfig=kubeconfig,
        context=context, root=root, form=form,
    )  # fmt: skip


@click.command()
@click.argument("cluster", default="")
@click.option("--write", is_flag=True, help="Edit the work tree; without it the change is only shown.")
@click.option("--commit", is_flag=True, help="Edit the work tree, and commit these edits and nothing else.")
@click.option("--branch", default="", metavar="NAME", help="Make this branch first, and commit there.")
@click.option(
    "--choose", "chosen", multiple=True, metavar="FIELD=FILE:LINE", help="Where a field goes that has several places."
)
@click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE",
    help="What was applied, where the cluster cannot be asked; - reads stdin.",
)  # fmt: skip
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@id_option
@target_options
@output.option
def align(
    cluster: str, write: bool, commit: bool, branch: str, chosen: tuple[str, ...], files: tuple[str, ...],
    offline: bool, id: str, kubeconfig: Path | None, context: str, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Turn what an override has changed into a change of the repo: the right line, value, patch or post-renderer.

    Every edit is proven: the repo is rendered with it, the object must be as it is live, and nothing else may differ in
    any cluster. Where several places would do, or none, it asks. Secrets are never written. Exit code 2 means that
    there is something to write, 3 that a person has to decide.
    """
    from firstlight.commands.override import align as override_align

    return override_align.align(
        cluster, write=write, commit=commit, branch=branch, chosen=chosen, files=files, offline=offline, id=id,
        kubeconfig=kubeconfig, context=context, root=root, form=form,
    )  # fmt: skip


@click.command()
@click.argument("cluster", default="")
@click.option("--discard", is_flag=True, help="Let Git win: what was changed goes back to what it was first.")
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@click.option("--yes", is_flag=True, help="Do not ask before changes are thrown away.")
@id_option
@target_options
@output.option
def end(
    cluster: str, discard: bool, offline: bool, yes: bool, id: str, kubeconfig: Path | None, context: str,
    root: Path | None, form: str,
) -> int:  # fmt: skip
    """Close an override when Git has what was changed: the engine owns it, goes on, and is waited for.

    Refused (exit code 3) while Git and cluster differ in what was changed, or while the engine's source does not have
    the commit. Exit code 1 means that it is over, and something did not go as it should: the record tells.
    """
    from firstlight.commands.override import end as override_end

    return override_end.end(
        cluster, discard=discard, offline=offline, yes=yes, id=id, kubeconfig=kubeconfig, context=context,
        root=root, form=form,
    )  # fmt: skip


@click.command()
@click.argument("cluster", default="")
@click.option("--yes", is_flag=True, help="Do not ask before changes are taken back.")
@id_option
@target_options
@output.option
def abort(
    cluster: str, yes: bool, id: str, kubeconfig: Path | None, context: str, root: Path | None, form: str
) -> int:  # fmt: skip
    """Put everything back that an override has changed, as it was before, and let the engine go on.

    Only what the override itself has changed: what somebody else has changed meanwhile stays, and is named.
    """
    from firstlight.commands.override import end as override_end

    return override_end.abort(cluster, yes=yes, id=id, kubeconfig=kubeconfig, context=context, root=root, form=form)


@click.command()
@click.argument("cluster", default="")
@click.option("--id", "id", default="", show_default="the only one with a blank", help="Which incident.")
@click.option("--cause", default="", metavar="TEXT", help="What broke, and why.")
@click.option(
    "--follow-up", "follow_ups", multiple=True, metavar="TEXT",
    help="What keeps it from coming back, who does it, by when. May be repeated.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Also those that were reviewed.")
@repo_option
@output.option
def review(
    cluster: str, id: str, cause: str, follow_ups: tuple[str, ...], everything: bool, root: Path | None, form: str
) -> int:
    """Fill in the cause and the follow-ups of an incident, or list the records in which they are blank.

    Overrides and recover --do write incident records. The audit reminds of those that are blank for a week.
    """
    from firstlight.commands.override import review as override_review

    return override_review.review(
        cluster, id=id, cause=cause, follow_ups=follow_ups, everything=everything, root=root, form=form
    )
