"""All problems of an Omni template at once; the first is the one that is raised."""

from pathlib import Path

import pytest

from firstlight.model.diagnostic import Diagnostic
from firstlight.repo.omni import omni_parser, omni_template
from firstlight.repo.omni.go_yaml import OmniTemplateError

CASES = sorted((Path(__file__).parents[2] / "lab" / "omni").glob("*/expected.yaml"))


def problems(path: Path) -> tuple[Diagnostic, ...]:
    return omni_parser.problems(path.read_text(), str(path), files=omni_template.files_beside(path))


@pytest.mark.parametrize("case", [path.parent for path in CASES], ids=lambda case: case.name)
def test_the_first_problem_is_the_one_that_is_raised(case: Path) -> None:
    template = case / "template.yaml"
    found = problems(template)

    if not found:
        omni_parser.parse(template)
        return
    with pytest.raises(OmniTemplateError) as caught:
        omni_parser.parse(template)
    assert caught.value.diagnostic == found[0]
    assert caught.value.message == f"{found[0].place}: {found[0].message}"
    assert caught.value.hint == found[0].fix


def test_one_mistake_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "template.yaml").write_text(
        "kind: Cluster\nname: a b\nkubernetes: {version: 1}\ntalos: {version: v1.13.0}\npatches: [{file: x}, {}]\n"
        "---\nkind: ControlPlane\nmachines: [a, {id: b}, 11111111-1111-4111-8111-111111111111]\ncolour: green\n"
        "---\nkind: Nothing\n"
    )

    found = problems(tmp_path / "template.yaml")

    assert {each.place.path for each in found} == {str(tmp_path / "template.yaml")}
    assert [(each.place.line, each.code, each.message) for each in found] == [
        (2, "omni-value-wrong", "'a b' is no name for a cluster"),
        (3, "omni-value-wrong", "'1' is no version"),
        (5, "talos-file-missing", "template.yaml names x, which does not exist"),
        (5, "omni-field-missing", "a patch is empty"),
        (9, "omni-field-unknown", "ControlPlane has no key colour"),
        (8, "omni-machine-id-wrong", "'a' is not the id of a machine"),
        (8, "omni-field-type-wrong", "an entry of machines is not a text"),
        (11, "omni-kind-wrong", "there is no kind Nothing"),
    ]


def test_what_is_no_yaml_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "template.yaml").write_text("kind: [\n")

    assert len(problems(tmp_path / "template.yaml")) == 1
