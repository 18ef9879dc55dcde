"""The archive of a bug report: canaries wherever a secret may stand, and none of them among its bytes."""

import asyncio
import base64
import gzip
import io
import json
import os
import stat
import tarfile
from pathlib import Path
from typing import Any, cast

import hypothesis
import hypothesis.strategies as st
import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.doctor import bundle, examine
from firstlight.commands.doctor.symptoms import Diagnosis, RootCause, Symptom, SymptomLayer
from firstlight.execute.masks import Masks
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.machine import TalosDiagnostic, TalosServiceState
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.place import Place
from firstlight.model.secret import Secret
from firstlight.observe.cluster import machine_survey, secret_masking
from firstlight.observe.cluster.observation import ApiObservation, ClusterObservation, MachineObservation

CANARY = "c4n4ryXq9Zt7Wp3"
KEY = f"-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49{CANARY}\n{CANARY}Q2Vu\n-----END PRIVATE KEY-----"
AGE = f"AGE-SECRET-KEY-1{CANARY.upper()}QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
JWT = f"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ{CANARY}.sig{CANARY}"
PLACE = Place("firstlight.yaml")


def pod(**container: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "web", "image": "web:1", **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}, "spec": spec}


def noted(**annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "annotations": annotations},
    }


def said(message: str) -> dict[str, Any]:
    return {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "home", "namespace": "flux-system"},
        "spec": {"url": f"https://robot:{CANARY}@git.example.org/home"},
        "status": {"conditions": [{"type": "Ready", "status": "False", "message": message}]},
    }


OBJECTS: dict[str, dict[str, Any]] = {
    "an environment variable": pod(env=[{"name": "GREETING", "value": CANARY}]),
    "an environment variable with the name of a secret": pod(env=[{"name": "DB_PASSWORD", "value": CANARY}]),
    "an argument": pod(args=[f"--password={CANARY}", "--token", CANARY]),
    "a command": pod(command=["sh", "-c", f"curl -u admin:{CANARY} https://x; PGPASSWORD={CANARY} psql"]),
    "a URL in an argument": pod(args=[f"--database=postgres://shop:{CANARY}@db/shop"]),
    "a probe's header": pod(livenessProbe={"httpGet": {"httpHeaders": [{"name": "Authorization", "value": CANARY}]}}),
    "an unknown annotation": noted(**{"example.org/config": CANARY}),
    "what was last applied": noted(**{"kubectl.kubernetes.io/last-applied-configuration": f'{{"a":"{CANARY}"}}'}),
    "a known annotation": noted(**{"fluxcd.io/note": f"https://u:{CANARY}@example.org"}),
    "managed fields": {
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "b", "managedFields": [
            {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:data": {f"v:{CANARY}": {}}}}]},
    },
    "a ConfigMap": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"plain": CANARY},
                    "binaryData": {"b": base64.b64encode(CANARY.encode()).decode()}},
    "a Secret that came through": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
                                   "type": "Opaque", "keys": ["password"], "data": {"password": CANARY},
                                   "stringData": {"password": CANARY}},
    "a condition with a URL": said(f"cannot clone https://robot:{CANARY}@git.example.org/home: 401"),
    "a condition with a header": said(f"401 for Authorization: Bearer {CANARY}"),
    "a condition with a bare token": said(f"sent Bearer {CANARY} and was refused"),
    "a condition with a key": said(f"cannot parse {KEY}"),
    "a condition with a key of age": said(f"no identity matches {AGE}"),
    "a condition with a token of a service account": said(f"invalid token {JWT}"),
    "values of a chart": {
        "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "a", "namespace": "b"},
        "spec": {"values": {"greeting": CANARY, "list": [CANARY, {"name": CANARY}], "number": 1}},
    },
    "values of an Application": {
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a", "namespace": "argocd"},
        "spec": {"source": {"helm": {"values": f"greeting: {CANARY}", "valuesObject": {"a": CANARY},
                                     "parameters": [{"name": "a", "value": CANARY}]}}},
    },
    "substitutions": {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "a", "namespace": "b"}, "spec": {"postBuild": {"substitute": {"a": CANARY}}},
    },
}  # fmt: skip

LINES = {
    "a password in JSON": f'{{"level":"error","password":"{CANARY}","msg":"x"}}',
    "a password as a setting": f"dial failed password={CANARY} host=db",
    "a URL": f"cannot reach amqp://guest:{CANARY}@queue:5672/",
    "a header": f"> Authorization: Bearer {CANARY}",
    "a cookie": f"Set-Cookie: session={CANARY}; Path=/",
    "a key on one line": KEY.replace("\n", "\\n"),
    "a key of age": AGE,
    "a token of a service account": f"token={JWT}",
    "a DSN": f"connect shop:{CANARY}@db:5432 failed",
}


def scene(*objects: dict[str, Any], logs: tuple[str, ...] = (), **more: Any) -> ClusterObservation:
    return ClusterObservation(
        cluster=Cluster(name="home", place=PLACE), now=1_800_000_000.0, objects=objects,
        logs={"shop/web/web": logs} if logs else {}, api=ApiObservation(is_reached=True), **more,
    )  # fmt: skip


def contents(one: ClusterObservation, **more: Any) -> bundle.BundleContents:
    return bundle.BundleContents(scene=one, diagnosis=Diagnosis(cluster="home", causes=()), versions={}, **more)


def leaks(files: dict[str, bytes]) -> list[str]:
    encoded = base64.b64encode(CANARY.encode())[:-2]
    return [
        name for name, raw in files.items() if CANARY.encode().lower() in raw.lower() or encoded in raw
    ]  # fmt: skip


@pytest.mark.parametrize("where", OBJECTS)
def test_objects(where: str) -> None:
    one = OBJECTS[where]

    files = bundle.files(contents(scene(one)), Masks())

    assert leaks(files) == []
    assert any(name.startswith("objects/") and one["metadata"]["name"].encode() in raw for name, raw in files.items())


@pytest.mark.parametrize("where", LINES)
def test_lines(where: str) -> None:
    """The same in a log, an event, a journal, firstlight.yaml, the kernel's log, and a symptom's evidence."""
    line = LINES[where]
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "shop"}, "message": line}
    found = scene(logs=("started", line, "ended"), events=(event,), machines=(machine(line),), unseen=(f"x: {line}",))

    files = bundle.files(contents(found), Masks())

    assert leaks(files) == []
    assert b"started" in files["logs/shop_web_web.txt"]
    assert b"ended" in files["logs/shop_web_web.txt"]


def test_files(tmp_path: Path) -> None:
    journal, declared = tmp_path / "run.jsonl", tmp_path / "firstlight.yaml"
    for path in (journal, declared):
        path.write_text("\n".join(["first", *LINES.values(), "last"]))

    files = bundle.files(contents(scene(), runs=(journal,), declared=declared), Masks())

    assert leaks(files) == []
    for name in ("runs/run.jsonl", "firstlight.yaml"):
        assert files[name].startswith(b"first\n")
        assert files[name].endswith(b"last\n")


def test_a_key_on_several_lines_is_masked_to_its_end() -> None:
    found = scene(logs=("before", *KEY.split("\n"), "after"))

    files = bundle.files(contents(found), Masks())

    assert leaks(files) == []
    assert files["logs/shop_web_web.txt"].decode().split() == ["before", "•••", "after"]


def test_a_value_of_a_secret_is_masked_wherever_it_stands() -> None:
    """Nothing about it looks like a secret; but the cluster's Secrets hold it."""
    value = "correct horse battery staple"
    masks = Masks()
    masks.add(Secret(value))
    found = scene(said(f"refused: {value}"), logs=(f"I say {value}",))

    files = bundle.files(contents(found), masks)

    assert not any(value.encode() in raw for raw in files.values())


@hypothesis.given(
    value=st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=8, max_size=30).map(
        lambda text: f"{CANARY}{text.strip()}{CANARY}"
    ),
    before=st.text(max_size=5),
)
def test_a_value_of_a_secret_is_masked_however_it_is_written(value: str, before: str) -> None:
    masks = Masks()
    bundle.hide(masks, value)
    found = scene(said(f"{before}{value} refused"), logs=(f"{before} {value}", f'{{"a":{json.dumps(value)}}}'))

    files = bundle.files(contents(found), masks)

    assert leaks(files) == []


_LEAVES = st.sampled_from([CANARY, f"{CANARY} and more", [CANARY], {"a": CANARY}, 7, True, None])
_TREES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)


@hypothesis.given(
    tree=_TREES, where=st.sampled_from(["values", "env", "data", "annotations", "fieldsV1", "substitute"])
)
def test_nothing_that_people_give_their_software_to_work_with_is_in_it(tree: Any, where: str) -> None:
    one: dict[str, Any] = {
        "apiVersion": "a.example.org/v1",
        "kind": "Thing",
        "metadata": {"name": "a", "namespace": "b"},
    }
    match where:
        case "data":
            one["data"] = {"a": tree, "b": CANARY}
        case "annotations":
            one["metadata"]["annotations"] = {"example.org/a": tree}
        case "fieldsV1":
            one["metadata"]["managedFields"] = [{"manager": "m", "fieldsV1": tree}]
        case "env":
            one["spec"] = {"template": {"spec": {"containers": [{"name": "c", "env": tree}]}}}
        case _:
            one["spec"] = {"deep": [{where: tree}]}

    assert leaks(bundle.files(contents(scene(one)), Masks())) == []


def test_names_of_objects_are_no_secrets() -> None:
    assert {"web", "shop", "Deployment"} <= bundle.names([noted()])


def test_keys_of_a_talosconfig_are_masked() -> None:
    masks = Masks()
    config = f"context: home\ncontexts: {{home: {{key: {base64.b64encode(KEY.encode()).decode()}, ca: abc}}}}"
    bundle.remember_talosconfig(masks, Secret(config))

    assert CANARY not in masks.masked(base64.b64encode(KEY.encode()).decode())
    assert masks.masked(base64.b64encode(KEY.encode()).decode()) == "•••"


def test_a_diagnosis_is_masked() -> None:
    symptom = Symptom(
        code="r", severity=Severity.ERROR, layer=SymptomLayer.SOURCE, subject="GitRepository a/b",
        message=f"cannot clone https://u:{CANARY}@x/",
        evidence=tuple(Evidence(where="log", text=each) for each in LINES.values()),
    )  # fmt: skip
    found = examine.masked_diagnosis(
        Diagnosis(cluster="home", causes=(RootCause(symptom=symptom, effects=(symptom,)),))
    )

    assert CANARY not in repr(found)
    assert "cannot clone https://x/" in repr(found)


def test_of_a_machine_config_only_disks_and_interfaces_are_kept() -> None:
    document = {
        "machine": {
            "token": CANARY, "ca": {"key": CANARY}, "install": {"disk": "/dev/sda"}, "env": {"PROXY": CANARY},
            "files": [{"content": CANARY}], "registries": {"config": {"x": {"auth": {"password": CANARY}}}},
            "network": {"interfaces": [{"interface": "wg0", "wireguard": {"privateKey": CANARY}, "dhcp": True}]},
            "kubelet": {"nodeIP": {"validSubnets": ["10.0.0.0/8"]}, "extraArgs": {"token": CANARY}},
        },
        "cluster": {"secret": CANARY},
    }  # fmt: skip
    found = machine_survey.kept(document)

    assert CANARY not in repr(found)
    assert found["machine"]["install"] == {"disk": "/dev/sda"}
    assert found["machine"]["network"]["interfaces"][0]["interface"] == "wg0"
    assert (
        machine_survey.kept({"apiVersion": "v1alpha1", "kind": "ExtensionServiceConfig", "environment": [CANARY]}) == {}
    )


def test_it_is_whole_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "bug.tar.gz"
    path.write_bytes(b"an older one")
    path.chmod(0o644)

    size = bundle.write(path, contents(scene(noted())), Masks())

    assert path.stat().st_size == size
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(path.read_bytes()))) as archive:
        names = archive.getnames()
    assert "firstlight-doctor/README.txt" in names
    assert "firstlight-doctor/objects/apps_Deployment.json" in names
    assert os.listdir(tmp_path) == ["bug.tar.gz"]


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bug.tar.gz"
    path.write_bytes(b"an older one")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(errors.FirstlightError, match="No space left"):
        bundle.write(path, contents(scene()), Masks())

    assert os.listdir(tmp_path) == ["bug.tar.gz"]
    assert path.read_bytes() == b"an older one"


def machine(line: str) -> MachineObservation:
    one = Machine(name="cp-1", role=MachineRole.CONTROL_PLANE, place=PLACE, address="10.5.0.2")
    return MachineObservation(
        report=MachineReport(machine=one, standing=MachineStanding.OURS, unmet=(line,), why=line),
        services=(
            TalosServiceState(
                node="cp-1", id="etcd", state="Failed", is_healthy=False, last_event=line, last_change=1.0
            ),
        ),
        diagnostics=(TalosDiagnostic(message=line, details=(line,)),),
        dmesg=(line,),
    )


PLAIN = (
    'Kustomization shop/secrets: secrets "age" not found',
    "Secret shop/password: it has no key tls.crt",
    'Back-off pulling image "example.org/web:1"',
    "GitRepository flux-system/home (ssh://git@example.org/home, main): authentication required",
    "0/3 nodes are available: 3 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }",
    "dial tcp 10.96.0.10:53: i/o timeout",
)


@pytest.mark.parametrize("said_so", PLAIN)
def test_plain_sentences_stay(said_so: str) -> None:
    assert secret_masking.line(said_so) == said_so


async def test_secrets_that_cannot_be_read_leave_nothing_running() -> None:
    running: list[str] = []

    class Api:
        async def list(self, version: str, kind: str, **_: Any) -> None:
            if kind == "Secret":
                raise errors.Unreachable("nothing answers", target="lab")
            running.append(kind)
            try:
                await asyncio.Event().wait()
            finally:
                running.remove(kind)

    assert not await bundle.remember(cast(kube.Client, Api()), Masks())
    assert running == []
