"""What can be wrong between Git and a cluster that Argo CD serves."""

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

from firstlight.lab.sources.declarations import Access, Credential
from tests.argocd import HOME, REPO_SERVER, ArgoCD
from tests.doctor.failure import Expected, Registry
from tests.doctor.things import deployment
from tests.flux import config


@dataclasses.dataclass(frozen=True)
class Ground:
    """A lab in which Argo CD runs, and a namespace of the failure's own."""

    argocd: ArgoCD
    site: str

    async def application(self, name: str = "", path: str = ".", **policy: Any) -> str:
        """An Application of the repository that is called as the namespace; its name."""
        name = f"{self.site}-{name}" if name else self.site
        source = {"repoURL": self.argocd.git(self.site), "path": path, "targetRevision": "main"}
        await self.argocd.application(name, self.site, source, **policy)
        return name

    def expect(self, code: str, subject: str = "") -> Expected:
        """What must be the cause of the Application's trouble; the Application itself, if nothing else is named."""
        return Expected(
            code=code, subject=subject or f"Application {HOME}/{self.site}", asked=f"Application {HOME}/{self.site}"
        )


ARGOCD: Registry[Ground] = Registry("Argo CD")


@ARGOCD.failure(
    "argocd-auth", "a repository that refuses Argo CD", how="a private repository, and no credentials for it"
)
async def auth(on: Ground) -> AsyncIterator[Expected]:
    await on.argocd.commit(on.site, {"a.yaml": config("a")}, access=Access((Credential("argocd", "right"),)))
    await on.application()
    yield on.expect("git-authentication", f"repository {on.argocd.git(on.site)}")


@ARGOCD.failure(
    "argocd-path", "a path that is not in the repository", how="an Application of the path nowhere", sample=True
)
async def path(on: Ground) -> AsyncIterator[Expected]:
    await on.argocd.commit(on.site, {"a.yaml": config("a")})
    await on.application(path="nowhere")
    yield on.expect("path-missing")


@ARGOCD.failure("argocd-build", "a build that fails", how="a kustomization.yaml that names a file that is not there")
async def build(on: Ground) -> AsyncIterator[Expected]:
    await on.argocd.commit(on.site, {"kustomization.yaml": {"resources": ["nowhere.yaml"]}})
    await on.application()
    yield on.expect("build-failed")


@ARGOCD.failure("argocd-workload", "an Application that stays unhealthy",
                how="a Deployment of an image that is nowhere", simulated="kwok plays the kubelet")  # fmt: skip
async def workload(on: Ground) -> AsyncIterator[Expected]:
    await on.argocd.commit(on.site, {"a.yaml": deployment("web", on.site, image="example.org/broken:1")})
    await on.application()
    yield Expected(code="image-pull", subject=f"Deployment {on.site}/web", asked=on.site)


@ARGOCD.failure("argocd-repo-server", "an engine that cannot start",
                how="the repo server's Deployment with an image that is nowhere",
                simulated="kwok plays the kubelet")  # fmt: skip
async def repo_server(on: Ground) -> AsyncIterator[Expected]:
    where = ("apps/v1", "Deployment", REPO_SERVER)
    kept = await on.argocd.kube.get(*where, namespace=HOME)
    images = {each["name"]: each["image"] for each in kept["spec"]["template"]["spec"]["containers"]}
    await on.argocd.commit(on.site, {"a.yaml": config("a")})
    await _images(on, dict.fromkeys(images, "example.org/broken:1"))
    try:
        await on.application()
        yield Expected(code="image-pull", subject=f"Deployment {HOME}/{REPO_SERVER}", asked=HOME)
    finally:
        await _images(on, images)
        await on.argocd.running(REPO_SERVER)


async def _images(on: Ground, images: dict[str, str]) -> None:
    """Other images, and no pod of the ones before."""
    containers = [{"name": name, "image": image} for name, image in images.items()]
    body = {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None},
                     "template": {"spec": {"containers": containers}}}}  # fmt: skip
    await on.argocd.kube.patch(
        "apps/v1", "Deployment", REPO_SERVER, body, form="strategic", manager="tests", namespace=HOME
    )
