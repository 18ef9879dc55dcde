import datetime

import pytest

from firstlight.clients.helm import helm_output
from firstlight.model import helm_chart
from firstlight.model.secret import Secret

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)


def test_a_chart_with_all_that_is_read() -> None:
    text = (
        "apiVersion: v2\nname: c\nversion: 1.2.3\nappVersion: '1.10'\nkubeVersion: '>=1.20'\n"
        "type: library\ndeprecated: true\n"
        "dependencies:\n- {name: d, version: ^1, repository: https://h, condition: d.enabled, alias: e, tags: [x]}\n"
        "icon: x\n"
    )

    assert helm_output.chart(text) == helm_chart.ChartMetadata(
        name="c",
        version="1.2.3",
        app_version="1.10",
        api_version="v2",
        kube_version=">=1.20",
        type="library",
        is_deprecated=True,
        dependencies=(helm_chart.ChartDependency("d", "^1", "https://h", "d.enabled", "e"),),
    )


@pytest.mark.parametrize("text", ["", "[", "- a", "name: c", "name: [c]\nversion: 1.0.0", "{" * 5000])
def test_what_is_no_chart(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        helm_output.chart(text)


@pytest.mark.parametrize(
    ("chart", "name", "version"),
    [
        ("cilium-1.17.0", "cilium", "1.17.0"),
        ("kube-prometheus-stack-70.0.0-rc.1+x", "kube-prometheus-stack", "70.0.0-rc.1+x"),
        ("k8s-2-v1.0.0", "k8s-2", "v1.0.0"),
        ("odd", "odd", ""),
    ],
)
def test_releases_in_a_list(chart: str, name: str, version: str) -> None:
    [release] = helm_output.releases(
        f'[{{"name":"a","namespace":"b","revision":"12","updated":"2026-03-01 13:00:00.123456789 +0100 CET",'
        f'"status":"pending-upgrade","chart":"{chart}","app_version":"9"}}]'.encode()
    )

    assert release == helm_chart.InstalledRelease("a", "b", 12, "pending-upgrade", name, version, "9", NOON)
    assert release.is_pending


def test_a_history() -> None:
    [release] = helm_output.history(
        b'[{"revision":1,"updated":"2026-03-01T12:00:00.1Z","status":"failed","chart":"c-1.0.0","app_version":"",'
        b'"description":"no"}]',
        name="a",
        namespace="b",
    )

    assert (release.name, release.updated, release.description) == ("a", NOON, "no")


def test_one_release() -> None:
    release = helm_output.release(
        b'{"name":"a","namespace":"b","revision":2,"status":"deployed","chart":"c","version":"1","appVersion":"9",'
        b'"deployedAt":"2026-03-01T12:00:00Z","applyMethod":"csa"}',
        b'{"name":"a","namespace":"b","version":2,"info":{"status":"deployed","description":"d","notes":"n"},"manifest":"m",'
        b'"config":{"x":1}}',
    )

    assert release == helm_chart.InstalledRelease(
        "a", "b", 2, "deployed", "c", "1", "9", NOON, "d", "client-side", Secret("m"), "n"
    )
    assert "m" not in repr(release.manifest)


def test_what_was_written() -> None:
    release = helm_output.written(
        b'{"name":"a","namespace":"b","version":1,"info":{"status":"deployed","last_deployed":"2026-03-01T12:00:00Z"},'
        b'"chart":{"metadata":{"name":"c","version":"1.0.0","appVersion":"9"}},"manifest":"m","apply_method":"ssa"}'
    )

    assert (release.chart, release.chart_version, release.apply_method) == ("c", "1.0.0", "server-side")


def test_what_was_pushed() -> None:
    digest = f"sha256:{'0' * 64}"

    assert helm_output.pushed(f"Pushed: h/x:1\nDigest: {digest}\n") == helm_chart.PushedChart("h/x:1", digest)
    with pytest.raises(ValueError, match="pushed"):
        helm_output.pushed("Pushed: h/x:1\n")


@pytest.mark.parametrize("text", ["", None, "yesterday"])
def test_no_time(text: str | None) -> None:
    assert helm_output.time(text) is None
