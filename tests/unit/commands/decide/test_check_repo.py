"""Checks of the repo alone: renditions, dependencies, requests, monitors, documentation, security."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from firstlight.commands.decide.checks import (
    capacity,
    check_input,
    checklist,
    impact,
    monitoring,
    reachability,
    repo_hygiene,
    security,
    syntax,
)
from firstlight.commands.decide.checks.answer import CheckAnswer
from firstlight.commands.decide.checks.check_input import RenderedRevision
from firstlight.model.decision import CheckState, Moment
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from tests.unit.commands.decide import scenes

BUMPED = {"apps/web/web.yaml": scenes.deployment(image="web:1.1.0")}


def told(notes: list[CheckAnswer]) -> list[tuple[str, str]]:
    return [(each.state.value, each.message) for each in notes]


def with_error(version: RenderedRevision | None, message: str, *, code: str = "render-failed") -> RenderedRevision:
    """The same with what was rendered of ``web`` broken."""
    assert version is not None
    diagnostic = Diagnostic.error(code, message, at=Place("apps/web/web.yaml", 3), fix="Mend it.")
    return dataclasses.replace(
        version,
        renditions=tuple(
            dataclasses.replace(each, diagnostics=(diagnostic,)) if each.component == "web" else each
            for each in version.renditions
        ),
    )


class TestRender:
    async def test_both_times(self, tmp_path: Path) -> None:
        assert told(await syntax.look_at_rendering(*scenes.made(tmp_path, BUMPED))) == [
            ("passed", "rendered before and after: web")
        ]

    async def test_what_the_change_breaks(self, tmp_path: Path) -> None:
        decision, scene = scenes.made(tmp_path, BUMPED)
        broken = dataclasses.replace(scene, after=with_error(scene.after, "no such chart"))

        (found,) = await syntax.look_at_rendering(decision, broken)

        assert found.state == CheckState.FAILED
        assert str(found) == "apps/web/web.yaml:3: web of home cannot be rendered: no such chart; Mend it."

    async def test_what_was_broken_before_is_for_a_person(self, tmp_path: Path) -> None:
        decision, scene = scenes.made(tmp_path, BUMPED)
        broken = dataclasses.replace(
            scene, before=with_error(scene.before, "no such chart"), after=with_error(scene.after, "no such chart")
        )

        assert told(await syntax.look_at_rendering(decision, broken)) == [
            ("person", "web of home cannot be rendered: no such chart, and could not be before")
        ]

    async def test_what_the_change_mends(self, tmp_path: Path) -> None:
        decision, scene = scenes.made(tmp_path, BUMPED)
        mended = dataclasses.replace(scene, before=with_error(scene.before, "no such chart"))

        assert (await syntax.look_at_rendering(decision, mended))[0].state == CheckState.PASSED

    async def test_nothing_was_rendered(self, tmp_path: Path) -> None:
        assert (await syntax.look_at_rendering(*scenes.made(tmp_path, BUMPED, is_rendered=False)))[0].message == (
            "nothing was rendered: --no-render"
        )

    async def test_what_belongs_to_nothing(self, tmp_path: Path) -> None:
        (found,) = await syntax.look_at_rendering(*scenes.made(tmp_path, {"README.md": "hello"}))

        assert found.state == CheckState.SKIPPED


class TestDependencies:
    async def test_who_depends_on_it(self, tmp_path: Path) -> None:
        assert told(await impact.look_at_dependents(*scenes.made(tmp_path, BUMPED))) == [
            ("passed", "1 component depends on it: home/shop; the plan has no new problem")
        ]

    async def test_a_need_that_nothing_meets(self, tmp_path: Path) -> None:
        decision, scene = scenes.made(tmp_path, {"clusters/home/web.yaml": scenes.kustomization("web", "database")})

        failed = [each for each in await impact.look_at_dependents(decision, scene) if each.state == CheckState.FAILED]

        assert [each.message for each in failed] == [
            "home: web needs kustomization/flux-system/database, which nothing in home deploys"
        ]
        assert failed[0].place is not None
        assert failed[0].place.path == "clusters/home/web.yaml"

    async def test_a_need_that_was_missing_before_is_not_the_changes(self, tmp_path: Path) -> None:
        before = {**scenes.REPO, "clusters/home/web.yaml": scenes.kustomization("web", "database")}
        decision, scene = scenes.made(tmp_path, BUMPED, before=before)

        assert [each.state for each in await impact.look_at_dependents(decision, scene)] == [CheckState.PASSED]

    async def test_what_is_removed_and_needed(self, tmp_path: Path) -> None:
        decision, scene = scenes.made(tmp_path, {"clusters/home/web.yaml": None, "apps/web/web.yaml": None})

        assert any(
            each.state == CheckState.FAILED and "shop needs kustomization/flux-system/web" in each.message
            for each in await impact.look_at_dependents(decision, scene)
        )

    async def test_who_waits_for_what_brought_it_needed_it_too(self, tmp_path: Path) -> None:
        release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: db, namespace: web}\n"
        spec = "spec: {chart: {spec: {chart: db, sourceRef: {kind: HelmRepository, name: charts}}}}\n"
        before = {**scenes.REPO, "apps/web/db.yaml": release + spec}
        decision, scene = scenes.made(tmp_path, {"apps/web/db.yaml": None}, before=before)

        assert told(await impact.look_at_dependents(decision, scene)) == [
            ("person", "db is removed from home, and shop needed it"),
            ("passed", "1 component depends on it: home/shop"),
        ]

    async def test_a_circle(self, tmp_path: Path) -> None:
        decision, scene = scenes.made(tmp_path, {"clusters/home/web.yaml": scenes.kustomization("web", "shop")})

        assert any(each.state == CheckState.FAILED for each in await impact.look_at_dependents(decision, scene))

    async def test_no_cluster(self, tmp_path: Path) -> None:
        assert told(await impact.look_at_dependents(*scenes.made(tmp_path, {"README.md": "x"}))) == [
            ("skipped", "it touches no cluster")
        ]


class TestResources:
    async def test_the_sum_is_told_without_a_cluster(self, tmp_path: Path) -> None:
        after = {"apps/web/web.yaml": scenes.deployment(cpu="1", replicas=3)}

        assert told(await capacity.look(*scenes.made(tmp_path, after))) == [
            ("skipped", "no cluster was asked; the change asks for 2.9 CPU more and 32Mi more")
        ]

    async def test_without_renditions_files_tell(self, tmp_path: Path) -> None:
        after = {"apps/web/web.yaml": scenes.deployment(cpu="1")}

        assert "900m CPU more" in (await capacity.look(*scenes.made(tmp_path, after, is_rendered=False)))[0].message

    async def test_nothing_more(self, tmp_path: Path) -> None:
        assert told(await capacity.look(*scenes.made(tmp_path, BUMPED))) == [
            ("skipped", "no workload asks for more or less than before")
        ]


ALERT = """\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: rules, namespace: monitoring}
spec:
  groups:
    - name: x
      rules:
        - {alert: %s, expr: '%s'}
"""


OTHERS = {"apps/shop/alert.yaml": ALERT % ("ShopDown", 'kube_deployment_spec_replicas{deployment="shop"} > 0')}


class TestMonitoring:
    async def test_no_alerts_at_all_are_for_a_person(self, tmp_path: Path) -> None:
        """A repo without any is not wrong in every change."""
        (found,) = await monitoring.look(*scenes.made(tmp_path, BUMPED))

        assert found.state == CheckState.PERSON
        assert found.message == "who is told if web of home breaks: there is no alert or monitor at all in the repo"

    async def test_what_may_bring_alerts_and_was_not_rendered(self, tmp_path: Path) -> None:
        """Rules of kube-prometheus-stack cover every Deployment."""
        before = {
            **scenes.REPO,
            **OTHERS,
            "clusters/home/prometheus.yaml": scenes.kustomization("prometheus"),
            "apps/prometheus/p.yaml": scenes.deployment("prometheus"),
        }
        decision, scene = scenes.made(tmp_path, BUMPED, before=before)
        shown = tuple(each for each in scene.after.renditions if each.component != "prometheus")
        scene = dataclasses.replace(scene, after=dataclasses.replace(scene.after, renditions=shown))

        (found,) = await monitoring.look(decision, scene)

        assert found.state == CheckState.PERSON
        assert found.message.endswith("prometheus may bring alerts, and was not rendered")

    async def test_nothing_covers_it(self, tmp_path: Path) -> None:
        (found,) = await monitoring.look(*scenes.made(tmp_path, BUMPED, before={**scenes.REPO, **OTHERS}))

        assert found.state == CheckState.FAILED
        assert found.message == "no alert or monitor in the repo covers web of home"
        assert 'kube_deployment_status_replicas_unavailable{namespace="web", deployment="web"} > 0' in found.fix
        assert found.place == Place("clusters/home/web.yaml", 1)

    async def test_what_was_not_rendered_may_bring_its_own(self, tmp_path: Path) -> None:
        (found,) = await monitoring.look(*scenes.made(tmp_path, BUMPED, is_rendered=False))

        assert found.state == CheckState.PERSON
        assert found.message.endswith("covers web of home, as far as can be seen without rendering it")

    async def test_the_example_is_for_what_changed(self, tmp_path: Path) -> None:
        other = scenes.deployment("also")
        before = {**scenes.REPO, "apps/web/also.yaml": other}
        after = {"apps/web/web.yaml": scenes.deployment(cpu="1")}

        (found,) = await monitoring.look(*scenes.made(tmp_path, after, before=before))

        assert 'deployment="web"' in found.fix

    @pytest.mark.parametrize("is_rendered", [True, False])
    async def test_an_alert_in_another_component(self, tmp_path: Path, is_rendered: bool) -> None:
        alert = ALERT % ("WebDown", 'kube_deployment_status_replicas_unavailable{deployment="web"} > 0')
        before = {**scenes.REPO, "apps/shop/alert.yaml": alert}
        decision, scene = scenes.made(tmp_path, BUMPED, before=before, is_rendered=is_rendered)

        assert told(await monitoring.look(decision, scene)) == [
            ("passed", "web of home: covered by PrometheusRule monitoring/rules: WebDown")
        ]

    async def test_machines(self, tmp_path: Path) -> None:
        config = "machine: {sysctls: {a: '1'}}\n"
        before = {
            **scenes.REPO,
            "talos/patch.yaml": config,
            "talos/talconfig.yaml": "clusterName: home\nendpoint: https://10.5.0.2:6443\npatches: ['@./patch.yaml']\n"
            "nodes: [{hostname: a, ipAddress: 10.5.0.2, controlPlane: true, installDisk: /dev/sda}]\n",
        }
        after = {"talos/patch.yaml": config.replace("'1'", "'2'")}

        (found,) = await monitoring.look(*scenes.made(tmp_path / "0", after, before=before))
        assert found.state == CheckState.PERSON
        (found,) = await monitoring.look(*scenes.made(tmp_path / "a", after, before={**before, **OTHERS}))
        assert (found.state, found.message) == (CheckState.FAILED, "no alert in the repo is about nodes")
        covered = {**before, "apps/shop/alert.yaml": ALERT % ("NodeDown", "kube_node_status_condition == 0")}
        (found,) = await monitoring.look(*scenes.made(tmp_path / "b", after, before=covered))
        assert found.message == "the machines of home: covered by PrometheusRule monitoring/rules: NodeDown"

    async def test_what_goes_needs_no_alert(self, tmp_path: Path) -> None:
        after = {"clusters/home/shop.yaml": None, "apps/shop/shop.yaml": None}

        assert [each.state for each in await monitoring.look(*scenes.made(tmp_path, after))] == [CheckState.SKIPPED]


class TestClearText:
    SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: web}\nstringData: {password: %s}\n"

    async def test_fails_and_shows_nothing(self, tmp_path: Path) -> None:
        decision, scene = scenes.made(tmp_path, {"apps/web/db.yaml": self.SECRET % "correct-horse"})

        (found,) = [each for each in await checklist.run(decision, Moment.PRE, scene) if each.id == "no-clear-text"]

        assert found.state == CheckState.FAILED
        assert found.says.startswith("Secret web/db is unencrypted in Git: stringData.password; do not push; encrypt")
        assert found.place == Place("apps/web/db.yaml", 4, 14)
        assert [each.code for each in found.diagnostics] == ["secret-in-clear"]
        assert "correct-horse" not in repr(found) + repr(decision)

    async def test_what_is_encrypted_or_a_variable(self, tmp_path: Path) -> None:
        decision, scene = scenes.made(tmp_path, {"apps/web/db.yaml": self.SECRET % "'${PASSWORD}'"})

        assert [each.state for each in await repo_hygiene.no_clear_text(decision, scene)] == [CheckState.PASSED]
        assert "no-clear-text" not in {each.id for each in decision.checks}


class TestDocs:
    async def test_none_names_it(self, tmp_path: Path) -> None:
        before = {**scenes.REPO, "README.md": "About webs and the web-shop\n"}

        assert told(await repo_hygiene.docs_up_to_date(*scenes.made(tmp_path, BUMPED, before=before))) == [
            ("passed", "no documentation names web, so that there is none to change")
        ]

    async def test_one_names_it_and_was_not_touched(self, tmp_path: Path) -> None:
        before = {**scenes.REPO, "docs/a.md": "\n`Web` is here\n", "README.md": "web\nweb\n", "src/web.txt": "web"}

        assert told(await repo_hygiene.docs_up_to_date(*scenes.made(tmp_path, BUMPED, before=before))) == [
            ("person", "README.md:1, docs/a.md:2 names web, and was not touched")
        ]

    async def test_one_is_a_part_of_the_change(self, tmp_path: Path) -> None:
        before = {**scenes.REPO, "README.md": "web is old\n"}
        after = {**BUMPED, "README.md": "web is new\n"}

        assert told(await repo_hygiene.docs_up_to_date(*scenes.made(tmp_path, after, before=before))) == [
            ("passed", "README.md names web, and is a part of the change")
        ]

    async def test_an_old_version_is_a_failure(self, tmp_path: Path) -> None:
        chart = (
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: web}\n"
            "spec: {chart: {spec: {chart: web, version: %s, sourceRef: {kind: HelmRepository, name: x}}}}\n"
        )
        before = {**scenes.REPO, "apps/web/web.yaml": chart % "1.2.3", "README.md": "we run web v1.2.3 here\n"}
        after: dict[str, str | None] = {"apps/web/web.yaml": chart % "1.3.0"}

        found = await repo_hygiene.docs_up_to_date(*scenes.made(tmp_path, after, before=before))

        assert [str(each) for each in found] == ["README.md:1: README.md still says web 1.2.3; write 1.3.0"]

    async def test_licences_and_pictures_tell_nothing_of_it(self, tmp_path: Path) -> None:
        before = {**scenes.REPO, "LICENSE.md": "of the web\n", "docs/notice.txt": "web\n", "docs/a.png": "web \0\n"}

        assert [
            each.state for each in await repo_hygiene.docs_up_to_date(*scenes.made(tmp_path, BUMPED, before=before))
        ] == [CheckState.PASSED]


class TestSecurity:
    async def test_a_pod_that_becomes_privileged(self, tmp_path: Path) -> None:
        after = {"apps/web/web.yaml": scenes.deployment(more="securityContext: {privileged: true}")}

        found = [each for each in await security.look(*scenes.made(tmp_path, after)) if each.state == CheckState.FAILED]

        assert [each.message for each in found] == ["Deployment web/web: container web is privileged"]
        assert found[0].place is not None
        assert found[0].place.path == "apps/web/web.yaml"

    async def test_nothing_more_is_exposed(self, tmp_path: Path) -> None:
        assert told(await security.look(*scenes.made(tmp_path, BUMPED))) == [
            ("skipped", "what is live: no cluster was asked"),
            ("passed", "1 object differs, and nothing is exposed that was not before"),
        ]


class TestRemovals:
    async def test_the_list_of_what_goes(self, tmp_path: Path) -> None:
        after = {"apps/shop/shop.yaml": None}

        assert told(await impact.look_at_removals(*scenes.made(tmp_path / "a", after))) == [
            ("person", "1 go: Deployment shop/shop")
        ]
        assert told(await impact.look_at_removals(*scenes.made(tmp_path / "b", BUMPED))) == [
            ("passed", "no object goes")
        ]


class TestPairs:
    async def test_what_was_rendered_tells_better_than_files(self, tmp_path: Path) -> None:
        decision, scene = scenes.made(tmp_path, {"apps/web/web.yaml": scenes.deployment(cpu="1")})

        (found,) = check_input.pairs(decision, scene)

        assert (found.component, found.cluster, str(found)) == ("web", "home", "Deployment web/web")
        assert not found.is_gone

    async def test_what_only_moves_is_no_pair(self, tmp_path: Path) -> None:
        decision, scene = scenes.made(tmp_path, {"apps/web/web.yaml": None, "apps/web/other.yaml": scenes.deployment()})

        assert check_input.pairs(decision, scene) == ()

    async def test_what_declares_a_component_is_one(self, tmp_path: Path) -> None:
        decision, scene = scenes.made(tmp_path, {"clusters/home/shop.yaml": None, "apps/shop/shop.yaml": None})

        assert {str(each) for each in check_input.pairs(decision, scene)} == {
            "Kustomization flux-system/shop", "Deployment shop/shop",
        }  # fmt: skip
        assert all(each.is_gone for each in check_input.pairs(decision, scene))


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "expected"),
    [
        ("networking.k8s.io/v1", "Ingress", {"rules": [{"host": "a.example.org"}]}, ["http://a.example.org/"]),
        (
            "networking.k8s.io/v1",
            "Ingress",
            {
                "tls": [{"hosts": ["a.example.org"]}],
                "rules": [{"host": "a.example.org", "http": {"paths": [{"path": "/x"}]}}],
            },
            ["https://a.example.org/x"],
        ),
        ("networking.k8s.io/v1", "Ingress", {"rules": [{"host": "*.example.org"}, {"host": "${HOST}"}, {}]}, []),
        (
            "gateway.networking.k8s.io/v1",
            "HTTPRoute",
            {"hostnames": ["a.example.org"], "rules": [{"matches": [{"path": {"value": "/y"}}]}]},
            ["https://a.example.org/y"],
        ),
        (
            "traefik.io/v1alpha1",
            "IngressRoute",
            {"routes": [{"match": "Host(`a.example.org`) && PathPrefix(`/z`)"}]},
            ["http://a.example.org/"],
        ),
        ("example.org/v1", "HTTPRoute", {"hostnames": ["a.example.org"]}, []),
    ],
)
def test_addresses(api_version: str, kind: str, spec: dict[str, Any], expected: list[str]) -> None:
    value = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}

    assert list(reachability.urls([Object(value)])) == expected


def test_a_scene_has_no_cluster_unless_it_is_given(tmp_path: Path) -> None:
    _, scene = scenes.made(tmp_path, BUMPED)

    assert not scene.is_reached("home")


CRD = """\
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boxes.example.org}
spec:
  group: example.org
  names: {kind: Box}
  versions: [{name: v1, served: true}, {name: v1beta1, served: %s}]
"""
BOX = "apiVersion: example.org/%s\nkind: Box\nmetadata: {name: one, namespace: shop}\n"


class TestVersions:
    @pytest.mark.parametrize(("version", "state"), [("v1", CheckState.PASSED), ("v1beta1", CheckState.FAILED)])
    async def test_what_is_still_written_in_one_that_goes(
        self, tmp_path: Path, version: str, state: CheckState
    ) -> None:
        before = {
            **scenes.REPO,
            "apps/web/web.yaml": scenes.deployment() + CRD % "true",
            "apps/shop/box.yaml": BOX % version,
        }
        after = {"apps/web/web.yaml": scenes.deployment() + CRD % "false"}

        (found,) = await impact.dropped_versions(*scenes.made(tmp_path, after, before=before))

        assert found.state == state
        assert found.message.startswith("example.org/v1beta1 is no longer served")

    async def test_none_goes(self, tmp_path: Path) -> None:
        assert [each.state for each in await impact.dropped_versions(*scenes.made(tmp_path, BUMPED))] == [
            CheckState.PASSED
        ]


class TestUnseen:
    """Where a component was not rendered, nothing is called harmless."""

    async def test_security_is_for_a_person(self, tmp_path: Path) -> None:
        notes = await security.look(*scenes.made(tmp_path, BUMPED, is_rendered=False))

        assert ("person", "what web deploys could not be compared, since it was not rendered before and after") in told(
            notes
        )
        assert not any(each.state == CheckState.PASSED for each in notes)

    async def test_what_goes_is_not_known(self, tmp_path: Path) -> None:
        made = scenes.made(tmp_path, BUMPED, is_rendered=False)

        for look in (impact.look_at_removals, impact.kinds_in_use, impact.dropped_versions):
            assert [each.state for each in await look(*made)] == [CheckState.SKIPPED]

    async def test_what_would_have_to_be_fetched_is_no_failure(self, tmp_path: Path) -> None:
        decision, scene = scenes.made(tmp_path, BUMPED, is_offline=True)
        broken = dataclasses.replace(scene, after=with_error(scene.after, "not in the cache", code="fetch-offline"))

        assert [each.state for each in await syntax.look_at_rendering(decision, broken)] == [CheckState.SKIPPED]


async def test_volumes_that_go_are_told_without_a_cluster(tmp_path: Path) -> None:
    claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: web}\nspec: {}\n"
    before = {**scenes.REPO, "apps/web/web.yaml": scenes.deployment() + claim}
    after = {"apps/web/web.yaml": scenes.deployment()}

    assert told(await impact.look_at_volumes(*scenes.made(tmp_path / "a", after, before=before))) == [
        ("skipped", "PersistentVolumeClaim web/data: no cluster was asked")
    ]
    assert told(await impact.look_at_volumes(*scenes.made(tmp_path / "b", BUMPED))) == [("passed", "no claim goes")]
