"""A verification shown."""

from firstlight.commands.verify import text
from firstlight.model.verdict import Failed, Passed, Skipped, Verification, VerificationCheck, Waiting

NODES = VerificationCheck(name="nodes", verdict=Passed("4 nodes ready"), seconds=0.12)
DNS = VerificationCheck(name="probe: DNS", verdict=Passed("looked up"), is_simulated=True)
ENGINE = VerificationCheck(name="engine", verdict=Waiting("apps is at 0000000"), seconds=1.0)
WRITES = VerificationCheck(
    name="idempotency", verdict=Failed("wrote 1 time"), detail=("patch deployments web/shop \x1b[31m",)
)


def test_all_fine() -> None:
    skipped = VerificationCheck(name="engine", verdict=Skipped("no engine is declared"))
    found = Verification(cluster="infra", checks=(NODES, DNS, skipped), notes=("a lab",))

    assert found.is_fine
    assert text.text(found).splitlines() == [
        "infra   3 checks, all fine",
        "",
        "  nodes        ✔ passed               0.1 s   4 nodes ready",
        "  probe: DNS   ✔ passed (simulated)   0.0 s   looked up",
        "  engine       · skipped              0.0 s   no engine is declared",
        "",
        "  a lab",
    ]


def test_nothing_is_cut_and_strangers_words_do_no_harm() -> None:
    found = Verification(cluster="infra", checks=(NODES, ENGINE, WRITES))

    assert not found.is_fine
    assert text.text(found, columns=40).splitlines() == [
        "infra   2 of 3 checks are not fine",
        "",
        "  nodes         ✔ passed    0.1 s",
        "      4 nodes ready",
        "  engine        ▸ waiting   1.0 s",
        "      apps is at 0000000",
        "  idempotency   ✘ failed    0.0 s",
        "      wrote 1 time",
        "      patch deployments web/shop",
        "      \\x1b[31m",
    ]


def test_a_long_reason_goes_on_below_itself() -> None:
    reason = "cilium 4/4, cilium-envoy 4/4, node-exporter 4/4, csi-node 4/4, multus 4/4"
    agents = VerificationCheck(name="agents on all nodes", verdict=Passed(reason), seconds=0.1)

    assert text.text(Verification(cluster="infra", checks=(agents,)), columns=80).splitlines()[2:] == [
        "  agents on all nodes   ✔ passed   0.1 s   cilium 4/4, cilium-envoy 4/4,",
        "                                           node-exporter 4/4, csi-node 4/4,",
        "                                           multus 4/4",
    ]


def test_as_data() -> None:
    found = text.data(Verification(cluster="infra", checks=(DNS, WRITES), notes=("a lab",)))

    assert found == {
        "cluster": "infra",
        "fine": False,
        "checks": [
            {"name": "probe: DNS", "verdict": "passed", "reason": "looked up", "detail": [], "seconds": 0.0,
             "simulated": True},
            {"name": "idempotency", "verdict": "failed", "reason": "wrote 1 time",
             "detail": ["patch deployments web/shop \x1b[31m"], "seconds": 0.0, "simulated": False},
        ],
        "notes": ["a lab"],
    }  # fmt: skip
