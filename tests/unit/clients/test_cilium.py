"""How Cilium's own test is started, and what its report says."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients.cilium import Cilium, Connectivity
from tests.unit.clients.recorder import Recorder

PASSED = """ℹ️  Cilium version: 1.18.3
🏃[probe-1] Running 109 tests ...
[=] [probe-1] Test [no-policies] [3/109]
....................
✅ [probe-1] All 2 tests (52 actions) successful, 107 tests skipped, 1 scenarios skipped.
"""
FAILED = """[=] [probe-1] Test [no-policies] [3/109]
  ❌ Failed to do something that was tried again
📋 Test Report [probe-1]
❌ 1/2 tests failed (2/52 actions), 107 tests skipped, 1 scenarios skipped:
Test [no-policies]:
  ❌ no-policies/pod-to-world/http-to-one.one.one.one.-0: probe-1/client-w6cvc (10.244.1.81) -> one.one.one.one.:80
  ❌ no-policies/pod-to-pod/curl-ipv4-1: probe-1/client2 (10.244.1.9) -> probe-1/echo-other-node (10.244.2.4:8080)
"""


@pytest.fixture
def program(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "program", "cilium")


async def test_it_is_started_on_the_way_to_the_cluster(program: Recorder, tmp_path: Path) -> None:
    program.says(PASSED)
    environ = {"HOME": "/home/me", "AWS_PROFILE": "mine", "HTTPS_PROXY": "http://proxy.example.org"}
    cilium = Cilium(program.path, kubeconfig=tmp_path / "kubeconfig", context="apps", environ=environ)

    found = await cilium.connectivity_test(namespace="probe", tests="no-policies", agents=("network", "cilium"))

    assert found == Connectivity(tests=2, actions=52, skipped=107)
    assert program.argv == [
        "connectivity", "test", "--test-namespace=probe", "--namespace=network", "--agent-daemonset-name=cilium",
        "--test=no-policies", f"--kubeconfig={tmp_path}/kubeconfig", "--context=apps",
    ]  # fmt: skip
    assert program.calls[-1]["cwd"] == program.calls[-1]["env"]["HOME"] != "/home/me"
    assert "AWS_PROFILE" not in program.env
    assert program.env["HTTPS_PROXY"] == "http://proxy.example.org"


async def test_all_tests_and_a_kubeconfig_of_the_users_own(program: Recorder) -> None:
    program.says(PASSED)
    environ = {"HOME": "/home/me", "KUBECONFIG": "/a:/b", "AWS_PROFILE": "mine"}

    await Cilium(program.path, allow_exec=True, environ=environ).connectivity_test(namespace="probe", tests="all")

    assert program.argv[2:] == ["--test-namespace=probe", "--namespace=kube-system", "--agent-daemonset-name=cilium"]
    assert {**program.calls[-1]["env"], **environ} == program.calls[-1]["env"]


async def test_who_did_not_reach_whom(program: Recorder) -> None:
    program.says(FAILED, "Error: connectivity test failed: 1 tests failed\n", code=1)

    found = await Cilium(program.path, environ={}).connectivity_test(namespace="probe")

    assert (found.tests, found.actions, found.failed) == (2, 52, ("no-policies",))
    assert [each.split(":")[0] for each in found.actions_failed] == [
        "no-policies/pod-to-world/http-to-one.one.one.one.-0",
        "no-policies/pod-to-pod/curl-ipv4-1",
    ]


@pytest.mark.parametrize(
    ("stdout", "stderr", "code", "said"),
    [
        (
            "⌛ Waiting for deployment probe-1/client to become ready...\n",
            "Error: timeout reached\n",
            1,
            "timeout reached",
        ),
        ("", 'Error: unknown command "connectivity" for "cilium"\n', 1, 'unknown command "connectivity"'),
        ("", "", 0, "it printed nothing"),
        (PASSED, "Error: failed to write\n", 1, "failed to write"),
    ],
    ids=["pods", "another program", "silent", "ends badly"],
)
async def test_no_report_is_no_result(program: Recorder, stdout: str, stderr: str, code: int, said: str) -> None:
    program.says(stdout, stderr, code=code)

    with pytest.raises(errors.ClientError, match=said) as caught:
        await Cilium(program.path, environ={}).connectivity_test(namespace="probe")

    assert caught.value.hint
