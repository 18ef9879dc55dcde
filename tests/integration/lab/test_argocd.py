"""Real Argo CD on the lab: what it renders of the lab's repositories, syncs, corrects and prunes; how it fails."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from firstlight.lab.sources.declarations import Access, Credential
from tests.argocd import ACTORS, API, AUTOMATED, CONTROLLER, HOME, REPO_SERVER, ArgoCD, application
from tests.flux import chart, config
from tests.labs import until

TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-greeting"}
data: {word: "{{ .Values.word }}"}
"""
WAVE = "argocd.argoproj.io/sync-wave"
READER = Credential("reader", "r-t0ken")


def directory(argocd: ArgoCD, name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"repoURL": argocd.git(name), "path": path, "targetRevision": "main", **more}


def in_wave(number: int, obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "annotations": {WAVE: str(number)}}}


def deployment(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "registry.example/main:1"}]},
            },
        },
    }


async def repository(argocd: ArgoCD, secret_name: str, **data: str) -> None:
    """Tell Argo CD of a repository; what it is not told of is open to everybody."""
    labels = {"argocd.argoproj.io/secret-type": "repository"}
    metadata = {"name": secret_name, "namespace": HOME, "labels": labels}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
    await argocd.kube.apply(secret, manager="tests")


class TestSources:
    async def test_a_push_to_a_private_repository_is_built_by_kustomize_and_synced(
        self, argocd: ArgoCD, site: str
    ) -> None:
        overlay = {
            "resources": ["../base"],
            "namePrefix": "live-",
            "configMapGenerator": [{"name": "x", "literals": ["a=b"]}],
        }
        files = {
            "base/kustomization.yaml": {"resources": ["web.yaml", "word.yaml"]},
            "base/web.yaml": deployment("web"),
            "base/word.yaml": config("word", is_="one"),
            "live/kustomization.yaml": overlay,
        }
        first = await argocd.commit(site, files, access=Access((READER,)))
        await argocd.application(site, site, directory(argocd, site, "live"))
        await argocd.says(site, "authentication required")
        await repository(argocd, site, type="git", url=argocd.git(site), username=READER.user, password=READER.token)
        await argocd.refresh(site)
        await argocd.synced(site, first)

        web = await argocd.kube.get("apps/v1", "Deployment", "live-web", namespace=site)
        managers = {(each["manager"], each["operation"]) for each in web["metadata"]["managedFields"]}
        assert web["status"]["availableReplicas"] == 1
        assert ("argocd-controller", "Apply") in managers
        await argocd.holds("live-word", site, {"is_": "one"})

        second = await argocd.commit(site, {"base/word.yaml": config("word", is_="two")})
        await argocd.refresh(site)
        await argocd.synced(site, second)
        await argocd.holds("live-word", site, {"is_": "two"})

    async def test_charts_come_from_git_and_from_helm_repositories(self, argocd: ArgoCD, site: str) -> None:
        files = {"Chart.yaml": "apiVersion: v2\nname: hello\nversion: 1.0.0\n", "values.yaml": "word: plain\n"}
        await argocd.commit(
            site,
            {f"charts/hello/{path}": text for path, text in {**files, "templates/greeting.yaml": TEMPLATE}.items()},
        )
        archive = chart("hello", "1.2.0", {"greeting.yaml": TEMPLATE}, "word: packed\n")
        made = await argocd.sources.create_charts(site)
        await argocd.sources.push_chart(site, archive)
        await argocd.sources.push_oci_chart(site, archive)
        registry = f"{argocd.at.registry}/{site}"
        await repository(
            argocd, site, type="helm", url=registry, enableOCI="true", insecureOCIForceHttp="true", name="registry"
        )
        in_git = directory(argocd, site, "charts/hello", helm={"valuesObject": {"word": "given"}})
        await argocd.application(f"{site}-git", site, in_git)
        await argocd.application(
            f"{site}-http", site, {"repoURL": made.url, "chart": "hello", "targetRevision": "1.x"}
        )  # fmt: skip
        await argocd.application(
            f"{site}-oci", site, {"repoURL": registry, "chart": "hello", "targetRevision": "1.2.0"}
        )  # fmt: skip

        for way in ("git", "http", "oci"):
            await argocd.synced(f"{site}-{way}")
        await argocd.holds(f"{site}-git-greeting", site, {"word": "given"})
        await argocd.holds(f"{site}-http-greeting", site, {"word": "packed"})
        await argocd.holds(f"{site}-oci-greeting", site, {"word": "packed"})

    async def test_an_application_set_follows_the_directories_of_a_repository(self, argocd: ArgoCD, site: str) -> None:
        await argocd.commit(site, {"apps/a/a.yaml": config("a", is_="a"), "apps/b/b.yaml": config("b", is_="b")})
        template = application(f"{site}-{{{{.path.basename}}}}", site, directory(argocd, site, "{{.path.path}}"))
        generator = {"repoURL": argocd.git(site), "revision": "main", "directories": [{"path": "apps/*"}]}
        every = {
            "goTemplate": True,
            "generators": [{"git": generator}, {"list": {"elements": []}}],
            "template": {"metadata": {"name": template["metadata"]["name"]}, "spec": template["spec"]},
        }
        metadata = {"name": site, "namespace": HOME}
        await argocd.kube.apply(
            {"apiVersion": API, "kind": "ApplicationSet", "metadata": metadata, "spec": every}, manager="tests"
        )
        await asyncio.gather(argocd.synced(f"{site}-a"), argocd.synced(f"{site}-b"))

        await argocd.commit(site, {"apps/b/b.yaml": None, "apps/c/c.yaml": config("c", is_="c")})
        patch = {"metadata": {"annotations": {"argocd.argoproj.io/application-set-refresh": "true"}}}
        await argocd.kube.patch(API, "ApplicationSet", site, patch, manager="tests", namespace=HOME)
        await argocd.synced(f"{site}-c")

        async def names() -> bool:
            found = (await argocd.kube.list(API, "Application", namespace=HOME)).items
            return {each["metadata"]["name"] for each in found} == {f"{site}-a", f"{site}-c"}

        await until(names, "b to go")


class TestSyncing:
    async def test_waves_wait_for_each_other(self, argocd: ArgoCD, site: str) -> None:
        await argocd.commit(site, {
            "app/a.yaml": in_wave(5, config("last", is_="5")),
            "app/b.yaml": in_wave(0, deployment("web")),
            "app/c.yaml": in_wave(0, config("middle", is_="0")),
            "app/d.yaml": in_wave(-1, config("first", is_="-1")),
        })  # fmt: skip
        await argocd.application(site, site, directory(argocd, site, "app"))
        await argocd.synced(site)

        made = [await argocd.config_map(name, site) for name in ("first", "middle", "last")]
        versions = [int(each["metadata"]["resourceVersion"]) for each in made if each]
        assert len(versions) == 3
        assert versions == sorted(versions)
        web = await argocd.kube.get("apps/v1", "Deployment", "web", namespace=site)
        available = next(each for each in web["status"]["conditions"] if each["type"] == "Available")
        assert made[2] is not None
        assert available["lastTransitionTime"] <= made[2]["metadata"]["creationTimestamp"]

    async def test_an_unhealthy_wave_holds_up_the_next_one(self, argocd: ArgoCD, site: str) -> None:
        broken = in_wave(0, deployment("web"))
        broken["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/broken:1"
        await argocd.commit(site, {"app/a.yaml": broken, "app/b.yaml": in_wave(1, config("after", is_="1"))})
        await argocd.application(site, site, directory(argocd, site, "app"))
        await argocd.says(site, "waiting for healthy state of apps/Deployment/web")

        assert await argocd.config_map("after", site) is None
        assert (await argocd.get(site))["status"]["operationState"]["phase"] == "Running"

    async def test_drift_is_corrected_and_what_left_git_is_pruned(self, argocd: ArgoCD, site: str) -> None:
        await argocd.commit(site, {"app/a.yaml": config("a", is_="a"), "app/b.yaml": config("b", is_="b")})
        await argocd.application(site, site, directory(argocd, site, "app"))
        await argocd.synced(site)

        await argocd.kube.patch("v1", "ConfigMap", "a", {"data": {"is_": "x"}}, manager="somebody", namespace=site)
        await argocd.holds("a", site, {"is_": "a"})
        await argocd.kube.delete("v1", "ConfigMap", "b", namespace=site)
        await argocd.holds("b", site, {"is_": "b"})

        await argocd.commit(site, {"app/b.yaml": None})
        await argocd.refresh(site)
        await argocd.holds("b", site, None)
        await argocd.holds("a", site, {"is_": "a"})

    async def test_nothing_happens_by_itself_while_automation_is_off(self, argocd: ArgoCD, site: str) -> None:
        await argocd.commit(site, {"app/a.yaml": config("a", is_="one")})
        await argocd.application(site, site, directory(argocd, site, "app"))
        await argocd.synced(site)
        await argocd.change(site, {"syncPolicy": {"automated": {**AUTOMATED, "enabled": False}}})
        second = await argocd.commit(site, {"app/a.yaml": config("a", is_="two")})
        await argocd.refresh(site)
        sync = (await argocd.get(site))["status"]["sync"]

        assert (sync["status"], sync["revision"]) == ("OutOfSync", second)
        await argocd.holds("a", site, {"is_": "one"})

        await argocd.change(site, {"syncPolicy": {"automated": {**AUTOMATED, "enabled": True}}})
        await argocd.synced(site, second)
        await argocd.holds("a", site, {"is_": "two"})


class TestFailures:
    async def test_a_killed_program_comes_back_and_goes_on(self, argocd: ArgoCD, site: str) -> None:
        await argocd.commit(site, {"app/a.yaml": config("a", is_="one")})
        await argocd.application(site, site, directory(argocd, site, "app"))
        await argocd.synced(site)
        await argocd.kube.patch("v1", "ConfigMap", "a", {"data": {"is_": "x"}}, manager="somebody", namespace=site)
        await asyncio.gather(*(argocd.killed(name) for name in ACTORS))
        await argocd.refresh(site)  # else it would look again after some minutes
        await argocd.holds("a", site, {"is_": "one"})
        second = await argocd.commit(site, {"app/a.yaml": config("a", is_="two")})
        await argocd.refresh(site)

        await argocd.synced(site, second)
        await argocd.holds("a", site, {"is_": "two"})

    async def test_git_goes_and_comes_back(self, argocd: ArgoCD, site: str) -> None:
        await argocd.commit(site, {"app/a.yaml": config("a", is_="one")})
        await argocd.application(site, site, directory(argocd, site, "app"))
        await argocd.synced(site)
        second = await argocd.commit(site, {"app/a.yaml": config("a", is_="two")})
        fault = await argocd.sources.fault("unavailable", repository=f"tests/{site}")
        await argocd.refresh(site)
        await argocd.says(site, "ailed to load target state", "503")

        assert (await argocd.get(site))["status"]["sync"]["status"] == "Unknown"
        await argocd.holds("a", site, {"is_": "one"})

        await argocd.sources.clear_faults(fault.id)
        await argocd.refresh(site)
        await argocd.synced(site, second)

    async def test_missing_rights_of_its_account_are_missing(self, argocd: ArgoCD, site: str) -> None:
        await argocd.commit(site, {"app/a.yaml": config("a", is_="one")})
        async with only_reading(argocd):
            again = {"limit": 20, "backoff": {"duration": "1s", "factor": 1}}
            await argocd.application(site, site, directory(argocd, site, "app"), retry=again)
            said = await argocd.says(site, "forbidden")
            assert f"system:serviceaccount:{HOME}:{CONTROLLER}" in said
            assert await argocd.config_map("a", site) is None
        await argocd.synced(site)

    async def test_without_a_pod_there_is_no_program(self, argocd: ArgoCD, site: str) -> None:
        async def scale(replicas: int) -> None:
            patch = {"spec": {"replicas": replicas}}
            await argocd.kube.patch("apps/v1", "Deployment", REPO_SERVER, patch, manager="tests", namespace=HOME)

        async def is_gone() -> bool:
            return all(part.name != REPO_SERVER for part in (await argocd.lab.status()).parts)

        await argocd.commit(site, {"app/a.yaml": config("a", is_="one")})
        await scale(0)
        try:
            await until(is_gone, "the program to go")
            await argocd.application(site, site, directory(argocd, site, "app"))
            await argocd.says(site, "connection refused")
        finally:
            await scale(1)
        await argocd.running(REPO_SERVER)
        await argocd.refresh(site)
        await argocd.synced(site)


class TestSecrets:
    async def test_the_password_of_redis_is_made_and_in_no_command_line(self, argocd: ArgoCD) -> None:
        secret = await argocd.kube.get("v1", "Secret", "argocd-redis", namespace=HOME)
        password = base64.b64decode(secret["data"]["auth"])
        assert len(password) >= 16
        for name in ACTORS:
            part = await argocd.part(name)
            assert password not in Path(f"/proc/{part.pid}/cmdline").read_bytes()
            log = argocd.lab.home.logs / f"{name}.log"
            assert password not in log.read_bytes()


@contextlib.asynccontextmanager
async def only_reading(argocd: ArgoCD) -> AsyncIterator[None]:
    """Let the controller's account read everything, and write Argo CD's own objects alone, as its Role says."""

    async def allow(verbs: list[str]) -> None:
        rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": verbs}, {"nonResourceURLs": ["*"], "verbs": ["*"]}]
        group = "rbac.authorization.k8s.io/v1"
        await argocd.kube.patch(group, "ClusterRole", CONTROLLER, {"rules": rules}, manager="tests")

    await allow(["get", "list", "watch"])
    try:
        await until(lambda: _may_not_write(argocd), "the rights to go")
        yield
    finally:
        await allow(["*"])


async def _may_not_write(argocd: ArgoCD) -> bool:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": {
            "user": f"system:serviceaccount:{HOME}:{CONTROLLER}",
            "resourceAttributes": {"verb": "patch", "resource": "configmaps", "namespace": "default"},
        },
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = await argocd.kube.request("POST", path, body=msgspec.json.encode(review))
    return not msgspec.json.decode(answer.body)["status"]["allowed"]
