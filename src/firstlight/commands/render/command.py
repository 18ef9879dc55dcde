"""``firstlight render``: the objects that components deploy, as the engine would render them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from firstlight.cli.options import repo_option

F = TypeVar("F", bound=Callable[..., Any])


def inline_options(function: F) -> F:
    """Add the options of ``--inline``; ``inline.typed`` makes sense of them.

    ``inline`` is None where ``--inline`` is not given, and empty where it has no file. The others are ``name``,
    ``check``, ``dry_run``, ``allow_secret``, ``create_namespace``, ``with_root`` and ``as_omni_manifest``.
    """
    for each in reversed([
        click.option(
            "--inline", is_flag=False, flag_value="", default=None, metavar="[FILE]",
            help="Embed it into a Talos patch or an Omni template; without FILE where it already is.",
        ),
        click.option("--name", default="", help="What the inline manifest is called.  [default: as the component]"),
        click.option("--check", is_flag=True, help="With --inline: write nothing; exit 2 and a diff if it is stale."),
        click.option("--dry-run", is_flag=True, help="With --inline: write nothing, and show what would change."),
        click.option("--allow-secret", multiple=True, metavar="NAME", help="Embed this Secret with its data."),
        click.option("--create-namespace", is_flag=True, help="With --inline: add namespaces that nothing creates."),
        click.option("--with-root", is_flag=True, help="With --inline: add the root Application and its project."),
        click.option("--as-omni-manifest", is_flag=True, help="With --inline: new ones go to kubernetes.manifests."),
    ]):  # fmt: skip
        function = each(function)
    return function


@click.command()
@click.argument("component", default="")
@click.option("--cluster", default="", metavar="NAME", help="The cluster, where there are several.")
@click.option("--side", "side_name", type=click.Choice(["bootstrap", "gitops"]), help="Which half of a hybrid.")
@click.option("--crds", "only_crds", is_flag=True, help="Only CRDs, each once; where components disagree is told.")
@click.option("--offline", is_flag=True, help="Fetch nothing: charts and files come from the cache.")
@click.option("--refresh", is_flag=True, help="Resolve ranges, tags and branches anew.")
@click.option("--owner-labels", is_flag=True, help="With the labels by which the engine knows what is its own.")
@inline_options
@repo_option
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "yaml", "json"]),
    default="text",
    show_default="a table, or YAML for one component",
    help="How to print the answer.",
)
def render(
    component: str,
    cluster: str,
    side_name: str | None,
    only_crds: bool,
    offline: bool,
    refresh: bool,
    owner_labels: bool,
    root: Path | None,
    form: str,
    **embedding: Any,
) -> int:
    """The objects that a component deploys, by real kustomize and helm; without a name a table of all components.

    Charts are fetched once and kept. The data of Secrets is never shown. Exit code 1 means that something could not be
    rendered whole; what and why is on standard error.
    """
    from firstlight.commands.render import render as render_room

    return render_room.show(
        root, component, cluster=cluster, side_name=side_name, only_crds=only_crds, offline=offline, refresh=refresh,
        owner_labels=owner_labels, form=form, embedding=embedding,
    )  # fmt: skip
