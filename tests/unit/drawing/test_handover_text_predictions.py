"""Predictions as sentences, as a table and as data."""

from firstlight.drawing import handover_text
from firstlight.model.component import ObjectId
from firstlight.model.handover import Prediction
from firstlight.model.owner import ObjectOwner, Party

KUSTOMIZATION = ObjectOwner(Party.FLUX, "Kustomization flux-system/apps")
RELEASE = ObjectOwner(Party.FLUX, "HelmRelease web/web")
APPLICATION = ObjectOwner(Party.ARGOCD, "Application web")
LABELS = ("metadata.labels[helm.toolkit.fluxcd.io/name]", "metadata.labels[helm.toolkit.fluxcd.io/namespace]")
MADE = "metadata.annotations[meta.helm.sh/release-name]"


def prediction(
    name: str,
    owner: ObjectOwner,
    *,
    kind: str = "Deployment",
    marks: tuple[str, ...] = (),
    changed: tuple[str, ...] = (),
    lost: tuple[str, ...] = (),
    rolls: bool = False,
    refused: str = "",
) -> Prediction:
    return Prediction(
        id=ObjectId("apps", kind, "web", name), component="web", owner=owner, marks=marks, changed=changed, lost=lost,
        rolls=rolls, refused=refused,
    )  # fmt: skip


def test_the_one_upgrade_of_a_release_is_told_with_what_it_does() -> None:
    found = [prediction(f"web-{number}", RELEASE, marks=LABELS) for number in range(12)]

    assert handover_text.prediction_sentences(found) == [
        "HelmRelease web/web: helm-controller upgrades the release once: 12 objects get 2 labels, no pod is replaced"
    ]


def test_without_a_release_helm_controller_installs_one() -> None:
    (sentence,) = handover_text.prediction_sentences([prediction("web", RELEASE, marks=(*LABELS, MADE))])

    assert "installs the release over what is there: 1 object gets 2 labels and 1 annotation" in sentence


def test_each_owner_has_its_sentence() -> None:
    found = [
        prediction("b", APPLICATION, marks=("metadata.annotations[argocd.argoproj.io/tracking-id]",)),
        prediction("a", KUSTOMIZATION, changed=("spec.replicas",)),
        prediction("c", KUSTOMIZATION, rolls=True, changed=("spec.template.spec",), lost=("spec.a", "spec.b")),
        prediction("d", ObjectOwner(Party.FLUX, "FluxInstance flux-system/flux"), refused="spec.selector: immutable"),
    ]

    assert handover_text.prediction_sentences(found) == [
        "Application web: Argo CD applies it: 1 object gets 1 annotation, no pod is replaced",
        "FluxInstance flux-system/flux: the engine applies it: the server would not take Deployment web/d, "
        "no pod is replaced",
        "Kustomization flux-system/apps: kustomize-controller applies it: 2 objects change, 2 fields disappear, "
        "the pods of Deployment web/c are replaced",
    ]


def test_nothing_at_all_is_said_as_well() -> None:
    (sentence,) = handover_text.prediction_sentences([prediction("a", KUSTOMIZATION), prediction("b", KUSTOMIZATION)])

    assert sentence.endswith("nothing of 2 objects changes, no pod is replaced")


def test_many_names_are_cut() -> None:
    (sentence,) = handover_text.prediction_sentences(
        [prediction(f"w{number}", KUSTOMIZATION, rolls=True) for number in range(5)]
    )

    assert "Deployment web/w0, Deployment web/w1, Deployment web/w2 and 2 more are replaced" in sentence


def test_the_table_has_what_is_more_than_marks() -> None:
    found = [
        prediction("quiet", KUSTOMIZATION, marks=LABELS),
        prediction("web", KUSTOMIZATION, changed=("spec.replicas",), lost=("data.a",), rolls=True),
    ]

    assert handover_text.prediction_text(found).splitlines()[1:] == [
        "  Deployment web/web   changes spec.replicas",
        "  Deployment web/web   loses data.a",
        "  Deployment web/web   its pods are replaced",
    ]
    assert "  Deployment web/quiet   nothing but marks" in handover_text.prediction_text(found, everything=True)


def test_what_a_server_says_cannot_write_on_the_terminal() -> None:
    found = [prediction("web", KUSTOMIZATION, refused="\x1b[31mno")]

    assert "\x1b" not in handover_text.prediction_text(found)
    assert "\x1b" not in str(handover_text.prediction_data(found))


def test_data_has_everything() -> None:
    (found,) = handover_text.prediction_data([prediction("web", RELEASE, marks=LABELS, lost=("data.a",), rolls=True)])

    assert found == {
        "group": "apps", "kind": "Deployment", "namespace": "web", "name": "web", "component": "web",
        "owner": {"party": "flux", "name": "HelmRelease web/web"}, "marks": [*LABELS], "changed": [],
        "lost": ["data.a"], "replacesPods": True, "refused": "",
    }  # fmt: skip
