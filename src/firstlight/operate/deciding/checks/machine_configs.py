"""Machine configs as talosctl validates them: made of the repo's drafts with keys that are thrown away."""

import asyncio

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.clients.talosctl import Talosctl
from firstlight.model.change import Matter
from firstlight.model.cluster import MachineRole
from firstlight.model.decision import Decision
from firstlight.model.machine_draft import MachineDraft
from firstlight.model.remark import Grade
from firstlight.model.secret import Secret
from firstlight.operate.deciding.checks.scene import Scene
from firstlight.policy.checking import note
from firstlight.policy.checking.note import Note
from firstlight.render.machines import drafting

_AT_ONCE = 2


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """Every machine of the clusters whose machine files differ."""
    names = sorted({name for item in decision.items if item.change.matter == Matter.MACHINE for name in item.clusters})
    if not names:
        return []
    if scene.talosctl is None:
        todo = "firstlight tools install talosctl"
        return [note.skipped("the machine configs were not validated: there is no talosctl", todo=todo)]
    notes: list[Note] = []
    for name in names:
        notes += await _of_cluster(name, scene, Talosctl(scene.talosctl))
    return notes


async def _of_cluster(name: str, scene: Scene, client: Talosctl) -> list[Note]:
    cluster = scene.after.platform.cluster(name)
    if cluster is None:
        return []
    if cluster.omni_template:
        return [
            note.skipped(
                f"{name}: Omni makes and validates the machine configs", todo="omnictl cluster template validate"
            )
        ]
    drafts, remarks = drafting.drafts(scene.after.platform, cluster, tree=scene.after.tree)
    wrong = [each for each in remarks if each.grade == Grade.ERROR]
    if wrong:
        return [note.failed(each.message, todo=each.hint, place=each.place) for each in wrong]
    if not drafts:
        return [note.skipped(f"{name}: the repo declares no machines of which configs could be made")]
    secrets = await client.gen_secrets(talos_version=cluster.talos)
    limit = asyncio.Semaphore(_AT_ONCE)
    found = await asyncio.gather(*(_validated(each, secrets, client, limit) for each in drafts))
    notes = [each for some in found for each in some]
    fine = [draft.machine.name for draft, some in zip(drafts, found, strict=True) if not some]
    return [*notes, note.passed(f"talosctl accepts the config of {', '.join(fine)}")] if fine else notes


async def _validated(draft: MachineDraft, secrets: Secret, client: Talosctl, limit: asyncio.Semaphore) -> list[Note]:
    name, place = draft.machine.name, draft.machine.place
    pieces = [*draft.patches, *([draft.whole] if draft.whole is not None else [])]
    if locked := [each.reference for each in pieces if each.text is None]:
        return [note.skipped(f"{name}: {', '.join(locked)} is encrypted, and is not decrypted for a check")]
    async with limit:
        try:
            validation = await client.validate(await _made(draft, secrets, client))
        except talosctl.Rejected as error:
            todo = "see the patches of this machine"
            return [note.failed(f"{name}: no config comes of its declaration: {error.detail}", todo=todo, place=place)]
        except errors.UsageError as error:
            return [note.failed(f"{name}: {error.message}", todo=error.hint, place=place)]
    notes = [
        note.failed(f"{name}: {each}", todo="correct it in the patches", place=place) for each in validation.problems
    ]
    return notes + [note.person(f"{name}: {each}", place=place) for each in validation.warnings]


async def _made(draft: MachineDraft, secrets: Secret, client: Talosctl) -> Secret:
    patches = [each.text for each in draft.patches if each.text is not None]
    if draft.whole is not None and draft.whole.text is not None:
        config = draft.whole.text
    else:
        config = await client.gen_config(
            "controlplane" if draft.machine.role is MachineRole.CONTROL_PLANE else "worker",
            cluster=draft.cluster,
            endpoint=draft.endpoint,
            secrets=secrets,
            kubernetes_version=draft.kubernetes.removeprefix("v"),
            talos_version=draft.talos,
            install_disk=draft.install_disk,
            install_image=draft.install_image,
            dns_domain=draft.dns_domain,
            additional_sans=draft.sans,
        )
    return await client.patch_config(config, patches) if patches else config
