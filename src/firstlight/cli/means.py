"""How commands that touch a real cluster come by the world: the user's programs, secrets and files."""

import os
from collections.abc import Mapping
from pathlib import Path

from firstlight.cli import allow_commands, install_tools, renderers
from firstlight.clients import program_path
from firstlight.execute import talos_secrets
from firstlight.execute.means import Means
from firstlight.execute.world import RunPrograms
from firstlight.journal import state_files
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.render.component_renderer import Renderer
from firstlight.secrets import secret_resolver
from firstlight.tools import talosctl_choice

NEEDED = ("helm", "kustomize", "sops")


async def user_means(
    platform: Platform,
    *,
    offline: bool = False,
    fingerprints: Mapping[str, str] | None = None,
    keep: bool = True,
    merge: bool = False,
    kubeconfig: Path | None = None,
) -> Means:
    """Everything that a run on the user's own machines needs; missing programs are installed.

    Args:
        platform: The repo.
        offline: Fetch no charts.
        fingerprints: Pinned certificates of machines in maintenance mode, by machine.
        keep: Whether Talos secrets that must be made are written down; a dry run forgets them.
        merge: Whether the cluster is added to the user's own kubeconfig and talosconfig.
        kubeconfig: The way to a cluster of which the repo has no machines.
    """
    state = state_files.directory_of(platform.root)
    lines = {each.name: talosctl_choice.name_for(each.talos) for each in platform.clusters}
    names = sorted({*lines.values()} or {talosctl_choice.PROGRAM})
    programs = await install_tools.ensure((*names, *NEEDED))
    newest = programs[names[0]]
    omnictl = await _omnictl() if any(each.omni_template for each in platform.clusters) else None
    git, op = program_path.find("git"), program_path.find("op")
    resolver = secret_resolver.SecretResolver(platform.root, sops=programs["sops"], op=Path(op) if op else None)

    making = talos_secrets.TalosSecretsMaker(
        talosctl=newest, sops=programs["sops"], git=Path(git) if git else None,
        state=state, keep=keep,
    )  # fmt: skip

    async def open_renderer(one: Platform) -> Renderer:
        return await renderers.open_renderer(one, offline=offline)

    return Means(
        programs=RunPrograms(
            talosctl=newest,
            talosctl_of={cluster: programs[line] for cluster, line in lines.items()},
            helm=programs["helm"],
            omnictl=omnictl,
            sops=programs["sops"],
        ),
        state=state,
        open_renderer=open_renderer,
        resolve=resolver.resolve,
        talos_secrets=lambda each: talos_secrets.talos_secrets_of(
            each, platform, resolve=resolver.resolve, making=making
        ),
        check_talos_secrets=lambda each: talos_secrets.check_talos_secrets(
            each, platform, resolve=resolver.resolve, making=making
        ),
        git=Path(git) if git else None,
        fingerprints=fingerprints or {},
        merged_into=_own_files() if merge else None,
        allowed=allow_commands.known(),
        close=resolver.close,
        kubeconfig=Secret(kubeconfig.read_bytes()) if kubeconfig is not None else None,
    )


async def _omnictl() -> Path:
    """The user's own where there is one: its version must be the one of the user's Omni."""
    own = program_path.find("omnictl")
    return Path(own) if own else (await install_tools.ensure(("omnictl",)))["omnictl"]


def _own_files() -> tuple[Path, Path]:
    """Where kubectl and talosctl look first."""
    kubeconfig = os.environ.get("KUBECONFIG", "").partition(os.pathsep)[0] or "~/.kube/config"
    talosconfig = os.environ.get("TALOSCONFIG", "") or "~/.talos/config"
    return Path(kubeconfig).expanduser(), Path(talosconfig).expanduser()
