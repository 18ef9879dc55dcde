"""The boundary as text and as data."""

from firstlight.commands.boundary import text as boundary_text
from firstlight.model.boundary import (
    Boundary,
    BoundaryStanding,
    ComparedObject,
    Consequence,
    LifecycleEvent,
    ValueDifference,
)
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place

OPERATOR = ObjectId("apps", "Deployment", "kube-system", "operator")
CHANGED = ComparedObject(
    id=OPERATOR,
    standing=BoundaryStanding.DIFFERENT,
    differences=tuple(
        ValueDifference(("data", str(number)), "1", "2", f"value {number} 1 › 2", rolls=number == 0)
        for number in range(9)
    ),
    consequences=(Consequence(LifecycleEvent.RECONCILE, "makes it Git's", Severity.WARNING),),
)
EQUAL = ComparedObject(
    id=ObjectId("", "ConfigMap", "", "same"),
    standing=BoundaryStanding.EQUAL,
    consequences=(
        Consequence(LifecycleEvent.UPGRADE, "changes nothing"),
        Consequence(LifecycleEvent.RECONCILE, "adopts it"),
    ),
)
BOTH = Boundary(component="cilium", cluster="home", objects=(CHANGED, EQUAL))


def test_differences_come_first_and_outcomes_last() -> None:
    assert boundary_text.text([BOTH], columns=120).splitlines() == [
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
    text = boundary_text.text([BOTH], columns=120, everything=True)

    assert "  = ConfigMap same" in text
    assert "value 8 1 › 2" in text


def test_what_could_not_be_rendered_is_said() -> None:
    diagnostic = Diagnostic.error("?", "no such\x1b chart", at=Place("helmrelease.yaml", 3))
    broken = Boundary(component="cilium", cluster="home", objects=(), diagnostics=(diagnostic,))

    assert boundary_text.text([broken], columns=120).splitlines() == [
        "home   cilium   not compared",
        "  ✘ no such\\x1b chart   helmrelease.yaml:3",
    ]
    assert not boundary_text.data([broken])["equal"]


def test_what_stays_with_talos_is_said() -> None:
    stays = Consequence(LifecycleEvent.UPGRADE, "takes the manifest's values back by force", Severity.WARNING)
    alone = Boundary(component="flannel", cluster="home", objects=(), stays=stays)

    assert boundary_text.text([alone], columns=120).splitlines() == [
        "home   flannel   stays with Talos",
        "  ! talosctl upgrade-k8s   all of it   takes the manifest's values back by force",
    ]
    (data,) = boundary_text.data([alone])["components"]
    assert data["stays"] == {"event": "talosctl upgrade-k8s", "effect": "takes the manifest's values back by force"}


def test_nothing_on_both_sides() -> None:
    assert boundary_text.text([], columns=120) == "nothing is applied by both bootstrap and GitOps"
    assert boundary_text.data([]) == {"equal": True, "components": []}


def test_data_has_paths_and_both_values() -> None:
    (component,) = boundary_text.data([BOTH])["components"]

    assert component["objects"][0]["differences"][0] == {
        "path": ("data", "0"), "bootstrap": "1", "gitops": "2", "words": "value 0 1 › 2", "replacesPods": True,
        "immutable": False,
    }  # fmt: skip
    assert component["objects"][1]["consequences"][0]["event"] == "talosctl upgrade-k8s"
    assert component["equal"] is False


def test_what_could_not_be_compared_fits_the_terminal() -> None:
    message = "oci://registry.example.org/charts/web 1.2.3 is not in the cache, and offline nothing is fetched"
    diagnostic = Diagnostic.error("?", message, at=Place("kubernetes/apps/web/release.yaml", 3))
    broken = Boundary(component="web", cluster="home", objects=(), diagnostics=(diagnostic,))

    text = boundary_text.text([broken], columns=80)

    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert f"{message} kubernetes/apps/web/release.yaml:3" in " ".join(text.split())
