"""Real Flux on the lab: what it fetches from the lab's repositories, applies, corrects and prunes, and how it fails."""

import asyncio
import base64
import json
import os
import secrets
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio

from firstlight.clients import command
from firstlight.lab.sources.declarations import Access, Credential
from firstlight.secrets import age_keys
from firstlight.tools import content, install
from tests.flux import CONTROLLERS, OFTEN, Flux, chart, config, running, said
from tests.labs import condition, manifests, until

CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-greeting"}
data: {word: "{{ .Values.word }}"}
"""


def kustomization(source: str, path: str, **more: Any) -> dict[str, Any]:
    return {
        "sourceRef": {"kind": "GitRepository", "name": source}, "path": path, "prune": True, "retryInterval": "1s",
        **OFTEN, **more,
    }  # fmt: skip


def age_key() -> tuple[str, str]:
    """A new identity, and its recipient."""
    seed = secrets.token_bytes(32)
    return age_keys.identity(seed).reveal().decode(), age_keys.recipient(seed)


class TestKustomizations:
    async def test_a_push_is_reconciled_in_the_order_of_dependencies_with_substitution(
        self, flux: Flux, space: str, tmp_path: Path
    ) -> None:
        await flux.kube.apply(
            {**config("cluster", region="north"), "metadata": {"name": "cluster", "namespace": space}}, manager="tests"
        )
        first = await flux.repository(
            f"{space}-push", space,
            {"base/base.yaml": config("base", word="one"), "apps/app.yaml": config("app", at="${region:=no}-${zone}")},
        )  # fmt: skip
        values = {"substitute": {"zone": "a"}, "substituteFrom": [{"kind": "ConfigMap", "name": "cluster"}]}
        after = {"dependsOn": [{"name": "base"}], "postBuild": values, "wait": True}
        # The one that depends is declared first, and has to wait.
        await flux.apply(
            "Kustomization", "apps", space, kustomization(f"{space}-push", "apps", targetNamespace=space, **after)
        )
        await flux.unready("Kustomization", "apps", space, "dependency")
        await flux.apply("Kustomization", "base", space, kustomization(f"{space}-push", "base", targetNamespace=space))
        await flux.ready("Kustomization", "apps", space, revision=first)

        assert await flux.config_map("app", space) == {"at": "north-a"}
        assert await flux.config_map("base", space) == {"word": "one"}

        second = await push(flux, f"tests/{space}-push", tmp_path, {"base/base.yaml": "two"})
        await flux.reconcile("GitRepository", f"{space}-push", space)
        await flux.ready("Kustomization", "base", space, revision=second)

        assert await flux.config_map("base", space) == {"word": "two"}

    async def test_secrets_in_git_are_decrypted_with_the_clusters_age_key(
        self, flux: Flux, space: str, tmp_path: Path
    ) -> None:
        sops = (await install.ensure(["sops"]))["sops"]
        identity, recipient = age_key()
        plain = tmp_path / "secret.yaml"
        plain.write_text(
            "apiVersion: v1\nkind: Secret\nstringData: {word: s3cret}\n"
            f"metadata: {{name: login, namespace: {space}}}\n"
        )
        options = ["--age", recipient, "--encrypted-regex", "^(data|stringData)$"]
        result = await command.run(
            [str(sops), "--disable-version-check", "encrypt", *options, str(plain)],
            env={**os.environ, "HOME": str(tmp_path)},
        )
        encrypted = result.stdout.decode()
        assert "s3cret" not in encrypted
        key = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "age", "namespace": space}}
        await flux.repository(f"{space}-sops", space, {"secrets/login.yaml": encrypted})
        decryption = {"provider": "sops", "secretRef": {"name": "age"}}
        spec = kustomization(f"{space}-sops", "secrets", decryption=decryption)
        await flux.apply("Kustomization", "secrets", space, spec)
        await flux.unready("Kustomization", "secrets", space, "age")
        await flux.kube.apply({**key, "stringData": {"age.agekey": identity}}, manager="tests")
        await flux.ready("Kustomization", "secrets", space)

        login = await flux.kube.get("v1", "Secret", "login", namespace=space)
        assert base64.b64decode(login["data"]["word"]) == b"s3cret"

    async def test_drift_is_corrected_but_not_while_suspended_and_what_git_no_longer_has_is_pruned(
        self, flux: Flux, space: str
    ) -> None:
        name = f"{space}-drift"
        await flux.repository(name, space, {"a.yaml": config("a", word="git"), "b.yaml": config("b", word="git")})
        await flux.apply("Kustomization", "drift", space, kustomization(name, "./", targetNamespace=space))
        await flux.ready("Kustomization", "drift", space)

        drifted = {"data": {"word": "hand"}}
        await flux.kube.patch("v1", "ConfigMap", "a", drifted, manager="somebody", namespace=space)
        await flux.reconcile("Kustomization", "drift", space)
        assert await flux.config_map("a", space) == {"word": "git"}

        await flux.kube.patch(
            "kustomize.toolkit.fluxcd.io/v1", "Kustomization", "drift", {"spec": {"suspend": True}}, manager="tests",
            namespace=space,
        )  # fmt: skip
        await flux.kube.patch("v1", "ConfigMap", "a", drifted, manager="somebody", namespace=space)
        await flux.commit(name, {"b.yaml": None})
        await flux.reconcile("GitRepository", name, space)
        await flux.reconcile("Kustomization", "drift", space, wait=False)
        # One that is not suspended has gone through the same queue meanwhile.
        other = kustomization(name, "./", targetNamespace=space, namePrefix="other-")
        await flux.apply("Kustomization", "other", space, other)
        await flux.ready("Kustomization", "other", space)
        assert await flux.config_map("a", space) == {"word": "hand"}
        assert await flux.config_map("b", space) == {"word": "git"}

        await flux.kube.patch(
            "kustomize.toolkit.fluxcd.io/v1", "Kustomization", "drift", {"spec": {"suspend": False}}, manager="tests",
            namespace=space,
        )  # fmt: skip
        await flux.holds("a", space, {"word": "git"})
        await flux.holds("b", space, None)

    async def test_workloads_are_waited_for(self, flux: Flux, space: str) -> None:
        deployment = {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": space},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}},
        }  # fmt: skip
        await flux.repository(f"{space}-wait", space, {"web.yaml": deployment})
        await flux.apply("Kustomization", "web", space, kustomization(f"{space}-wait", "./", wait=True))
        await flux.ready("Kustomization", "web", space)

        found = await flux.kube.get("apps/v1", "Deployment", "web", namespace=space)
        assert condition(found, "Available") == "True"


class TestHelm:
    async def test_a_release_of_a_chart_from_the_registry_and_its_upgrade(self, flux: Flux, space: str) -> None:
        chart_name = f"oci-{space}"
        await flux.sources.push_oci_chart("charts", chart(chart_name, "1.0.0", {"a.yaml": TEMPLATE}, "word: one\n"))
        url = f"oci://{flux.at.registry}/charts/{chart_name}"
        await flux.apply(
            "OCIRepository", chart_name, space,
            {"url": url, "insecure": True, "ref": {"semver": "*"}, **OFTEN,
             "layerSelector": {"mediaType": CHART, "operation": "copy"}},
        )  # fmt: skip
        spec = {"interval": "1m", "releaseName": "oci", "chartRef": {"kind": "OCIRepository", "name": chart_name}}
        await flux.apply("HelmRelease", "oci", space, spec)
        await flux.ready("HelmRelease", "oci", space)
        assert await flux.config_map("oci-greeting", space) == {"word": "one"}

        await flux.sources.push_oci_chart("charts", chart(chart_name, "1.1.0", {"a.yaml": TEMPLATE}, "word: two\n"))
        await flux.reconcile("OCIRepository", chart_name, space)
        await flux.holds("oci-greeting", space, {"word": "two"})

        async def is_upgraded() -> bool:
            history = (await flux.ready("HelmRelease", "oci", space))["status"]["history"]
            return bool(history[0]["chartVersion"].startswith("1.1.0") and history[0]["status"] == "deployed")

        await until(is_upgraded, "the second version")

    async def test_a_release_of_a_chart_from_a_helm_repository_with_values_of_its_own(
        self, flux: Flux, space: str
    ) -> None:
        made = await flux.sources.create_charts(space)
        await flux.sources.push_chart(space, chart("greeter", "1.0.0", {"a.yaml": TEMPLATE}, "word: one\n"))
        await flux.apply("HelmRepository", "here", space, {"url": made.url, **OFTEN})
        source = {"kind": "HelmRepository", "name": "here"}
        spec = {
            "interval": "1m", "releaseName": "http", "values": {"word": "mine"},
            "chart": {"spec": {"chart": "greeter", "version": "1.x", "sourceRef": source}},
        }  # fmt: skip
        await flux.apply("HelmRelease", "http", space, spec)
        await flux.ready("HelmRelease", "http", space)

        assert await flux.config_map("http-greeting", space) == {"word": "mine"}

        await flux.kube.delete("helm.toolkit.fluxcd.io/v2", "HelmRelease", "http", namespace=space)
        await flux.holds("http-greeting", space, None)


class TestActors:
    async def test_the_status_says_that_they_are_real_and_whose_they_are(self, flux: Flux) -> None:
        for name in CONTROLLERS:
            part = await flux.part(name)
            assert (part.reality, part.workload) == ("real", f"Deployment flux-system/{name}")
            assert (flux.lab.home.logs / f"{name}.log").stat().st_size > 0

    async def test_flags_and_rights_are_those_of_the_pod(self, flux: Flux) -> None:
        """Nothing of the administrator's: a token of the ServiceAccount, which the API server knows by its pod."""
        part = await flux.part("kustomize-controller")
        argv = Path(f"/proc/{part.pid}/cmdline").read_bytes().decode().split("\0")
        assert "--requeue-dependency=1s" in argv
        assert not [word for word in argv if word.startswith("--events-addr")]
        env = dict(each.partition("=")[::2] for each in Path(f"/proc/{part.pid}/environ").read_text().split("\0"))
        assert env["RUNTIME_NAMESPACE"] == "flux-system"
        kubeconfig = Path(env["KUBECONFIG"])
        assert kubeconfig.stat().st_mode & 0o777 == 0o600
        assert "client-key" not in kubeconfig.read_text()
        claims = (kubeconfig.parent / "token").read_text().split(".")[1]
        told = base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)).decode()
        assert "system:serviceaccount:flux-system:kustomize-controller" in told
        assert '"pod":{"name":"kustomize-controller-' in told

    async def test_a_killed_controller_comes_back_and_goes_on(self, flux: Flux, space: str) -> None:
        name = f"{space}-kill"
        await flux.repository(name, space, {"a.yaml": config("a", word="one")})
        await flux.apply("Kustomization", "kill", space, kustomization(name, "./", targetNamespace=space))
        await flux.ready("Kustomization", "kill", space)
        before = await flux.part("kustomize-controller")
        await flux.lab.process("kustomize-controller", "kill")
        await flux.commit(name, {"a.yaml": config("a", word="two")})
        await flux.reconcile("GitRepository", name, space)
        await flux.holds("a", space, {"word": "two"})

        after = await flux.part("kustomize-controller")
        assert after.pid not in (0, before.pid)
        assert after.restarts == before.restarts + 1

    async def test_scaled_to_nothing_the_program_stops_and_scaled_up_another_starts(
        self, flux: Flux, space: str
    ) -> None:
        scale = ("apps/v1", "Deployment", "helm-controller")
        pid = (await flux.part("helm-controller")).pid
        try:
            await flux.kube.patch(*scale, {"spec": {"replicas": 0}}, manager="tests", namespace="flux-system")
            await until(lambda: _absent(flux, "helm-controller"), "helm-controller to stop")
            assert not Path(f"/proc/{pid}").exists()
        finally:
            await flux.kube.patch(*scale, {"spec": {"replicas": 1}}, manager="tests", namespace="flux-system")
        await flux.running("helm-controller")
        assert (await flux.part("helm-controller")).pid != pid

    async def test_a_rollout_starts_the_program_anew_with_its_new_flags(self, flux: Flux) -> None:
        before = (await flux.part("helm-controller")).pid
        found = await flux.kube.get("apps/v1", "Deployment", "helm-controller", namespace="flux-system")
        container = found["spec"]["template"]["spec"]["containers"][0]
        words = [word for word in container["args"] if not word.startswith("--concurrent")]
        patch = [
            {"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": [*words, "--concurrent=3"]}
        ]
        await flux.kube.patch(
            "apps/v1", "Deployment", "helm-controller", patch, form="json", manager="tests", namespace="flux-system"
        )

        async def is_new() -> bool:
            part = await flux.part("helm-controller")
            return part is not None and part.state == "ready" and part.pid not in (0, before)

        await until(is_new, "another helm-controller")
        pid = (await flux.part("helm-controller")).pid
        assert b"--concurrent=3" in Path(f"/proc/{pid}/cmdline").read_bytes()

    async def test_missing_rights_show_as_they_would_and_are_no_more_when_they_are_back(
        self, flux: Flux, space: str
    ) -> None:
        binding = ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "cluster-reconciler-flux-system")
        kept = dict(await flux.kube.get(*binding))
        name = f"{space}-rights"
        # ConfigMaps it may write even so; this it may not.
        policy = {
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny"},
            "spec": {"podSelector": {}, "policyTypes": ["Egress"]},
        }  # fmt: skip
        await flux.repository(name, space, {"policy.yaml": policy})
        await flux.ready("GitRepository", name, space)
        try:
            await flux.kube.delete(*binding)
            await until(lambda: _is_forbidden(flux, space), "the API server to have noticed")
            await flux.apply("Kustomization", "rights", space, kustomization(name, "./", targetNamespace=space))
            message = await flux.unready("Kustomization", "rights", space, "forbidden")
            assert "system:serviceaccount:flux-system:kustomize-controller" in message
        finally:
            kept["metadata"] = {"name": kept["metadata"]["name"], "labels": kept["metadata"].get("labels", {})}
            await flux.kube.apply(kept, manager="tests")
        await flux.ready("Kustomization", "rights", space)
        await flux.kube.get("networking.k8s.io/v1", "NetworkPolicy", "deny", namespace=space)


class TestSources:
    async def test_a_private_repository_needs_its_credentials(self, flux: Flux, space: str) -> None:
        name = f"{space}-private"
        access = Access((Credential("flux", "t0ken"),))
        made = await flux.sources.create_git(f"tests/{name}", access=access)
        await flux.commit(name, {"a.yaml": config("a", word="one")})
        spec = {"url": made.url, "ref": {"branch": "main"}, **OFTEN}
        await flux.apply("GitRepository", name, space, spec)
        await flux.unready("GitRepository", name, space, "authentication required")
        login = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": space}}
        await flux.kube.apply({**login, "stringData": {"username": "flux", "password": "t0ken"}}, manager="tests")
        await flux.apply("GitRepository", name, space, {**spec, "secretRef": {"name": "login"}})
        await flux.ready("GitRepository", name, space)

    async def test_a_git_server_that_is_down_is_reported_and_its_return_noticed(self, flux: Flux, space: str) -> None:
        name = f"{space}-down"
        await flux.repository(name, space, {"a.yaml": config("a", word="one")})
        await flux.ready("GitRepository", name, space)
        await flux.sources.fault("unavailable", server="git", repository=f"tests/{name}")
        try:
            await flux.commit(name, {"a.yaml": config("a", word="two")})
            await flux.reconcile("GitRepository", name, space, wait=False)
            await flux.unready("GitRepository", name, space, "503")
            # What was fetched before can still be applied.
            await flux.apply("Kustomization", "down", space, kustomization(name, "./", targetNamespace=space))
            await flux.ready("Kustomization", "down", space)
            assert await flux.config_map("a", space) == {"word": "one"}
        finally:
            await flux.sources.clear_faults()
        await flux.reconcile("GitRepository", name, space)
        await flux.holds("a", space, {"word": "two"})

    async def test_the_whole_server_gone_and_back_keeps_what_it_had(self, flux: Flux, space: str) -> None:
        name = f"{space}-gone"
        commit = await flux.repository(name, space, {"a.yaml": config("a", word="one")})
        await flux.ready("GitRepository", name, space)
        await flux.lab.process("sources", "kill")
        await flux.running("sources")
        await flux.reconcile("GitRepository", name, space)
        found = await flux.ready("GitRepository", name, space)
        assert commit in found["status"]["artifact"]["revision"], said(found, "Ready")


class TestCommandLine:
    async def test_repositories_are_made_filled_and_listed(self, flux: Flux, space: str, tmp_path: Path) -> None:
        home = flux.lab.home.path
        env = {**os.environ, "FIRSTLIGHT_LABS": str(home.parent)}

        async def firstlight(*words: str) -> str:
            argv = [sys.executable, "-m", "firstlight", "lab", "source", *words, "-n", home.name]
            return (await command.run(argv, env=env)).stdout.decode().strip()

        (tmp_path / "a.yaml").write_text("a: b\n")
        url = await firstlight("repo", f"tests/{space}-cli")
        assert url == f"{flux.at.git}tests/{space}-cli.git"
        assert (await firstlight("commit", f"tests/{space}-cli", str(tmp_path))).startswith("main is ")
        assert (await firstlight("commit", f"tests/{space}-cli", str(tmp_path))).startswith("main stays ")
        archive = tmp_path / "cli.tgz"
        archive.write_bytes(chart("cli", "1.2.3", {"a.yaml": TEMPLATE}))
        by_oci, by_http = (await firstlight("chart", str(archive), "--repository", space)).splitlines()
        assert by_oci == f"oci://{flux.at.registry}/{space}/cli:1.2.3"
        assert by_http.startswith(f"{flux.at.charts}{space}/cli-1.2.3")
        found = json.loads(await firstlight("list", "-o", "json"))["repositories"]
        assert {(each["kind"], each["name"]) for each in found} >= {
            ("git", f"tests/{space}-cli"), ("oci", f"{space}/cli"), ("charts", space),
        }  # fmt: skip


@pytest_asyncio.fixture
async def flux_of_its_own(programs: dict[str, Path], tmp_path: Path) -> AsyncIterator[Flux]:
    """In a lab that nobody shares: the controllers are other ones afterwards, with other flags."""
    async with running(programs, tmp_path / "flux") as one:
        yield one


class TestOperator:
    async def test_a_flux_instance_takes_flux_over_and_syncs_a_repository(self, flux_of_its_own: Flux) -> None:
        flux = flux_of_its_own
        folder = (await content.ensure(["flux-operator-manifests"]))["flux-operator-manifests"]
        before = {name: (await flux.part(name)).pid for name in CONTROLLERS}
        for obj in manifests(folder / "install.yaml"):
            if obj:
                await flux.kube.apply(obj, manager="tests")
        await flux.running("flux-operator")
        made = await flux.sources.create_git("tests/fleet")
        greeting = {**config("fleet", word="hello"), "metadata": {"name": "fleet", "namespace": "default"}}
        await flux.commit("fleet", {"clusters/lab/fleet.yaml": greeting})
        sync = {"kind": "GitRepository", "url": made.url, "ref": "refs/heads/main", "path": "clusters/lab"}
        spec = {
            "distribution": {"version": "2.9.5", "registry": "ghcr.io/fluxcd"}, "components": list(CONTROLLERS),
            "cluster": {"networkPolicy": False}, "sync": {**sync, "interval": "1m"},
        }  # fmt: skip
        await flux.apply("FluxInstance", "flux", "flux-system", spec)
        await flux.holds("fleet", "default", {"word": "hello"})
        wanted = {f"flux-system_{name}_apps_Deployment" for name in CONTROLLERS}

        async def owns() -> bool:
            status = (await flux.ready("FluxInstance", "flux", "flux-system"))["status"]
            return {each["id"] for each in status.get("inventory", {}).get("entries", ())} >= wanted

        await until(owns, "the instance to own the Deployments")
        await flux.running(*CONTROLLERS)
        after = {name: (await flux.part(name)).pid for name in CONTROLLERS}
        assert not set(before.values()) & set(after.values()), "the programs are those of the operator's Deployments"


async def _is_forbidden(flux: Flux, namespace: str) -> bool:
    resource = {"group": "networking.k8s.io", "resource": "networkpolicies", "verb": "patch", "namespace": namespace}
    review = {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": "system:serviceaccount:flux-system:kustomize-controller", "resourceAttributes": resource},
    }  # fmt: skip
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = await flux.kube.request("POST", path, body=json.dumps(review).encode())
    return not json.loads(answer.body)["status"]["allowed"]


async def _absent(flux: Flux, name: str) -> bool:
    return await flux.part(name) is None


async def push(flux: Flux, name: str, folder: Path, words: dict[str, str]) -> str:
    """Clone, change the word in some files, commit and push, as a person does; the commit."""
    await flux.sources.create_git(name, access=Access(anonymous="write"))
    url = next(each.url for each in await flux.sources.list_git() if each.name == name)
    clone = folder / "clone"
    env = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org",
    }  # fmt: skip

    async def git(*words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            "git", *words, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        out, _ = await process.communicate()
        assert process.returncode == 0, out.decode()
        return out.decode().strip()

    await git("clone", "--quiet", url, str(clone))
    for path, word in words.items():
        text = (clone / path).read_text()
        (clone / path).write_text(text.replace("one", word))
    await git("-C", str(clone), "commit", "--quiet", "--all", "--message", "another word")
    await git("-C", str(clone), "push", "--quiet")
    return await git("-C", str(clone), "rev-parse", "HEAD")
