"""Who can reach a lab: every port is declared, on loopback, and closed to other users unless the docs say otherwise."""

import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from firstlight.lab import http_serving, loopback_network, rewrite_rules, running_lab
from firstlight.lab.sources.declarations import Access
from tests import listening, strangers
from tests.argocd import ArgoCD
from tests.flux import CONTROLLERS, EXTRAS, Flux, chart, config
from tests.labs import FAST, until
from tests.machines import Cluster, Make
from tests.strangers import needs_root

OPEN = Access(anonymous="write")
LED = rewrite_rules.SourceRewrite(source="https://github.com/me/home", target="http://127.0.0.1:3000/git/me/home.git")
EVERYTHING = msgspec.structs.replace(FAST, sources=True, standins=True, rewrites=(LED,))
CONTROL_PLANE = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "lab-proxy", "lab-kubelet"}
KEYS = b"*2\r\n$4\r\nKEYS\r\n$1\r\n*\r\n"
"""What asks a Redis for everything that it has."""
Said = dict[tuple[str, int], tuple[str, str]]
FreshLab = Callable[..., Awaitable[running_lab.Lab]]


def net_of(lab: running_lab.Lab) -> loopback_network.LoopbackNetwork:
    return msgspec.json.decode(lab.home.network.read_bytes(), type=loopback_network.LoopbackNetwork)


async def check(lab: running_lab.Lab, *parts: str) -> None:
    """What listens is what is declared of these parts and of no other, and only where nobody else's network is."""
    net = net_of(lab)
    expected = {each for each in loopback_network.server_table() if each.of in parts}

    def known(found: list[listening.Port]) -> set[loopback_network.LabServer]:
        return {server for each in found if (server := listening.declared(each, net)) is not None}

    async def open_ports() -> list[listening.Port]:
        found = await listening.ports(lab)
        return found if known(found) >= expected else []

    found = await until(open_ports, "all servers to listen")
    elsewhere = [each for each in found if not each.is_loopback]
    undeclared = [each for each in found if listening.declared(each, net) is None]

    assert elsewhere == [], "reachable from other computers"
    assert undeclared == [], "not in servers.yaml"
    assert known(found) == expected
    await _check_unix_sockets(lab)


async def _check_unix_sockets(lab: running_lab.Lab) -> None:
    """Those with a path are in the lab's directory, which is closed to others; the one without asks for a word."""
    mode = lab.home.path.stat()
    found = await listening.unix_sockets(lab)
    abroad = [path for _, path in found if not Path(path).is_relative_to(lab.home.path)]

    assert (stat.S_IMODE(mode.st_mode), mode.st_uid) == (0o700, os.geteuid())
    assert {of for of, _ in found} >= {"supervisor", "lab-proxy", "simulator"}
    # Argo CD's own, for git's questions: it gives a credential once, to whoever knows a random id.
    assert [path for path in abroad if not re.fullmatch(r"@firstlight-[\d.]+-ask-pass", path)] == []


async def tried(lab: running_lab.Lab) -> Said:
    """What another user gets at each port of a lab, and what was said of it."""
    net = net_of(lab)
    found = [each for each in await listening.ports(lab) if listening.declared(each, net) is not None]
    answers = strangers.as_stranger(lambda: [strangers.ask(each.host, each.port) for each in found])
    said: Said = {}
    for each, (answer, heard) in zip(found, answers, strict=True):
        server = listening.declared(each, net)
        assert server is not None
        said[server.of, server.port] = answer, f"{each} {server.asks}: {heard!r}"
    return said


def judge(said: Said) -> None:
    """Where something is asked for, nothing was given."""
    declared = {(each.of, each.port): each.asks for each in loopback_network.server_table()}
    # Who speaks to trustd must show the token in the call itself: internal/trustd/trustd_test.go tries that.
    wrong = [
        text
        for key, (answer, text) in said.items()
        if answer != ("answered" if declared[key] == "nothing" else "refused") and key != ("machine", 50001)
    ]
    assert wrong == []


class TestAPlainLab:
    async def test_every_server_is_declared(self, fresh_lab: FreshLab) -> None:
        lab = await fresh_lab(settings=EVERYTHING)

        await check(lab, *CONTROL_PLANE, "simulator", "sources", "standins")

    @needs_root
    async def test_another_user_gets_nothing(self, fresh_lab: FreshLab) -> None:
        lab = await fresh_lab(settings=EVERYTHING)

        said = await tried(lab)

        judge(said)
        assert {of for of, _ in said} == {*CONTROL_PLANE, "simulator", "sources", "standins"}

    @needs_root
    async def test_another_user_neither_clones_nor_pushes_nor_lists(self, fresh_lab: FreshLab) -> None:
        lab = await fresh_lab(settings=EVERYTHING)
        sources = lab.sources()
        at = await sources.status()
        made = await sources.create_git("me/home", access=OPEN)
        await sources.commit("me/home", {"README": b"hello\n"}, message="first")
        await sources.set_oci_access("", OPEN)
        await sources.push_oci_chart("charts", chart("app", "1.0.0", {}))
        await sources.create_charts("stable")
        await sources.push_chart("stable", chart("app", "1.0.0", {}))
        urls = [f"{at.charts}stable/index.yaml", f"{at.charts}stable/app-1.0.0.tgz", f"http://{at.registry}/v2/_catalog",
                f"http://{at.registry}/v2/charts/app/tags/list"]  # fmt: skip

        ours = [_got(url) for url in urls]
        theirs = strangers.as_stranger(lambda: [_got(url) for url in urls])
        cloned = strangers.as_stranger(lambda: _cloned(made.url))
        pushed = strangers.as_stranger(lambda: _pushed(made.url))

        assert [status for status, _ in ours] == [200] * 4
        assert theirs == [(403, http_serving.REFUSAL)] * 4
        assert _cloned(made.url) == "hello\n"
        assert "403" in cloned
        assert "403" in pushed
        assert (await sources.list_git())[0].refs.keys() == {"refs/heads/main"}


class TestFlux:
    async def test_every_server_is_declared(self, flux: Flux) -> None:
        await flux.running(*CONTROLLERS, *EXTRAS)

        await check(flux.lab, *CONTROL_PLANE, "sources", *CONTROLLERS, *EXTRAS)

    @needs_root
    async def test_another_user_gets_artifacts_and_no_more(self, flux: Flux, space: str) -> None:
        await flux.repository(f"{space}-seen", space, {"a.yaml": config("a", word="one")})
        artifact = (await flux.ready("GitRepository", f"{space}-seen", space))["status"]["artifact"]["url"]

        judge(await tried(flux.lab))

        # It is open, as the docs say: should Flux close it one day, they are to say that instead.
        assert strangers.as_stranger(lambda: _got(artifact)[0]) == 200


class TestArgoCD:
    async def test_every_server_is_declared(self, argocd: ArgoCD) -> None:
        await check(argocd.lab, *CONTROL_PLANE, "sources", "argocd-redis", "argocd-repo-server")

    @needs_root
    async def test_another_user_gets_neither_manifests_nor_the_cache(self, argocd: ArgoCD) -> None:
        said = await tried(argocd.lab)
        redis = next(each for each in await listening.ports(argocd.lab) if each.of == "argocd-redis")

        judge(said)
        assert "CERTIFICATE_REQUIRED" in said["argocd-repo-server", 8081][1]
        assert strangers.as_stranger(lambda: strangers.say(redis.host, redis.port, KEYS)).startswith(b"-NOAUTH")


class TestMachines:
    async def test_bare_ones_have_one_server_each(self, fresh_machines: Make) -> None:
        bare = await fresh_machines(machines=1, workers=1)

        found = await listening.ports(bare.lab)

        assert {(each.of, each.host, each.port) for each in found if each.of == "machine"} == {
            ("machine", loopback, net_of(bare.lab).apid) for loopback in bare.loopbacks.values()
        }

    @needs_root
    async def test_another_user_does_not_configure_a_bare_one(self, fresh_machines: Make) -> None:
        bare = await fresh_machines(machines=1)

        said = await tried(bare.lab)

        assert said["machine", 50000][0] == "refused"
        assert await bare.stranger.version(bare.here("cp-1")), "its own user is let in"

    async def test_every_server_of_a_cluster_is_declared(self, cluster: Cluster) -> None:
        await check(cluster.lab, "machine", *CONTROL_PLANE - {"etcd"})

    @needs_root
    async def test_another_user_gets_nothing_of_a_cluster(self, cluster: Cluster) -> None:
        judge(await tried(cluster.lab))


def _got(url: str) -> tuple[int, str]:
    host, _, path = url.removeprefix("http://").partition("/")
    address, _, port = host.partition(":")
    _, heard = strangers.ask(address, int(port), f"/{path}")
    head, _, body = heard.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode(errors="replace")


def _git(folder: str, *words: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("git")
    assert program is not None
    env = {"HOME": folder, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "PATH": os.defpath}
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    return subprocess.run([program, *who, *words], cwd=folder, env=env, capture_output=True, text=True, check=False)


def _cloned(url: str) -> str:
    """What is in the README of a clone; what git said, if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        answer = _git(folder, "clone", url, "copy")
        readme = Path(folder) / "copy" / "README"
        return readme.read_text() if readme.exists() else answer.stderr


def _pushed(url: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        _git(folder, "init", "-q", ".")
        _git(folder, "commit", "-q", "--allow-empty", "-m", "theirs")
        return _git(folder, "push", url, "HEAD:refs/heads/theirs").stderr
