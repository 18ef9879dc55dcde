"""How commands that touch a real cluster come by the world: the user's programs, secrets and files."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firstlight.execute.world import Resolve
    from firstlight.model.cluster import Cluster
    from firstlight.model.platform import Platform
    from firstlight.model.secret import Secret
    from firstlight.operate.means import Means
    from firstlight.render.rendering import Renderer

STATE = ".firstlight"
NEEDED = ("talosctl", "helm", "kustomize", "sops")


async def means(
    platform: "Platform",
    *,
    offline: bool = False,
    fingerprints: Mapping[str, str] | None = None,
    keep: bool = True,
    merge: bool = False,
) -> "Means":
    """Everything that a run on the user's own machines needs; missing programs are installed.

    Args:
        platform: The repo.
        offline: Fetch no charts.
        fingerprints: Pinned certificates of machines in maintenance mode, by machine.
        keep: Whether Talos secrets that must be made are written down; a dry run forgets them.
        merge: Whether the cluster is added to the user's own kubeconfig and talosconfig.
    """
    from firstlight.cli import allowing, installing, renderers
    from firstlight.execute.world import Programs
    from firstlight.operate.means import Means
    from firstlight.secrets import resolving

    programs = await installing.ensure(NEEDED)
    omnictl = await _omnictl() if any(each.omni_template for each in platform.clusters) else None
    git, op = shutil.which("git"), shutil.which("op")
    resolver = resolving.Resolver(platform.root, sops=programs["sops"], op=Path(op) if op else None)

    async def open_renderer(one: "Platform") -> "Renderer":
        return await renderers.open_renderer(one, offline=offline)

    return Means(
        programs=Programs(talosctl=programs["talosctl"], helm=programs["helm"], omnictl=omnictl),
        state=platform.root / STATE,
        open_renderer=open_renderer,
        resolve=resolver.resolve,
        talos_secrets=lambda each: _talos_secrets(platform, each, resolver.resolve, programs, keep=keep),
        git=Path(git) if git else None,
        fingerprints=fingerprints or {},
        merged_into=_own_files() if merge else None,
        allowed=allowing.known(),
        close=resolver.close,
    )


async def _omnictl() -> Path:
    """The user's own where there is one: its version must be the one of the user's Omni."""
    from firstlight.cli import installing

    own = shutil.which("omnictl")
    return Path(own) if own else (await installing.ensure(("omnictl",)))["omnictl"]


def _own_files() -> tuple[Path, Path]:
    """Where kubectl and talosctl look first."""
    kubeconfig = os.environ.get("KUBECONFIG", "").partition(os.pathsep)[0] or "~/.kube/config"
    talosconfig = os.environ.get("TALOSCONFIG", "") or "~/.talos/config"
    return Path(kubeconfig).expanduser(), Path(talosconfig).expanduser()


async def _talos_secrets(
    platform: "Platform", cluster: "Cluster", resolve: "Resolve", programs: Mapping[str, Path], *, keep: bool
) -> "Secret":
    """The Talos secrets of a cluster: read where they are kept, or made and kept encrypted."""
    from firstlight.clients.sops import Sops
    from firstlight.clients.talosctl import Talosctl
    from firstlight.secrets import talos

    root = platform.root
    machines = cluster.machines[0].place.path if cluster.machines else ""
    reference = cluster.talos_secrets or talos.usual(root, cluster.name, machines=machines)
    found = await talos.load(reference, resolve)
    if found is not None:
        return found
    made = await Talosctl(programs["talosctl"]).gen_secrets()
    if keep:
        await talos.keep(root / reference.partition(":")[2], made, Sops(programs["sops"]), root=root)
    return made
