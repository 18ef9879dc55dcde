"""The real omnictl where no server is needed: templates, and the ways in which a connection fails."""

import os
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight.clients import omnictl
from firstlight.clients.omnictl import Omnictl
from firstlight.tools import install

TEMPLATE = """
kind: Cluster
name: apps
kubernetes: {version: v1.34.1}
talos: {version: v1.11.2}
patches: [{file: patches/cni.yaml}]
---
kind: ControlPlane
machines: [27c16241-96bf-4f17-9579-ea3a6c4a3ca8]
"""
NOBODY = "https://127.0.0.1:1"


@pytest_asyncio.fixture(scope="session")
async def program() -> Path:
    return (await install.ensure(["omnictl"]))["omnictl"]


@pytest.fixture
def template(tmp_path: Path) -> Path:
    found = tmp_path / "repo" / "apps.yaml"
    (found.parent / "patches").mkdir(parents=True)
    found.write_text(TEMPLATE)
    (found.parent / "patches" / "cni.yaml").write_text("cluster: {network: {cni: {name: none}}}\n")
    return found


def omni(program: Path, home: Path, **environ: str) -> Omnictl:
    return Omnictl(program, environ={"HOME": str(home), **environ})


async def test_a_template_is_validated_where_its_files_are(program: Path, template: Path, tmp_path: Path) -> None:
    one = omni(program, tmp_path)

    await one.validate(template, directory=template.parent)
    with pytest.raises(omnictl.OmniRejected, match="no such file") as caught:
        await one.validate(template, directory=tmp_path)

    assert len(caught.value.problems) == 1
    assert os.listdir(tmp_path) == ["repo"]


async def test_all_mistakes_of_a_template_are_told(program: Path, template: Path, tmp_path: Path) -> None:
    template.write_text(TEMPLATE.replace("v1.34.1", "1.34.x").replace("v1.11.2", "latest"))

    with pytest.raises(omnictl.OmniRejected) as caught:
        await omni(program, tmp_path).validate(template, directory=template.parent)

    assert len(caught.value.problems) == 3
    assert caught.value.problems[-1] == "version should start with 'v'"


async def test_a_field_that_is_not_known_is_told(program: Path, template: Path, tmp_path: Path) -> None:
    template.write_text(f"{TEMPLATE}bogus: 1\n")

    with pytest.raises(omnictl.OmniRejected, match="field bogus not found"):
        await omni(program, tmp_path).validate(template, directory=template.parent)


async def test_no_server_is_told_for_every_question(program: Path, template: Path, tmp_path: Path) -> None:
    one = omni(program, tmp_path, OMNI_ENDPOINT=NOBODY)
    where = template.parent

    for ask in (
        one.diff(template, directory=where), one.sync(template, directory=where, dry_run=True),
        one.sync(template, directory=where), one.status(template, directory=where), one.cluster_id("apps"),
        one.kubeconfig("apps"), one.kubeconfig("apps", service_account=True), one.talosconfig("apps"),
    ):  # fmt: skip
        with pytest.raises(omnictl.OmniUnreachable, match="connection refused"):
            await ask
    assert os.listdir(tmp_path) == ["repo"]  # nothing is left in the user's home


async def test_a_key_that_is_none_is_told_without_showing_it(program: Path, template: Path, tmp_path: Path) -> None:
    key = "bm8ga2V5IGF0IGFsbCwganVzdCB3b3Jkcw"

    with pytest.raises(omnictl.OmniNotSignedIn) as caught:
        await omni(program, tmp_path, OMNI_ENDPOINT=NOBODY, OMNI_SERVICE_ACCOUNT_KEY=key).diff(
            template, directory=template.parent
        )

    assert key not in f"{caught.value} {caught.value.stderr}"
