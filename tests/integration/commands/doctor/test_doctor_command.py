"""The command itself on the lab: what it prints, its exit codes, and an archive with nothing secret in it."""

import gzip
import json
import os
import stat
import sys
from pathlib import Path

import yaml

from firstlight.clients import command
from firstlight.clients import kube as clients_kube
from firstlight.commands.doctor import examine
from firstlight.lab.running_lab import Lab
from firstlight.model.cluster import Cluster
from firstlight.model.override import Emergency, Override, OverrideStanding
from firstlight.model.place import Place
from tests.doctor.things import deployment
from tests.labs import until

CANARY = "c4n4ryXq9Zt7Wp3"


async def doctor(*words: str, cwd: Path) -> tuple[int, str, str]:
    """The exit code, standard output and standard error."""
    argv = [sys.executable, "-m", "firstlight", "doctor", *words]
    done = await command.run(argv, env={**os.environ, "COLUMNS": "110"}, cwd=cwd, check=False, timeout=60)
    return done.code, done.stdout.decode(), done.stderr


async def test_a_namespace_is_diagnosed_and_bundled(
    lab: Lab, kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": namespace}}
    await kube.apply({**secret, "stringData": {"word": f"{CANARY} in a Secret"}}, manager="tests")
    web = deployment("web", namespace, image="example.org/broken:1")
    container = web["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "GREETING", "value": CANARY}]
    container["args"] = [f"--password={CANARY}", f"postgres://shop:{CANARY}@db"]
    web["metadata"]["annotations"] = {"example.org/note": CANARY, "argocd.argoproj.io/note": f"{CANARY} in a Secret"}
    await kube.apply(web, manager="tests")
    await until(lambda: _is_pulled_in_vain(kube, namespace), "the pull to fail")
    archive, way = tmp_path / "bug.tar.gz", ["--kubeconfig", str(lab.kubeconfig)]

    code, out, err = await doctor(*way, namespace, "-o", "json", "--bundle", str(archive), cwd=tmp_path)

    found = json.loads(out)
    assert code == 1, err
    assert found["asked"] == namespace
    assert found["causes"][0]["code"] == "image-pull"
    assert found["causes"][0]["subject"] == f"Deployment {namespace}/web"
    assert CANARY not in out + err
    raw = gzip.decompress(archive.read_bytes())
    assert CANARY.encode() not in raw
    assert b"YzRuNHJ5" not in raw
    assert f'"namespace": "{namespace}"'.encode() in raw
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600

    code, out, _ = await doctor(*way, f"{namespace}/web", cwd=tmp_path)

    assert code == 1
    assert f"✘ Deployment {namespace}/web: image pull back-off: example.org/broken:1" in out
    assert f"kubectl -n {namespace} describe pod web-" in out
    assert "not seen    machines: none are declared here" in out


async def test_a_fine_namespace_an_unknown_one_and_nothing_to_look_at(
    lab: Lab, kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    way = ["--kubeconfig", str(lab.kubeconfig)]
    config = yaml.safe_load(lab.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    (tmp_path / "gone").write_text(yaml.safe_dump(config))

    fine = await doctor(*way, namespace, cwd=tmp_path)
    unknown = await doctor(*way, f"{namespace}x", cwd=tmp_path)
    blind = await doctor("--kubeconfig", str(tmp_path / "gone"), cwd=tmp_path)

    assert fine[0] == 0, fine
    assert f"✔ nothing is wrong with {namespace}" in fine[1]
    assert unknown[0] == 64
    assert f"error: nothing is called {namespace}x\n  There is {namespace}" in unknown[2]
    assert blind[0] == 3
    assert "nothing could be looked at" in blind[1]
    assert "✘ the Kubernetes API" in blind[1] or "Kubernetes API" in blind[1]


async def test_copies_of_overrides_count_only_where_the_cluster_does_not_tell(kube: clients_kube.Client) -> None:
    copy = Override(
        id="20261116t200000z-ab12", cluster="lab", emergency=Emergency.OUTAGE, reason="down", who="ann", begun=0.0,
        until=100.0, standing=OverrideStanding.OPEN, scope=(),
    )  # fmt: skip
    known = examine.DeclaredCluster(cluster=Cluster(name="lab", place=Place("tests")), overrides=(copy,))

    assert copy not in (await examine.look(known, examine.DoctorAccess(client=kube))).overrides
    assert (await examine.look(known, examine.DoctorAccess())).overrides == (copy,)


async def _is_pulled_in_vain(client: clients_kube.Client, space: str) -> bool:
    pods = (await client.list("v1", "Pod", namespace=space)).items
    states = [each for pod in pods for each in pod["status"].get("containerStatuses") or ()]
    return any(each["state"].get("waiting", {}).get("reason") == "ImagePullBackOff" for each in states)
