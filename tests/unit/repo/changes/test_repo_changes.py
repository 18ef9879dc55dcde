"""Objects in files of two states, and what became of them."""

from pathlib import Path

import pytest

from firstlight.model.change import ChangeVerb
from tests.unit.repo.changes.manifests import DEPLOYMENT, SERVICE, text
from tests.unit.repo.changes.states import changes, shown


@pytest.mark.parametrize(
    "after",
    {
        "comments and blank lines": DEPLOYMENT.replace("spec:\n", "# why\nspec: # because\n\n", 1),
        "quotes": DEPLOYMENT.replace('"example.org/web:1.0.0"', "example.org/web:1.0.0"),
        "flow style": DEPLOYMENT.replace("\n  name: web\n  namespace: shop\n", " {namespace: shop, name: web}\n"),
        "key order": DEPLOYMENT.replace("  name: web\n  namespace: shop\n", "  namespace: shop\n  name: web\n"),
        "items that have names": DEPLOYMENT.replace(
            "            - containerPort: 80\n            - containerPort: 443\n",
            "            - containerPort: 443\n            - containerPort: 80\n",
        ),
        "line ends": DEPLOYMENT.replace("\n", "\r\n"),
        "a document mark": f"---\n{DEPLOYMENT}",
        "a List": "kind: List\napiVersion: v1\nitems:\n- " + DEPLOYMENT.replace("\n", "\n  ").rstrip() + "\n",
    }.items(),
    ids=lambda each: each[0],
)  # fmt: skip
def test_no_change(tmp_path: Path, after: tuple[str, str]) -> None:
    assert changes(tmp_path, {"a.yaml": DEPLOYMENT}, {"a.yaml": after[1]}) == ()


def test_fields(tmp_path: Path) -> None:
    after = DEPLOYMENT.replace("replicas: 2", "replicas: 3").replace("web:1.0.0", "web:1.1.0").replace("--two, ", "")

    (found,) = changes(tmp_path, {"a.yaml": DEPLOYMENT}, {"a.yaml": after})

    assert shown((found,)) == [
        "object changed Deployment shop/web",
        "  changed spec.replicas: 2 -> 3",
        "  changed spec.template.spec.containers[name=web].image: 'example.org/web:1.0.0' -> 'example.org/web:1.1.0'",
        "  removed spec.template.spec.containers[name=web].args[1]: '--two' -> None",
    ]
    assert [str(each.place) for each in found.fields] == ["a.yaml:7:3", "a.yaml:17:11", "a.yaml:18:25"]
    assert (found.kind, str(found.place)) == ("Deployment", "a.yaml:1")
    assert found.object is not None
    assert found.object.name == "web"
    assert found.before is not None
    assert found.before["spec"]["replicas"] == 2


def test_an_item_put_in_is_one_field(tmp_path: Path) -> None:
    after = DEPLOYMENT.replace("[--one,", "[--zero, --one,")

    (found,) = changes(tmp_path, {"a.yaml": DEPLOYMENT}, {"a.yaml": after})

    assert shown((found,))[1:] == ["  added spec.template.spec.containers[name=web].args[0]: None -> '--zero'"]


def test_the_order_of_init_containers_means_something(tmp_path: Path) -> None:
    first = "        - name: first\n          image: example.org/first:1\n"
    second = "        - name: second\n          image: example.org/second:1\n"

    (found,) = changes(tmp_path, {"a.yaml": DEPLOYMENT}, {"a.yaml": DEPLOYMENT.replace(first + second, second + first)})

    assert shown((found,))[1:] == [
        "  changed spec.template.spec.initContainers: ['name=first', 'name=second'] -> ['name=second', 'name=first']"
    ]


def test_split_and_moved(tmp_path: Path) -> None:
    both = f"{DEPLOYMENT}---\n{SERVICE}"
    after = {"apps/web.yaml": DEPLOYMENT.replace("replicas: 2", "replicas: 4"), "apps/service.yaml": SERVICE}

    found = changes(tmp_path, {"all.yaml": both}, after)

    assert shown(found) == [
        "object moved Service shop/web from all.yaml",
        "object changed Deployment shop/web from all.yaml",
        "  changed spec.replicas: 2 -> 4",
    ]


def test_the_order_of_documents_is_no_change(tmp_path: Path) -> None:
    assert changes(tmp_path, {"a.yaml": f"{DEPLOYMENT}---\n{SERVICE}"}, {"a.yaml": f"{SERVICE}---\n{DEPLOYMENT}"}) == ()


def test_added_and_removed_have_every_leaf(tmp_path: Path) -> None:
    found = changes(tmp_path, {"a.yaml": SERVICE}, {"b.yaml": DEPLOYMENT})

    assert [(each.verb, each.title, each.place.path) for each in found] == [
        (ChangeVerb.REMOVED, "Service shop/web", "a.yaml"),
        (ChangeVerb.ADDED, "Deployment shop/web", "b.yaml"),
    ]
    assert shown(found[:1])[1:] == [
        "  removed apiVersion: 'v1' -> None",
        "  removed kind: 'Service' -> None",
        "  removed metadata.name: 'web' -> None",
        "  removed metadata.namespace: 'shop' -> None",
        "  removed spec.ports[port=80].port: 80 -> None",
    ]
    assert found[1].before is None
    assert found[1].after is not None


def test_two_objects_of_one_name_stay_in_their_files(tmp_path: Path) -> None:
    before = {"one/web.yaml": DEPLOYMENT, "two/web.yaml": DEPLOYMENT}
    after = {"one/web.yaml": DEPLOYMENT, "three/web.yaml": DEPLOYMENT.replace("replicas: 2", "replicas: 9")}

    found = changes(tmp_path, before, after)

    assert shown(found) == ["object changed Deployment shop/web from two/web.yaml", "  changed spec.replicas: 2 -> 9"]


def test_a_namespace_that_is_written_now(tmp_path: Path) -> None:
    found = changes(tmp_path, {"a.yaml": DEPLOYMENT.replace("  namespace: shop\n", "")}, {"a.yaml": DEPLOYMENT})

    assert shown(found) == [
        "object changed Deployment shop/web",
        "  added metadata.namespace: None -> 'shop'",
    ]


def test_another_namespace_is_another_object(tmp_path: Path) -> None:
    found = changes(tmp_path, {"a.yaml": SERVICE}, {"a.yaml": SERVICE.replace("shop", "other")})

    assert {each.verb for each in found} == {ChangeVerb.ADDED, ChangeVerb.REMOVED}


def test_the_schema_of_a_new_crd_is_one_leaf(tmp_path: Path) -> None:
    crd = text("""\
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: things.example.org}
        spec:
          versions:
            - name: v1
              schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}, b: {type: string}}}}
        """)

    (found,) = changes(tmp_path, {}, {"crd.yaml": crd})
    assert [each.path for each in found.fields][-1] == "spec.versions[name=v1].schema.openAPIV3Schema"

    (found,) = changes(tmp_path, {"crd.yaml": crd}, {"crd.yaml": crd.replace(", b: {type: string}", "")})
    assert [each.path for each in found.fields] == [
        "spec.versions[name=v1].schema.openAPIV3Schema.properties.b.type",
    ]
