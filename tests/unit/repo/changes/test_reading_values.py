"""Values, charts and kustomizations of two states, and what became of them."""

from pathlib import Path

from firstlight.model.change import Matter
from tests.unit.repo.changes.manifests import text
from tests.unit.repo.changes.states import changes, shown


class TestValues:
    RELEASE = text("""\
        apiVersion: helm.toolkit.fluxcd.io/v2
        kind: HelmRelease
        metadata: {name: web, namespace: shop}
        spec:
          chart: {spec: {chart: web, version: 1.2.3}}
          values:
            image: {tag: v1}
        """)

    def test_of_a_helm_release(self, tmp_path: Path) -> None:
        after = self.RELEASE.replace("1.2.3", "2.0.0").replace("tag: v1", "tag: v2")

        found = changes(tmp_path, {"a.yaml": self.RELEASE}, {"a.yaml": after})

        assert shown(found) == [
            "object changed HelmRelease shop/web",
            "  changed spec.chart.spec.version: '1.2.3' -> '2.0.0'",
            "  changed spec.values.image.tag: 'v1' -> 'v2' values=image.tag",
        ]

    APPLICATION = text("""\
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: web, namespace: argocd}
        spec:
          sources:
            - repoURL: https://charts.example.org
              chart: web
              helm:
                parameters: [{name: image.tag, value: v1}]
                valuesObject: {replicas: 1}
                values: |
                  # a comment
                  port: 80
        """)

    def test_of_an_application(self, tmp_path: Path) -> None:
        after = self.APPLICATION.replace("v1}", "v2}").replace("replicas: 1", "replicas: 2").replace("80", "81")

        found = changes(tmp_path, {"a.yaml": self.APPLICATION}, {"a.yaml": after})

        source = "spec.sources[repoURL=https://charts.example.org,chart=web].helm"
        assert shown(found)[1:] == [
            f"  changed {source}.parameters[name=image.tag].value: 'v1' -> 'v2' values=image.tag",
            f"  changed {source}.valuesObject.replicas: 1 -> 2 values=replicas",
            f"  changed {source}.values.port: 80 -> 81 values=port",
        ]

    def test_a_comment_in_their_text_is_no_change(self, tmp_path: Path) -> None:
        after = self.APPLICATION.replace("# a comment", "# another")

        assert changes(tmp_path, {"a.yaml": self.APPLICATION}, {"a.yaml": after}) == ()

    def test_of_a_chart_of_k3s(self, tmp_path: Path) -> None:
        chart = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: a}\n"
        chart += "spec:\n  valuesContent: |-\n    a: 1\n"

        found = changes(tmp_path, {"a.yaml": chart}, {"a.yaml": chart.replace("a: 1", "a: 2")})

        assert shown(found)[1:] == ["  changed spec.valuesContent.a: 1 -> 2 values=a"]

    def test_of_a_helmfile(self, tmp_path: Path) -> None:
        before = text("""\
            releases:
              - name: cilium
                chart: cilium/cilium
                version: 1.17.6
                values: [values/cilium.yaml, {a: {b: 1}}]
                set: [{name: c.d, value: 1}]
            """)
        after = before.replace("1.17.6", "1.18.0").replace("b: 1", "b: 2").replace("value: 1", "value: 2")
        values = {"values/cilium.yaml": "ipam: {mode: kubernetes} # why\n"}

        found = changes(
            tmp_path,
            {"helmfile.yaml": before, **values},
            {"helmfile.yaml": after, "values/cilium.yaml": "# because\nipam: {mode: cluster-pool}\n"},
        )

        assert shown(found) == [
            "release changed helmfile.yaml",
            "  changed releases[name=cilium].version: '1.17.6' -> '1.18.0'",
            "  changed releases[name=cilium].values[1].a.b: 1 -> 2 values=a.b",
            "  changed releases[name=cilium].set[name=c.d].value: 1 -> 2 values=c.d",
            "values changed values",
            "  changed ipam.mode: 'kubernetes' -> 'cluster-pool' values=ipam.mode",
        ]

    def test_of_a_helmfile_that_is_a_template(self, tmp_path: Path) -> None:
        before = text("""\
            releases:
              {{ if .Values.cilium }}
              - name: cilium
                chart: cilium/cilium
                version: {{ .Values.version }}
                installed: {{ .Values.on }}
                values: [{a: 1}]
              {{ end }}
            """)
        after = before.replace("a: 1", "a: 2").replace(".Values.version", ".Values.newVersion")

        found = changes(tmp_path, {"helmfile.yaml.gotmpl": before}, {"helmfile.yaml.gotmpl": after})

        assert shown(found) == [
            "release changed helmfile.yaml.gotmpl",
            "  changed releases[name=cilium].version: '{{ .Values.version }}' -> '{{ .Values.newVersion }}'",
            "  changed releases[name=cilium].values[0].a: 1 -> 2 values=a",
        ]
        after = before.replace("if .Values.cilium", "if .Values.other") + "{{/* a comment */}}\n# another\n"
        (found_,) = changes(tmp_path, {"helmfile.yaml.gotmpl": before}, {"helmfile.yaml.gotmpl": after})
        assert (found_.matter, [each.place.line for each in found_.fields]) == (Matter.RELEASE, [2])

    def test_of_a_chart_in_the_repo(self, tmp_path: Path) -> None:
        rest = {"charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n"}

        found = changes(
            tmp_path,
            {"charts/web/values.yaml": "a: 1\n", "charts/web/templates/x.yaml": "a: {{ .Values.a }}\n# one\n"},
            {"charts/web/values.yaml": "a: 2\n", "charts/web/templates/x.yaml": "a: {{ .Values.b }}\n# two\n"},
            rest=rest,
        )

        assert shown(found) == [
            "chart changed x.yaml",
            "  changed a: '{{ .Values.a }}' -> '{{ .Values.b }}'",
            "values changed values",
            "  changed a: 1 -> 2 values=a",
        ]

    def test_of_a_generated_config_map(self, tmp_path: Path) -> None:
        rest = {"app/kustomization.yaml": "configMapGenerator: [{name: v, files: [values.yaml=helm/web.yaml]}]\n"}

        found = changes(tmp_path, {"app/helm/web.yaml": "a: 1\n"}, {"app/helm/web.yaml": "a: 2\n"}, rest=rest)

        assert shown(found) == ["values changed values", "  changed a: 1 -> 2 values=a"]

    def test_of_a_config_map_that_a_release_names(self, tmp_path: Path) -> None:
        cluster = "clusters/home"
        release = self.RELEASE + "  valuesFrom: [{kind: ConfigMap, name: web-values}]\n"
        holder = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-values, namespace: shop}\ndata:\n"
        holder += "  values.yaml: |\n    # why\n    a: {b: 1}\n"
        rest = {f"{cluster}/flux-system/gotk-sync.yaml": SYNC, f"{cluster}/release.yaml": release}

        after = holder.replace("b: 1", "b: 2").replace("why", "because")
        found = changes(tmp_path, {f"{cluster}/v.yaml": holder}, {f"{cluster}/v.yaml": after}, rest=rest)

        assert shown(found) == [
            "object changed ConfigMap shop/web-values",
            '  changed data."values.yaml".a.b: 1 -> 2 values=a.b',
        ]

    def test_of_a_kustomization(self, tmp_path: Path) -> None:
        before = "helmCharts: [{name: web, version: 1.0.0, valuesInline: {a: 1}}]\n"

        found = changes(
            tmp_path, {"kustomization.yaml": before}, {"kustomization.yaml": before.replace("a: 1", "a: 2")}
        )

        assert shown(found) == [
            "kustomize changed kustomization",
            "  changed helmCharts[name=web].valuesInline.a: 1 -> 2 values=a",
        ]


class TestKustomize:
    def test_order(self, tmp_path: Path) -> None:
        before = "resources: [a.yaml, b.yaml]\npatches: [{path: one.yaml}, {path: two.yaml}]\n"
        after = "resources: [b.yaml, a.yaml]\npatches: [{path: two.yaml}, {path: one.yaml}]\n"

        found = changes(tmp_path, {"kustomization.yaml": before}, {"kustomization.yaml": after})

        assert shown(found)[1:] == [
            "  changed patches: ['path=one.yaml', 'path=two.yaml'] -> ['path=two.yaml', 'path=one.yaml']"
        ]

    def test_a_patch_is_a_change_of_its_object(self, tmp_path: Path) -> None:
        patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 5}\n"

        found = changes(
            tmp_path,
            {"o/kustomization.yaml": "resources: [../base]\n"},
            {"o/kustomization.yaml": "resources: [../base]\npatches: [{path: web.yaml}]\n", "o/web.yaml": patch},
        )

        assert shown(found) == [
            "kustomize changed kustomization",
            "  added patches[path=web.yaml].path: None -> 'web.yaml'",
            "object changed Deployment web",
            "  added spec.replicas: None -> 5",
        ]

    def test_a_patch_that_was_moved_and_changed(self, tmp_path: Path) -> None:
        patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 5, paused: true}\n"
        rest = {"o/kustomization.yaml": "patches: [{path: a.yaml}, {path: b.yaml}]\n"}

        found = changes(tmp_path, {"o/a.yaml": patch}, {"o/b.yaml": patch.replace("5", "6")}, rest=rest)

        assert shown(found) == ["object changed Deployment web from o/a.yaml", "  changed spec.replicas: 5 -> 6"]

    def test_a_patch_in_a_text(self, tmp_path: Path) -> None:
        before = "patches:\n  - target: {kind: Deployment}\n    patch: |\n      # why\n      spec: {replicas: 1}\n"

        after = before.replace("why", "because").replace("replicas: 1", "replicas: 2")

        found = changes(tmp_path, {"kustomization.yaml": before}, {"kustomization.yaml": after})

        assert shown(found)[1:] == ["  changed patches[0].patch.spec.replicas: 1 -> 2"]

    def test_a_file_for_a_generator(self, tmp_path: Path) -> None:
        rest = {"kustomization.yaml": "configMapGenerator: [{name: d, files: [dashboard.json]}]\n"}

        found = changes(tmp_path, {"dashboard.json": '{"a": 1}'}, {"dashboard.json": '{"a":\n2}'}, rest=rest)

        assert shown(found) == ["kustomize changed kustomization", "  changed a: 1 -> 2"]


SYNC = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {url: "https://git.example.org/fleet", ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/home, sourceRef: {kind: GitRepository, name: flux-system}}
"""
