"""What engines write into kustomizations, field by field."""

import json
from typing import Any

import pytest

from firstlight import errors
from firstlight.model.place import Place
from firstlight.render import kustomize_build
from firstlight.repo.kustomize.kustomization_file import Kustomization

PLACE = Place("clusters/one/app.yaml")


def by_flux(value: dict[str, Any], fields: dict[str, Any]) -> Any:
    return kustomize_build.by_flux(fields, PLACE)(Kustomization("app", value, "app/kustomization.yaml"))


def by_argocd(value: dict[str, Any], options: dict[str, Any], components: list[str] | None = None) -> Any:
    change = kustomize_build.by_argocd(options, lambda text: text.replace("$NAME", "app"), components or [])
    return change(Kustomization("app", value, "app/kustomization.yaml"))


class TestFlux:
    def test_names_and_namespace_are_replaced_and_lists_are_added_to(self) -> None:
        made = by_flux(
            {
                "resources": ["a"],
                "namePrefix": "x-",
                "namespace": "one",
                "patches": [{"path": "p"}],
                "components": ["c"],
            },
            {"namePrefix": "y-", "namespace": "two", "patches": [{"patch": "q"}], "components": ["d"]},
        )
        assert made == {
            "resources": ["a"], "namePrefix": "y-", "namespace": "two", "patches": [{"path": "p"}, {"patch": "q"}],
            "components": ["c", "d"],
        }  # fmt: skip

    def test_patches_that_are_written_as_yaml_become_texts(self) -> None:
        operations = [{"op": "remove", "path": "/a"}]
        made = by_flux(
            {"resources": ["a"], "patchesStrategicMerge": ["file.yaml"]},
            {
                "patchesJson6902": [{"target": {"kind": "Pod"}, "patch": operations}],
                "patchesStrategicMerge": [{"kind": "Pod", "metadata": {"name": "a"}}],
            },
        )
        assert json.loads(made["patchesJson6902"][0]["patch"]) == operations
        assert made["patchesStrategicMerge"][0] == "file.yaml"
        assert json.loads(made["patchesStrategicMerge"][1]) == {"kind": "Pod", "metadata": {"name": "a"}}

    def test_without_resources_the_origin_is_asked_for(self) -> None:
        assert by_flux({"configMapGenerator": [{"name": "a"}]}, {})["buildMetadata"] == ["originAnnotations"]
        assert "buildMetadata" not in by_flux({"resources": ["a"]}, {})

    def test_nothing_is_changed_in_place(self) -> None:
        value: dict[str, Any] = {"resources": ["a"], "images": [{"name": "i", "newTag": "1"}]}
        by_flux(value, {"images": [{"name": "i", "newTag": "2"}]})
        assert value == {"resources": ["a"], "images": [{"name": "i", "newTag": "1"}]}


class TestArgoCD:
    @pytest.mark.parametrize(
        ("written", "image"),
        [
            ("web:2", {"name": "web", "newTag": "2"}),
            ("web=registry.example/web:2", {"name": "web", "newName": "registry.example/web", "newTag": "2"}),
            ("web=registry.example:5000/web", {"name": "web", "newName": "registry.example:5000/web"}),
            ("web@sha256:abc", {"name": "web", "digest": "sha256:abc"}),
            ("registry.example:5000/web:2@sha256:a", {
                "name": "registry.example:5000/web", "newTag": "2", "digest": "sha256:a"}),
            ("web=*:3", {"name": "web", "newName": "old.example/web", "newTag": "3"}),
            ("web=new.example/web:*", {"name": "web", "newName": "new.example/web", "newTag": "1"}),
        ],
    )  # fmt: skip
    def test_images(self, written: str, image: dict[str, str]) -> None:
        own = [{"name": "web", "newName": "old.example/web", "newTag": "1"}, {"name": "zebra", "newTag": "z"}]
        made = by_argocd({"images": own}, {"images": [written]})["images"]
        assert image in made
        assert {"name": "zebra", "newTag": "z"} in made
        assert [each["name"] for each in made] == sorted(each["name"] for each in made)

    def test_an_image_that_changes_nothing_is_refused(self) -> None:
        with pytest.raises(errors.UsageError):
            by_argocd({}, {"images": ["web"]})

    def test_labels_with_and_without_selectors(self) -> None:
        assert by_argocd({}, {"commonLabels": {"a": "$NAME"}})["commonLabels"] == {"a": "app"}
        made = by_argocd(
            {"labels": [{"pairs": {"x": "y"}}]}, {"commonLabels": {"a": "b"}, "labelWithoutSelector": True}
        )
        assert made == {"labels": [{"pairs": {"x": "y", "a": "b"}}]}

    def test_a_label_that_is_there_must_be_forced(self) -> None:
        with pytest.raises(errors.UsageError):
            by_argocd({"commonLabels": {"a": "1"}}, {"commonLabels": {"a": "2"}})
        forced = by_argocd({"commonLabels": {"a": "1"}}, {"commonLabels": {"a": "2"}, "forceCommonLabels": True})
        assert forced["commonLabels"] == {"a": "2"}

    def test_variables_in_annotations_only_if_they_are_asked_for(self) -> None:
        annotations = {"commonAnnotations": {"a": "$NAME"}}
        assert by_argocd({}, annotations)["commonAnnotations"] == {"a": "$NAME"}
        filled = by_argocd({}, {**annotations, "commonAnnotationsEnvsubst": True})
        assert filled["commonAnnotations"] == {"a": "app"}

    def test_replicas_components_and_patches_are_added(self) -> None:
        made = by_argocd(
            {"replicas": [{"name": "a", "count": 1}], "components": ["c"]},
            {"replicas": [{"name": "a", "count": "3"}, {"name": "b", "count": 2}], "patches": [{"patch": "p"}]},
            ["c", "d"],
        )
        assert made["replicas"] == [{"name": "a", "count": 3}, {"name": "b", "count": 2}]
        assert made["components"] == ["c", "d"]
        assert made["patches"] == [{"patch": "p"}]
