"""Tasks that scenarios do not show: what is refused, and what must never be lost."""

from pathlib import Path

import msgspec
import pytest

from firstlight.commands.up import install_tasks, tasks
from firstlight.model import helm_chart
from firstlight.model import work as model_work
from firstlight.model.component import ObjectId, Phase, Side
from firstlight.model.plan import Action, Plan, Step
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.model.work import Installation, Work
from firstlight.plan import build
from tests.unit.plan import platforms


def _work(spec: dict[str, object], installations: dict[str, object] | None = None) -> Work:
    platform, renditions = platforms.make(spec)
    (cluster,) = platform.clusters
    plan = build.build(platform, cluster, renditions=renditions)
    charts = installations or {}
    return tasks.work(
        platform, cluster, plan, renditions=renditions, installations=charts, drafts=(), revision="c0ffee"  # type: ignore[arg-type]
    )  # fmt: skip


def test_every_action_of_a_plan_has_a_task() -> None:
    actions = set(Action) - {Action.WALK}
    platform, _ = platforms.make({"components": {"a": {"phase": "core"}}})
    (cluster,) = platform.clusters
    steps = tuple(
        Step(id=each.value, phase=Phase.CORE, action=each, name=each.value, component="a") for each in actions
    )

    work = tasks.work(
        platform, cluster, Plan(cluster=cluster.name, steps=steps), renditions=(), installations={}, drafts=(),
        revision="",
    )  # fmt: skip

    assert set(work.tasks) == {each.value for each in actions}


@pytest.mark.parametrize("charts", [{}, {"certs": ((), ())}])
def test_what_could_not_be_rendered_is_refused_and_not_skipped(charts: dict[str, object]) -> None:
    spec: dict[str, object] = {
        "components": {"certs": {"phase": "core", "chart": "certs"}},
        "renditions": {"certs": {"bootstrap": "ERROR no such chart"}},
    }

    task = _work(spec, charts).tasks["core/certs"]

    assert isinstance(task, model_work.Refuse)
    assert "no such chart" in task.why


def test_a_machine_without_a_config_is_refused() -> None:
    task = _work({"clusters": {"home": {"machines": {"controlplane": 1}}}}).tasks["machine:control-planes"]

    assert isinstance(task, model_work.Refuse)
    assert "cp-1" in task.why


def test_a_secret_that_comes_from_nowhere_is_refused() -> None:
    spec: dict[str, object] = {"secrets": [{"name": "key", "namespace": "flux-system", "data": {"age.agekey": ""}}]}

    task = _work(spec).tasks["core:secret/flux-system/key"]

    assert isinstance(task, model_work.Refuse)
    assert "age.agekey" in task.why


def test_a_template_of_omni_that_is_not_there_is_refused() -> None:
    spec: dict[str, object] = {"clusters": {"home": {"machines": {"controlplane": 1}, "omni": True}}}

    task = _work(spec).tasks["machine:template"]

    assert isinstance(task, model_work.Refuse)
    assert "Omni template of home" in task.why


def test_what_stays_with_bootstrap_is_firstlights() -> None:
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: apps}\n"
    spec: dict[str, object] = {
        "components": {"a": {"phase": "core", "side": "hybrid", "owner": "bootstrap", "form": "Kustomization"}},
        "renditions": {"a": {"bootstrap": manifest, "gitops": manifest}},
    }

    task = _work(spec).tasks["core/a"]

    assert isinstance(task, model_work.Apply)
    assert (task.manager, task.managers) == ("firstlight", {})


def test_what_git_does_not_have_is_not_said_to_be_its() -> None:
    one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: apps}\n"
    two = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two, namespace: apps}\n"
    spec: dict[str, object] = {
        "components": {"a": {"phase": "core", "side": "hybrid", "form": "Kustomization"}},
        "renditions": {"a": {"bootstrap": f"{one}---\n{two}", "gitops": one}},
    }

    task = _work(spec).tasks["core/a"]

    assert isinstance(task, model_work.Apply)
    assert task.manager == "kustomize-controller"
    assert task.managers == {ObjectId("", "ConfigMap", "apps", "two"): "firstlight"}


@pytest.mark.parametrize(("owner", "is_kept"), [("bootstrap", True), ("gitops", False)])
def test_a_release_says_whether_bootstrap_keeps_it(owner: str, is_kept: bool) -> None:
    """Only then is a HelmRelease that rests beside it not taken for its owner."""
    release = Installation(
        name="web", namespace="apps", chart=helm_chart.LocalChart(Path("chart")), version="1", values=Secret(b"{}")
    )
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: apps}\n"
    spec: dict[str, object] = {
        "components": {"web": {"phase": "core", "chart": "web", "owner": owner}},
        "renditions": {"web": {"bootstrap": manifest}},
    }

    task = _work(spec, {"web": ((release,), ())}).tasks["core/web"]

    assert isinstance(task, model_work.Install)
    assert task.is_kept is is_kept


def test_a_namespace_that_a_kept_release_brings_is_left_to_it() -> None:
    """Also where a HelmRelease that rests declares it in Git: Helm would not take it from firstlight."""
    release = Installation(
        name="web", namespace="apps", chart=helm_chart.LocalChart(Path("chart")), version="1", values=Secret(b"{}")
    )
    manifest = (
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: extra}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: extra}\n"
    )
    spec: dict[str, object] = {
        "components": {"web": {"phase": "core", "chart": "web", "owner": "bootstrap"}},
        "renditions": {"web": {"bootstrap": manifest, "gitops": manifest}},
    }

    task = _work(spec, {"web": ((release,), ())}).tasks["core:namespaces"]

    assert isinstance(task, model_work.Apply)
    assert [each.id.name for each in task.objects] == ["apps"]


class TestInstance:
    VALUES = b'{"instance": {"distribution": {"version": "2.x"}, "sync": {"url": "https://git.example.org/a"}}}'

    def _release(self, values: bytes) -> Installation:
        return Installation(
            name="flux-instance", namespace="flux-system", chart=helm_chart.LocalChart(Path("chart")), version="1",
            values=Secret(values),
        )  # fmt: skip

    def test_is_installed_once_and_follows_nothing(self) -> None:
        manifest = """
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux, namespace: flux-system}
spec: {sync: {kind: GitRepository, url: https://git.example.org/a, ref: refs/heads/main, path: home}}
"""
        spec: dict[str, object] = {
            "clusters": {"home": {"engine": "flux"}},
            "components": {"flux-instance": {"phase": "engine", "role": "engine", "chart": "flux-instance"}},
            "renditions": {"flux-instance": {"bootstrap": manifest}},
        }
        charts: dict[str, object] = {"flux-instance": ((self._release(self.VALUES),), ())}

        work = _work(spec, charts)

        first, root = work.tasks["engine/flux-instance"], work.tasks["handover:root"]
        assert isinstance(first, model_work.Install)
        assert isinstance(root, model_work.Install)
        assert first.releases[0].once, "a second run must not take sync away: everything would be deleted"
        assert msgspec.json.decode(first.releases[0].values.reveal()) == {
            "instance": {"distribution": {"version": "2.x"}}
        }
        assert not any("sync" in each.value["spec"] for each in first.objects)
        assert not root.releases[0].once
        assert root.releases[0].values.reveal() == self.VALUES

    @pytest.mark.parametrize("values", [b"{}", b"", b'{"instance": null}', b'{"instance": {"sync": {"url": ""}}}'])
    def test_without_sync_it_is_a_release_like_others(self, values: bytes) -> None:
        assert not install_tasks.syncs(self._release(values))


def test_objects_of_hooks_for_later_are_not_applied() -> None:
    spec: dict[str, object] = {
        "components": {"a": {"phase": "core", "side": "hybrid", "form": "Application", "chart": "a"}},
        "renditions": {
            "a": {
                "bootstrap": "\n---\n".join(
                    f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {hook}, annotations: {{helm.sh/hook: {hook}}}}}"
                    for hook in ("pre-install", "post-upgrade", "test", "pre-delete")
                )
            }
        },
    }

    task = _work(spec).tasks["core/a"]

    assert isinstance(task, model_work.Apply)
    assert [each.id.name for each in task.objects] == ["pre-install"]


def test_what_starts_an_engine_waits_for_the_root() -> None:
    source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: a, namespace: apps}\n"
    release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a, namespace: apps}\n"
    plain = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: apps}\n"
    spec: dict[str, object] = {
        "clusters": {"home": {"engine": "flux", "url": "https://git.example.org/a", "path": "home"}},
        "components": {
            "a": {"phase": "core", "bootstrapForm": "kubectl command"},
            "flux": {"phase": "engine", "role": "engine"},
        },
        "renditions": {"a": {"bootstrap": f"{source}---\n{release}---\n{plain}"}, "flux": {"bootstrap": plain}},
    }

    work = _work(spec)

    core, root = work.tasks["core/a"], work.tasks["handover:root"]
    assert isinstance(core, model_work.Apply)
    assert isinstance(root, model_work.Apply)
    assert [each.id.kind for each in core.objects] == ["ConfigMap"]
    assert [each.id.kind for each in root.objects] == ["Kustomization", "HelmRepository", "HelmRelease"]
    baseline = work.tasks["handover:baseline"]
    assert isinstance(baseline, model_work.SaveBaseline)
    assert {each.kind for each in baseline.objects} >= {"ConfigMap", "HelmRelease"}


def test_an_object_is_not_shown() -> None:
    secret = Object({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"key": "c2VjcmV0"}})
    assert "c2VjcmV0" not in repr(model_work.Apply(objects=(secret,), manager=str(Side.BOOTSTRAP)))
