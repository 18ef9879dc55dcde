"""Which cluster the doctor looks at, and every way to it that there is; where there is none, why."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import firstlight
from firstlight import errors
from firstlight.cli import install_tools, which_cluster, which_repo
from firstlight.cli import means as cli_means
from firstlight.clients import kube, talosctl
from firstlight.commands.doctor import bundle
from firstlight.commands.doctor.examine import DeclaredCluster, DoctorAccess
from firstlight.execute import access_files, cluster_access
from firstlight.execute.world import World
from firstlight.journal import journal_reader, state_files
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.observe.cluster import kubernetes_survey
from firstlight.observe.machine_survey import MachineAccess
from firstlight.plan import build
from firstlight.repo import work_tree


@dataclasses.dataclass(frozen=True, kw_only=True)
class DoctorTarget:
    """What is looked at, and what is known of it before."""

    known: DeclaredCluster
    what: str = ""
    """The component or object that is asked about; empty for all."""
    platform: Platform | None = None
    config: kube.ClientConfig | None = None
    no_api: str = ""
    talosconfig: Path | None = None

    @property
    def components(self) -> Sequence[Component]:
        """Of the cluster, as the repo has them."""
        return self.platform.components_of(self.known.cluster.name) if self.platform is not None else ()

    @property
    def state(self) -> Path | None:
        """What ``up`` has left."""
        return state_files.directory_of(self.platform.root) if self.platform is not None else None


def target_of(
    cluster: str, what: str, *, root: Path | None, kubeconfig: Path | None, context: str, talosconfig: Path | None
) -> DoctorTarget:  # fmt: skip
    """What is meant: a cluster of the repo, or one that only a kubeconfig leads to.

    Raises:
        errors.UsageError: There is no such cluster, or several, or too much was named.
    """
    platform = _platform(root)
    if platform is None or not platform.clusters:
        if what:
            raise errors.UsageError(
                f"there is no cluster {cluster} here", hint="No repo is around: name one by --repo."
            )
        config = kube.load(kubeconfig, context=context, allow_exec=True)
        name = context or config.context or config.server.rpartition("//")[2]
        return DoctorTarget(
            known=DeclaredCluster(cluster=_unknown(name)), what=cluster, config=config, talosconfig=talosconfig
        )
    one, what = _meant(platform, cluster, what)
    config_, no_api = None, ""
    state = state_files.directory_of(platform.root)
    try:
        config_ = which_cluster.config(state, one.name, kubeconfig=kubeconfig, context=context)
    except errors.Refused:
        raise
    except errors.FirstlightError as error:
        if kubeconfig is not None or context:
            raise
        no_api = error.message
    known = DeclaredCluster.of(platform, one, state=state, problems=_problems(platform, one))
    return DoctorTarget(
        known=known, what=what, platform=platform, config=config_, no_api=no_api, talosconfig=talosconfig
    )  # fmt: skip


@contextlib.asynccontextmanager
async def reached(patient: DoctorTarget) -> AsyncIterator[DoctorAccess]:
    """Every way to a cluster that there is.

    Raises:
        errors.Refused: The API is that of another cluster.
    """
    program, way, no_keys = await _machines(patient)
    ways = DoctorAccess(no_api=patient.no_api, way=way, no_keys=no_keys, program=program)
    if patient.config is None:
        yield ways
        return
    async with kube.Client(patient.config, policy=kubernetes_survey.POLICY, agent="doctor") as client:
        if patient.state is not None:
            # One that does not answer is what doctors are for; another one than is meant is not.
            with contextlib.suppress(errors.ClientError):
                await which_cluster.check(client, state=patient.state, cluster=patient.known.cluster.name)
        yield dataclasses.replace(ways, client=client)


async def versions(ways: DoctorAccess) -> dict[str, str]:
    """What runs here and there, as far as it tells."""
    found = {"firstlight": firstlight.__version__}
    if ways.client is not None:
        with contextlib.suppress(errors.FirstlightError):
            found["kubernetes"] = str((await ways.client.version()).get("gitVersion") or "")
    if ways.program is not None:
        with contextlib.suppress(errors.FirstlightError):
            found["talosctl"] = await talosctl.Talosctl(ways.program).client_version()
    return found


def journals(patient: DoctorTarget) -> tuple[Path, ...]:
    """The journals of the cluster's last runs."""
    if patient.state is None:
        return ()
    mine = [each for each in journal_reader.paths(patient.state) if patient.known.cluster.name in each.name]
    return tuple(mine[: bundle.RUNS])


def declared(patient: DoctorTarget) -> Path | None:
    """The firstlight.yaml, if there is one."""
    if patient.platform is None or patient.platform.declared is None:
        return None
    return patient.platform.root / patient.platform.declared.path


def _platform(root: Path | None) -> Platform | None:
    """The repo, also where firstlight.yaml is wrong: that may be the very reason to call a doctor."""
    top = work_tree.top(Path())
    if root is None and not (top / ".git").exists() and not (top / "firstlight.yaml").exists():
        return None
    return which_repo.platform(root, as_it_is=True)


def _meant(platform: Platform, cluster: str, what: str) -> tuple[Cluster, str]:
    """A single word is a cluster, or else something in the only one, or a component of only one."""
    if cluster and not what and platform.cluster(cluster) is None:
        homes = [each.cluster for each in platform.components if each.name == cluster]
        if len(platform.clusters) == 1 or len(homes) == 1:
            return which_cluster.cluster_of(platform, homes[0] if len(homes) == 1 else ""), cluster
        if homes:
            hint = f"Name the cluster first: firstlight doctor {homes[0]} {cluster}"
            raise errors.UsageError(f"{cluster} is in {', '.join(homes)}", hint=hint)
    return which_cluster.cluster_of(platform, cluster), what


def _unknown(name: str) -> Cluster:
    return Cluster(name=name, place=Place("kubeconfig"))


def _problems(platform: Platform, cluster: Cluster) -> Sequence[Diagnostic]:
    """What the plan says that stands in the way, as far as it is known without rendering."""
    return build.build(platform, cluster).problems


async def _machines(patient: DoctorTarget) -> tuple[Path | None, MachineAccess | None, str]:
    """talosctl, the way to the machines, and why there is none."""
    cluster = patient.known.cluster
    if not cluster.machines:
        return None, None, ""
    try:
        program = (await install_tools.ensure(["talosctl"]))["talosctl"]
    except errors.ToolError as error:
        return None, None, error.message
    try:
        return program, await _way(patient, program), ""
    except errors.FirstlightError as error:
        return program, None, f"no keys for them ({error.message})"


async def _way(patient: DoctorTarget, program: Path) -> MachineAccess:
    """By the talosconfig that was named, else the one that ``up`` has left, else the secrets that the repo names.

    Raises:
        errors.FirstlightError: There is none.
    """
    cluster, state = patient.known.cluster, patient.state
    if patient.talosconfig is not None:
        return MachineAccess(program=program, talosconfig=Secret(patient.talosconfig.read_bytes()))
    assert state is not None
    assert patient.platform is not None
    left = state / cluster.name / "talosconfig"
    if state_files.is_file(left):
        return MachineAccess(program=program, talosconfig=access_files.kept_talosconfig(left))
    if not cluster.talos_secrets and not cluster.talosconfig:
        raise errors.Refused("neither a run has left a talosconfig nor does the repo name the Talos secrets")
    means = await cli_means.user_means(patient.platform, offline=True, keep=False)
    try:
        world = World(cluster=cluster, programs=means.programs, resolve=means.resolve, state=means.state)
        return await cluster_access.ensure(world)
    finally:
        await means.close()
