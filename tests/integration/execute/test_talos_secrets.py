"""Talos secrets are made once in the life of a cluster, and belong to one cluster."""

import asyncio
import dataclasses
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.execute import talos_secrets
from firstlight.journal import state_files
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.secrets import age_keys, talos_bundle
from firstlight.secrets.secret_resolver import SecretResolver
from firstlight.tools import install
from tests.integration.secrets.encrypted_repo import BUNDLE, MINE, EncryptedRepo

HERE = Place("firstlight.yaml", 1)
KEPT = "talos/prod/secrets.sops.yaml"


@pytest_asyncio.fixture(scope="module")
async def programs() -> dict[str, Path]:
    return dict(await install.ensure(["sops", "talosctl"]))


@dataclasses.dataclass
class Bench:
    """A repo with Git and sops, and clusters in it."""

    repo: EncryptedRepo
    programs: dict[str, Path]

    @property
    def root(self) -> Path:
        return self.repo.root

    async def of(self, *clusters: Cluster, keep: bool = True) -> Secret:
        """The secrets of the first cluster."""
        platform = Platform(name="x", root=self.root, engine=None, clusters=clusters, components=())
        making = talos_secrets.TalosSecretsMaker(
            talosctl=self.programs["talosctl"], sops=self.programs["sops"], git=Path(shutil.which("git") or ""),
            state=self.root / ".firstlight", keep=keep, patience=0.0,
        )  # fmt: skip
        resolver = SecretResolver(self.root, sops=self.programs["sops"], environ=self.repo.environ)
        return await talos_secrets.talos_secrets_of(clusters[0], platform, resolve=resolver.resolve, making=making)

    async def check(self, *clusters: Cluster) -> None:
        """What is asked before a run."""
        platform = Platform(name="x", root=self.root, engine=None, clusters=clusters, components=())
        making = talos_secrets.TalosSecretsMaker(
            talosctl=self.programs["talosctl"], sops=self.programs["sops"], git=Path(shutil.which("git") or ""),
            state=self.root / ".firstlight", patience=0.0,
        )  # fmt: skip
        resolver = SecretResolver(self.root, sops=self.programs["sops"], environ=self.repo.environ)
        await talos_secrets.check_talos_secrets(clusters[0], platform, resolve=resolver.resolve, making=making)

    def git(self, *arguments: str) -> None:
        identity = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1", **identity}
        subprocess.run(["git", *arguments], cwd=self.root, env=env, check=True, capture_output=True)


@pytest.fixture
def bench(programs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("SOPS_AGE_KEY", age_keys.identity(MINE).reveal().decode())
    made = Bench(EncryptedRepo(tmp_path, programs["sops"]), programs)
    made.git("init", "--quiet")
    return made


def cluster(name: str = "prod", *, secrets: str = "", address: str = "", role: str = "controlplane") -> Cluster:
    machine = Machine(name=f"{name}-1", role=MachineRole(role), place=HERE, address=address)
    return Cluster(name=name, place=HERE, machines=(machine,) if address else (), talos_secrets=secrets)


async def test_they_are_made_once_and_read_again(bench: Bench) -> None:
    made = await bench.of(cluster())
    again = await bench.of(cluster())

    assert (bench.root / "prod.secrets.sops.yaml").is_file()
    assert talos_bundle.cluster_id(made) == talos_bundle.cluster_id(again) != ""


@pytest.mark.parametrize("how", ["rm", "git rm", "git rm, elsewhere", "declared"])
async def test_a_file_that_git_knows_is_not_made_anew(bench: Bench, how: str) -> None:
    bench.repo.encrypt(KEPT, BUNDLE)
    kept = [KEPT]
    if how == "git rm, elsewhere":  # what would be made now has another name than what was there
        (bench.root / KEPT).unlink()
        kept = ["prod.secrets.sops.yaml"]
        bench.repo.encrypt(kept[0], BUNDLE)
        (bench.root / "talos" / "notes").touch()
    bench.git("add", "--all")
    bench.git("commit", "--quiet", "--message=x")
    bench.git("rm", "--quiet", *kept) if how.startswith("git") else (bench.root / KEPT).unlink()

    for keep in (True, False):
        with pytest.raises(errors.Refused, match=f"{kept[0]}: Git has the Talos secrets of prod") as caught:
            await bench.of(cluster(secrets=f"sops:{KEPT}" if how == "declared" else ""), keep=keep)

    assert f"git checkout HEAD -- {kept[0]}" in caught.value.hint
    assert not list(bench.root.rglob("*secrets.sops.yaml"))


async def test_before_a_run_it_is_said_that_they_could_not_be_kept(bench: Bench) -> None:
    await bench.check(cluster())
    rules = (bench.root / ".sops.yaml").read_text()
    (bench.root / ".sops.yaml").unlink()

    with pytest.raises(errors.Refused, match=r"there is no \.sops\.yaml"):
        await bench.check(cluster())
    (bench.root / ".sops.yaml").write_text(rules)
    bench.repo.encrypt(KEPT, BUNDLE)
    await bench.check(cluster(secrets=f"sops:{KEPT}"))

    assert [str(each.relative_to(bench.root)) for each in bench.root.rglob("*secrets.sops.yaml")] == [KEPT]


async def test_a_cluster_that_was_seen_before_gets_no_others(bench: Bench) -> None:
    state = bench.root / ".firstlight" / "prod"
    state_files.enter(state / "identity.json")
    (state / "identity.json").write_text('{"kubeSystem": "1111-2222"}')

    with pytest.raises(errors.Refused, match=r"the cluster was seen before .*1111-2222") as caught:
        await bench.of(cluster(secrets="sops:secrets/prod.sops.yaml"))

    assert "identity.json" in caught.value.hint
    assert not (bench.root / "secrets").exists()


async def test_a_control_plane_that_does_not_answer_holds_them_up_and_a_worker_does_not(bench: Bench) -> None:
    """It may run with secrets that are only missing here."""
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()

    with pytest.raises(errors.Refused, match="new ones are not made: prod-1 does not answer"):
        await bench.of(cluster(address=f"127.0.0.1:{port}"))
    before = list(bench.root.rglob("*secrets.sops.yaml"))
    await bench.of(cluster(address=f"127.0.0.1:{port}", role="worker"))

    assert before == []
    assert [each.name for each in bench.root.rglob("*secrets.sops.yaml")] == ["prod.secrets.sops.yaml"]


async def test_a_key_of_a_file_is_not_made(bench: Bench) -> None:
    with pytest.raises(errors.Refused, match="only as a file of their own"):
        await bench.of(cluster(secrets="sops:all.sops.yaml#prod.talos"))

    assert not list(bench.root.glob("all*"))


async def test_two_clusters_of_one_file_have_their_own(bench: Bench) -> None:
    (bench.root / "firstlight.yaml").touch()
    prod, staging = cluster("prod", address="10.0.0.1"), cluster("staging", address="10.0.1.1")

    found = [await bench.of(*both, keep=False) for both in ((prod, staging), (staging, prod))]

    assert talos_secrets.reference_of(prod, bench.root) == "sops:prod.secrets.sops.yaml"
    assert talos_secrets.reference_of(staging, bench.root) == "sops:staging.secrets.sops.yaml"
    assert len({talos_bundle.cluster_id(each) for each in found}) == 2


async def test_two_clusters_do_not_share_a_file_or_a_copy_of_one(bench: Bench) -> None:
    bench.repo.encrypt("one.sops.yaml", BUNDLE)
    bench.repo.encrypt("copy.sops.yaml", BUNDLE)
    bench.repo.encrypt("other.sops.yaml", BUNDLE.replace("aWRl", "b3Ro"))
    prod = cluster("prod", secrets="sops:one.sops.yaml")

    with pytest.raises(
        errors.Refused, match=r"prod and staging would share .*: both have theirs in sops:one.sops.yaml"
    ):
        await bench.of(prod, cluster("staging", secrets="sops:one.sops.yaml"))
    with pytest.raises(errors.Refused, match=r"prod and staging would share .*copy.sops.yaml has the same cluster\.id"):
        await bench.of(prod, cluster("staging", secrets="sops:copy.sops.yaml"))

    assert await bench.of(prod, cluster("a", secrets="sops:other.sops.yaml"), cluster("b", secrets="sops:none.yaml"))
