"""Whether everything that changed can be read: YAML, firstlight.yaml, machine configs, and objects by their schema."""

import asyncio
import dataclasses
from collections.abc import Iterable, Iterator

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.clients.talosctl import Talosctl
from firstlight.commands.decide.checks import answer, check_input, object_schema
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import CheckInput, RenderedRevision
from firstlight.document import yaml_reader
from firstlight.document.yaml_reader import YamlDialect
from firstlight.model.change import Matter
from firstlight.model.cluster import MachineRole
from firstlight.model.decision import CheckState, Decision, Touched
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.machine_config import MachineDraft
from firstlight.model.secret import Secret
from firstlight.render.machines import machine_drafts
from firstlight.repo.declaration import declaration_form
from firstlight.repo.work_tree import YAML

_TEMPLATED = (Matter.CHART, Matter.MACHINE, Matter.RELEASE)
"""Files that may be templates: what is in braces is no YAML, and need not be."""
_NEEDS = "missing-need"
"""For another check."""


async def look(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """What is wrong, in the order in which it would be noticed."""
    paths = [each for each in scene.paths if each.endswith(YAML) and scene.after.tree.is_file(each)]
    matters = {item.change.place.path: item.change.matter for item in decision.items}
    broken = [found for path in paths for found in _yaml(path, matters.get(path), scene)]
    answers = [*broken, *_declaration(scene), *_diagnostics(scene)]
    answers += await look_at_machine_configs(decision, scene)
    answers += await object_schema.look(decision, scene)
    if paths and not any(each.place and each.place.path in paths for each in broken):
        answers.insert(0, answer.passed(f"{len(paths)} changed YAML file{'' if len(paths) == 1 else 's'} can be read"))
    return answers


def _yaml(path: str, matter: Matter | None, scene: CheckInput) -> Iterator[CheckAnswer]:
    """A file as its reader sees it: Talos has other rules than Kubernetes."""
    data = scene.after.tree.bytes(path)
    if data is None:
        return
    if matter in _TEMPLATED and (b"{{" in data or b"{%" in data):
        yield answer.skipped(f"{path} is a template")
        return
    dialect = YamlDialect.TALOS if matter == Matter.MACHINE else YamlDialect.KUBERNETES
    for diagnostic in yaml_reader.read(data, path, dialect=dialect).diagnostics:
        if diagnostic.severity == Severity.ERROR:
            yield answer.of_diagnostic(CheckState.FAILED, diagnostic)
        elif diagnostic.severity == Severity.WARNING:
            yield answer.of_diagnostic(CheckState.PERSON, diagnostic)


def _declaration(scene: CheckInput) -> Iterator[CheckAnswer]:
    """firstlight.yaml, if there is one; what is wrong with it has diagnostics."""
    platform = scene.after.platform
    if platform.declared is not None and declaration_form.FILE in scene.paths:
        yield answer.passed(f"{declaration_form.FILE} is valid")
    elif platform.is_misdeclared:
        wrong = [
            each
            for each in platform.diagnostics
            if each.place.path == declaration_form.FILE and each.severity == Severity.ERROR
        ]
        yield from (answer.of_diagnostic(CheckState.FAILED, each) for each in wrong)
        if not wrong:
            yield answer.failed(
                "declaration-wrong", f"{declaration_form.FILE} is wrong", fix="see: firstlight inventory"
            )


def _diagnostics(scene: CheckInput) -> Iterator[CheckAnswer]:
    """What the repo's reader did not find wrong before, and does now."""
    before = {_known_by(each) for each in scene.before.platform.diagnostics} if scene.before else set()
    read = {path for path in scene.paths if path.endswith(YAML)}
    for each in _wrong(scene.after.platform.diagnostics):
        is_said = each.place.path == declaration_form.FILE and scene.after.platform.is_misdeclared
        if _known_by(each) not in before and not is_said and not _is_of_file(each, scene, read):
            yield answer.of_diagnostic(CheckState.FAILED, each)


def _known_by(diagnostic: Diagnostic) -> tuple[str, str, str]:
    """What makes it the same after lines have moved."""
    return diagnostic.code, diagnostic.place.path, diagnostic.message


def _wrong(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    return (each for each in diagnostics if each.severity == Severity.ERROR and each.code != _NEEDS)


def _is_of_file(diagnostic: Diagnostic, scene: CheckInput, read: set[str]) -> bool:
    """Whether reading the file alone has said it already."""
    if diagnostic.place.path not in read:
        return False
    data = scene.after.tree.bytes(diagnostic.place.path)
    return data is not None and any(
        (each.code, each.places) == (diagnostic.code, diagnostic.places)
        for dialect in YamlDialect
        for each in yaml_reader.read(data, diagnostic.place.path, dialect=dialect).diagnostics
    )


# Machine configs as talosctl validates them: made of the repo's drafts with keys that are thrown away.


_AT_ONCE = 2


async def look_at_machine_configs(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """Every machine of the clusters whose machine files differ."""
    names = sorted({name for item in decision.items if item.change.matter == Matter.MACHINE for name in item.clusters})
    if not names:
        return []
    if scene.talosctl is None:
        fix = "firstlight tools install talosctl"
        return [answer.skipped("the machine configs were not validated: there is no talosctl", fix=fix)]
    answers: list[CheckAnswer] = []
    for name in names:
        answers += await _of_cluster(name, scene, Talosctl(scene.talosctl))
    return answers


async def _of_cluster(name: str, scene: CheckInput, client: Talosctl) -> list[CheckAnswer]:
    cluster = scene.after.platform.cluster(name)
    if cluster is None:
        return []
    if cluster.omni_template:
        return [
            answer.skipped(
                f"{name}: Omni makes and validates the machine configs", fix="omnictl cluster template validate"
            )
        ]
    drafts, diagnostics = machine_drafts.machine_drafts(scene.after.platform, cluster, tree=scene.after.tree)
    wrong = [each for each in diagnostics if each.severity == Severity.ERROR]
    if wrong:
        return [answer.of_diagnostic(CheckState.FAILED, each) for each in wrong]
    if not drafts:
        return [answer.skipped(f"{name}: the repo declares no machines of which configs could be made")]
    secrets = await client.gen_secrets(talos_version=cluster.talos)
    limit = asyncio.Semaphore(_AT_ONCE)
    found = await asyncio.gather(*(_validated(each, secrets, client, limit) for each in drafts))
    answers = [each for some in found for each in some]
    fine = [draft.machine.name for draft, some in zip(drafts, found, strict=True) if not some]
    return [*answers, answer.passed(f"talosctl accepts the config of {', '.join(fine)}")] if fine else answers


async def _validated(
    draft: MachineDraft, secrets: Secret, client: Talosctl, limit: asyncio.Semaphore
) -> list[CheckAnswer]:
    name, place = draft.machine.name, draft.machine.place
    pieces = [*draft.patches, *([draft.whole] if draft.whole is not None else [])]
    if locked := [each.reference for each in pieces if each.text is None]:
        return [answer.skipped(f"{name}: {', '.join(locked)} is encrypted, and is not decrypted for a check")]
    async with limit:
        try:
            validation = await client.validate(await _made(draft, secrets, client))
        except talosctl.TalosRejected as error:
            fix = "see the patches of this machine"
            return [
                answer.failed(
                    "machine-config-not-made",
                    f"{name}: no config comes of its declaration: {error.detail}",
                    fix=fix,
                    at=place,
                )
            ]
        except errors.UsageError as error:
            return [answer.failed("machine-config-not-made", f"{name}: {error.message}", fix=error.hint, at=place)]
    answers = [
        answer.failed("machine-config-wrong", f"{name}: {each}", fix="correct it in the patches", at=place)
        for each in validation.problems
    ]
    return answers + [
        answer.person("machine-config-doubtful", f"{name}: {each}", at=place) for each in validation.warnings
    ]


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


# Whether the touched components can be rendered, before and after.


async def look_at_rendering(decision: Decision, scene: CheckInput) -> list[CheckAnswer]:
    """What of it cannot be rendered, and whether it could be before."""
    touched = check_input.touched(decision)
    if not touched:
        return [answer.skipped("it belongs to no component that could be rendered")]
    if scene.unrendered:
        return [answer.skipped(f"nothing was rendered: {scene.unrendered}")]
    answers = [found for each in touched for found in _of(each, scene)]
    fine = [each for each in touched if not _errors(scene.after, each)]
    if fine and not answers:
        names = ", ".join(dict.fromkeys(each.component for each in fine))
        answers.append(answer.passed(f"rendered before and after: {names}" if scene.before else f"rendered: {names}"))
    return answers


def _of(touched: Touched, scene: CheckInput) -> list[CheckAnswer]:
    name = f"{touched.component} of {touched.cluster}"
    if not scene.after.rendered(touched.cluster, touched.component):
        if scene.after.component(touched.cluster, touched.component) is None:
            return []  # it is removed
        return [answer.skipped(f"{name} was not rendered")]
    after = _errors(scene.after, touched)
    before = _errors(scene.before, touched) if scene.before is not None else ()
    if not after:
        was = [answer.passed(f"{name} is rendered now, and could not be before: {before[0].message}")] if before else []
        return was
    found = []
    for each in after:
        says = f"{name} cannot be rendered: {each.message}"
        if scene.is_offline and _is_elsewhere(each):
            found.append(answer.skipped(says, fix=each.fix))
        elif before:
            # The change has not broken it, and what is wrong may be this computer's: a chart that it cannot fetch.
            doubt = dataclasses.replace(each, severity=Severity.WARNING, message=f"{says}, and could not be before")
            found.append(answer.of_diagnostic(CheckState.PERSON, doubt))
        else:
            fix = each.fix or f"see: firstlight render {touched.component}"
            found.append(answer.of_diagnostic(CheckState.FAILED, dataclasses.replace(each, message=says, fix=fix)))
    return found


def render_problem(version: RenderedRevision, touched: Touched, scene: CheckInput) -> str:
    """Why a component could not be rendered; empty where it could, was not tried, or is only not here."""
    wrong = (each for each in _errors(version, touched) if not (scene.is_offline and _is_elsewhere(each)))
    return next((each.message for each in wrong), "")


def _is_elsewhere(diagnostic: Diagnostic) -> bool:
    """Whether it could be rendered if something were fetched."""
    return diagnostic.code == "fetch-offline"


def _errors(version: RenderedRevision | None, touched: Touched) -> tuple[Diagnostic, ...]:
    if version is None:
        return ()
    return tuple(
        diagnostic
        for each in version.rendered(touched.cluster, touched.component)
        for diagnostic in each.diagnostics
        if diagnostic.severity == Severity.ERROR
    )
