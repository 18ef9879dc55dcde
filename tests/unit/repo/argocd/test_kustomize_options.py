"""Which build options a rehearsal allows by itself: a list, the same for the lab's guard."""

from pathlib import Path

import pytest

from firstlight.repo.argocd import argocd_settings

GUARD = Path(__file__).parents[4] / "lab" / "programs" / "internal" / "guard" / "allowed.json"


def test_the_guard_of_the_lab_has_the_same_list() -> None:
    assert Path(argocd_settings.__file__).with_name("kustomize_options.json").read_bytes() == GUARD.read_bytes()


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ("", ()),
        ("--enable-helm", ()),
        ("--enable-helm --load-restrictor LoadRestrictionsNone", ()),
        ("--enable-alpha-plugins --load-restrictor=LoadRestrictionsNone", ()),
        ("--helm-kube-version 1.36 --reorder none", ()),
        ("--enable-alpha-plugins --enable-exec", ("--enable-exec",)),
        ("--enable-exec=true --enable-exec=true", ("--enable-exec",)),
        ("--enable-helm --helm-command ./helm.sh", ("--helm-command",)),
        ("--helm-command=./helm.sh", ("--helm-command",)),
        ("--load-restrictor --enable-exec", ("--load-restrictor=--enable-exec",)),
        ("--load-restrictor", ("--load-restrictor=",)),
        ("--network --mount type=bind,src=/,dst=/x -e A=b -o /x", ("--network", "--mount", "-e", "-o")),
        ("--enable-star", ("--enable-star",)),
    ],
)
def test_what_is_not_on_the_list_is_refused(options: str, refused: tuple[str, ...]) -> None:
    assert argocd_settings.refused_build_options(options) == refused


@pytest.mark.parametrize("option", ["--enable-exec", "--helm-command", "--mount", "--network", "--env", "--output"])
def test_nothing_that_executes_or_writes_is_on_the_list(option: str) -> None:
    assert option not in argocd_settings.allowed_build_options()
