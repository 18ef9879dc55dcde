"""What can be wrong between Git and a cluster that Flux serves."""

import dataclasses
from collections.abc import AsyncIterator, Mapping
from typing import Any

from firstlight.lab.sources.declarations import Access, Credential
from tests.doctor.failure import Expected, Registry
from tests.doctor.things import deployment
from tests.flux import OFTEN, Flux, chart, config


@dataclasses.dataclass(frozen=True)
class Ground:
    """A lab in which Flux runs, and a namespace of the failure's own."""

    flux: Flux
    space: str

    async def repository(self, files: Mapping[str, object]) -> None:
        """A Git repository that is fetched, called as the namespace."""
        await self.flux.repository(self.space, self.space, files)

    async def kustomization(self, name: str, path: str = "./", **more: Any) -> None:
        """A Kustomization of that repository."""
        spec = {"sourceRef": {"kind": "GitRepository", "name": self.space}, "path": path, "prune": True}
        await self.flux.apply(
            "Kustomization", name, self.space,
            {**spec, "retryInterval": "1s", "targetNamespace": self.space, **OFTEN, **more},
        )  # fmt: skip

    def expect(self, code: str, kind: str, name: str) -> Expected:
        """That an object of this namespace is the cause, asked about the namespace."""
        return Expected(code=code, subject=f"{kind} {self.space}/{name}", asked=self.space)


FLUX: Registry[Ground] = Registry("Flux")
_AFTER: dict[str, Any] = {"dependsOn": [{"name": "base"}]}


@FLUX.failure("git-auth", "a Git repository that refuses the credentials",
              how="a private repository, and a Secret with a wrong password", sample=True)  # fmt: skip
async def git_auth(on: Ground) -> AsyncIterator[Expected]:
    made = await on.flux.sources.create_git(f"tests/{on.space}", access=Access((Credential("flux", "right"),)))
    await on.flux.commit(on.space, {"a.yaml": config("a")})
    login = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": on.space}}
    await on.flux.kube.apply({**login, "stringData": {"username": "flux", "password": "wrong"}}, manager="tests")
    spec = {"url": made.url, "ref": {"branch": "main"}, "secretRef": {"name": "login"}, **OFTEN}
    await on.flux.apply("GitRepository", on.space, on.space, spec)
    await on.kustomization("base")
    await on.kustomization("apps", **_AFTER)
    yield on.expect("git-authentication", "GitRepository", on.space)


@FLUX.failure("git-down", "a Git server that does not answer", how="a GitRepository at a port where nobody listens")
async def git_down(on: Ground) -> AsyncIterator[Expected]:
    spec = {"url": "http://127.0.0.1:9/home.git", "ref": {"branch": "main"}, **OFTEN}
    await on.flux.apply("GitRepository", on.space, on.space, spec)
    await on.kustomization("base")
    yield on.expect("git-unreachable", "GitRepository", on.space)


@FLUX.failure("git-branch", "a branch that does not exist", how="a GitRepository of the branch nowhere")
async def git_branch(on: Ground) -> AsyncIterator[Expected]:
    await on.repository({"a.yaml": config("a")})
    found = await on.flux.get("GitRepository", on.space, on.space)
    await on.flux.apply(
        "GitRepository", on.space, on.space, {"url": found["spec"]["url"], "ref": {"branch": "nowhere"}, **OFTEN}
    )
    await on.kustomization("base")
    yield on.expect("git-reference", "GitRepository", on.space)


@FLUX.failure("dependency", "a dependency that is not ready, below others",
              how="three Kustomizations in a row, the first with a path that is not there", sample=True)  # fmt: skip
async def dependency(on: Ground) -> AsyncIterator[Expected]:
    await on.repository({"apps/a.yaml": config("a")})
    await on.kustomization("base", "nowhere")
    await on.kustomization("middle", "apps", **_AFTER)
    await on.kustomization("top", "apps", dependsOn=[{"name": "middle"}])
    yield on.expect("path-missing", "Kustomization", "base")


@FLUX.failure("dependency-missing", "a dependency that does not exist", how="a Kustomization that depends on nobody")
async def dependency_missing(on: Ground) -> AsyncIterator[Expected]:
    await on.repository({"a.yaml": config("a")})
    await on.kustomization("apps", dependsOn=[{"name": "nobody"}])
    yield on.expect("dependency-missing", "Kustomization", "apps")


@FLUX.failure("dependency-circle", "dependencies in a circle", how="two Kustomizations that depend on each other")
async def dependency_circle(on: Ground) -> AsyncIterator[Expected]:
    await on.repository({"a.yaml": config("a")})
    await on.kustomization("apps", **_AFTER)
    await on.kustomization("base", dependsOn=[{"name": "apps"}])
    yield on.expect("dependency-cycle", "Kustomization", "apps")


@FLUX.failure(
    "source-missing", "a source that does not exist", how="a Kustomization of a repository that nobody declared"
)
async def source_missing(on: Ground) -> AsyncIterator[Expected]:
    await on.kustomization("apps")
    yield on.expect("source-missing", "Kustomization", "apps")


@FLUX.failure("crd", "a CustomResourceDefinition that is missing",
              how="a Kustomization with an object of a kind that nothing defines", sample=True)  # fmt: skip
async def crd(on: Ground) -> AsyncIterator[Expected]:
    thing = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "one"}}
    await on.repository({"a.yaml": thing})
    await on.kustomization("base")
    await on.kustomization("apps", **_AFTER)
    yield on.expect("kind-missing", "Kustomization", "base")


@FLUX.failure(
    "build", "a Kustomization that cannot be built", how="a kustomization.yaml that names a file that is not there"
)
async def build(on: Ground) -> AsyncIterator[Expected]:
    await on.repository({"kustomization.yaml": {"resources": ["nowhere.yaml"]}})
    await on.kustomization("apps")
    yield on.expect("build-failed", "Kustomization", "apps")


@FLUX.failure("variable", "a variable that is to be substituted from nowhere",
              how="a Kustomization that substitutes from a ConfigMap that does not exist")  # fmt: skip
async def variable(on: Ground) -> AsyncIterator[Expected]:
    await on.repository({"a.yaml": config("a", at="${zone}")})
    await on.kustomization("apps", postBuild={"substituteFrom": [{"kind": "ConfigMap", "name": "cluster"}]})
    yield on.expect("variable-missing", "Kustomization", "apps")


@FLUX.failure("namespace", "a namespace that does not exist", how="an object in a namespace that nobody makes")
async def namespace(on: Ground) -> AsyncIterator[Expected]:
    await on.repository({"a.yaml": config("a")})
    await on.kustomization("apps", targetNamespace=f"{on.space}-nowhere")
    yield on.expect("namespace-missing", "Kustomization", "apps")


@FLUX.failure(
    "immutable", "a field that cannot be changed", how="a Deployment with another selector than the one that is there"
)
async def immutable(on: Ground) -> AsyncIterator[Expected]:
    there = deployment("web", on.space)
    there["spec"]["selector"]["matchLabels"]["old"] = there["spec"]["template"]["metadata"]["labels"]["old"] = "yes"
    await on.flux.kube.apply(there, manager="tests")
    await on.repository({"a.yaml": deployment("web", on.space)})
    await on.kustomization("apps")
    yield on.expect("immutable-field", "Kustomization", "apps")


@FLUX.failure("chart", "a chart that is not in its repository", how="a HelmRelease of a version that nobody published")
async def missing_chart(on: Ground) -> AsyncIterator[Expected]:
    await _release(on, version="9.9.9")
    yield on.expect("chart-missing", "HelmChart", f"{on.space}-web")


@FLUX.failure("release", "a Helm release that fails", how="a chart whose only object the API server refuses")
async def release(on: Ground) -> AsyncIterator[Expected]:
    await _release(on, template="apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: []}\n")
    yield on.expect("helm-exhausted", "HelmRelease", "web")


@FLUX.failure(
    "values", "values of a chart that do not exist", how="a HelmRelease with values from a Secret that nobody made"
)
async def values(on: Ground) -> AsyncIterator[Expected]:
    await _release(on, valuesFrom=[{"kind": "Secret", "name": "nobody"}])
    yield on.expect("values-error", "HelmRelease", "web")


async def _release(on: Ground, *, version: str = "1.0.0", template: str = "", **more: Any) -> None:
    """A HelmRelease of a chart in the lab's Helm repository."""
    raw = chart("web", "1.0.0", {"a.yaml": template or "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"})
    await on.flux.sources.create_charts(on.space)
    await on.flux.sources.push_chart(on.space, raw)
    await on.flux.apply("HelmRepository", on.space, on.space, {"url": f"{on.flux.at.charts}{on.space}", **OFTEN})
    source = {"kind": "HelmRepository", "name": on.space}
    spec = {"chart": {"spec": {"chart": "web", "version": version, "sourceRef": source}}, "interval": "1m"}
    await on.flux.apply("HelmRelease", "web", on.space, {**spec, "timeout": "10s", **more})
