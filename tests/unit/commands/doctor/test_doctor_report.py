"""A diagnosis on a terminal: one cause on top, what follows from it folded, nothing wider than the terminal."""

from firstlight.commands.doctor import data, text
from firstlight.commands.doctor.symptoms import Diagnosis, NextCommand, RootCause, Symptom, SymptomLayer
from firstlight.drawing import table
from firstlight.model.diagnostic import Evidence, Severity

NOW = 1_800_000_000.0
URL = "https://git.example.org/home"
ROOT = Symptom(
    code="git-authentication",
    severity=Severity.ERROR,
    layer=SymptomLayer.SOURCE,
    subject="GitRepository flux-system/home",
    since=NOW - 754,
    message=f"GitRepository flux-system/home ({URL}): the server refuses the credentials",
    fix="The Secret of the source, or the deploy key.",
    evidence=(
        Evidence(where="GitRepository flux-system/home, Ready", text="GitOperationFailed: authentication required"),
        Evidence(where="event of GitRepository flux-system/home", text="failed to checkout and determine revision"),
        Evidence(where="log of source-controller", text="one"),
        Evidence(where="log of source-controller", text="two"),
    ),
    next=(NextCommand(command="kubectl -n flux-system describe secret flux-system", why="which keys it has"),),
)


def effect(number: int, kind: str = "Kustomization") -> Symptom:
    return Symptom(
        code="source-waits",
        severity=Severity.ERROR,
        layer=SymptomLayer.COMPONENT,
        subject=f"{kind} flux-system/app-{number}",
        message="has no artifact",
        because=(ROOT.key,),
    )


OTHER = Symptom(
    code="quota-exceeded", severity=Severity.ERROR, layer=SymptomLayer.WORKLOAD, subject="Deployment shop/web",
    message="quota exceeded: pods",
    evidence=(Evidence(where="a", text="b"), Evidence(where="c", text="d")),
    next=(NextCommand(command="kubectl -n shop describe resourcequota"), NextCommand(command="another")),
)  # fmt: skip


def diagnosis(*causes: RootCause, **more: tuple[str, ...]) -> Diagnosis:
    return Diagnosis(cluster="home", causes=causes, looked=("4 machines", "612 objects"), seconds=1.23, **more)


def test_the_cause_on_top_with_what_follows_folded() -> None:
    effects = (*(effect(n) for n in range(12)), *(effect(n, "HelmRelease") for n in range(26)))
    found = diagnosis(RootCause(symptom=ROOT, effects=effects), RootCause(symptom=OTHER))

    page = text.text(found, now=NOW, columns=110)

    assert page == (
        "home   2 causes, 38 consequences\n"
        "\n"
        f"  ✘ GitRepository flux-system/home ({URL}): the server refuses the credentials\n"
        "    since     12m34s\n"
        "    seen      GitRepository flux-system/home, Ready: GitOperationFailed: authentication required\n"
        "              event of GitRepository flux-system/home: failed to checkout and determine revision\n"
        "              log of source-controller: one\n"
        "              and 1 more: --all\n"
        "    mend      The Secret of the source, or the deploy key.\n"
        "    next      kubectl -n flux-system describe secret flux-system\n"
        "                which keys it has\n"
        "    explains  38 others: 26 HelmRelease, 12 Kustomization (--all lists them)\n"
        "\n"
        "  ✘ Deployment shop/web: quota exceeded: pods\n"
        "    seen      a: b\n"
        "              and 1 more: --all\n"
        "    next      kubectl -n shop describe resourcequota\n"
        "\n"
        "  looked at   4 machines, 612 objects in 1.2 s"
    )


def test_a_component_shows_the_way_from_the_cause_to_it() -> None:
    found = diagnosis(RootCause(symptom=ROOT, effects=(effect(1), effect(2, "HelmRelease"))))

    page = text.text(found, now=NOW, columns=110, asked="app-2", elsewhere=3)

    assert "    so that   Kustomization flux-system/app-1: has no artifact\n" in page
    assert "              HelmRelease flux-system/app-2: has no artifact\n" in page
    assert "  besides     3 causes of other trouble: firstlight doctor home" in page


def test_all_lists_everything() -> None:
    found = diagnosis(RootCause(symptom=ROOT, effects=tuple(effect(n) for n in range(12))), RootCause(symptom=OTHER))

    page = text.text(found, now=NOW, columns=110, everything=True)

    assert all(f"app-{n}" in page for n in range(12))
    assert "log of source-controller: two" in page
    assert "another" in page


def test_nothing_wrong_and_what_was_not_seen() -> None:
    fine = diagnosis()
    partly = diagnosis(unseen=("machines: no keys for them",))

    assert text.text(fine, now=NOW).startswith("home   ✔ nothing is wrong\n")
    assert text.text(partly, now=NOW).startswith("home   ✔ nothing is wrong in what could be looked at\n")
    assert "  not seen    machines: no keys for them" in text.text(partly, now=NOW)
    assert text.text(fine, now=NOW, is_blind=True).startswith("home   nothing could be looked at")


def test_no_line_is_wider_than_the_terminal_and_nothing_is_obeyed() -> None:
    wild = Symptom(
        code="r", severity=Severity.ERROR, layer=SymptomLayer.API, subject="Deployment shop/web\x1b[31m",
    message="word " * 60 + "\x1b]0;title\x07",
        evidence=(Evidence(where="w" * 90, text="https://user:password@example.org " * 6),),
        next=(NextCommand(command="kubectl get " + "a" * 30 + " --with " + "b" * 30, why="why " * 40),),
    )  # fmt: skip
    for columns in (60, 80, 100):
        page = text.text(diagnosis(RootCause(symptom=wild, effects=(wild,))), now=NOW, columns=columns)

        assert "\x1b" not in page
        assert "password" not in page
        assert max(map(table.width, page.splitlines())) <= columns


def test_json_has_all_of_it() -> None:
    found = data.data(diagnosis(RootCause(symptom=ROOT, effects=(effect(1),))), asked="app-1")

    assert found["fine"] is False
    assert found["causes"][0]["code"] == "git-authentication"
    assert found["causes"][0]["severity"] == "error"
    assert found["causes"][0]["evidence"][2]["where"] == "log of source-controller"
    assert found["causes"][0]["since"] == "2027-01-15T07:47:26Z"
    assert found["causes"][0]["explains"][0]["because"] == [ROOT.key]
    assert data.data(diagnosis())["fine"] is True
    assert data.data(diagnosis(), is_blind=True)["fine"] is False
