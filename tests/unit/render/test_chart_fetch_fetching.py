"""A registry without TLS: only where the source of the chart says so, and never with the user's password."""

import dataclasses
import socket
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.model.secret import Login, Secret
from firstlight.model.source import ChartSource
from firstlight.render import chart_fetch, chart_files, chart_store
from firstlight.render.chart_fetch import ChartCredentials, FetchClients
from firstlight.render.chart_packages import FetchedContent, FetchKind, FetchRequest

LOGIN = Login("me", Secret("hidden"))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What Helm is made with; it fetches nothing."""
    found: dict[str, Any] = {}

    class Helm:
        def __init__(self, program: Path, **given: Any) -> None:
            found.update(given)

        async def pull(self, *_: object) -> None:
            raise errors.ClientError("far enough")

    monkeypatch.setattr(chart_fetch, "Helm", Helm)
    return found


@pytest.mark.parametrize(
    ("address", "insecure", "is_plain", "has_login"),
    [
        ("registry.example.org", False, False, True),
        ("registry.example.org", True, True, False),
        ("10.0.0.1:5000", True, True, False),
    ],
)
async def test_helm_is_told_and_has_no_login(
    made: dict[str, Any], address: str, insecure: bool, is_plain: bool, has_login: bool
) -> None:
    chart = ChartSource(name="hello", repository=f"oci://{address}/charts", version="1.0.0", insecure=insecure)
    means = FetchClients(Path("helm"), None, ChartCredentials({address: LOGIN}))

    with pytest.raises(errors.ClientError, match="far enough"):
        await chart_fetch.fetch(chart_files.wanted(chart), means)

    assert (address in made["plain_http"], address in made["logins"]) == (is_plain, has_login)


NEAR = (
    "127.71.1.1:5000", "[::1]:5000", "localhost:5000", "127.1:5000", "2130706433:5000", "0.0.0.0:5000", "[::]:5000",
    "169.254.169.254", "[fe80::1]:5000", "[::ffff:127.0.0.1]:5000", "rebound.example.org", "rebound.example.org:5000",
)  # fmt: skip


@pytest.fixture
def rebound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name on the net that stands for this computer."""
    real = socket.getaddrinfo

    def found(host: str, *rest: Any, **more: Any) -> Any:
        return real("127.0.0.1" if host == "rebound.example.org" else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.mark.parametrize("form", ["oci://{}/charts", "https://{}/charts", "git"])
@pytest.mark.parametrize("address", NEAR)
@pytest.mark.usefixtures("rebound")
async def test_no_repo_leads_to_this_computer(made: dict[str, Any], address: str, form: str) -> None:
    if form == "git":
        wanted = FetchRequest(kind=FetchKind.GIT, url=f"https://{address}/charts.git", version="main")
    else:
        chart = ChartSource(
            name="hello", repository=form.format(address), version="1.0.0", insecure=form.startswith("oci")
        )
        wanted = chart_files.wanted(chart)

    with pytest.raises(errors.Refused, match="nothing is fetched for a repo") as raised:
        await chart_fetch.fetch(wanted, FetchClients(Path("helm"), Path("git"), ChartCredentials({address: LOGIN})))

    assert made == {}
    assert "FIRSTLIGHT_PLAIN_HTTP" in raised.value.hint


@pytest.mark.parametrize("address", ["127.71.1.1:5000", "localhost:5000"])
async def test_whoever_runs_it_may_name_an_address_of_this_computer(made: dict[str, Any], address: str) -> None:
    chart = ChartSource(name="hello", repository=f"oci://{address}/charts", version="1.0.0", insecure=True)
    means = FetchClients(Path("helm"), None, ChartCredentials({address: LOGIN}), frozenset({address}))

    with pytest.raises(errors.ClientError, match="far enough"):
        await chart_fetch.fetch(chart_files.wanted(chart), means)

    assert address in made["logins"]


async def test_the_user_may_say_that_a_password_goes_without_tls(made: dict[str, Any]) -> None:
    address = "registry.example.org"
    chart = ChartSource(name="hello", repository=f"oci://{address}/charts", version="1.0.0", insecure=True)
    means = FetchClients(Path("helm"), None, ChartCredentials({address: LOGIN}), frozenset({address}))

    with pytest.raises(errors.ClientError, match="far enough"):
        await chart_fetch.fetch(chart_files.wanted(chart), means)

    assert made["logins"] == {address: LOGIN}


def test_what_came_without_tls_is_not_taken_by_who_wants_it(tmp_path: Path) -> None:
    chart = ChartSource(name="hello", repository="oci://registry.example.org", version="1.0.0", insecure=True)
    plain = chart_files.wanted(chart)
    chart_store.keep_pin(
        tmp_path, FetchedContent(wanted=plain, name="hello", version="1.0.0", digest="sha256:1", sum="1")
    )

    assert chart_store.find_pin(tmp_path, plain) is not None
    assert chart_store.find_pin(tmp_path, dataclasses.replace(plain, insecure=False)) is None
