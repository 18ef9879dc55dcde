"""The boundary as text and as data."""

from firstlight.model.boundary import Boundary, Compared, Consequence, Difference, Event, Standing
from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.model.plan import Severity
from firstlight.model.remark import Grade, Remark
from firstlight.report import boundary as report
from firstlight.report import boundary_data

OPERATOR = ObjectId("apps", "Deployment", "kube-system", "operator")
CHANGED = Compared(
    id=OPERATOR,
    standing=Standing.DIFFERENT,
    differences=tuple(
        Difference(("data", str(number)), "1", "2", f"value {number} 1 › 2", rolls=number == 0) for number in range(9)
    ),
    consequences=(Consequence(Event.RECONCILE, "makes it Git's", Severity.WARNING),),
)
EQUAL = Compared(
    id=ObjectId("", "ConfigMap", "", "same"),
    standing=Standing.EQUAL,
    consequences=(Consequence(Event.UPGRADE, "changes nothing"), Consequence(Event.RECONCILE, "adopts it")),
)
BOTH = Boundary(component="cilium", cluster="home", objects=(CHANGED, EQUAL))


def test_differences_come_first_and_outcomes_last() -> None:
    assert report.text([BOTH], columns=120).splitlines() == [
        "home   cilium   1 equal, 1 different",
        "  ≠ Deployment kube-system/operator",
        "      value 0 1 › 2 (pods are replaced)",
        *(f"      value {number} 1 › 2" for number in range(1, 6)),
        "      … and 3 more: --everything",
        "  ! first reconcile        1 object   makes it Git's",
        "  · first reconcile        1 object   adopts it",
        "  · talosctl upgrade-k8s   1 object   changes nothing",
    ]


def test_everything_shows_what_is_equal_too() -> None:
    text = report.text([BOTH], columns=120, everything=True)

    assert "  = ConfigMap same" in text
    assert "value 8 1 › 2" in text


def test_what_could_not_be_rendered_is_said() -> None:
    remark = Remark(Place("helmrelease.yaml", 3), Grade.ERROR, "no such\x1b chart")
    broken = Boundary(component="cilium", cluster="home", objects=(), remarks=(remark,))

    assert report.text([broken], columns=120).splitlines() == [
        "home   cilium   not compared",
        "  ✘ no such\\x1b chart   helmrelease.yaml:3",
    ]
    assert not boundary_data.data([broken])["equal"]


def test_what_stays_with_talos_is_said() -> None:
    stays = Consequence(Event.UPGRADE, "takes the manifest's values back by force", Severity.WARNING)
    alone = Boundary(component="flannel", cluster="home", objects=(), stays=stays)

    assert report.text([alone], columns=120).splitlines() == [
        "home   flannel   stays with Talos",
        "  ! talosctl upgrade-k8s   all of it   takes the manifest's values back by force",
    ]
    (data,) = boundary_data.data([alone])["components"]
    assert data["stays"] == {"event": "talosctl upgrade-k8s", "effect": "takes the manifest's values back by force"}


def test_nothing_on_both_sides() -> None:
    assert report.text([], columns=120) == "nothing is applied by both bootstrap and GitOps"
    assert boundary_data.data([]) == {"equal": True, "components": []}


def test_data_has_paths_and_both_values() -> None:
    (component,) = boundary_data.data([BOTH])["components"]

    assert component["objects"][0]["differences"][0] == {
        "path": ("data", "0"), "bootstrap": "1", "gitops": "2", "words": "value 0 1 › 2", "replacesPods": True,
        "immutable": False,
    }  # fmt: skip
    assert component["objects"][1]["consequences"][0]["event"] == "talosctl upgrade-k8s"
    assert component["equal"] is False
