"""What can be wrong with Flux itself, and with who owns what."""

from collections.abc import AsyncIterator
from typing import Any

from tests.doctor.failure import Expected, Registry
from tests.doctor.of_flux import Ground
from tests.flux import API, config

ENGINE: Registry[Ground] = Registry("Flux")


@ENGINE.failure("controller", "an engine that does not run",
              how="kustomize-controller's Deployment with an image that is nowhere",
              simulated="kwok plays the kubelet")  # fmt: skip
async def controller(on: Ground) -> AsyncIterator[Expected]:
    where = ("apps/v1", "Deployment", "kustomize-controller")
    kept = await on.flux.kube.get(*where, namespace="flux-system")
    image = kept["spec"]["template"]["spec"]["containers"][0]["image"]
    await on.repository({"a.yaml": config("a")})
    await _image(on, "example.org/broken:1")
    try:
        await on.kustomization("apps")
        yield Expected(code="image-pull", subject="Deployment flux-system/kustomize-controller", asked=on.space)
    finally:
        await _image(on, image)
        await on.flux.running("kustomize-controller")


@ENGINE.failure("scaled-down", "an engine that was scaled to nothing", how="kustomize-controller with no replicas")
async def scaled_down(on: Ground) -> AsyncIterator[Expected]:
    await on.repository({"a.yaml": config("a")})
    await _scale(on, 0)
    try:
        await on.kustomization("apps")
        yield Expected(
            code="engine-scaled-down", subject="Deployment flux-system/kustomize-controller", asked="flux-system"
        )
    finally:
        await _scale(on, 1)
        await on.flux.running("kustomize-controller")


@ENGINE.failure("suspended", "something that was suspended and forgotten",
              how="a suspended Kustomization whose firstlight.dev/suspended-until is over")  # fmt: skip
async def suspended(on: Ground) -> AsyncIterator[Expected]:
    await on.repository({"a.yaml": config("a")})
    await on.kustomization("apps", suspend=True)
    note = {"metadata": {"annotations": {"firstlight.dev/suspended-until": "2026-01-01T00:00:00Z"}}}
    await on.flux.kube.patch(API["Kustomization"], "Kustomization", "apps", note, manager="tests", namespace=on.space)
    yield on.expect("suspension-over", "Kustomization", "apps")


@ENGINE.failure(
    "two-kustomizations",
    "two owners of the same object",
    how="two Kustomizations that apply the same ConfigMap",
    sample=True,
)
async def two_kustomizations(on: Ground) -> AsyncIterator[Expected]:
    await on.repository({"one/a.yaml": config("a", word="one"), "two/a.yaml": config("a", word="two")})
    await on.kustomization("one", "one")
    await on.kustomization("two", "two")
    for name in ("one", "two"):
        await on.flux.ready("Kustomization", name, on.space)
    yield on.expect("two-owners", "ConfigMap", "a")


@ENGINE.failure("two-namespaces", "two owners of the same namespace",
              how="two Kustomizations that declare the same Namespace")  # fmt: skip
async def two_namespaces(on: Ground) -> AsyncIterator[Expected]:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": on.space}}
    await on.repository({"one/space.yaml": space, "two/space.yaml": space})
    await on.kustomization("one", "one")
    await on.kustomization("two", "two")
    for name in ("one", "two"):
        await on.flux.ready("Kustomization", name, on.space)
    yield Expected(code="namespace-conflict", subject=f"Namespace {on.space}", asked=on.space)


async def _image(on: Ground, image: str) -> None:
    """Another image, and no pod of the one before it."""
    body: list[dict[str, Any]] = [
        {"op": "test", "path": "/metadata/name", "value": "kustomize-controller"},
        {"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image},
        {"op": "add", "path": "/spec/strategy", "value": {"type": "Recreate"}},
    ]
    await on.flux.kube.patch(
        "apps/v1", "Deployment", "kustomize-controller", body, form="json", manager="tests", namespace="flux-system"
    )


async def _scale(on: Ground, replicas: int) -> None:
    await on.flux.kube.patch(
        "apps/v1", "Deployment", "kustomize-controller", {"spec": {"replicas": replicas}}, manager="tests",
        namespace="flux-system",
    )  # fmt: skip
