"""The doctor on duty: which cluster is meant, every way to it, one look, and the answer."""

import contextlib
import dataclasses
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import firstlight
from firstlight import errors
from firstlight.cli import install_tools, output, which_cluster, which_repo
from firstlight.cli import means as cli_means
from firstlight.clients import kube, talosctl
from firstlight.commands.doctor import bundle, data, diagnosis_scope, examine
from firstlight.commands.doctor import text as doctor_text
from firstlight.commands.doctor.examine import DeclaredCluster, DoctorAccess, Examination
from firstlight.commands.doctor.symptoms import Diagnosis
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.execute import access_files, cluster_access
from firstlight.execute.masks import Masks
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

BLIND = 3
"""The exit code where nothing could be looked at."""


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class DoctorWishes:
    """What was typed."""

    everything: bool
    since: float | None
    """Seconds from now."""
    bundle: Path | None
    form: str


async def run(patient: DoctorTarget, wishes: DoctorWishes) -> int:
    """Look, say what is wrong, and return the exit code.

    Raises:
        errors.UsageError: Nothing is called as was asked.
        errors.Refused: The API is that of another cluster.
    """
    since = time.time() - wishes.since if wishes.since is not None else 0.0
    async with reached(patient) as ways:
        masks = await _masks(ways) if wishes.bundle is not None else None
        if masks is not None:
            ways = dataclasses.replace(ways, hide=masks.masked)
        found = await examine.examine(patient.known, ways)
        if wishes.bundle is not None and masks is not None:
            await _bundled(patient, ways, found, path=wishes.bundle, masks=masks)
    told, elsewhere = _asked(patient, found)
    recent = _recent(told, since)
    _print(recent, found, patient, wishes, elsewhere=elsewhere, earlier=len(told.causes) - len(recent.causes))
    if found.is_blind:
        return BLIND
    return ExitCode.FAILED if recent.causes else 0


def _asked(patient: DoctorTarget, found: Examination) -> tuple[Diagnosis, int]:
    """What is asked about, and how many causes have nothing to do with it.

    Raises:
        errors.UsageError: Nothing is called so.
    """
    if not patient.what:
        return found.diagnosis, 0
    scope = diagnosis_scope.scope(patient.what, found.scene, found.diagnosis, patient.components)
    if scope is None:
        if not found.scene.api.is_reached:
            return found.diagnosis, 0  # what cannot be seen cannot be told from what is not there
        near = diagnosis_scope.near(patient.what, found.scene, patient.components)
        raise errors.UsageError(
            f"nothing is called {patient.what}",
            hint=f"There is {', '.join(near)}."
            if near
            else "Name a component, a namespace, or an object such as shop/web or 'Deployment shop/web'.",
        )
    narrowed = diagnosis_scope.narrow(found.diagnosis, scope)
    return narrowed, len(found.diagnosis.causes) - len(narrowed.causes)


def _recent(found: Diagnosis, since: float) -> Diagnosis:
    if not since:
        return found
    kept = tuple(each for each in found.causes if not each.symptom.since or each.symptom.since >= since)
    return dataclasses.replace(found, causes=kept)


async def _masks(ways: DoctorAccess) -> Masks:
    """Everything that is secret and known: recognised wherever it stands."""
    masks = Masks()
    if ways.client is not None:
        bundle.remember_config(masks, ways.client.config)
        if not await bundle.remember(ways.client, masks):
            print("the cluster's Secrets cannot be read: what they hold is not recognised by value", file=sys.stderr)
    if ways.way is not None:
        bundle.remember_talosconfig(masks, ways.way.talosconfig)
    return masks


async def _bundled(patient: DoctorTarget, ways: DoctorAccess, found: Examination, *, path: Path, masks: Masks) -> None:
    contents = bundle.BundleContents(
        scene=found.scene, diagnosis=found.diagnosis, versions=await versions(ways),
        runs=journals(patient), declared=declared(patient),
    )  # fmt: skip
    size = bundle.write(path, contents, masks)
    print(f"{path}: {size / 1024:,.0f} KiB, for a bug report; README.txt in it says what is left out", file=sys.stderr)


def _print(
    found: Diagnosis, whole: Examination, patient: DoctorTarget, wishes: DoctorWishes, *, elsewhere: int, earlier: int
) -> None:  # fmt: skip
    if wishes.form == "json":
        output.write_json(data.data(found, asked=patient.what, is_blind=whole.is_blind))
        return
    page = doctor_text.text(
        found, now=whole.scene.now, columns=table.terminal_columns(), everything=wishes.everything,
        asked=patient.what, elsewhere=elsewhere, earlier=earlier, is_blind=whole.is_blind,
    )  # fmt: skip
    print(page)
