"""The checks of a decision on a real API server: dry runs that store nothing, room, health, answers, live objects."""

import json
import shutil
import stat
import textwrap
import uuid
from pathlib import Path
from typing import Any

import yaml

from firstlight.clients import command
from firstlight.clients import kube as clients_kube
from firstlight.clients.git import Git
from firstlight.commands.decide.checks import checklist, health, impact, security, syntax
from firstlight.commands.decide.checks.check_input import CheckInput, CommitRange
from firstlight.model.decision import ChangeCheck, CheckState, Decision, Moment
from firstlight.tools import install
from tests import flux as tests_flux
from tests.labs import until
from tests.unit.commands.decide import scenes

DECLARED = scenes.DECLARED.replace("gitops: {engine: flux}\n", "").replace("{path: clusters/home}", "{role: infra}")
SERVICE = """\
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: %s}
spec: {selector: {app: %s}, ports: [{port: 80}]}
"""


def repo(namespace: str, manifests: str = "") -> dict[str, str]:
    """A repo whose one component a script applies, so that no engine is needed."""
    return {
        "firstlight.yaml": DECLARED,
        "Taskfile.yml": "version: '3'\ntasks:\n  web:\n    cmds: [kubectl apply -f apps/web]\n",
        "apps/web/web.yaml": manifests or scenes.deployment(namespace=namespace),
    }


def made(
    at: Path, kube: clients_kube.Client, before: str, after: str, *, namespace: str
) -> tuple[Decision, CheckInput]:
    return scenes.made(
        at / "made", {"apps/web/web.yaml": after}, before=repo(namespace, before), client=kube, cluster="home",
        state=at / ".firstlight", is_offline=True,
    )  # fmt: skip


async def run(made: tuple[Decision, CheckInput], moment: Moment) -> dict[str, ChangeCheck]:
    return {each.id: each for each in await checklist.run(made[0], moment, made[1])}


async def apply(kube: clients_kube.Client, manifests: str) -> None:
    for each in yaml.load_all(manifests, Loader=yaml.CSafeLoader):
        await kube.apply(each, manager="tests")


async def is_available(kube: clients_kube.Client, namespace: str, name: str = "web") -> bool:
    found = await kube.get("apps/v1", "Deployment", name, namespace=namespace)
    return bool(found.get("status", {}).get("availableReplicas"))


async def names(kube: clients_kube.Client, namespace: str) -> set[str]:
    return {
        f"{kind} {each['metadata']['name']} {each['metadata']['resourceVersion']}"
        for version, kind in (("apps/v1", "Deployment"), ("v1", "Service"))
        for each in (await kube.list(version, kind, namespace=namespace)).items
    }


async def test_before_a_change_that_is_well(kube: clients_kube.Client, namespace: str, tmp_path: Path) -> None:
    before = scenes.deployment(namespace=namespace)
    await apply(kube, before)
    await until(lambda: is_available(kube, namespace), "the Deployment")
    there = await names(kube, namespace)

    after = scenes.deployment(namespace=namespace, cpu="200m", image="web:1.1.0") + SERVICE % (namespace, "web")
    checks = await run(made(tmp_path, kube, before, after, namespace=namespace), Moment.PRE)

    assert checks["syntax"].state == CheckState.PASSED
    assert "the API server accepts 2 objects in a dry run" in checks["syntax"].says
    assert checks["resources"].state == CheckState.PASSED
    assert checks["resources"].says.startswith("the change asks for 100m CPU more, and ")
    assert checks["baseline"].state == CheckState.PASSED
    assert await names(kube, namespace) == there, "a dry run has written something"
    (kept,) = (tmp_path / ".firstlight" / "decide").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    data = json.loads(kept.read_bytes())
    assert set(data) == {"uid", "restarts", "api", "probes"}
    assert len(data["restarts"]) == 1


async def test_before_a_change_that_the_server_refuses(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    before = scenes.deployment(namespace=namespace)
    await apply(kube, before)
    large = scenes.deployment("big", namespace=namespace, cpu="4000")
    service = SERVICE.replace("port: 80", "port: 800000") % (namespace, "web")
    after = f"{before.replace('replicas: 1', 'replicaz: 1')}---\n{large}{service}"

    checks = await run(made(tmp_path, kube, before, after, namespace=namespace), Moment.PRE)

    told = [each for each in checks["syntax"].details if "refuses" in each]
    assert checks["syntax"].state == CheckState.FAILED
    assert any(f"Deployment {namespace}/web" in each and "replicaz" in each for each in told)
    assert any(f"Service {namespace}/web" in each for each in told)
    assert checks["resources"].state == CheckState.FAILED
    assert f"a pod of Deployment {namespace}/big asks for 4000 CPU" in checks["resources"].says
    assert len(await names(kube, namespace)) == 1


async def test_a_namespace_and_a_kind_that_come_with_the_change(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    before = scenes.deployment(namespace=namespace)
    after = before + textwrap.dedent(
        f"""\
        ---
        apiVersion: v1
        kind: Namespace
        metadata: {{name: {namespace}-new}}
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata: {{name: one, namespace: {namespace}-new}}
        ---
        apiVersion: example.org/v1
        kind: Box
        metadata: {{name: one, namespace: {namespace}}}
        """
    )

    checks = await run(made(tmp_path, kube, before, after, namespace=namespace), Moment.PRE)

    assert checks["syntax"].state == CheckState.PASSED, checks["syntax"]
    assert any("the API server does not know it yet" in each for each in checks["syntax"].details)


async def test_after_a_change_that_is_well(kube: clients_kube.Client, namespace: str, tmp_path: Path) -> None:
    before = scenes.deployment(namespace=namespace)
    after = scenes.deployment(namespace=namespace, cpu="200m") + SERVICE % (namespace, "web")
    change = made(tmp_path, kube, before, after, namespace=namespace)
    await apply(kube, before)
    await until(lambda: is_available(kube, namespace), "the Deployment")
    await run(change, Moment.PRE)
    await apply(kube, after)

    async def is_well() -> bool:
        return all(
            each.state == CheckState.PASSED for each in (await run(change, Moment.POST)).values() if each.id in told
        )

    told = ("health", "function", "performance", "security-posture")
    await until(is_well, "all checks to pass")
    checks = await run(change, Moment.POST)
    assert f"Services with ready endpoints: {namespace}/web (1)" in checks["function"].says
    assert checks["performance"].says.startswith("1 pod without a new restart; the API answers in ")


async def test_after_a_change_that_is_not(kube: clients_kube.Client, namespace: str, tmp_path: Path) -> None:
    before = scenes.deployment(namespace=namespace)
    after = scenes.deployment(namespace=namespace, image="example.org/broken:1") + SERVICE % (namespace, "nobody")
    change = made(tmp_path, kube, before, after, namespace=namespace)
    live: Any = [*yaml.load_all(after, Loader=yaml.CSafeLoader)]
    live[0]["spec"]["template"]["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    for each in live:
        await kube.apply(each, manager="tests")

    checks = await run(change, Moment.POST)

    assert checks["health"].state == CheckState.FAILED
    assert checks["health"].says.startswith("web is not there yet: web")
    assert checks["function"].state == CheckState.FAILED
    assert f"nobody answers for Service {namespace}/web" in checks["function"].says
    assert checks["performance"].state == CheckState.PERSON
    assert "there is no baseline" in checks["performance"].says
    assert checks["security-posture"].state == CheckState.FAILED
    assert "container web is privileged, which Git does not say" in checks["security-posture"].says


async def test_who_uses_a_kind_that_goes(kube: clients_kube.Client, namespace: str, tmp_path: Path) -> None:
    group = f"{namespace}.example.org"
    crd = textwrap.dedent(
        f"""\
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {{name: boxes.{group}}}
        spec:
          group: {group}
          scope: Namespaced
          names: {{kind: Box, plural: boxes}}
          versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}]
        """
    )
    box = {"apiVersion": f"{group}/v1", "kind": "Box", "metadata": {"name": "one", "namespace": namespace}}
    deployment = scenes.deployment(namespace=namespace)
    decision, scene = made(tmp_path, kube, f"{deployment}---\n{crd}", deployment, namespace=namespace)
    await apply(kube, crd)

    async def is_served() -> bool:
        try:
            await kube.apply(box, manager="tests")
        except (clients_kube.UnknownKind, clients_kube.NotFound):
            await kube.catalog(refresh=True)
            return False
        return True

    try:
        await until(is_served, "the kind")
        (found,) = await impact.kinds_in_use(decision, scene)
        assert found.state == CheckState.FAILED
        assert f"1 objects of kind Box go with CustomResourceDefinition boxes.{group}: {namespace}/one" in found.message
    finally:
        await kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"boxes.{group}")


async def test_how_the_cluster_stands(kube: clients_kube.Client, namespace: str, tmp_path: Path) -> None:
    before = scenes.deployment(namespace=namespace)
    decision, scene = made(tmp_path, kube, before, before.replace("100m", "200m"), namespace=namespace)

    assert [each.state for each in await health.nodes_joined(decision, scene)] == [CheckState.PASSED]
    assert [each.state for each in await health.certificates_issued(decision, scene)] == [CheckState.SKIPPED]
    assert [each.state for each in await security.look(decision, scene)] == [CheckState.PASSED]


async def test_a_baseline_that_somebody_else_has_written(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    before = scenes.deployment(namespace=namespace)
    change = made(tmp_path, kube, before, before.replace("100m", "200m"), namespace=namespace)
    assert (await run(change, Moment.PRE))["baseline"].state == CheckState.PASSED
    (kept,) = (tmp_path / ".firstlight" / "decide").iterdir()

    kept.write_text("{]")
    broken = (await run(change, Moment.POST))["performance"]
    kept.unlink()
    (tmp_path / "elsewhere").write_text("precious")
    kept.symlink_to(tmp_path / "elsewhere")
    linked = (await run(change, Moment.POST))["performance"], (await run(change, Moment.PRE))["baseline"]

    assert (broken.state, "there is no baseline" in broken.says) == (CheckState.PERSON, True)
    assert [each.state for each in linked] == [CheckState.FAILED] * 2
    assert all("is a link" in each.says for each in linked)
    assert (tmp_path / "elsewhere").read_text() == "precious"


async def test_volumes_of_claims_that_go(kube: clients_kube.Client, namespace: str, tmp_path: Path) -> None:
    deployment = scenes.deployment(namespace=namespace)
    spec = "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: '', volumeName: %s}"
    claims = [
        f"---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec: {spec % f'{namespace}-{name}'}\n"
        for name in ("kept", "lost")
    ]
    before = deployment + "".join(claims)
    decision, scene = made(tmp_path, kube, before, deployment, namespace=namespace)
    for name, policy in (("kept", "Retain"), ("lost", "Delete")):
        volume = {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"},
            "persistentVolumeReclaimPolicy": policy, "storageClassName": "",
        }  # fmt: skip
        metadata = {"name": f"{namespace}-{name}"}
        await kube.apply(
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": volume}, manager="tests"
        )
    await apply(kube, "".join(claims))

    try:
        found = await impact.look_at_volumes(decision, scene)
    finally:
        for name in ("kept", "lost"):
            await kube.delete("v1", "PersistentVolume", f"{namespace}-{name}")

    assert [(each.state, each.message) for each in found] == [
        (CheckState.PASSED, f"PersistentVolumeClaim {namespace}/kept goes, and its volume {namespace}-kept is kept"),
        (
            CheckState.FAILED,
            f"PersistentVolumeClaim {namespace}/lost goes, and its volume {namespace}-lost with it (Delete)",
        ),
    ]


TALCONFIG = """\
clusterName: home
talosVersion: v1.13.0
kubernetesVersion: v1.34.0
endpoint: https://10.5.0.2:6443
nodes:
  - {hostname: cp-1, ipAddress: 10.5.0.2, controlPlane: true, installDisk: /dev/sda}
  - hostname: worker-1
    ipAddress: 10.5.0.3
    installDisk: /dev/sda
    patches:
      - |-
        machine: {sysctlz: {vm.overcommit_memory: "1"}}
"""


async def test_machine_configs_are_validated_by_talosctl(tmp_path: Path) -> None:
    talosctl = (await install.ensure(["talosctl"]))["talosctl"]
    before = {**scenes.REPO, "talos/talconfig.yaml": TALCONFIG.replace("sysctlz", "sysctls")}
    decision, scene = scenes.made(
        tmp_path, {"talos/talconfig.yaml": TALCONFIG}, before=before, talosctl=talosctl, is_rendered=False
    )

    notes = await syntax.look_at_machine_configs(decision, scene)

    assert [each.message for each in notes if each.state == CheckState.PASSED] == [
        "talosctl accepts the config of cp-1"
    ]
    (wrong,) = (each for each in notes if each.state == CheckState.FAILED)
    assert wrong.message.startswith("worker-1: ")
    assert "sysctlz" in wrong.message


ROOT = """
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: ROOT, namespace: flux-system}
spec: {url: "https://git.example.org/root", ref: {branch: main}, interval: 1m}
"""


async def test_whether_the_engine_has_the_commit(flux: tests_flux.Flux, tmp_path: Path) -> None:
    """Also where the root follows another repository, of whose commits this clone knows nothing."""
    name, space = f"web-{uuid.uuid4().hex[:8]}", "flux-system"
    root = f"root-{name}"
    await flux.repository(root, space, {"clusters/home/one.yaml": tests_flux.config(root, a="1")})
    above = {"path": "./clusters/home", "prune": True, "sourceRef": {"kind": "GitRepository", "name": root}}
    await flux.apply("Kustomization", root, space, {**above, "targetNamespace": "default", **tests_flux.OFTEN})
    old = await flux.repository(name, space, {"apps/one.yaml": tests_flux.config(name, a="1")})
    spec = {
        "path": "./apps", "prune": True, "sourceRef": {"kind": "GitRepository", "name": name},
        "targetNamespace": "default", **tests_flux.OFTEN,
    }  # fmt: skip
    await flux.apply("Kustomization", name, space, spec)
    await flux.ready("Kustomization", root, space)
    await flux.ready("Kustomization", name, space, revision=old)
    new = await flux.commit(name, {"apps/one.yaml": tests_flux.config(name, a="2")})
    git = shutil.which("git") or "git"
    url = (await flux.get("GitRepository", name, space))["spec"]["url"]
    await command.run([git, "clone", "--quiet", url, str(tmp_path / "clone")])
    before = {
        "firstlight.yaml": scenes.DECLARED,
        f"clusters/home/{name}.yaml": scenes.kustomization(name),
        "clusters/home/flux-system/gotk-sync.yaml": scenes.kustomization(root).replace(f"apps/{root}", "clusters/home")
        + ROOT.replace("ROOT", root),
        f"apps/{name}/one.yaml": yaml.safe_dump(tests_flux.config(name, a="1")),
    }

    async def told(head: str) -> list[tuple[CheckState, str]]:
        decision, scene = scenes.made(
            tmp_path / head, {f"apps/{name}/one.yaml": yaml.safe_dump(tests_flux.config(name, a="2"))},
            before=before, client=flux.kube, cluster="home",
            history=CommitRange(git=Git(Path(git)), path=tmp_path / "clone", base=old, head=head),
        )  # fmt: skip
        return [(each.state, each.message) for each in await health.look(decision, scene)]

    called = f"Kustomization {space}/{name}"
    assert (CheckState.PASSED, f"{called} has applied it, at {old[:7]}") in await told(old)
    assert (CheckState.FAILED, f"{called} is still at {old[:7]}, without {new[:7]}") in await told(new)
    await flux.reconcile("GitRepository", name, space)
    await flux.ready("Kustomization", name, space, revision=new)
    found = await told(new)
    assert (CheckState.PASSED, f"{called} has applied it, at {new[:7]}") in found
    assert not [says for _, says in found if root in says]
    for each in (name, root):
        await flux.kube.delete(tests_flux.API["Kustomization"], "Kustomization", each, namespace=space)
