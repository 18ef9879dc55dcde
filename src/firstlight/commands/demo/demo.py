"""An example platform from bare machines to two apps, in a lab that is gone afterwards."""

import asyncio
import dataclasses
import time
from pathlib import Path

import firstlight
from firstlight import errors
from firstlight.cli import install_tools, screen, which_cluster
from firstlight.commands.rehearse import chart_copies, lab_kit, lab_mapping, rehearse
from firstlight.commands.rehearse import text as rehearse_text
from firstlight.commands.rehearse.chart_copies import GivenChart
from firstlight.commands.rehearse.rehearsal import Rehearsal
from firstlight.commands.rehearse.rehearse import PlayedRehearsal
from firstlight.commands.runs import timeline
from firstlight.commands.verify import text as verify_text
from firstlight.drawing import handover_text, table
from firstlight.errors import ExitCode
from firstlight.execute.handover import certificate_store
from firstlight.execute.means import RunRequest
from firstlight.journal import journal_reader
from firstlight.lab.running_lab import Lab
from firstlight.repo import platform_reader

NAME = "demo"
CHARTS = ("cilium-chart", "cert-manager-chart", "external-secrets-chart")


def play(*, keep: bool, picture: Path) -> int:
    """Bring the example up, show it, and return the exit code."""
    try:
        return asyncio.run(_demo(keep=keep, picture=picture))
    except KeyboardInterrupt:
        return lab_kit.interrupted(NAME, keep=keep)


async def _demo(*, keep: bool, picture: Path) -> int:
    platform = platform_reader.read(_example())
    cluster = which_cluster.cluster_of(platform, "")
    one = await lab_kit.fresh_lab(NAME)
    kit = await lab_kit.kit(
        one, actors=lab_mapping.actors(platform, cluster), given=await _charts(), offline=True, keep=keep
    )
    begun = time.monotonic()
    _step("A platform as people write it: examples/home")
    _say("4 machines, Cilium's real chart, cert-manager, External Secrets, Flux, two apps")
    _step("Four machines without a config: Talos's own API, played by programs on loopback; Git and charts beside them")
    try:
        kit = dataclasses.replace(kit, say=lambda _: _step("firstlight up: machines, etcd, core, engine, GitOps"))
        played = await rehearse.rehearse(platform, cluster, RunRequest(cluster=cluster.name), kit)
        is_fine = await _show(one, played, picture)
        if keep:
            _step("The lab stays")
            print(f"  export KUBECONFIG=$(firstlight lab kubeconfig -n {NAME})")
            print(f"  firstlight lab status -n {NAME}")
            print(f"  firstlight lab down -n {NAME}")
        return 0 if is_fine else ExitCode.FAILED
    finally:
        if not keep:
            await one.down()
            seconds = time.monotonic() - begun
            print(f"\nThe lab is gone again, after {seconds:.0f} s in all; to keep it: firstlight demo --keep")


async def _show(one: Lab, played: PlayedRehearsal, picture: Path) -> bool:
    told = played.told
    if told.verdict != "passed":
        print(rehearse_text.text(told, columns=table.terminal_columns()))
        _draw(played, picture)
        return False
    _say(f"{told.cluster}: every step of {len(told.steps)} passed in {rehearse_text.duration(told.seconds)}")

    _step("The certificate of the handover: what bootstrap brought is Flux's alone, and nothing was hurt on the way")
    for line in _certificate(played):
        _say(line)

    _step("firstlight verify: everything is asked once more, and a second run proves that it writes nothing")
    found = await rehearse.verify_rehearsal(one, played)
    print(verify_text.text(found, columns=table.terminal_columns()))
    _say(rehearse_text.headline(told, found))

    _step("A picture of the run: what it did, what it waited for, the critical path")
    _draw(played, picture)

    _step("What was real, and what was not")
    _say("real: talosctl and its API, etcd, the Kubernetes control plane, Helm, Flux's controllers, every chart")
    for name, how in _pretended(told):
        _say(f"{name + ':':23} {how}")
    return found.is_fine


def _certificate(played: PlayedRehearsal) -> list[str]:
    path = played.means.state / played.told.cluster / certificate_store.FILE
    return handover_text.certificate_lines(
        certificate_store.read(path).certificate, columns=table.terminal_columns() - 2
    )


def _draw(played: PlayedRehearsal, picture: Path) -> None:

    # The first run is the one with something to see; the second, of the proof, has no journal.
    path = journal_reader.paths(played.means.state)[-1]
    picture.write_text(timeline.svg(journal_reader.state(path), now=time.time()))
    _say(f"in {picture.resolve()}")


def _pretended(told: Rehearsal) -> list[tuple[str, str]]:
    return [
        each for each in told.simulated if each[0] in {"kubelets", "webhooks", "custom resources", "load balancers"}
    ]


async def _charts() -> tuple[GivenChart, ...]:
    """The real charts, out of the catalogue: nothing is fetched by name."""
    found = await install_tools.ensure(CHARTS)
    return tuple(chart for path in found.values() for chart in chart_copies.read(path) if chart.archive)


def _example() -> Path:
    found = Path(firstlight.__file__).resolve().parents[2] / "examples" / "home"
    if not found.is_dir():
        raise errors.Refused(
            "the example platform is not installed with the package",
            hint="Clone the repository and run make demo; or rehearse a repo of your own: firstlight rehearse",
        )
    return found


def _step(text: str) -> None:
    print(f"\n{screen.styled(text, screen.BOLD)}", flush=True)


def _say(text: str) -> None:
    print(f"  {text}", flush=True)
