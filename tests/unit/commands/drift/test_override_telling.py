"""What ``verify`` and ``drift`` say of overrides that are open, have expired, or cannot be read."""

import dataclasses
import types
from typing import Any, cast

import msgspec
import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute.overrides import override_records
from firstlight.model.override import Emergency, Override, OverrideStanding
from firstlight.model.verdict import Failed, Skipped

OPEN = Override(
    id="20261116t200000z-ab12", cluster="lab", emergency=Emergency.OUTAGE, reason="the shop is down", who="ann",
    begun=0.0, until=100.0, standing=OverrideStanding.OPEN, scope=(),
)  # fmt: skip
OVER = dataclasses.replace(OPEN, standing=OverrideStanding.ENDED)


class Api:
    """An API with some records, or one that does not answer."""

    def __init__(self, *records: Override | str, error: Exception | None = None) -> None:
        self._records = [each if isinstance(each, str) else msgspec.json.encode(each).decode() for each in records]
        self._error = error

    async def list(self, *_: str, **__: str) -> Any:
        if self._error is not None:
            raise self._error
        items = [{"metadata": {"name": "x"}, "data": {"record": each}} for each in self._records]
        return types.SimpleNamespace(items=items)


@pytest.mark.parametrize(
    ("api", "now", "verdict", "says"),
    [
        (Api(OPEN), 99.0, Skipped, "the shop is down (open, expires in 1 s"),
        (Api(OPEN), 160.0, Failed, "EXPIRED since 1 min"),
        (Api("{"), 0.0, Failed, "is no record of an override"),
        (Api(error=errors.Unreachable("nothing answers", target="x")), 0.0, Skipped, "nothing answers"),
    ],
    ids=["open", "expired", "no record", "no answer"],
)
async def test_what_is_told(api: Api, now: float, verdict: type, says: str) -> None:
    client = cast(kube.Client, api)
    (check,) = await override_records.open_override_checks(client, now=now)
    assert isinstance(check.verdict, verdict)
    assert says in check.verdict.reason
    (note,) = await override_records.open_override_notes(client, now=now)
    assert says in note


async def test_nothing_is_told_of_what_is_over() -> None:
    client = cast(kube.Client, Api(OVER))
    assert await override_records.open_override_checks(client, now=200.0) == ()
    assert await override_records.open_override_notes(client, now=200.0) == ()
