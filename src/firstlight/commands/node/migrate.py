"""``firstlight node migrate``: old fields of configs and patches as documents of Talos 1.14, shown as a diff."""

import asyncio
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.cli import output, which_cluster, which_repo
from firstlight.clients import talosctl
from firstlight.commands.node import machine_lookup
from firstlight.commands.node.output_form import MigrationData
from firstlight.drawing import safe
from firstlight.errors import ExitCode
from firstlight.model import talos_documents, versions
from firstlight.model.cluster import Cluster, MachineRole
from firstlight.model.diagnostic import Severity
from firstlight.model.machine_config import DraftPatch, MachineDraft
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.render.machines import document_migration, machine_drafts
from firstlight.render.machines.document_migration import DocumentMigration
from firstlight.repo import file_patch
from firstlight.repo.file_patch import FilePatch
from firstlight.repo.secrecy import clear_secrets
from firstlight.repo.work_tree import WorkTree
from firstlight.tools import find, workshop


@dataclasses.dataclass(frozen=True, slots=True)
class MigrationProof:
    """Whether Talos takes the configs of all machines, before and after."""

    talosctl: str = ""
    machines: tuple[str, ...] = ()
    unknown: str = ""
    """Why nothing is proven."""


class _Unproven(Exception):
    """Nothing can be proven."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def migrate(cluster: str, *, write: bool, root: Path | None, form: str) -> int:
    """Show what becomes of the files of a cluster, or write it; the exit code."""
    platform = which_repo.platform(root)
    found = which_cluster.cluster_of(platform, cluster)
    machine_lookup.refuse_omni(found)
    tree = WorkTree(platform.root)
    made = document_migration.migrate(tree, found)
    patch = FilePatch(
        before={each.path: tree.bytes(each.path) for each in made.files},
        after={each.path: each.after.encode() for each in made.files},
        fixed=(),
    )
    proof = asyncio.run(_proven(platform, found, patch.laid_over(tree)))
    if write and made.files:
        file_patch.write(tree, patch)
    text = migration_text(found, made, patch, proof, is_written=write)
    output.answer(form, text, migration_data(found, made, patch, proof, is_written=write))
    return ExitCode.FINDINGS if made.files and not write else 0


async def _proven(platform: Platform, cluster: Cluster, after: WorkTree) -> MigrationProof:
    """Let talosctl check the whole config of every machine, as it was and as it is to be.

    Raises:
        errors.Refused: It takes a config as it was, and not as it is to be.
    """
    try:
        program, version = await _program()
        old = _drafts(platform, cluster, None)
        new = _drafts(platform, cluster, after)
        bundle = await program.gen_secrets()
        for name in old:
            before = await _config(old[name], bundle, program)
            await _compare(name, before, new[name], bundle, program)
    except _Unproven as error:
        return MigrationProof(unknown=error.why)
    except talosctl.TalosError as error:
        return MigrationProof(unknown=f"talosctl makes no config of the files: {error.detail}")
    return MigrationProof(talosctl=version, machines=tuple(old))


async def _program() -> tuple[talosctl.Talosctl, str]:
    shop = workshop.here()
    search = await find.find(shop.catalogue.get("talosctl"), shop)
    if search.found is None:
        raise _Unproven(search.problem or "talosctl is not installed: firstlight tools install talosctl")
    program = talosctl.Talosctl(search.found.path)
    version = await program.client_version()
    if not talos_documents.is_known_to(version):
        raise _Unproven(f"talosctl {version} does not know the documents: install 1.14 or later")
    return program, version


def _drafts(platform: Platform, cluster: Cluster, tree: WorkTree | None) -> dict[str, MachineDraft]:
    drafts, diagnostics = machine_drafts.machine_drafts(platform, cluster, tree=tree)
    wrong = next((each for each in diagnostics if each.severity is Severity.ERROR), None)
    if wrong is not None or not drafts:
        raise _Unproven(f"{wrong.place}: {wrong.message}" if wrong else "no machine is declared")
    return {each.machine.name: each for each in drafts}


async def _config(draft: MachineDraft, bundle: Secret, program: talosctl.Talosctl) -> Secret:
    """The whole config of a machine; where it is generated, with secrets that are made for this and forgotten."""
    if draft.whole is not None:
        whole = _text(draft.whole)
    else:
        is_plane = draft.machine.role is MachineRole.CONTROL_PLANE
        whole = await program.gen_config(
            "controlplane" if is_plane else "worker", cluster=draft.cluster, endpoint=draft.endpoint, secrets=bundle,
            kubernetes_version=draft.kubernetes.removeprefix("v"), talos_version=draft.generated_for,
            install_disk=draft.install_disk, install_image=draft.install_image,
        )  # fmt: skip
    is_new = draft.whole is None and versions.minor(draft.generated_for) is not None
    is_new = is_new and talos_documents.is_known_to(draft.generated_for)
    patches = [each.documents if is_new and each.documents is not None else _text(each) for each in draft.patches]
    return await program.patch_config(whole, patches) if patches else whole


def _text(patch: DraftPatch) -> Secret:
    if patch.text is None:
        raise _Unproven(f"{patch.place.path} is encrypted")
    return patch.text


async def _compare(
    name: str, before: Secret, draft: MachineDraft, bundle: Secret, program: talosctl.Talosctl
) -> None:  # fmt: skip
    """Check both configs of a machine.

    Raises:
        errors.Refused: The new one is wrong.
    """
    old = await program.validate(before)
    # On a generated config of documents old patches are refused: that is why they are rewritten.
    if old.problems and draft.whole is not None:
        raise _Unproven(f"{name}: talosctl refuses its config as it is: {old.problems[0]}")
    try:
        problems = (await program.validate(await _config(draft, bundle, program))).problems
    except talosctl.TalosRejected as error:
        problems = (error.detail,)
    if problems:
        raise errors.Refused(
            f"{name}: talosctl would refuse the config: {'; '.join(problems)}",
            hint="Nothing was written. Say in the base config what is missing, and run this again.",
        )


def migration_text(
    cluster: Cluster,
    made: DocumentMigration,
    patch: FilePatch,
    proof: MigrationProof,
    *,
    is_written: bool,
) -> str:
    """Everything that there is to say."""
    parts = [
        _title(cluster, made, is_written=is_written),
        "\n".join(_remarks(made, proof)),
        "" if is_written else _diff(patch),
        _next(cluster, made, is_written=is_written),
    ]
    return "\n\n".join(each.rstrip("\n") for each in parts if each)


def _title(cluster: Cluster, made: DocumentMigration, *, is_written: bool) -> str:
    count = len(made.files)
    if not count:
        return safe.text(f"{cluster.name}   nothing to rewrite")
    verb = "rewritten" if is_written else "to rewrite"
    return safe.text(f"{cluster.name}   {count} file{'s' if count > 1 else ''} {verb} as documents of Talos 1.14")


def _remarks(made: DocumentMigration, proof: MigrationProof) -> Iterator[str]:
    for stays in made.staying:
        yield _remark("stays", str(stays.place), f"{stays.field}: {stays.why}")
    for path, why in made.left.items():
        yield _remark("not edited", path, why)
    for file in made.files:
        for comment in file.comments:
            yield _remark("comment lost", file.path, comment)
    if proof.unknown:
        yield _remark("not proven", "", proof.unknown)
    elif made.files:
        yield _remark("valid", "", f"talosctl {proof.talosctl} takes the configs of {', '.join(proof.machines)}")


def _remark(what: str, place: str, text: str) -> str:
    return safe.text(f"  {what:12}   {f'{place}   ' if place else ''}{text}")


def _diff(patch: FilePatch) -> str:
    if clear_secrets.tells_secret(patch.diff):
        return "The diff is not shown, since it would show secrets in clear. Write it, and look at it with git diff."
    return "\n".join(safe.text(line) for line in patch.diff.splitlines())


def _next(cluster: Cluster, made: DocumentMigration, *, is_written: bool) -> str:
    if not made.files:
        return ""
    if is_written:
        return f"Next: git diff, then firstlight node apply {cluster.name} --dry-run"
    return f"Next: firstlight node migrate {cluster.name} --write"


def migration_data(
    cluster: Cluster, made: DocumentMigration, patch: FilePatch, proof: MigrationProof, *, is_written: bool
) -> MigrationData:
    """The same for programs."""
    return {
        "cluster": cluster.name,
        "files": [each.path for each in made.files],
        "written": is_written and bool(made.files),
        "diff": "" if clear_secrets.tells_secret(patch.diff) else patch.diff,
        "stays": [
            {"group": each.group, "field": each.field, "place": str(each.place), "why": each.why}
            for each in made.staying
        ],
        "notEdited": [{"path": path, "why": why} for path, why in made.left.items()],
        "lostComments": _comments(made),
        "proof": {"talosctl": proof.talosctl, "machines": proof.machines, "unknown": proof.unknown},
    }


def _comments(made: DocumentMigration) -> Sequence[str]:
    return [f"{file.path}: {comment}" for file in made.files for comment in file.comments]
