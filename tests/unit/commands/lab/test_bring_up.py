from pathlib import Path

import click
import msgspec
import pytest

from firstlight import errors
from firstlight.commands.lab import bring_up
from firstlight.commands.lab.bring_up import LabSize
from firstlight.lab import lab_directory, lab_settings
from firstlight.lab.running_lab import Lab


def lab(tmp_path: Path, before: lab_settings.LabSettings | None = None) -> Lab:
    home = lab_directory.LabDirectory(tmp_path / "l")
    if before is not None:
        home.make()
        home.settings.write_bytes(msgspec.json.encode(before))
    return Lab(home)


def names(found: lab_settings.LabSettings | None) -> tuple[list[str], list[str]]:
    assert found is not None
    return [node.name for node in found.nodes], [machine.name for machine in found.machines]


BARE = lab_settings.with_machines(lab_settings.LabSettings(), control_planes=1, workers=1)


@pytest.mark.parametrize(
    ("before", "size", "nodes", "machines"),
    [
        (None, LabSize(workers=1), ["cp-1", "worker-1"], []),
        (None, LabSize(control_planes=0), ["worker-1", "worker-2"], []),
        (None, LabSize(machines=2), [], ["cp-1", "cp-2"]),
        (None, LabSize(machines=1, workers=1), [], ["cp-1", "worker-1"]),
        (BARE, LabSize(workers=2), [], ["cp-1", "worker-1", "worker-2"]),
        (BARE, LabSize(machines=2), [], ["cp-1", "cp-2", "worker-1"]),
        (lab_settings.DEFAULT, LabSize(workers=0), ["cp-1"], []),
        (lab_settings.DEFAULT, LabSize(machines=1), [], ["cp-1"]),
    ],
)
def test_options_count_from_what_is_there(
    tmp_path: Path, before: lab_settings.LabSettings | None, size: LabSize, nodes: list[str], machines: list[str]
) -> None:
    assert names(bring_up.wanted(lab(tmp_path, before), size)) == (nodes, machines)


def test_without_options_the_lab_stays_as_it_is(tmp_path: Path) -> None:
    assert bring_up.wanted(lab(tmp_path), LabSize()) is None


@pytest.mark.parametrize(
    ("text", "size", "message"),
    [
        ("", LabSize(machines=1, control_planes=1), "exclude each other"),
        ("machines: [{name: a, address: 10.5.0.2}]", LabSize(workers=1), "declares machines"),
        ("nodes: [{name: a, address: 10.5.0.2}]", LabSize(machines=1), "declares nodes"),
        ("podCidr: 10.9.0.0/16", LabSize(machines=1), "are those of their configs"),
    ],
)
def test_what_cannot_be_meant_together_is_refused(tmp_path: Path, text: str, size: LabSize, message: str) -> None:
    path = tmp_path / "lab.yaml"
    path.write_text(text)

    with pytest.raises(errors.UsageError, match=message):
        bring_up.wanted(lab(tmp_path), LabSize(size.control_planes, size.machines, size.workers, path))


def test_nodes_are_not_counted_where_machines_are(tmp_path: Path) -> None:
    with pytest.raises(errors.UsageError, match="has machines"):
        bring_up.wanted(lab(tmp_path, BARE), LabSize(control_planes=1))


async def test_a_lab_does_not_change_between_nodes_and_machines(tmp_path: Path) -> None:
    for before, after in ((BARE, lab_settings.DEFAULT), (lab_settings.DEFAULT, BARE)):
        with pytest.raises(errors.Refused, match="cannot have"):
            await lab(tmp_path, before).up({}, settings=after)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, None),
        ("none", ()),
        ("flux", ("flux",)),
        ("flux, argocd", ("flux", "argocd")),
    ],
)
def test_actors_by_commas(given: str | None, wanted: tuple[str, ...] | None) -> None:
    assert bring_up.actors(click.Context(click.Command("up")), click.Option(["--actors"]), given) == wanted


def test_an_actor_that_there_is_not_is_named() -> None:
    with pytest.raises(click.BadParameter, match="tekton"):
        bring_up.actors(click.Context(click.Command("up")), click.Option(["--actors"]), "flux,tekton")


def test_actors_change_nothing_else_of_a_lab(tmp_path: Path) -> None:
    before = lab_settings.with_nodes(lab_settings.LabSettings(pull_seconds=3), control_planes=1, workers=5)

    found = bring_up.with_actors(lab(tmp_path, before), None, ("flux",))

    assert found == msgspec.structs.replace(before, actors=("flux",))
    assert bring_up.with_actors(lab(tmp_path, before), None, None) is None
    assert bring_up.with_actors(lab(tmp_path / "new"), None, ("flux",)) == msgspec.structs.replace(
        lab_settings.DEFAULT, actors=("flux",)
    )
