"""A registry without TLS: only where the source of the chart says so, and never with the user's password."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.model.credentials import Login
from firstlight.model.secret import Secret
from firstlight.model.source import Chart
from firstlight.render import chart_files
from firstlight.render.charts import fetching, pins
from firstlight.render.charts.credentials import Credentials
from firstlight.render.charts.fetching import Means
from firstlight.render.charts.wanted import Stored

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

    monkeypatch.setattr(fetching, "Helm", Helm)
    return found


@pytest.mark.parametrize(
    ("address", "insecure", "is_plain", "has_login"),
    [
        ("registry.example.org", False, False, True),
        ("registry.example.org", True, True, False),
        ("127.71.1.1:5000", True, True, True),
        ("[::1]:5000", True, True, True),
        ("localhost:5000", True, True, True),
        ("10.0.0.1:5000", True, True, False),
    ],
)
async def test_helm_is_told_and_has_no_login_but_for_this_computer(
    made: dict[str, Any], address: str, insecure: bool, is_plain: bool, has_login: bool
) -> None:
    chart = Chart(name="hello", repository=f"oci://{address}/charts", version="1.0.0", insecure=insecure)
    means = Means(Path("helm"), None, Credentials({address: LOGIN}))

    with pytest.raises(errors.ClientError, match="far enough"):
        await fetching.fetch(chart_files.wanted(chart), means)

    assert (address in made["plain_http"], address in made["logins"]) == (is_plain, has_login)


async def test_the_user_may_say_that_a_password_goes_without_tls(made: dict[str, Any]) -> None:
    address = "registry.example.org"
    chart = Chart(name="hello", repository=f"oci://{address}/charts", version="1.0.0", insecure=True)
    means = Means(Path("helm"), None, Credentials({address: LOGIN}), frozenset({address}))

    with pytest.raises(errors.ClientError, match="far enough"):
        await fetching.fetch(chart_files.wanted(chart), means)

    assert made["logins"] == {address: LOGIN}


def test_what_came_without_tls_is_not_taken_by_who_wants_it(tmp_path: Path) -> None:
    chart = Chart(name="hello", repository="oci://registry.example.org", version="1.0.0", insecure=True)
    plain = chart_files.wanted(chart)
    pins.keep(tmp_path, Stored(wanted=plain, name="hello", version="1.0.0", digest="sha256:1", sum="1"))

    assert pins.find(tmp_path, plain) is not None
    assert pins.find(tmp_path, dataclasses.replace(plain, insecure=False)) is None
