"""``firstlight doctor``: why something does not work: one cause on top, its evidence, and what to type next."""

import asyncio
import dataclasses
import sys
import time
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import options, output
from firstlight.cli.options import cluster_options, repo_option
from firstlight.commands.doctor import bundle as doctor_bundle
from firstlight.commands.doctor import cluster_access, data, diagnosis_scope, examine, secret_values, text
from firstlight.commands.doctor.cluster_access import DoctorTarget
from firstlight.commands.doctor.examine import DoctorAccess, Examination
from firstlight.commands.doctor.symptoms import Diagnosis
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.execute.masks import Masks

BLIND = 3


@click.command()
@click.argument("cluster", default="")
@click.argument("what", default="", metavar="[COMPONENT|OBJECT]")
@click.option("--all", "everything", is_flag=True, help="List all that follows from each cause, and all evidence.")
@click.option("--since", type=options.SECONDS, default=None, metavar="30m",
              help="Only causes that began since then, or nobody knows when.")  # fmt: skip
@click.option("--bundle", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE.tar.gz",
              help="Also write an archive for a bug report, with nothing secret in it.")  # fmt: skip
@click.option("--talosconfig", type=click.Path(path_type=Path, exists=True, dir_okay=False), default=None,
              show_default="what up has left, else what the repo says", help="The way to the machines.")  # fmt: skip
@cluster_options
@repo_option
@output.option
def doctor(
    cluster: str, what: str, everything: bool, since: float | None, bundle: Path | None, talosconfig: Path | None,
    kubeconfig: Path | None, context: str, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Why it does not work: machines, etcd, API, network, engine, sources and workloads, with cause and effect.

    A COMPONENT, a namespace or an OBJECT ("Deployment shop/web", shop/web) tells only why that one does not. Nothing is
    written to the cluster, and values of Secrets are not shown. It works without a repo (--kubeconfig), without the
    API (machines alone) and without machines. Exit code 0 means that nothing is wrong, 1 that something is, 3 that
    nothing could be looked at.
    """
    moment = time.time() - since if since is not None else 0.0
    patient = cluster_access.target_of(
        cluster, what, root=root, kubeconfig=kubeconfig, context=context, talosconfig=talosconfig
    )
    wishes = _Wishes(everything=everything, since=moment, bundle=bundle, form=form)
    return asyncio.run(_doctor(patient, wishes))


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Wishes:
    """What was typed."""

    everything: bool
    since: float
    bundle: Path | None
    form: str


async def _doctor(patient: DoctorTarget, wishes: _Wishes) -> int:
    async with cluster_access.reached(patient) as ways:
        masks = await _masks(ways) if wishes.bundle is not None else None
        if masks is not None:
            ways = dataclasses.replace(ways, hide=masks.masked)
        found = await examine.examine(patient.known, ways)
        if wishes.bundle is not None and masks is not None:
            await _bundled(patient, ways, found, path=wishes.bundle, masks=masks)
    told, elsewhere = _asked(patient, found)
    recent = _recent(told, wishes.since)
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
        secret_values.remember_config(masks, ways.client.config)
        if not await secret_values.remember(ways.client, masks):
            print("the cluster's Secrets cannot be read: what they hold is not recognised by value", file=sys.stderr)
    if ways.way is not None:
        secret_values.remember_talosconfig(masks, ways.way.talosconfig)
    return masks


async def _bundled(patient: DoctorTarget, ways: DoctorAccess, found: Examination, *, path: Path, masks: Masks) -> None:
    contents = doctor_bundle.BundleContents(
        scene=found.scene, diagnosis=found.diagnosis, versions=await cluster_access.versions(ways),
        runs=cluster_access.journals(patient), declared=cluster_access.declared(patient),
    )  # fmt: skip
    size = doctor_bundle.write(path, contents, masks)
    print(f"{path}: {size / 1024:,.0f} KiB, for a bug report; README.txt in it says what is left out", file=sys.stderr)


def _print(
    found: Diagnosis, whole: Examination, patient: DoctorTarget, wishes: _Wishes, *, elsewhere: int, earlier: int
) -> None:  # fmt: skip
    if wishes.form == "json":
        output.write_json(data.data(found, asked=patient.what, is_blind=whole.is_blind))
        return
    page = text.text(
        found, now=whole.scene.now, columns=table.terminal_columns(), everything=wishes.everything,
        asked=patient.what, elsewhere=elsewhere, earlier=earlier, is_blind=whole.is_blind,
    )  # fmt: skip
    print(page)
