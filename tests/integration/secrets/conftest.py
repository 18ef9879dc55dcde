"""sops itself, and a repo for it."""

from pathlib import Path

import pytest
import pytest_asyncio

from firstlight.tools import install
from tests.integration.secrets.encrypted_repo import EncryptedRepo


@pytest_asyncio.fixture(scope="session")
async def sops() -> Path:
    return (await install.ensure(["sops"]))["sops"]


@pytest.fixture
def repo(sops: Path, tmp_path: Path) -> EncryptedRepo:
    root = tmp_path / "repo"
    root.mkdir()
    return EncryptedRepo(root, sops)
