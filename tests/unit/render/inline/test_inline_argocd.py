"""An inline Argo CD with what it needs to bring the rest."""

from pathlib import Path
from typing import Any

from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object
from firstlight.model.source import DirectorySource
from firstlight.render.inline import inline_argocd
from firstlight.repo.work_tree import WorkTree
from tests.unit.render.inline.sample import PLACE, a_crd, an_object

API = "argoproj.io/v1alpha1"
HTTPS = "https://git.example.org/me/home"


def application(name: str, *, url: str = HTTPS, project: str = "default") -> Object:
    return an_object(
        "Application", name, namespace="argocd", api=API, spec={"project": project, "source": {"repoURL": url}}
    )


def origin(name: str, *, parent: str = "", **fields: Any) -> Origin:
    definition = application(name, project=fields.pop("project", "default")).value
    if fields.pop("bare", False):
        definition = {**definition, "metadata": {"name": name}}
    return Origin(
        form=SourceForm.APPLICATION, side=Side.GITOPS, place=Place(f"{name}.yaml", 1), name=name, namespace="argocd",
        cluster="home", source=DirectorySource(path="apps"), parent=parent, definition=definition, **fields,
    )  # fmt: skip


def platform(root: Path, *origins: Origin) -> Platform:
    components = tuple(
        Component(
            name=each.name, cluster="home", phase=Phase.GITOPS, side=Side.GITOPS, owner=Owner.GITOPS, why="",
            origins=(each,),
        )
        for each in origins
    )  # fmt: skip
    return Platform(name="home", root=root, engine=None, clusters=(), components=components)


def roots(root: Path, *origins: Origin) -> list[str]:
    found = inline_argocd.root_objects(platform(root, *origins), "home", tree=WorkTree(root))
    return [str(each.id) for each in found]


def test_the_root_brings_others_and_is_brought_by_none(tmp_path: Path) -> None:
    found = roots(tmp_path, origin("alone"), origin("root"), origin("child", parent="application/argocd/root"))

    assert found == ["Application argocd/root"]


def test_the_only_one_is_the_root(tmp_path: Path) -> None:
    assert roots(tmp_path, origin("only", bare=True)) == ["Application argocd/only"]


def test_of_several_that_stand_alone_none_is_the_root(tmp_path: Path) -> None:
    assert roots(tmp_path, origin("one"), origin("two")) == []


def test_the_project_of_the_root_comes_along(tmp_path: Path) -> None:
    (tmp_path / "projects.yaml").write_text(
        "\n---\n".join(
            f"apiVersion: {API}\nkind: AppProject\nmetadata: {{name: {name}, namespace: argocd}}\n"
            for name in ("a", "b")
        )
    )

    assert roots(tmp_path, origin("only", project="b")) == ["AppProject argocd/b", "Application argocd/only"]


def diagnostics(*objects: Object, secrets: Any = ()) -> list[tuple[Severity, str]]:
    return [(each.severity, each.message) for each in inline_argocd.diagnostics(objects, secrets=secrets, place=PLACE)]


def test_an_engine_without_anything_to_bring() -> None:
    assert diagnostics(an_object("Namespace", "argocd")) == [
        (
            Severity.WARNING,
            "the engine has nothing to bring: there is no Application or ApplicationSet among its objects",
        )
    ]


def test_a_public_repository_needs_nothing() -> None:
    assert diagnostics(application("root")) == []


def test_a_project_that_is_not_there() -> None:
    assert diagnostics(application("root", project="infra")) == [
        (
            Severity.WARNING,
            "Application argocd/root names the project infra, which is not inline: Argo CD refuses it until then",
        )
    ]
    assert (
        diagnostics(application("root", project="infra"), an_object("AppProject", "infra", namespace="argocd", api=API))
        == []
    )


def test_a_credential_is_asked_for_and_stays_outside() -> None:
    root = application("root", url="git@git.example.org:me/home.git")

    assert diagnostics(root) == [
        (
            Severity.WARNING,
            "Argo CD needs a credential for git@git.example.org:me/home.git, which must not stand in a machine config",
        )
    ]
    assert diagnostics(root, secrets=[("argocd", "repo")]) == []


def test_a_credential_in_a_generator_is_found() -> None:
    generators = [{"git": {"repoURL": "ssh://git@git.example.org/me/home"}}]
    one = an_object("ApplicationSet", "all", namespace="argocd", api=API, spec={"generators": generators})

    assert "ssh://git@git.example.org/me/home" in diagnostics(one)[0][1]


def test_argo_cd_is_known_by_its_definition() -> None:
    assert inline_argocd.is_argocd([a_crd("Application", "applications", "argoproj.io")])
    assert not inline_argocd.is_argocd([an_object("Namespace", "argocd")])
