"""Alerts and monitors that cover a component."""

from typing import Any

import pytest

from firstlight.commands.decide.checks import monitoring
from firstlight.commands.decide.checks.monitoring import WatchedComponent
from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.source import DirectorySource

HERE = Place("apps/web.yaml", 1)


def component(form: SourceForm = SourceForm.KUSTOMIZATION, name: str = "web") -> Component:
    origin = Origin(
        form=form, side=Side.GITOPS, place=HERE, name=name, namespace="flux-system", source=DirectorySource(path="x")
    )
    return Component(
        name=name, cluster="infra", phase=Phase.GITOPS, side=Side.GITOPS, owner=Owner.GITOPS, why="", origins=(origin,)
    )  # fmt: skip


def obj(api_version: str, kind: str, name: str = "web", space: str = "web", **more: Any) -> dict[str, Any]:
    labels = more.pop("labels", {})
    return {
        "apiVersion": api_version, "kind": kind, **more,
        "metadata": {"name": name, "namespace": space, "labels": labels},
    }  # fmt: skip


WEB = (
    Object(
        obj(
            "apps/v1",
            "Deployment",
            spec={"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}},
        )
    ),
    Object(obj("v1", "Service", labels={"app": "web"}, spec={})),
)
WATCHED = WatchedComponent(component=component(), objects=WEB)


def rule(expr: str) -> dict[str, Any]:
    groups = [{"name": "x", "rules": [{"alert": "Down", "expr": expr}, {"record": "y", "expr": "web"}]}]
    return obj("monitoring.coreos.com/v1", "PrometheusRule", "rules", "monitoring", spec={"groups": groups})


@pytest.mark.parametrize(
    "expr",
    [
        'kube_deployment_status_replicas_unavailable{namespace="web", deployment="web"} > 0',
        'kube_deployment_status_replicas_unavailable{deployment="web"} > 0',
        'rate(container_cpu_usage_seconds_total{namespace="web"}[5m]) > 1',
        'kube_pod_container_status_restarts_total{namespace=~"web|shop", pod=~"web-.*"} > 3',
        'kube_pod_status_phase{job="kube-state-metrics", namespace=~".*"} > 0',
        'kube_pod_status_phase{job="kube-state-metrics"} > 0',
        'up{job="web"} == 0',
        "web_requests_failed_total > 3",
        'kube_pod_status_phase{namespace!="kube-system"} > 0',
    ],
)
def test_alerts_that_are_about_it(expr: str) -> None:
    (found,) = monitoring.covers_of(WATCHED, [rule(expr)])

    assert found.name == "PrometheusRule monitoring/rules: Down"
    assert found.is_alert


@pytest.mark.parametrize(
    "expr",
    [
        'kube_deployment_status_replicas_unavailable{namespace="shop", deployment="web"} > 0',
        'kube_deployment_status_replicas_unavailable{namespace="web", deployment="other"} > 0',
        'up{job="other"} == 0',
        "node_filesystem_avail_bytes < 3",
        'kube_pod_status_phase{namespace!="web"} > 0',
        'kube_pod_status_phase{namespace!~"web|shop"} > 0',
        'kube_pod_container_status_restarts_total{namespace="web", pod=~"other-.*"} > 3',
        "webhook_requests_total > 3",
        "",
    ],
)
def test_alerts_that_are_not(expr: str) -> None:
    assert monitoring.covers_of(WATCHED, [rule(expr)]) == ()


def monitor(kind: str, **spec: Any) -> dict[str, Any]:
    return obj("monitoring.coreos.com/v1", kind, "mon", "web", spec=spec)


@pytest.mark.parametrize("kind", ["ServiceMonitor", "PodMonitor"])
def test_monitors(kind: str) -> None:
    (found,) = monitoring.covers_of(WATCHED, [monitor(kind, selector={"matchLabels": {"app": "web"}})])

    assert (found.name, found.is_alert) == (f"{kind} web/mon", False)
    assert monitoring.covers_of(WATCHED, [monitor(kind, selector={"matchLabels": {"app": "x"}})]) == ()
    elsewhere = {"matchNames": ["shop"]}
    wanted = {"matchLabels": {"app": "web"}}
    assert monitoring.covers_of(WATCHED, [monitor(kind, selector=wanted, namespaceSelector=elsewhere)]) == ()
    assert monitoring.covers_of(WATCHED, [monitor(kind, selector=wanted, namespaceSelector={"any": True})]) != ()


def alert(**source: str) -> dict[str, Any]:
    sources = [{"kind": "Kustomization", "name": "web", **source}]
    return obj("notification.toolkit.fluxcd.io/v1beta3", "Alert", "a", "flux-system", spec={"eventSources": sources})


def test_alerts_of_flux() -> None:
    assert [each.is_alert for each in monitoring.covers_of(WATCHED, [alert()])] == [True]
    assert monitoring.covers_of(WATCHED, [alert(name="*")]) != ()
    assert monitoring.covers_of(WATCHED, [alert(name="other")]) == ()
    assert monitoring.covers_of(WATCHED, [alert(kind="HelmRelease")]) == ()
    assert monitoring.covers_of(WATCHED, [alert(namespace="shop")]) == ()
    suspended = alert()
    suspended["spec"]["suspend"] = True
    assert monitoring.covers_of(WATCHED, [suspended]) == ()


def test_notifications_of_argo_cd() -> None:
    application = obj("argoproj.io/v1alpha1", "Application", "web", "argocd")
    noisy = {
        **application,
        "metadata": {"name": "web", "annotations": {"notifications.argoproj.io/subscribe.on-health-degraded.x": "y"}},
    }
    watched = WatchedComponent(component=component(SourceForm.APPLICATION))

    assert monitoring.covers_of(watched, [application]) == ()
    assert [each.name for each in monitoring.covers_of(watched, [noisy])] == ["notifications of Application web"]


def test_alerts_come_first() -> None:
    both = [monitor("ServiceMonitor", selector={"matchLabels": {"app": "web"}}), rule('up{job="web"} == 0')]

    assert [each.is_alert for each in monitoring.covers_of(WATCHED, both)] == [True, False]


def test_what_watches_nodes() -> None:
    assert monitoring.node_covers([rule('up{job="web"} == 0')]) == ()
    (found,) = monitoring.node_covers([rule('kube_node_status_condition{condition="Ready"} == 0')])
    assert found.name == "PrometheusRule monitoring/rules: Down"


def test_what_to_write() -> None:
    assert monitoring.example_alert(WATCHED).endswith(
        'kube_deployment_status_replicas_unavailable{namespace="web", deployment="web"} > 0'
    )
    assert monitoring.example_alert(WatchedComponent(component=component())) == (
        "write an Alert of Flux with eventSources: [{kind: Kustomization, name: web, namespace: flux-system}]"
    )
    assert "Application web" in monitoring.example_alert(WatchedComponent(component=component(SourceForm.APPLICATION)))
    assert (
        monitoring.example_alert(WatchedComponent(component=None))
        == "write a PrometheusRule with an alert that names it"
    )


def test_the_example_would_cover_it() -> None:
    _, _, expr = monitoring.example_alert(WATCHED).partition("expr is ")

    assert monitoring.covers_of(WATCHED, [rule(expr)]) != ()
