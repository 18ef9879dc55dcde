"""Running ``cilium connectivity test`` and reading what it reports.

It prints for people: one line at the end says how many tests there were, and below a bad one each failed action. Exit
code 0 alone is not enough, since a filter that fits no test ends well, too.
"""

import dataclasses
import os
import re
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients import command, scratch
from firstlight.clients.sandbox import program_limits

__all__ = ["Cilium", "Connectivity"]

TIMEOUT = 2700.0
"""Seconds: it sets itself no limit, and all its tests take half an hour."""
ALL = "all"

_PASSED = re.compile(r"All (\d+) tests \((\d+) actions\) successful, (\d+) tests skipped")
_FAILED = re.compile(r"(\d+)/(\d+) tests failed \((\d+)/(\d+) actions\), (\d+) tests skipped")
_TEST = re.compile(r"Test \[([\w.-]+)\]:")
_ACTION = re.compile(r"❌ (\S+/\S+.*)")
_INHERITED = (
    "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Connectivity:
    """What it reported."""

    tests: int
    """Those that were run."""
    actions: int
    skipped: int
    """Tests that this cluster has no use for, or that were not wanted."""
    failed: tuple[str, ...] = ()
    """Names of tests."""
    actions_failed: tuple[str, ...] = ()
    """Who did not reach whom, as it says it."""


class Cilium:
    """The program at a path, with the way to a cluster."""

    def __init__(
        self,
        program: Path,
        *,
        kubeconfig: Path | None = None,
        context: str = "",
        allow_exec: bool = False,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Prepare to run it.

        Args:
            program: Where it is.
            kubeconfig: The way to the cluster; what KUBECONFIG says if it is not given.
            context: Of the kubeconfig; the current one if it is not given.
            allow_exec: Whether the kubeconfig is the user's own and may name a program that makes credentials, which
                then finds the user's environment.
            environ: The user's.
        """
        self._program = program.absolute()
        self._kubeconfig = kubeconfig.absolute() if kubeconfig else None
        self._context = context
        names = tuple(environ) if allow_exec else _INHERITED
        self._environ = {name: environ[name] for name in names if name in environ}

    async def connectivity_test(
        self,
        *,
        namespace: str,
        tests: str = ALL,
        agents: tuple[str, str] = ("kube-system", "cilium"),
        timeout: float = TIMEOUT,
    ) -> Connectivity:
        """Run its tests.

        Args:
            namespace: Where; newer versions of the program add ``-1`` to it.
            tests: Expressions for their names, with commas between, ``!`` before what is left out; or ``all``.
            agents: The namespace and the name of the DaemonSet.
            timeout: Seconds.

        Raises:
            errors.ClientError: It came to no result.
        """
        options = [f"--test-namespace={namespace}", f"--namespace={agents[0]}", f"--agent-daemonset-name={agents[1]}"]
        options += [f"--test={tests}"] if tests != ALL else []
        options += [f"--kubeconfig={self._kubeconfig}"] if self._kubeconfig else []
        options += [f"--context={self._context}"] if self._context else []
        with scratch.directory("cilium") as scratch_home:
            # It caches what the API serves, and may want to write reports: that goes with the directory.
            env = {"HOME": str(scratch_home), "PATH": os.defpath, **self._environ, "NO_COLOR": "1"}
            done = await command.run(
                [str(self._program), "connectivity", "test", *options],
                timeout=timeout,
                env=env,
                cwd=scratch_home,
                check=False,
                dies_with_parent=True,
                within=program_limits.CLIENT,
            )
        return read(done.stdout.decode(errors="replace"), code=done.code, stderr=done.stderr)


def read(printed: str, *, code: int, stderr: str = "") -> Connectivity:
    """What it reports.

    Raises:
        errors.ClientError: It reports nothing.
    """
    if (whole := _last(_PASSED, printed)) and code == 0:
        return Connectivity(tests=int(whole[1]), actions=int(whole[2]), skipped=int(whole[3]))
    if bad := _last(_FAILED, printed):
        report = printed[bad.end() :]
        return Connectivity(
            tests=int(bad[2]),
            actions=int(bad[4]),
            skipped=int(bad[5]),
            failed=tuple(_TEST.findall(report)),
            actions_failed=tuple(each.strip() for each in _ACTION.findall(report)),
        )
    lines = [line.strip() for line in f"{printed}\n{stderr}".splitlines() if line.strip()]
    said = lines[-1].removeprefix("Error: ") if lines else "it printed nothing"
    raise errors.ClientError(
        f"cilium connectivity test exited with {code} and no report: {said}",
        target="cilium",
        hint="Run it by hand: cilium connectivity test",
    )


def _last(pattern: re.Pattern[str], printed: str) -> re.Match[str] | None:
    found = list(pattern.finditer(printed))
    return found[-1] if found else None


# What it prints in the end, by its sources, with a failed test:
#
# 📋 Test Report [firstlight-probe-c0ffee-1]
# ❌ 1/2 tests failed (2/52 actions), 107 tests skipped, 1 scenarios skipped:
# Test [no-policies]:
#   ❌ no-policies/pod-to-world/http-to-one.one.one.one.-0: …/client-b65598b6f-w6cvc (10.244.1.81) -> …
#   ❌ no-policies/pod-to-world/https-to-one.one.one.one.-0: …
# Error: connectivity test failed: 1 tests failed
#
# and with none:
#
# ✅ [firstlight-probe-c0ffee-1] All 2 tests (52 actions) successful, 107 tests skipped, 1 scenarios skipped.
