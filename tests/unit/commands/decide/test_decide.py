"""Where what is rendered stands."""

from firstlight.commands.decide.decide import placed
from firstlight.model.change import Change, ChangeVerb, Level, Matter
from firstlight.model.component import ObjectId
from firstlight.model.place import Place

ROOT = "clusters/home/flux-system/gotk-sync.yaml"


def change(path: str, name: str, namespace: str = "", *, level: Level = Level.SOURCE) -> Change:
    found = ObjectId(group="apps", kind="Deployment", namespace=namespace, name=name)
    return Change(
        matter=Matter.OBJECT,
        verb=ChangeVerb.ADDED,
        level=level,
        place=Place(path, 3),
        title=name,
        kind="apps/Deployment",
        object=found,
    )


def paths(*changes: Change, name: str = "web", namespace: str = "web") -> list[str]:
    return [each.place.path for each in placed([change(ROOT, name, namespace, level=Level.RENDERED)], changes)]


def test_it_stands_in_the_file_that_declares_it() -> None:
    assert paths(change("apps/web.yaml", "web", "web"), change("apps/other.yaml", "other")) == ["apps/web.yaml"]


def test_a_kustomization_may_have_given_it_its_namespace() -> None:
    assert paths(change("apps/web.yaml", "web")) == ["apps/web.yaml"]
    assert paths(change("apps/web.yaml", "web"), change("apps/own.yaml", "web", "web")) == ["apps/own.yaml"]


def test_it_stands_with_its_component_where_no_file_of_its_own_differs() -> None:
    assert paths() == [ROOT]
    assert paths(change("apps/web.yaml", "web", "another")) == [ROOT]
    assert paths(change("apps/web.yaml", "api", "web")) == [ROOT]
