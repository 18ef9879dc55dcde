from pathlib import Path

import click
import msgspec
import pytest

from firstlight import errors
from firstlight.cli import lab_size
from firstlight.cli.lab_size import Size
from firstlight.lab import directory, settings
from firstlight.lab.lab import Lab


def lab(tmp_path: Path, before: settings.Settings | None = None) -> Lab:
    home = directory.Directory(tmp_path / "l")
    if before is not None:
        home.make()
        home.settings.write_bytes(msgspec.json.encode(before))
    return Lab(home)


def names(found: settings.Settings | None) -> tuple[list[str], list[str]]:
    assert found is not None
    return [node.name for node in found.nodes], [machine.name for machine in found.machines]


BARE = settings.with_machines(settings.Settings(), control_planes=1, workers=1)


@pytest.mark.parametrize(
    ("before", "size", "nodes", "machines"),
    [
        (None, Size(workers=1), ["cp-1", "worker-1"], []),
        (None, Size(control_planes=0), ["worker-1", "worker-2"], []),
        (None, Size(machines=2), [], ["cp-1", "cp-2"]),
        (None, Size(machines=1, workers=1), [], ["cp-1", "worker-1"]),
        (BARE, Size(workers=2), [], ["cp-1", "worker-1", "worker-2"]),
        (BARE, Size(machines=2), [], ["cp-1", "cp-2", "worker-1"]),
        (settings.DEFAULT, Size(workers=0), ["cp-1"], []),
        (settings.DEFAULT, Size(machines=1), [], ["cp-1"]),
    ],
)
def test_options_count_from_what_is_there(
    tmp_path: Path, before: settings.Settings | None, size: Size, nodes: list[str], machines: list[str]
) -> None:
    assert names(lab_size.wanted(lab(tmp_path, before), size)) == (nodes, machines)


def test_without_options_the_lab_stays_as_it_is(tmp_path: Path) -> None:
    assert lab_size.wanted(lab(tmp_path), Size()) is None


@pytest.mark.parametrize(
    ("text", "size", "message"),
    [
        ("", Size(machines=1, control_planes=1), "exclude each other"),
        ("machines: [{name: a, address: 10.5.0.2}]", Size(workers=1), "declares machines"),
        ("nodes: [{name: a, address: 10.5.0.2}]", Size(machines=1), "declares nodes"),
        ("podCidr: 10.9.0.0/16", Size(machines=1), "are those of their configs"),
    ],
)
def test_what_cannot_be_meant_together_is_refused(tmp_path: Path, text: str, size: Size, message: str) -> None:
    path = tmp_path / "lab.yaml"
    path.write_text(text)

    with pytest.raises(errors.UsageError, match=message):
        lab_size.wanted(lab(tmp_path), Size(size.control_planes, size.machines, size.workers, path))


def test_nodes_are_not_counted_where_machines_are(tmp_path: Path) -> None:
    with pytest.raises(errors.UsageError, match="has machines"):
        lab_size.wanted(lab(tmp_path, BARE), Size(control_planes=1))


async def test_a_lab_does_not_change_between_nodes_and_machines(tmp_path: Path) -> None:
    for before, after in ((BARE, settings.DEFAULT), (settings.DEFAULT, BARE)):
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
    assert lab_size.actors(click.Context(click.Command("up")), click.Option(["--actors"]), given) == wanted


def test_an_actor_that_there_is_not_is_named() -> None:
    with pytest.raises(click.BadParameter, match="tekton"):
        lab_size.actors(click.Context(click.Command("up")), click.Option(["--actors"]), "flux,tekton")


def test_actors_change_nothing_else_of_a_lab(tmp_path: Path) -> None:
    before = settings.with_nodes(settings.Settings(pull_seconds=3), control_planes=1, workers=5)

    found = lab_size.with_actors(lab(tmp_path, before), None, ("flux",))

    assert found == msgspec.structs.replace(before, actors=("flux",))
    assert lab_size.with_actors(lab(tmp_path, before), None, None) is None
    assert lab_size.with_actors(lab(tmp_path / "new"), None, ("flux",)) == msgspec.structs.replace(
        settings.DEFAULT, actors=("flux",)
    )
