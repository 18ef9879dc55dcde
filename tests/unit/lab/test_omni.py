"""Every directory below ``omni`` is a case: a template, its files, and what is expected of it."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from firstlight import errors
from firstlight.lab.machines import machine_settings
from firstlight.lab.omni import omni_configs
from firstlight.repo.omni import go_yaml, omni_parser, omni_template
from firstlight.repo.omni.go_yaml import OmniTemplateError

CASES = sorted(path.parent for path in (Path(__file__).parent / "omni").glob("*/expected.yaml"))
HEAD = "kind: Cluster\nname: shed\nkubernetes: {version: v1.36.0}\ntalos: {version: v1.13.0}\n"
MACHINE = "11111111-1111-4111-8111-111111111111"
CONTROL_PLANE = f"---\nkind: ControlPlane\nmachines: [{MACHINE}]\n"


def load(path: Path) -> Any:
    return yaml.load(path.read_text(), Loader=yaml.CSafeLoader)


def template_of(tmp_path: Path, patches: str) -> omni_template.OmniTemplate:
    path = tmp_path / "template.yaml"
    path.write_text(f"{HEAD}patches:\n{patches}{CONTROL_PLANE}")
    return omni_parser.parse(path)


@pytest.mark.parametrize("case", [case for case in CASES if "error" not in load(case / "expected.yaml")], ids=str)
def test_a_template_gives_machines_with_patches_in_the_servers_order(case: Path) -> None:
    expected = load(case / "expected.yaml")

    found = omni_configs.resolve_template(omni_parser.parse(case / "template.yaml"), expected.get("sizes"))

    assert {
        machine.name: {
            "uuid": machine.uuid,
            "role": machine.role,
            "set": machine.machine_set,
            "patches": [patch.id for patch in found.patches[machine.uuid]],
        }
        for machine in found.machines
    } == expected["machines"]
    assert found.notes == (omni_configs.NOT_PROVEN, *expected.get("notes", ()))
    assert [
        {"name": each.name, "mode": each.mode, "objects": [_name(obj) for obj in each.objects]}
        for each in found.manifests
    ] == expected.get("manifests", [])


def _name(obj: Mapping[str, Any]) -> str:
    return f"{obj['kind']}/{obj['metadata']['name']}"


@pytest.mark.parametrize("case", [case for case in CASES if "error" in load(case / "expected.yaml")], ids=str)
def test_an_error_names_the_line_and_what_to_do(case: Path) -> None:
    expected = load(case / "expected.yaml")
    error = expected["error"]

    with pytest.raises(errors.FirstlightError) as caught:
        omni_configs.resolve_template(omni_parser.parse(case / "template.yaml"), expected.get("sizes"))

    if "code" in error:
        assert isinstance(caught.value, OmniTemplateError)
        assert caught.value.diagnostic.code == error["code"]
    else:
        assert type(caught.value).__name__ == error.get("kind", "ConfigError")
    assert error["message"] in caught.value.message
    assert caught.value.hint or isinstance(caught.value.__cause__, yaml.YAMLError)  # a parser has none to give
    if isinstance(caught.value, errors.ConfigError):
        assert caught.value.path == str(case / error.get("file", "template.yaml"))
        assert caught.value.line == error["line"]


def test_names_of_machines_fit_the_settings() -> None:
    for case in CASES:
        expected = load(case / "expected.yaml")
        for name in expected.get("machines", ()):
            msgspec.convert({"name": name, "address": "10.5.0.2"}, machine_settings.VirtualMachine)


def test_a_link_out_of_the_directory_is_refused_and_one_inside_is_not(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "secret.yaml").write_text("machine: {sysctls: {a: b}}\n")
    (inside / "real.yaml").write_text("machine: {sysctls: {a: b}}\n")
    (inside / "link.yaml").symlink_to(outside / "secret.yaml")
    (inside / "folder").symlink_to(outside)
    (inside / "fine.yaml").symlink_to("real.yaml")
    (inside / "loop.yaml").symlink_to("loop.yaml")

    assert template_of(inside, "  - file: fine.yaml\n").cluster.patches[0].name == "fine.yaml"
    assert template_of(inside, "  - file: ../inside/real.yaml\n").cluster.patches[0].name == "../inside/real.yaml"
    for name in ("link.yaml", "folder/secret.yaml", "../outside/secret.yaml"):
        with pytest.raises(errors.ConfigError, match="outside the template's directory"):
            template_of(inside, f"  - file: {name}\n")
    with pytest.raises(errors.ConfigError, match="which does not exist"):
        template_of(inside, "  - file: loop.yaml\n")


def test_a_template_that_is_itself_a_link_has_its_files_beside_the_link(tmp_path: Path) -> None:
    """As omnictl has it, which runs where the link is."""
    elsewhere, here = tmp_path / "elsewhere", tmp_path / "here"
    elsewhere.mkdir()
    here.mkdir()
    (here / "a.yaml").write_text("machine: {sysctls: {a: b}}\n")
    (elsewhere / "real.yaml").write_text(f"{HEAD}patches: [{{file: a.yaml}}]\n{CONTROL_PLANE}")
    (here / "template.yaml").symlink_to(elsewhere / "real.yaml")

    assert omni_parser.parse(here / "template.yaml").cluster.patches[0].path == str(here / "a.yaml")


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")

    with pytest.raises(errors.ConfigError, match="not an ordinary file"):
        template_of(tmp_path, "  - file: pipe.yaml\n")
    with pytest.raises(errors.ConfigError, match="cannot be read"):
        omni_parser.parse(tmp_path / "none.yaml")


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "huge.yaml").open("wb") as file:
        file.truncate(go_yaml.SIZE_LIMIT + 1)

    with pytest.raises(errors.ConfigError, match="larger than 32 MiB"):
        template_of(tmp_path, "  - file: huge.yaml\n")


@pytest.mark.parametrize(
    ("inline", "message"),
    [
        ("[" * 50_000, "nested deeper"),
        ("{a: " * 50_000, "nested deeper"),
        ("&a [*a]", "aliases mean too much"),
        ("{a: &a {<<: *a, b: c}}", ""),
        (
            "{l0: &l0 [x], " + ", ".join(f"l{n}: &l{n} [{f'*l{n - 1}, ' * 8}]" for n in range(1, 10)) + "}",
            "aliases mean too much",
        ),
        ("{? {a: b} : c}", "a key is not a text"),
        ("{a: !vault x}", "the tag !vault"),
        ("{<<: [a]}", "<< is followed by no mapping"),
    ],
)
def test_hostile_yaml_ends_in_an_error(tmp_path: Path, inline: str, message: str) -> None:
    text = f"  - name: a\n    inline: {inline}\n"
    if not message:
        template_of(tmp_path, text)
        return

    with pytest.raises(errors.ConfigError, match=message):
        template_of(tmp_path, text)


def test_merged_mappings_that_merge_each_other_are_read_in_time(tmp_path: Path) -> None:
    levels = "".join(f"      l{n}: &l{n} {{<<: [*l{n - 1}, *l{n - 1}]}}\n" for n in range(1, 60))

    found = template_of(tmp_path, f"  - name: a\n    inline:\n      l0: &l0 {{a: b}}\n{levels}")

    assert found.cluster.patches[0].data.count('{"a": "b"}') == 60


def test_patches_and_manifests_do_not_show_what_they_hold(tmp_path: Path) -> None:
    """Passwords of registries stand in patches."""
    found = omni_configs.resolve_template(
        template_of(tmp_path, "  - {name: a, inline: {machine: {sysctls: {a: hunter2}}}}\n")
    )

    assert "hunter2" in found.patches[MACHINE][0].data
    assert "hunter2" not in repr(found)


def test_a_class_gets_the_same_machines_again_and_more_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "template.yaml"
    path.write_text(f"{HEAD}{CONTROL_PLANE}---\nkind: Workers\nmachineClass: {{name: a, size: 2}}\n")
    template = omni_parser.parse(path)

    two, three = omni_configs.template_machines(template), omni_configs.template_machines(template, {"workers": 3})

    assert three[:3] == two
    assert len({each.uuid for each in three}) == 4
    assert omni_configs.template_machines(template, {"workers": 0}) == two[:1]


def test_types_are_frozen(tmp_path: Path) -> None:
    template = template_of(tmp_path, "  - {name: a, inline: {machine: {sysctls: {a: b}}}}\n")

    with pytest.raises(dataclasses.FrozenInstanceError):
        template.cluster.name = "other"  # type: ignore[misc]
