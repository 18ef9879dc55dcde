"""Owners as text, data and picture: what people and programs read."""

import dataclasses
import re
from xml.etree import ElementTree

import msgspec
import pytest

from firstlight.commands.owners import text as owners_text
from firstlight.commands.owners import treemap
from firstlight.commands.owners.treemap import TreemapTile
from firstlight.drawing import table
from firstlight.model.component import ObjectId
from firstlight.model.owner import Flaw, Flawed, ObjectOwner, OwnedObject, OwnerMap, Party

WEB = ObjectOwner(Party.FLUX, "Kustomization flux-system/web")
HOSTILE = ["<script>alert(1)</script>", '"]; rm -rf /; ["', "a\x1b[31mred", "&amp;", "‮abc", "]]>", "\x00", "\ud800"]


def obj(
    kind: str, name: str, owner: ObjectOwner, *flaws: Flawed, namespace: str = "web", **more: object
) -> OwnedObject:
    made = OwnedObject(id=ObjectId("", kind, namespace, name), api_version="v1", owner=owner, flaws=flaws)
    return dataclasses.replace(made, **more)  # type: ignore[arg-type]


MAIN = obj("Deployment", "main", WEB, component="web", co_owners=(ObjectOwner(Party.TALOS),),
           flaws=(Flawed(Flaw.STALE_CO_OWNER, "talos still owns spec.replicas"),))  # fmt: skip
WHOLE = OwnerMap(
    cluster="infra",
    objects=(
        *(obj("ConfigMap", f"settings-{number}", WEB) for number in range(3)),
        MAIN,
        *(obj("Pod", f"main-{number}", WEB, under=MAIN.id) for number in range(1200)),
        obj("ClusterRole", "web", WEB, namespace=""),
        obj("ConfigMap", "mine", ObjectOwner(Party.PERSON, "kubectl-create"), Flawed(Flaw.ORPHAN, "made with kubectl")),
        obj("Node", "cp-1", ObjectOwner(Party.SYSTEM), namespace=""),
    ),
    unread=("Secret (v1): forbidden",),
    notes=("no repo",),
)
SHOWN = dataclasses.replace(
    WHOLE, objects=tuple(each for each in WHOLE.objects if not each.under and each.owner.party != Party.SYSTEM)
)


def test_the_whole_page() -> None:
    assert (
        owners_text.text(WHOLE, SHOWN, columns=100)
        == """\
infra   1,207 objects, 2 with flaws

owners
  flux     5   +1,200   Kustomization flux-system/web
  person   1            kubectl-create
  system   1

orphan (1): nobody who would keep it up to date owns it
  ConfigMap web/mine   made with kubectl
  next: put it into Git, or delete it

stale co-owner (1): what is removed from Git would stay in the cluster
  Deployment web/main   talos still owns spec.replicas
  next: firstlight handover infra, which passes fields of Talos, Helm, kubectl and bootstrap

flux (Kustomization flux-system/web)   5
  ·     ClusterRole   1   web
  web   ConfigMap     3   settings-0, settings-1, settings-2
  web   Deployment    1   main !

person (kubectl-create)   1
  web   ConfigMap   1   mine !

1,201 objects not shown, such as pods and what the system makes: --all
not read: Secret (v1): forbidden
no repo"""
    )


def test_by_object_each_has_a_line_and_its_fields() -> None:
    one = dataclasses.replace(MAIN, fields={"spec.replicas": ("kustomize-controller", "talos")})
    shown = dataclasses.replace(WHOLE, objects=(one, WHOLE.objects[4]))

    lines = owners_text.text(WHOLE, shown, columns=200, by_object=True).splitlines()

    assert "  web   Deployment   main     of web; also talos; stale co-owner" in lines
    assert "      spec.replicas   kustomize-controller, talos" in lines
    assert "  web   Pod          main-0   by Deployment web/main" in lines


def test_many_flaws_and_owners_are_cut_and_told() -> None:
    many = dataclasses.replace(
        WHOLE,
        objects=tuple(
            obj(
                "ConfigMap",
                f"c-{n:02}",
                ObjectOwner(Party.FLUX, f"Kustomization x/{n:02}"),
                Flawed(Flaw.ORPHAN, "made"),
            )
            for n in range(30)
        ),
    )
    text = owners_text.text(many, many, columns=100)
    assert "  … and 20 more: firstlight owners --flaws" in text
    assert "22   22 others" in text
    whole = owners_text.text(many, many, columns=100, only_flaws=True)
    assert whole.count("  made\n") == 30
    assert "person (kubectl-create)" not in whole


@pytest.mark.parametrize("columns", [60, 100, 160])
def test_tables_fit_the_terminal(columns: int) -> None:
    for part in owners_text.table_parts(WHOLE.objects, columns=columns, by_object=False):
        assert all(table.width(line) <= columns for line in part)


@pytest.mark.parametrize("flaw", list(Flaw))
def test_every_flaw_says_what_to_do(flaw: Flaw) -> None:
    found = dataclasses.replace(WHOLE, objects=(obj("ConfigMap", "a", WEB, Flawed(flaw, "says")),))
    ((heading, *_, last),) = owners_text.flaw_parts(found, columns=100)
    assert heading.startswith(f"{flaw} (1): ")
    assert last.startswith("  next: ")


def test_what_a_handover_does_not_take_is_not_its_matter() -> None:
    stale = Flawed(Flaw.STALE_CO_OWNER, "kubectl-edit still owns data.word")

    def ways(*objects: OwnedObject) -> list[str]:
        ((_, *lines),) = owners_text.flaw_parts(OwnerMap(cluster="infra", objects=objects), columns=200)
        return [each.removeprefix("  next: ") for each in lines if each.startswith("  next: ")]

    taken = obj("ConfigMap", "a", WEB, stale, is_passing=True, component="web")
    left = obj("ConfigMap", "b", WEB, stale, is_passing=False, component="web")
    unknown = obj("ConfigMap", "c", WEB, stale)
    foreign = obj("ConfigMap", "d", WEB, stale, is_passing=False)
    assert [each.split(",")[0] for each in ways(taken)] == ["firstlight handover infra"]
    (by_drift,) = ways(left, left)
    assert by_drift.startswith("firstlight drift infra tells which of these fields Git does not have, and --correct")
    assert ways(unknown) == ways(taken)
    assert ways(taken, left) == [*ways(taken), by_drift]
    assert "by hand" in ways(foreign)[0]


def test_numbers_are_of_what_is_asked_for() -> None:
    some = dataclasses.replace(WHOLE, objects=(MAIN,))
    lines = owners_text.text(WHOLE, some, columns=100, counted=some, by_object=True).splitlines()
    assert lines[:4] == ["infra   1 object, 1 with flaws", "", "owners", "  flux   1   Kustomization flux-system/web"]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_of_a_stranger_is_obeyed(name: str) -> None:
    found = OwnerMap(
        cluster=name, unread=(name,), notes=(name,),
        objects=(
            obj(name, name, ObjectOwner(Party.CONTROLLER, name), Flawed(Flaw.ORPHAN, name), namespace=name,
                fields={name: (name,)}, component=name),
        ),
    )  # fmt: skip
    text = owners_text.text(found, found, columns=100, by_object=True)
    assert "\x1b" not in text
    assert "‮" not in text
    assert "\x00" not in text
    ElementTree.fromstring(treemap.svg(found).encode(errors="replace"))


def test_data_counts_everything_and_shows_what_is_asked_for() -> None:
    data = msgspec.to_builtins(owners_text.data(WHOLE, SHOWN))

    assert {"party": "flux", "name": WEB.name, "objects": 5, "brought": 1200} in data["owners"]
    assert data["flaws"]["orphan"] == 1
    assert data["flaws"]["two GitOps owners"] == 0
    assert len(data["objects"]) == 6
    (main,) = [each for each in data["objects"] if each["name"] == "main"]
    assert main == {
        "group": "", "kind": "Deployment", "namespace": "web", "name": "main", "apiVersion": "v1",
        "owner": {"party": "flux", "name": WEB.name}, "coOwners": [{"party": "talos", "name": ""}],
        "flaws": [{"flaw": "stale co-owner", "says": "talos still owns spec.replicas"}], "component": "web",
        "broughtBy": None,
    }  # fmt: skip
    pod = owners_text.data(WHOLE, dataclasses.replace(WHOLE, objects=WHOLE.objects[4:5]))["objects"][0]
    assert pod["broughtBy"] is not None
    assert pod["broughtBy"]["name"] == "main"


def test_the_picture_shows_all_and_is_the_same_every_time() -> None:
    made = treemap.svg(SHOWN)

    assert made == treemap.svg(SHOWN)
    titles = re.findall("<title>(.*?)</title>", made)
    assert "infra: 6 objects by namespace, owner and kind, 2 with flaws" in titles
    assert f"web: flux ({WEB.name}): 1 Deployment, 1 stale co-owner" in titles
    assert "without a namespace: 1" in titles
    assert made.count('class="flawed"') == 3  # two kinds, and the legend
    assert "prefers-color-scheme:dark" in made
    for party in Party:
        assert f".{party} .owner" in made


def test_a_picture_of_nothing() -> None:
    made = ElementTree.fromstring(treemap.svg(OwnerMap(cluster="infra", objects=())))

    assert "infra" in "".join(made.itertext())


def drawn(*owners: tuple[ObjectOwner, int]) -> str:
    objects = tuple(
        obj(f"Kind{number % 3}", f"{number}", owner, namespace="cert-manager")
        for owner, many in owners
        for number in range(many)
    )
    return treemap.svg(OwnerMap(cluster="infra", objects=objects))


def test_owners_of_one_name_are_told_apart_where_there_is_little_room() -> None:
    release = ObjectOwner(Party.FLUX, "HelmRelease cert-manager/cert-manager-with-a-rather-long-name")
    other = ObjectOwner(Party.FLUX, "Kustomization flux-system/cert-manager-with-a-rather-long-name")
    rest = [(ObjectOwner(Party.FLUX, f"Kustomization flux-system/{number}"), 10) for number in range(40)]

    names = re.findall('<text class="name"[^>]*>([^<]*)</text>', drawn((release, 10), (other, 10), *rest))

    assert any(each.startswith("hr/cert-m") for each in names)
    assert any(each.startswith("ks/cert-m") for each in names)


@pytest.mark.parametrize(
    ("width", "height", "is_turned"), [(300, 14, False), (300, 30, False), (14, 300, True), (30, 300, True)]
)
def test_a_strip_has_the_name_of_its_owner(width: int, height: int, is_turned: bool) -> None:
    objects = [obj("ConfigMap", f"{number}", WEB) for number in range(3)]

    made = "".join(treemap._owner(WEB, objects, TreemapTile(0, 0, width, height), "web"))

    ElementTree.fromstring(made)
    assert re.search(r'<text class="name"[^>]*>Kustomization flux-system/web</text>', made)
    assert ("rotate(90" in made) == is_turned


def test_a_box_without_room_for_a_name_shows_its_kinds() -> None:
    made = "".join(treemap._owner(WEB, [obj("ConfigMap", "a", WEB)], TreemapTile(0, 0, 20, 20), "web"))

    assert "<text" not in made
    assert 'class="cell"' in made


def test_a_picture_of_a_part_says_that_there_is_more() -> None:
    assert "1,201 more are not drawn" in treemap.svg(SHOWN, of=len(WHOLE.objects))
    assert "not drawn" not in treemap.svg(WHOLE, of=len(WHOLE.objects))
