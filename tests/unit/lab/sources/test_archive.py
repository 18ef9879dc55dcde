import gzip
import io
import os
import tarfile
from collections.abc import Callable

import pytest

from firstlight.lab.sources import chart_repositories

GOOD = "apiVersion: v2\nname: web\nversion: 1.2.3\n"


def packed(*members: tuple[str, str | bytes], kind: bytes = tarfile.REGTYPE) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, content in members:
            data = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(name)
            entry.type = kind
            if kind == tarfile.REGTYPE:
                entry.size = len(data)
            else:
                entry.linkname = "/etc/passwd"
            tar.addfile(entry, io.BytesIO(data))
    return file.getvalue()


def test_what_helm_knows_is_read() -> None:
    content = GOOD + "appVersion: 2024-01-02\ndeprecated: true\nunknown: 1\nicon: ''\nkeywords: [a]\n"
    found = chart_repositories.chart_metadata(packed(("web/values.yaml", "a: 1"), ("web/Chart.yaml", content)))

    assert found == {
        "apiVersion": "v2", "name": "web", "version": "1.2.3", "appVersion": "2024-01-02", "deprecated": True,
        "keywords": ["a"],
    }  # fmt: skip


def test_only_the_charts_own_file_counts() -> None:
    sub = ("web/charts/sub/Chart.yaml", GOOD.replace("web", "sub"))
    assert chart_repositories.chart_metadata(packed(sub, ("./web/Chart.yaml", GOOD)))["name"] == "web"


ALIASES = "a: &a [x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(3)) + GOOD


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: b"", "too early"),
        (lambda: b"no gzip", "incorrect header"),
        (lambda: packed(("web/Chart.yaml", GOOD))[:60], "."),
        (lambda: gzip.compress(b"no tar" * 1000), "."),
        (lambda: packed(("web/values.yaml", "a: 1")), "no Chart.yaml"),
        (lambda: packed(("Chart.yaml", GOOD)), "no Chart.yaml"),
        (lambda: packed(("web/Chart.yaml", ""), kind=tarfile.SYMTYPE), "no Chart.yaml"),
        (lambda: packed(("web/Chart.yaml", GOOD + "#" * (2 << 20))), "too large"),
        (lambda: packed(("web/Chart.yaml", "[1]")), "no mapping"),
        (lambda: packed(("web/Chart.yaml", "a: [")), "."),
        (lambda: packed(("web/Chart.yaml", "[" * 5000)), "."),
        (lambda: packed(("web/Chart.yaml", b"\xff\xfe\x00")), "."),
        (lambda: packed(("web/Chart.yaml", "!!python/object/apply:os.system [id]")), "."),
        (lambda: packed(("web/Chart.yaml", ALIASES)), "aliases"),
        (lambda: packed(("web/Chart.yaml", GOOD.replace("web", "../../web"))), "no proper name"),
        (lambda: packed(("web/Chart.yaml", GOOD.replace("1.2.3", "1.0"))), "no semantic version"),
        (lambda: packed(("web/Chart.yaml", GOOD.replace("1.2.3", "1/../../2"))), "no semantic version"),
        (lambda: os.urandom(5000), "."),
    ],
)
def test_what_is_no_chart(make: Callable[[], bytes], why: str) -> None:
    with pytest.raises(chart_repositories.NotAChartError, match=why):
        chart_repositories.chart_metadata(make())


def test_a_file_that_comes_late_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart_repositories, "METADATA_DEPTH", 1 << 20)
    early = packed(("web/Chart.yaml", GOOD), ("web/big", bytes(2 << 20)))
    late = packed(("web/big", bytes(2 << 20)), ("web/Chart.yaml", GOOD))

    assert chart_repositories.chart_metadata(early)["name"] == "web"
    with pytest.raises(chart_repositories.NotAChartError, match="in its first 1 MiB"):
        chart_repositories.chart_metadata(late)
