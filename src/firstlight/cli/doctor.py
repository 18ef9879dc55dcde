"""``firstlight doctor``: why something does not work: one cause on top, its evidence, and what to type next."""

import asyncio
import dataclasses
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import duration, output, which_cluster, which_repo

if TYPE_CHECKING:
    from firstlight.cli.doctor_reaching import Patient
    from firstlight.execute.masks import Masks
    from firstlight.model.diagnosis import Diagnosis
    from firstlight.operate.doctor.looking import Examined, Ways

WRONG = 1
BLIND = 3


@click.command()
@click.argument("cluster", default="")
@click.argument("what", default="", metavar="[COMPONENT|OBJECT]")
@click.option("--all", "everything", is_flag=True, help="List all that follows from each cause, and all evidence.")
@click.option("--since", type=duration.SECONDS, default=None, metavar="30m",
              help="Only causes that began since then, or nobody knows when.")  # fmt: skip
@click.option("--bundle", type=click.Path(path_type=Path, dir_okay=False), default=None, metavar="FILE.tar.gz",
              help="Also write an archive for a bug report, with nothing secret in it.")  # fmt: skip
@click.option("--talosconfig", type=click.Path(path_type=Path, exists=True, dir_okay=False), default=None,
              show_default="what up has left, else what the repo says", help="The way to the machines.")  # fmt: skip
@which_cluster.options
@which_repo.option
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
    from firstlight.cli import doctor_reaching

    moment = time.time() - since if since is not None else 0.0
    patient = doctor_reaching.patient(
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


async def _doctor(patient: "Patient", wishes: _Wishes) -> int:
    from firstlight.cli import doctor_reaching
    from firstlight.operate.doctor import looking

    async with doctor_reaching.reached(patient) as ways:
        masks = await _masks(ways) if wishes.bundle is not None else None
        if masks is not None:
            ways = dataclasses.replace(ways, hide=masks.masked)
        found = await looking.examine(patient.known, ways)
        if wishes.bundle is not None and masks is not None:
            await _bundled(patient, ways, found, path=wishes.bundle, masks=masks)
    told, elsewhere = _asked(patient, found)
    recent = _recent(told, wishes.since)
    _print(recent, found, patient, wishes, elsewhere=elsewhere, earlier=len(told.causes) - len(recent.causes))
    if found.is_blind:
        return BLIND
    return WRONG if recent.causes else 0


def _asked(patient: "Patient", found: "Examined") -> "tuple[Diagnosis, int]":
    """What is asked about, and how many causes have nothing to do with it.

    Raises:
        errors.UsageError: Nothing is called so.
    """
    from firstlight.operate.doctor import narrowing

    if not patient.what:
        return found.diagnosis, 0
    scope = narrowing.scope(patient.what, found.scene, found.diagnosis, patient.components)
    if scope is None:
        if not found.scene.api.is_reached:
            return found.diagnosis, 0  # what cannot be seen cannot be told from what is not there
        near = narrowing.near(patient.what, found.scene, patient.components)
        raise errors.UsageError(
            f"nothing is called {patient.what}",
            hint=f"There is {', '.join(near)}."
            if near
            else "Name a component, a namespace, or an object such as shop/web or 'Deployment shop/web'.",
        )
    narrowed = narrowing.narrow(found.diagnosis, scope)
    return narrowed, len(found.diagnosis.causes) - len(narrowed.causes)


def _recent(found: "Diagnosis", since: float) -> "Diagnosis":
    if not since:
        return found
    kept = tuple(each for each in found.causes if not each.symptom.since or each.symptom.since >= since)
    return dataclasses.replace(found, causes=kept)


async def _masks(ways: "Ways") -> "Masks":
    """Everything that is secret and known: recognised wherever it stands."""
    from firstlight.execute.masks import Masks
    from firstlight.operate.doctor import known_values

    masks = Masks()
    if ways.client is not None:
        known_values.remember_config(masks, ways.client.config)
        if not await known_values.remember(ways.client, masks):
            print("the cluster's Secrets cannot be read: what they hold is not recognised by value", file=sys.stderr)
    if ways.way is not None:
        known_values.remember_talosconfig(masks, ways.way.talosconfig)
    return masks


async def _bundled(patient: "Patient", ways: "Ways", found: "Examined", *, path: Path, masks: "Masks") -> None:
    from firstlight.cli import doctor_reaching
    from firstlight.operate.doctor import bundle

    contents = bundle.Contents(
        scene=found.scene, diagnosis=found.diagnosis, versions=await doctor_reaching.versions(ways),
        runs=doctor_reaching.journals(patient), declared=doctor_reaching.declared(patient),
    )  # fmt: skip
    size = bundle.write(path, contents, masks)
    print(f"{path}: {size / 1024:,.0f} KiB, for a bug report; README.txt in it says what is left out", file=sys.stderr)


def _print(
    found: "Diagnosis", whole: "Examined", patient: "Patient", wishes: _Wishes, *, elsewhere: int, earlier: int
) -> None:  # fmt: skip
    from firstlight.report import doctor as report
    from firstlight.report import doctor_data, table

    if wishes.form == "json":
        output.write_json(doctor_data.data(found, asked=patient.what, is_blind=whole.is_blind))
        return
    page = report.text(
        found, now=whole.scene.now, columns=table.terminal_columns(), everything=wishes.everything,
        asked=patient.what, elsewhere=elsewhere, earlier=earlier, is_blind=whole.is_blind,
    )  # fmt: skip
    print(page)
