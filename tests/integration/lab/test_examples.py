"""The examples build, apply and become ready in the lab."""

import pathlib

import pytest
import yaml

from firstlight.clients import kube as clients_kube
from firstlight.clients import kustomize
from firstlight.clients.kube import Client
from firstlight.tools import install
from tests.labs import condition, until

FOLDER = pathlib.Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("name", sorted(each.parent.name for each in FOLDER.glob("*/kustomization.yaml")))
async def test_an_example_becomes_ready(kube: Client, name: str) -> None:
    programs = await install.ensure(["kustomize"])
    built = await kustomize.Kustomize(programs["kustomize"]).build(FOLDER / name, within=FOLDER)
    objects = list(yaml.safe_load_all(built.text))
    try:
        for obj in objects:
            await kube.apply(obj, manager="tests")

        async def available() -> bool:
            found = await kube.get("apps/v1", "Deployment", name, namespace="kube-system")
            return condition(found, "Available") == "True"

        await until(available, f"{name} to be available")
    finally:
        for obj in reversed(objects):
            metadata = obj["metadata"]
            try:
                await kube.delete(obj["apiVersion"], obj["kind"], metadata["name"], namespace=metadata.get("namespace"))
            except clients_kube.NotFound:
                continue
