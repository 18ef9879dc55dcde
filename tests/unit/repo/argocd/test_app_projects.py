"""What projects allow; the expectations follow Argo CD's own tests of AppProjects."""

from typing import Any

import pytest

from firstlight.model.place import Place
from firstlight.repo.argocd import application_spec
from firstlight.repo.argocd.application_spec import Destination
from firstlight.repo.argocd.definitions import Definition

HERE = Place("app.yaml", 1)
SERVER = "https://kubernetes.default.svc"
EVERYWHERE = {"server": "*", "namespace": "*"}


def project(**spec: Any) -> Definition:
    return Definition({"kind": "AppProject", "metadata": {"name": "p"}, "spec": spec}, HERE)


@pytest.mark.parametrize(
    ("allowed", "url", "expected"),
    [
        (["*"], "https://git.example.org/test.git", True),
        (["https://git.example.org/test"], "https://git.example.org/TEST.git", True),
        (["https://git.example.org/test"], "https://git.example.org/other", False),
        (["https://git.example.org/**"], "https://git.example.org/a/b", True),
        (["https://git.example.org/*"], "https://git.example.org/a/b", False),
        (["ssh://git@git.example.org/*"], "git@git.example.org:test", True),
        (["!https://git.example.org/test"], "https://git.example.org/test", False),
        (["!https://git.example.org/test"], "https://git.example.org/other", True),
        (["*", "!https://git.example.org/test"], "https://git.example.org/test", False),
        ([], "https://git.example.org/test", False),
    ],
)
def test_sources(allowed: list[str], url: str, expected: bool) -> None:
    assert application_spec.allows_source(project(sourceRepos=allowed), url) is expected


@pytest.mark.parametrize(
    ("allowed", "destination", "expected"),
    [
        ([{"server": SERVER, "namespace": "default"}], Destination("", SERVER, "default"), True),
        ([{"server": SERVER, "namespace": "default"}], Destination("", SERVER, "kube-system"), False),
        ([{"name": "in-cluster", "namespace": "*"}], Destination("", SERVER, "anything"), True),
        ([{"server": "*", "namespace": "team1-*"}], Destination("", SERVER, "team1-x"), True),
        ([{"server": "*", "namespace": "team1-*"}], Destination("", SERVER, "team2-x"), False),
        ([EVERYWHERE, {"server": SERVER, "namespace": "!kube-system"}], Destination("", SERVER, "kube-system"), False),
        ([EVERYWHERE, {"server": SERVER, "namespace": "!kube-system"}], Destination("", SERVER, "x"), True),
        ([EVERYWHERE, {"server": f"!{SERVER}", "namespace": "*"}], Destination("", SERVER, "x"), False),
        ([{"name": "apps", "namespace": "*"}], Destination("apps", "", "x"), True),
        ([{"name": "apps", "namespace": "*"}], Destination("infra", "", "x"), False),
        ([], Destination("", SERVER, "x"), False),
    ],
)
def test_destinations(allowed: list[dict[str, str]], destination: Destination, expected: bool) -> None:
    app = Definition({"kind": "Application", "metadata": {"name": "a"}, "spec": {"project": "p"}}, HERE)

    allowing = project(sourceRepos=["*"], destinations=allowed)
    diagnostics = application_spec.check_projects([(app, destination)], [allowing])

    assert (diagnostics == []) is expected


def test_of_several_projects_of_one_name_one_that_allows_it_is_enough() -> None:
    app = Definition({"kind": "Application", "metadata": {"name": "a"}, "spec": {"project": "p"}}, HERE)
    strict, open_to_all = project(), project(destinations=[{"server": "*", "namespace": "*"}])

    assert application_spec.check_projects([(app, Destination("", SERVER, "x"))], [strict, open_to_all]) == []
    assert application_spec.check_projects([(app, Destination("", SERVER, "x"))], [strict])
