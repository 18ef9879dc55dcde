"""Everything is lost but the repo and one key: the cluster comes back from these, as it was."""

import base64
import dataclasses
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from firstlight.clients import kube, talosctl
from firstlight.clients.sops import SopsClient
from firstlight.commands.down.down import WIPED
from firstlight.commands.recover import drill
from firstlight.lab import procfs
from firstlight.model.secret import Secret
from firstlight.secrets import age_keys
from firstlight.tools import content as tools_content
from firstlight.tools import install
from tests import runs
from tests.integration.secrets.encrypted_repo import MINE
from tests.labs import until
from tests.recover import killed

pytestmark = pytest.mark.long

KEYS, TOKEN = "talos/secrets.sops.yaml", "secrets/greeter.sops.yaml"
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: notes, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: shelf, resources: {requests: {storage: 1Gi}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: shelf}
provisioner: shelf.example.org
"""
WHOLE = (("apps/v1", "Deployment"), ("apps/v1", "DaemonSet"), ("v1", "ConfigMap"), ("v1", "Secret"))
"""Kinds that are compared field by field."""
MADE = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "ownerReferences")
"""What the API server gives every object anew."""


@dataclasses.dataclass
class Home:
    """A computer with a clone of the repo, and the key to what is encrypted in it."""

    stage: runs.Stage
    clone: Path
    key: str

    async def typed(self, *words: str, with_key: bool = True) -> runs.Told:
        """A command with the user's own means, of which only the way to the machines is the lab's."""
        environ = {name: text for name, text in os.environ.items() if not name.startswith("SOPS_")}
        environ |= {"SOPS_AGE_KEY": self.key} if with_key else {}
        place = self.stage.place
        order = killed.Order(root=str(self.clone), words=words, reach=place.reach, api=place.api)
        return await killed.run(order, environ=environ)

    @property
    def authority(self) -> str:
        """The authority of the machines that the talosconfig here is for."""
        found = yaml.safe_load((self.clone / ".firstlight" / "light" / "talosconfig").read_text())
        return str(found["contexts"][found["context"]]["ca"])

    def cloned(self, into: Path) -> "Home":
        """Another computer, which has nothing but the key and what Git has."""
        url = yaml.safe_load((self.clone / "firstlight.yaml").read_text())["gitops"]["url"]
        shutil.rmtree(self.clone)
        return dataclasses.replace(self, clone=clone(url, into))


def clone(url: str, into: Path) -> Path:
    subprocess.run(["git", "clone", "--quiet", url, str(into)], check=True)
    return into


async def encrypted(sops: Path, content: bytes, path: Path, *, config: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(await SopsClient(sops).encrypt(Secret(content), path, config=config))
    return path


@pytest_asyncio.fixture
async def home(programs: dict[str, Path], tmp_path: Path) -> AsyncIterator[Home]:
    """The light platform with everything secret encrypted in Git, and a claim; brought up from a clone of it."""
    found = programs | await install.ensure([*runs.TOOLS, "sops"])
    manifests = (await tools_content.ensure(["flux-manifests"]))["flux-manifests"]
    files = tmp_path / "files"
    files.mkdir()
    config = files / ".sops.yaml"
    config.write_text(f"creation_rules:\n  - age: {age_keys.recipient(MINE)}\n")
    keys = (await talosctl.Talosctl(found["talosctl"]).gen_secrets()).reveal()
    declared = (runs.PLATFORMS / "light" / "firstlight.yaml").read_text()
    for old, new in (("env:GREETER_TOKEN", f"sops:{TOKEN}#token"), ("path: cluster", f"talosSecrets: sops:{KEYS}")):
        assert old in declared
        declared = declared.replace(old, new if old != "path: cluster" else f"{new}\n    {old}")
    (files / "firstlight.yaml").write_text(declared)
    (files / "claim.yaml").write_text(CLAIM)
    (files / "kustomization.yaml").write_text("resources: [notes.yaml, claim.yaml]\n")
    (files / "ignored").write_text(".firstlight/\n")
    stage = await runs.stage(
        tmp_path / "light", found, machines=runs.MACHINES,
        manifests={
            "cluster/flux-system/gotk-components.yaml": manifests / "install.yaml",
            "firstlight.yaml": files / "firstlight.yaml", ".sops.yaml": config, ".gitignore": files / "ignored",
            "apps/claim.yaml": files / "claim.yaml", "apps/kustomization.yaml": files / "kustomization.yaml",
            KEYS: await encrypted(found["sops"], keys, files / KEYS, config=config),
            TOKEN: await encrypted(found["sops"], b"token: a-word-that-nobody-knows\n", files / TOKEN, config=config),
        },
    )  # fmt: skip
    url = yaml.safe_load((Path(stage.place.root) / "firstlight.yaml").read_text())["gitops"]["url"]
    shutil.rmtree(stage.place.root)
    one = Home(stage, clone(url, tmp_path / "clone"), age_keys.identity(MINE).reveal().decode())
    told = await one.typed("up", "--yes")
    assert told.code == 0, told.out + told.err
    yield one
    await stage.lab.down()
    assert procfs.processes_of(stage.lab.home.path) == (), "the lab left processes behind"


async def test_the_repo_and_the_key_are_enough(home: Home, tmp_path: Path) -> None:
    before, objects, authority = await everything(home), await declared_objects(home), home.authority
    proven = await home.typed("recover", "--do", "rebuild", "--dry-run")
    assert proven.code == 0, proven.out + proven.err
    await wiped(home)

    begun = await home.typed("up", "--yes")

    assert begun.code == 3, begun.out + begun.err
    assert "all its control planes are bare now" in begun.out + begun.err
    assert "firstlight recover light" in begun.out + begun.err

    home = home.cloned(tmp_path / "another")

    refused = await home.typed("recover", "--do", "rebuild", "--yes", with_key=False)

    assert refused.code == 3, refused.out + refused.err
    said = refused.out + refused.err
    assert KEYS in said, said
    assert TOKEN in said, said
    assert not await is_configured(home), "nothing was written"

    told = await home.typed("recover", "--do", "rebuild", "--yes")

    assert told.code == 0, told.out + told.err
    assert "0 writes to the API server" in told.out, told.out
    after = await everything(home)
    assert drill.lost_belongings(before, after) == ()
    assert after.keys() == before.keys(), "and nothing else is there"
    assert await declared_objects(home) == objects
    assert home.authority == authority, "the machines' authority is the same"
    token = await secret(home, "greeter", "greeter-token")
    assert base64.b64decode(token["data"]["token"]) == b"a-word-that-nobody-knows"
    again = await home.typed("recover", "--output", "json")
    assert (again.code, again.data["broken"]) == (0, []), again.out


async def everything(home: Home) -> Mapping[str, str]:
    """Objects, contents of Secrets; claims by whether they are bound, since volumes are not in Git."""
    async with client(home) as one:
        await until(lambda: is_bound(one), "the claim to be bound")
        found = await drill.belongings_of(one)
    return {
        name: digest if not name.startswith("PersistentVolumeClaim ") else ""
        for name, digest in found.items()
        if not name.startswith("PersistentVolume ")
    }


async def is_bound(one: kube.Client) -> bool:
    found = await one.get("v1", "PersistentVolumeClaim", "notes", namespace="default")
    return bool((found.get("status") or {}).get("phase") == "Bound")


async def declared_objects(home: Home) -> Mapping[str, Any]:
    """What Git and bootstrap have brought, whole but for what the API server gives."""
    found = {}
    async with client(home) as one:
        for version, kind in (
            ("apps/v1", "Deployment"),
            ("apps/v1", "DaemonSet"),
            ("v1", "ConfigMap"),
            ("v1", "Secret"),
        ):
            for each in (await one.list(version, kind)).items:
                metadata = each["metadata"]
                if not metadata["name"].startswith(("sh.helm.release", "firstlight-", "talos-")):
                    kept = {name: value for name, value in metadata.items() if name not in MADE}
                    found[f"{kind} {metadata['namespace']}/{metadata['name']}"] = (
                        kept,
                        each.get("spec"),
                        each.get("data"),
                    )
    return found


async def secret(home: Home, namespace: str, name: str) -> Any:
    async with client(home) as one:
        return await one.get("v1", "Secret", name, namespace=namespace)


def client(home: Home) -> kube.Client:
    return kube.Client(kube.load(home.stage.lab.kubeconfig))


async def wiped(home: Home) -> None:
    """All machines, as if their disks were new."""
    config = Secret((home.clone / ".firstlight" / "light" / "talosconfig").read_bytes())
    talos = talosctl.Talosctl(Path(home.stage.place.programs["talosctl"]), talosconfig=config)
    (endpoint,) = home.stage.place.reach.values()
    at = talosctl.MachineTarget.of(endpoint.partition(":")[0], endpoints=[endpoint.partition(":")[0]])
    await talos.reset(at, graceful=False, reboot=True, wipe="system-disk", system_labels=WIPED, wait=False)
    await until(lambda: is_bare(home), "the machine to be bare")


async def is_bare(home: Home) -> bool:
    return not await is_configured(home)


async def is_configured(home: Home) -> bool:
    """Whether a stranger is not let in any more."""
    (endpoint,) = home.stage.place.reach.values()
    at = talosctl.MachineTarget.of(endpoint.partition(":")[0], endpoints=[endpoint.partition(":")[0]])
    try:
        await talosctl.Talosctl(Path(home.stage.place.programs["talosctl"]), insecure=True).disks(at)
    except talosctl.TalosError:
        return True
    return False
