"""Where what is rendered stands."""

from pathlib import Path

from firstlight.commands.decide.decide import placed, what_breaks
from firstlight.model.change import Change, ChangeVerb, Level, Matter
from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.repo import platform_reader
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import WorkTree

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


HELMFILE = """\
releases:
  - {name: cilium, namespace: kube-system, chart: cilium/cilium, version: 1.19.0, values: [values.yaml.gotmpl]}
repositories: [{name: cilium, url: "https://charts.example.org"}]
"""
TEMPLATE = '{{ (fromYaml (readFile "../apps/cilium.yaml")).spec.values | toYaml }}\n'
RELEASE = b"kind: HelmRelease\nspec:\n  values: {ipam: {mode: kubernetes}}\n"


def test_what_bootstrap_reads_of_a_file_that_goes_is_told(tmp_path: Path) -> None:
    """Git may give Cilium up, and the next rebuild of the cluster fails."""
    (tmp_path / "bootstrap").mkdir()
    (tmp_path / "bootstrap" / "helmfile.yaml").write_text(HELMFILE)
    (tmp_path / "bootstrap" / "values.yaml.gotmpl").write_text(TEMPLATE)
    tree = WorkTree(tmp_path)
    there, gone = (OverlaidTree(tree, {"apps/cilium.yaml": each}) for each in (RELEASE, None))
    before, after = platform_reader.read_tree(there), platform_reader.read_tree(gone)

    (line,) = what_breaks(before, after)

    assert line.startswith("it breaks bootstrap/values.yaml.gotmpl:1")
    assert list(what_breaks(after, after)) == []
    assert list(what_breaks(after, before)) == []
