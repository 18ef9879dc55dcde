"""``firstlight handover``: what bootstrap brought passes to the engine, with a certificate that it was harmless."""

from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import output
from firstlight.cli.options import repo_option

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("cluster", default="")
@click.option("--component", "components", multiple=True, metavar="COMPONENT", help="Only this one. May be repeated.")
@click.option("--dry-run", is_flag=True, help="Say what the engine would change, lose and restart; write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before what cannot be undone.")
@click.option("--allow-loss", is_flag=True, help="Go on although fields would disappear that Git does not have.")
@click.option("--accept-restarts", is_flag=True, help="Keep a certificate that says that pods were replaced.")
@click.option("--canary", is_flag=True, help="Prove it with a label that is added and removed through Git.")
@click.option("--forget-releases", is_flag=True, help="Remove what Helm kept of releases that Argo CD owns now.")
@click.option("--sign", "key", type=_FILE, default=None, metavar="KEY", help="Sign the certificate with this SSH key.")
@click.option(
    "--verify", "certificate", type=_FILE, default=None, metavar="CERT", help="Hold a certificate against the cluster."
)
@click.option(
    "--signers",
    type=_FILE,
    default=None,
    help="For --verify: allowed signers as ssh-keygen has them; one must have signed.",
)
@click.option("--kubeconfig", type=_FILE, default=None, help="The way to a cluster of which the repo has no machines.")
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@repo_option
@output.option
def handover(
    cluster: str, components: tuple[str, ...], dry_run: bool, yes: bool, allow_loss: bool, canary: bool,
    accept_restarts: bool, forget_releases: bool, key: Path | None, certificate: Path | None, signers: Path | None,
    kubeconfig: Path | None, offline: bool, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Pass what bootstrap brought to the GitOps engine, on a cluster that is there; `up` ends with the same steps.

    Fields get the engine as their owner, the engine adopts, Talos releases its inline manifests, and a certificate
    says what was proven. Run again it goes on. Exit code 3 means that something would be lost, or was refused.
    """
    if certificate is not None and (components or dry_run or allow_loss or accept_restarts or canary or key):
        raise errors.UsageError("--verify goes alone", hint="firstlight handover --verify CERT")
    if signers is not None and certificate is None:
        raise errors.UsageError("--signers is for --verify", hint="firstlight handover --verify CERT --signers FILE")
    from firstlight.commands.handover import run
    from firstlight.commands.handover.handover import HandoverRequest

    asked = HandoverRequest(
        cluster=cluster, components=components, is_dry_run=dry_run, is_loss_allowed=allow_loss,
        is_restart_accepted=accept_restarts, key=key,
    )  # fmt: skip
    return run.hand_over(
        root, asked, certificate=certificate, signers=signers, canary=canary, is_forgetful=forget_releases, yes=yes,
        kubeconfig=kubeconfig, offline=offline, form=form,
    )  # fmt: skip
