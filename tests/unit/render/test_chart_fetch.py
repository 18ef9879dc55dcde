"""The user's own logins, as Helm and Docker keep them."""

import base64
import json
from pathlib import Path

import pytest
import yaml

from firstlight.render import chart_fetch


def auth(pair: str) -> dict[str, str]:
    return {"auth": base64.b64encode(pair.encode()).decode()}


def revealed(found: object) -> str:
    assert found is not None
    return f"{found.username}:{found.password.reveal().decode()}"  # type: ignore[attr-defined]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in (".docker", ".config/helm/registry"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def docker(home: Path, **config: object) -> None:
    (home / ".docker/config.json").write_text(json.dumps(config))


def test_logins_of_docker_and_helm_helms_own_first(home: Path) -> None:
    docker(home, auths={"ghcr.io": auth("d:one"), "registry.example:5000": auth("d:two:with:colons")})
    config = home / ".config/helm/registry/config.json"
    config.write_text(json.dumps({"auths": {"ghcr.io": auth("h:three")}}))
    found = chart_fetch.load_credentials({"HOME": str(home)})

    assert revealed(found.registry("ghcr.io")) == "h:three"
    assert revealed(found.registry("registry.example:5000")) == "d:two:with:colons"
    assert found.registry("registry.example") is None
    assert found.registry("evil.ghcr.io") is None


def test_docker_hub_has_several_names(home: Path) -> None:
    docker(home, auths={"https://index.docker.io/v1/": auth("d:hub")})
    found = chart_fetch.load_credentials({"HOME": str(home)})
    assert revealed(found.registry("docker.io")) == revealed(found.registry("registry-1.docker.io")) == "d:hub"


def test_repositories_are_known_by_their_whole_url(home: Path) -> None:
    entries = [{"name": "a", "url": "https://charts.example.org/team/", "username": "u", "password": "p"}]
    (home / ".config/helm/repositories.yaml").write_text(yaml.safe_dump({"repositories": entries}))
    found = chart_fetch.load_credentials({"HOME": str(home)})

    assert revealed(found.repository("https://charts.example.org/team")) == "u:p"
    assert found.repository("https://charts.example.org/other") is None
    assert found.repository("http://charts.example.org/team") is None


def test_programs_that_keep_logins_are_named(home: Path) -> None:
    docker(home, credsStore="desktop", credHelpers={"ghcr.io": "gh"}, auths={"ghcr.io": {}})
    found = chart_fetch.load_credentials({"HOME": str(home)})

    assert found.registry("ghcr.io") is None
    assert "docker-credential-gh" in found.missing("ghcr.io")
    assert "docker-credential-desktop" in found.missing("quay.io")


def test_places_of_files_may_be_given(home: Path, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/config.json").write_text(json.dumps({"auths": {"a.example": auth("x:y")}}))
    (tmp_path / "r.json").write_text(json.dumps({"auths": {"b.example": auth("x:y")}}))
    environ = {
        "HOME": str(home),
        "DOCKER_CONFIG": str(tmp_path / "d"),
        "HELM_REGISTRY_CONFIG": str(tmp_path / "r.json"),
    }
    assert set(chart_fetch.load_credentials(environ).registries) == {"a.example", "b.example"}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"auths": []}', '{"auths": {"a": {"auth": "%%%"}}}', "\x00"])
def test_broken_files_have_none(home: Path, content: str) -> None:
    (home / ".docker/config.json").write_text(content)
    (home / ".config/helm/repositories.yaml").write_text(content)
    found = chart_fetch.load_credentials({"HOME": str(home)})
    assert (dict(found.registries), dict(found.repositories)) == ({}, {})


def test_passwords_do_not_show_themselves(home: Path) -> None:
    docker(home, auths={"ghcr.io": auth("d:s3cret")})
    assert "s3cret" not in repr(chart_fetch.load_credentials({"HOME": str(home)}))
