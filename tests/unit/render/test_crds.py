"""CRDs of several components: each once, and where they do not agree."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.model.component import ObjectId, Side
from firstlight.model.rendition import Object, Rendition
from firstlight.render import served_kinds
from firstlight.repo.work_tree import WorkTree
from tests.unit.render.surroundings import FakeStore


def crd(*versions: str, scope: str = "Namespaced", labels: dict[str, str] | None = None, **more: Any) -> Object:
    return Object({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.org", **({"labels": labels} if labels else {})},
        "spec": {
            "group": "example.org", "scope": scope, "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": each, "served": True, "storage": each == versions[0]} for each in versions], **more,
        },
    })  # fmt: skip


def rendition(component: str, *objects: Object, cluster: str = "one") -> Rendition:
    return Rendition(component=component, cluster=cluster, side=Side.GITOPS, objects=objects)


class TestExtract:
    def test_each_once_with_all_that_bring_it(self) -> None:
        found = served_kinds.extract([rendition("a", crd("v1")), rendition("b", crd("v1", labels={"by": "b"}))])
        assert [(each.name, each.components) for each in found.each] == [("things.example.org", ("a", "b"))]
        assert found.diagnostics == ()

    def test_other_versions_are_named_with_both_who_bring_them(self) -> None:
        found = served_kinds.extract([rendition("a", crd("v1")), rendition("b", crd("v1", "v1beta1"))])
        (diagnostic,) = found.diagnostics
        assert diagnostic.severity == "warning"
        for word in ("things.example.org", "v1 by a", "v1, v1beta1 by b"):
            assert word in diagnostic.message
        assert found.each[0].object == crd("v1")

    def test_other_fields_in_the_same_versions_too(self) -> None:
        found = served_kinds.extract(
            [rendition("a", crd("v1")), rendition("b", crd("v1", conversion={"strategy": "None"}))]
        )
        assert ["same versions" in each.message for each in found.diagnostics] == [True]

    def test_clusters_have_nothing_to_do_with_each_other(self) -> None:
        found = served_kinds.extract([rendition("a", crd("v1")), rendition("a", crd("v2"), cluster="two")])
        assert len(found.each) == 2
        assert found.diagnostics == ()

    def test_what_is_no_crd_is_left_out(self) -> None:
        other = Object({"apiVersion": "example.org/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}})
        assert served_kinds.extract([rendition("a", other)]).each == ()


class TestServed:
    def test_versions_and_kinds_that_templates_ask_for(self) -> None:
        found = served_kinds.served_by([crd("v1", "v1beta1")])
        assert found.api_versions == (
            "example.org/v1", "example.org/v1/Thing", "example.org/v1beta1", "example.org/v1beta1/Thing",
        )  # fmt: skip

    def test_versions_that_are_not_served_are_not_among_them(self) -> None:
        obj = crd("v1", "v2")
        obj.value["spec"]["versions"][1]["served"] = False
        assert served_kinds.served_by([obj]).api_versions == ("example.org/v1", "example.org/v1/Thing")

    def test_scopes(self) -> None:
        found = served_kinds.served_by([crd("v1", scope="Cluster")])
        asked = [
            ObjectId("", "Namespace", "", "a"), ObjectId("apps", "Deployment", "", "a"),
            ObjectId("example.org", "Thing", "", "a"), ObjectId("example.com", "Thing", "", "a"),
            ObjectId("storage.k8s.io", "StorageClass", "", "a"),
        ]  # fmt: skip
        assert [served_kinds.is_namespaced(each, found) for each in asked] == [False, True, False, None, False]


class TestSources:
    """Kinds that no chart brings, such as the Gateway API's."""

    URL = "https://files.example/v1.4.1/standard-install.yaml"
    TEXT = (
        b"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x.example.org}\n---\n"
        + (b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: not-a-crd}\n")
    )

    async def test_a_url_and_a_file_with_their_digests(self, tmp_path: Path) -> None:
        (tmp_path / "crds.yaml").write_bytes(self.TEXT)
        store, tree = FakeStore({self.URL: self.TEXT}), WorkTree(tmp_path)
        for source in (self.URL, "crds.yaml"):
            objects, pin, diagnostics = await served_kinds.from_source(source, store=store, tree=tree)
            assert [each.id.name for each in objects] == ["x.example.org"]
            assert pin.digest == f"sha256:{hashlib.sha256(self.TEXT).hexdigest()}"
            assert diagnostics == ()

    async def test_another_content_than_was_asked_for_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "crds.yaml").write_bytes(self.TEXT)
        tree, digest = WorkTree(tmp_path), f"sha256:{hashlib.sha256(self.TEXT).hexdigest()}"
        await served_kinds.from_source("crds.yaml", store=FakeStore({}), tree=tree, digest=digest)
        with pytest.raises(errors.Refused):
            await served_kinds.from_source("crds.yaml", store=FakeStore({}), tree=tree, digest=f"sha256:{'0' * 64}")

    async def test_what_is_not_there_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(errors.UsageError):
            await served_kinds.from_source("gone.yaml", store=FakeStore({}), tree=WorkTree(tmp_path))
