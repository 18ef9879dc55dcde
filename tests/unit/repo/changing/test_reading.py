"""Files of two states, and what became of the things in them."""

import textwrap
from pathlib import Path

import pytest

from firstlight.model.change import Matter, Verb
from firstlight.repo.changing import piece, reading
from tests.unit.repo.changing.states import changes, shown
from tests.unit.repo.trees import make

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 2
  template:
    spec:
      initContainers:
        - name: first
          image: example.org/first:1
        - name: second
          image: example.org/second:1
      containers:
        - name: web
          image: "example.org/web:1.0.0"
          args: [--one, --two, --three]
          ports:
            - containerPort: 80
            - containerPort: 443
        - name: proxy
          image: example.org/proxy:1
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 80}]}\n"


def text(written: str) -> str:
    return textwrap.dedent(written)


@pytest.mark.parametrize(
    "after",
    {
        "comments and blank lines": DEPLOYMENT.replace("spec:\n", "# why\nspec: # because\n\n", 1),
        "quotes": DEPLOYMENT.replace('"example.org/web:1.0.0"', "example.org/web:1.0.0"),
        "flow style": DEPLOYMENT.replace("\n  name: web\n  namespace: shop\n", " {namespace: shop, name: web}\n"),
        "key order": DEPLOYMENT.replace("  name: web\n  namespace: shop\n", "  namespace: shop\n  name: web\n"),
        "items that have names": DEPLOYMENT.replace(
            "            - containerPort: 80\n            - containerPort: 443\n",
            "            - containerPort: 443\n            - containerPort: 80\n",
        ),
        "line ends": DEPLOYMENT.replace("\n", "\r\n"),
        "a document mark": f"---\n{DEPLOYMENT}",
        "a List": "kind: List\napiVersion: v1\nitems:\n- " + DEPLOYMENT.replace("\n", "\n  ").rstrip() + "\n",
    }.items(),
    ids=lambda each: each[0],
)  # fmt: skip
def test_no_change(tmp_path: Path, after: tuple[str, str]) -> None:
    assert changes(tmp_path, {"a.yaml": DEPLOYMENT}, {"a.yaml": after[1]}) == ()


def test_fields(tmp_path: Path) -> None:
    after = DEPLOYMENT.replace("replicas: 2", "replicas: 3").replace("web:1.0.0", "web:1.1.0").replace("--two, ", "")

    (found,) = changes(tmp_path, {"a.yaml": DEPLOYMENT}, {"a.yaml": after})

    assert shown((found,)) == [
        "object changed Deployment shop/web",
        "  changed spec.replicas: 2 -> 3",
        "  changed spec.template.spec.containers[name=web].image: 'example.org/web:1.0.0' -> 'example.org/web:1.1.0'",
        "  removed spec.template.spec.containers[name=web].args[1]: '--two' -> None",
    ]
    assert [str(each.place) for each in found.fields] == ["a.yaml:7:3", "a.yaml:17:11", "a.yaml:18:25"]
    assert (found.kind, str(found.place)) == ("Deployment", "a.yaml:1")
    assert found.object is not None
    assert found.object.name == "web"
    assert found.before is not None
    assert found.before["spec"]["replicas"] == 2


def test_an_item_put_in_is_one_field(tmp_path: Path) -> None:
    after = DEPLOYMENT.replace("[--one,", "[--zero, --one,")

    (found,) = changes(tmp_path, {"a.yaml": DEPLOYMENT}, {"a.yaml": after})

    assert shown((found,))[1:] == ["  added spec.template.spec.containers[name=web].args[0]: None -> '--zero'"]


def test_the_order_of_init_containers_means_something(tmp_path: Path) -> None:
    first = "        - name: first\n          image: example.org/first:1\n"
    second = "        - name: second\n          image: example.org/second:1\n"

    (found,) = changes(tmp_path, {"a.yaml": DEPLOYMENT}, {"a.yaml": DEPLOYMENT.replace(first + second, second + first)})

    assert shown((found,))[1:] == [
        "  changed spec.template.spec.initContainers: ['name=first', 'name=second'] -> ['name=second', 'name=first']"
    ]


def test_split_and_moved(tmp_path: Path) -> None:
    both = f"{DEPLOYMENT}---\n{SERVICE}"
    after = {"apps/web.yaml": DEPLOYMENT.replace("replicas: 2", "replicas: 4"), "apps/service.yaml": SERVICE}

    found = changes(tmp_path, {"all.yaml": both}, after)

    assert shown(found) == [
        "object moved Service shop/web from all.yaml",
        "object changed Deployment shop/web from all.yaml",
        "  changed spec.replicas: 2 -> 4",
    ]


def test_the_order_of_documents_is_no_change(tmp_path: Path) -> None:
    assert changes(tmp_path, {"a.yaml": f"{DEPLOYMENT}---\n{SERVICE}"}, {"a.yaml": f"{SERVICE}---\n{DEPLOYMENT}"}) == ()


def test_added_and_removed_have_every_leaf(tmp_path: Path) -> None:
    found = changes(tmp_path, {"a.yaml": SERVICE}, {"b.yaml": DEPLOYMENT})

    assert [(each.verb, each.title, each.place.path) for each in found] == [
        (Verb.REMOVED, "Service shop/web", "a.yaml"),
        (Verb.ADDED, "Deployment shop/web", "b.yaml"),
    ]
    assert shown(found[:1])[1:] == [
        "  removed apiVersion: 'v1' -> None",
        "  removed kind: 'Service' -> None",
        "  removed metadata.name: 'web' -> None",
        "  removed metadata.namespace: 'shop' -> None",
        "  removed spec.ports[port=80].port: 80 -> None",
    ]
    assert found[1].before is None
    assert found[1].after is not None


def test_two_objects_of_one_name_stay_in_their_files(tmp_path: Path) -> None:
    before = {"one/web.yaml": DEPLOYMENT, "two/web.yaml": DEPLOYMENT}
    after = {"one/web.yaml": DEPLOYMENT, "three/web.yaml": DEPLOYMENT.replace("replicas: 2", "replicas: 9")}

    found = changes(tmp_path, before, after)

    assert shown(found) == ["object changed Deployment shop/web from two/web.yaml", "  changed spec.replicas: 2 -> 9"]


def test_a_namespace_that_is_written_now(tmp_path: Path) -> None:
    found = changes(tmp_path, {"a.yaml": DEPLOYMENT.replace("  namespace: shop\n", "")}, {"a.yaml": DEPLOYMENT})

    assert shown(found) == [
        "object changed Deployment shop/web",
        "  added metadata.namespace: None -> 'shop'",
    ]


def test_another_namespace_is_another_object(tmp_path: Path) -> None:
    found = changes(tmp_path, {"a.yaml": SERVICE}, {"a.yaml": SERVICE.replace("shop", "other")})

    assert {each.verb for each in found} == {Verb.ADDED, Verb.REMOVED}


def test_the_schema_of_a_new_crd_is_one_leaf(tmp_path: Path) -> None:
    crd = text("""\
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: things.example.org}
        spec:
          versions:
            - name: v1
              schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}, b: {type: string}}}}
        """)

    (found,) = changes(tmp_path, {}, {"crd.yaml": crd})
    assert [each.path for each in found.fields][-1] == "spec.versions[name=v1].schema.openAPIV3Schema"

    (found,) = changes(tmp_path, {"crd.yaml": crd}, {"crd.yaml": crd.replace(", b: {type: string}", "")})
    assert [each.path for each in found.fields] == [
        "spec.versions[name=v1].schema.openAPIV3Schema.properties.b.type",
    ]


class TestSecrets:
    SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  password: hunter2\n  other: abc\n"

    def test_values_are_never_told(self, tmp_path: Path) -> None:
        (found,) = changes(tmp_path, {"a.yaml": self.SECRET}, {"a.yaml": self.SECRET.replace("hunter2", "hunter3")})

        assert shown((found,)) == ["object changed Secret s", "  changed stringData.password: None -> None secret"]
        assert "hunter" not in repr(found)
        assert found.before is found.after is None

    def test_nor_of_what_comes_or_goes(self, tmp_path: Path) -> None:
        (found,) = changes(tmp_path, {}, {"a.yaml": self.SECRET})

        assert [each.path for each in found.fields if each.is_secret] == ["stringData.password", "stringData.other"]
        assert not any(each.before or each.after for each in found.fields if each.is_secret)

    ENCRYPTED = text("""\
        apiVersion: v1
        kind: Secret
        metadata: {name: s}
        stringData:
          password: ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:str]
        sops:
          age: [{recipient: age1aaaa, enc: AAAA}]
          lastmodified: "2026-01-01T00:00:00Z"
          mac: ENC[AES256_GCM,data:MMMM,iv:AAAA,tag:AAAA,type:str]
        """)

    def test_encrypted_again_is_no_change_of_a_value(self, tmp_path: Path) -> None:
        after = self.ENCRYPTED.replace("2026-01", "2026-02").replace("MMMM", "NNNN").replace("enc: AAAA", "enc: BBBB")

        (found,) = changes(tmp_path, {"s.sops.yaml": self.ENCRYPTED}, {"s.sops.yaml": after})

        assert shown((found,)) == ["secret changed Secret s"]
        assert found.doubt == piece.ANEW

    def test_another_ciphertext_may_be_another_value(self, tmp_path: Path) -> None:
        after = self.ENCRYPTED.replace("data:AAAA", "data:BBBB").replace("MMMM", "NNNN")

        (found,) = changes(tmp_path, {"s.sops.yaml": self.ENCRYPTED}, {"s.sops.yaml": after})

        assert shown((found,))[1:] == ["  changed stringData.password: None -> None secret"]
        assert found.doubt == piece.ENCRYPTED
        assert found.object is not None

    def test_who_can_read_it_is_a_field(self, tmp_path: Path) -> None:
        after = self.ENCRYPTED.replace("enc: AAAA}]", "enc: AAAA}, {recipient: age1bbbb, enc: BBBB}]")

        (found,) = changes(tmp_path, {"s.sops.yaml": self.ENCRYPTED}, {"s.sops.yaml": after})

        assert [each.path for each in found.fields] == ["sops.age[recipient=age1bbbb].recipient"]

    def test_passwords_in_other_things(self, tmp_path: Path) -> None:
        pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  automountServiceAccountToken: true\n"
        pod += (
            "  containers:\n    - name: a\n      env: [{name: DB_PASSWORD, value: hunter2}, {name: MODE, value: a}]\n"
        )
        after = pod.replace("hunter2", "hunter3").replace("value: a", "value: b").replace("Token: true", "Token: false")

        (found,) = changes(tmp_path, {"a.yaml": pod}, {"a.yaml": after})

        assert shown((found,))[1:] == [
            "  changed spec.automountServiceAccountToken: True -> False",
            "  changed spec.containers[name=a].env[name=DB_PASSWORD].value: None -> None secret",
            "  changed spec.containers[name=a].env[name=MODE].value: 'a' -> 'b'",
        ]
        assert found.after is not None
        assert "hunter" not in str(found.after)

    def test_a_secret_in_a_machine_config(self, tmp_path: Path) -> None:
        patch = text("""\
            cluster:
              inlineManifests:
                - name: token
                  contents: |
                    apiVersion: v1
                    kind: Secret
                    metadata: {name: token, namespace: kube-system}
                    stringData: {value: hunter2}
            machine:
              token: abc.def
              ca: {crt: QUFB, key: QkJC}
            """)
        after = patch.replace("hunter2", "hunter3").replace("abc.def", "abc.xyz").replace("QkJC", "Q0ND")

        (found,) = changes(tmp_path, {"talos/patch.yaml": patch}, {"talos/patch.yaml": after})

        assert shown((found,)) == [
            "machine changed machine config",
            "  changed cluster.inlineManifests[name=token].contents.Secret kube-system/token.stringData.value: "
            "None -> None secret",
            "  changed machine.token: None -> None secret",
            "  changed machine.ca.key: None -> None secret",
        ]
        assert "hunter" not in str(found.after)
        assert "QkJC" not in str(found.before)

    def test_files_for_a_secret_generator(self, tmp_path: Path) -> None:
        rest = {"app/kustomization.yaml": "secretGenerator: [{name: s, files: [token=token.txt], envs: [a.env]}]\n"}
        before = {"app/token.txt": "hunter2\n", "app/a.env": "KEY=hunter2\n"}

        found = changes(tmp_path, before, {each: text.replace("2", "3") for each, text in before.items()}, rest=rest)

        assert [each.matter for each in found] == [Matter.KUSTOMIZE, Matter.KUSTOMIZE]
        assert all(field.is_secret and field.after is None for each in found for field in each.fields)
        assert "hunter" not in repr([field.after for each in found for field in each.fields])


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
            "  changed data.values.yaml.a.b: 1 -> 2 values=a.b",
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


class TestMachines:
    TALCONFIG = text("""\
        clusterName: home
        talosVersion: v1.12.0
        nodes:
          - hostname: one
            ipAddress: 192.0.2.1
            controlPlane: true
            installDisk: /dev/sda
            nodeLabels: {zone: a}
            patches:
              - |-
                # why
                machine:
                  network: {nameservers: [192.0.2.53]}
          - hostname: two
            ipAddress: 192.0.2.2
            controlPlane: false
            installDisk: /dev/sda
        """)

    def test_talconfig(self, tmp_path: Path) -> None:
        after = self.TALCONFIG.replace("v1.12.0", "v1.12.1").replace("zone: a", "zone: b").replace(".53]", ".54]")

        found = changes(tmp_path, {"talconfig.yaml": self.TALCONFIG}, {"talconfig.yaml": after})

        assert shown(found) == [
            "machine changed talconfig",
            "  changed talosVersion: 'v1.12.0' -> 'v1.12.1'",
            "  changed nodes[hostname=one].nodeLabels.zone: 'a' -> 'b'",
            "  changed machine.network.nameservers[0]: '192.0.2.53' -> '192.0.2.54'",
        ]

    def test_comments_and_the_order_of_nodes(self, tmp_path: Path) -> None:
        head, _, nodes = self.TALCONFIG.partition("nodes:\n")
        one, two = nodes[: nodes.index("  - hostname: two")], nodes[nodes.index("  - hostname: two") :]
        after = f"{head}nodes:\n{two}{one.replace('# why', '# because')}"

        assert changes(tmp_path, {"talconfig.yaml": self.TALCONFIG}, {"talconfig.yaml": after}) == ()

    def test_operations_are_told_by_what_they_change(self, tmp_path: Path) -> None:
        before = "- op: add\n  path: /machine/kubelet/extraArgs\n  value: {v: '2'}\n"
        after = before.replace("'2'", "'4'") + "- {op: replace, path: /machine/network/hostname, value: x}\n"

        (found,) = changes(tmp_path, {"patches/a.yaml": before}, {"patches/a.yaml": after})

        assert shown((found,)) == [
            "machine changed machine config",
            "  changed machine.kubelet.extraArgs.v: '2' -> '4'",
            "  added machine.network.hostname: None -> 'x'",
        ]
        assert [each.place.line for each in found.fields] == [1, 4]

    def test_documents(self, tmp_path: Path) -> None:
        before = "machine: {type: worker}\n---\napiVersion: v1alpha1\nkind: ExtensionServiceConfig\nname: lldpd\n"

        after = before.replace("worker", "controlplane") + "environment: [A=1]\n"

        found = changes(tmp_path, {"talos/a.yaml": before}, {"talos/a.yaml": after})

        assert shown(found) == [
            "machine changed machine config",
            "  changed machine.type: 'worker' -> 'controlplane'",
            "machine changed ExtensionServiceConfig lldpd",
            "  added environment[0]: None -> None secret",
        ]
        assert [each.kind for each in found] == ["v1alpha1", "ExtensionServiceConfig"]

    def test_a_document_put_in_front(self, tmp_path: Path) -> None:
        before = "machine: {type: worker}\n---\nmachine: {env: {a: b}}\n"
        after = f"machine: {{kernel: {{modules: [{{name: nbd}}]}}}}\n---\n{before}"

        found = changes(tmp_path, {"talos/a.yaml": before}, {"talos/a.yaml": after})

        assert shown(found) == [
            "machine added machine config",
            "  added machine.kernel.modules[name=nbd].name: None -> 'nbd'",
        ]

    def test_what_templates_are_given(self, tmp_path: Path) -> None:
        rest = {"talos/a.yaml.j2": "version: v1alpha1\nmachine:\n  type: worker\n  token: {{ token }}\n"}

        found = changes(
            tmp_path, {".minijinja.toml": "[a]\nb = 1 # why\n"}, {".minijinja.toml": "[a]\nb = 2\n"}, rest=rest
        )

        assert shown(found) == ["machine changed .minijinja.toml", "  changed a.b: 1 -> 2"]

    def test_broken_and_something_else_now(self, tmp_path: Path) -> None:
        found = changes(tmp_path, {"p/a.yaml": "machine:\n  network: [\n"}, {"p/a.yaml": SERVICE})

        assert [each.matter for each in found] == [Matter.MACHINE]

    def test_broken_before_and_after(self, tmp_path: Path) -> None:
        before = "machine:\n  network: [\n"

        found = changes(tmp_path, {"p/a.yaml": before}, {"p/a.yaml": before.replace("[", "{")})

        assert [each.matter for each in found] == [Matter.MACHINE]

    def test_omni(self, tmp_path: Path) -> None:
        before = text("""\
            kind: Cluster
            name: home
            kubernetes: {version: v1.33.0}
            talos: {version: v1.12.0}
            patches:
              - name: net
                inline: {cluster: {network: {cni: {name: none}}}}
            ---
            kind: Workers
            machines: [a, b]
            """)
        after = before.replace("v1.33.0", "v1.34.0").replace("name: none", "name: flannel").replace("[a, b]", "[b, a]")

        found = changes(tmp_path, {"omni/cluster.yaml": before}, {"omni/cluster.yaml": after})

        assert shown(found) == [
            "machine changed Omni Cluster home",
            "  changed kubernetes.version: 'v1.33.0' -> 'v1.34.0'",
            "  changed cluster.network.cni.name: 'none' -> 'flannel'",
        ]

    def test_schematic(self, tmp_path: Path) -> None:
        before = "customization:\n  systemExtensions:\n    officialExtensions: [siderolabs/a, siderolabs/b]\n"
        after = before.replace("[siderolabs/a, siderolabs/b]", "[siderolabs/c, siderolabs/b]")

        found = changes(tmp_path, {"schematic.yaml": before}, {"schematic.yaml": after})

        path = "customization.systemExtensions.officialExtensions[0]"
        assert shown(found) == [
            "machine changed schematic",
            f"  removed {path}: 'siderolabs/a' -> None",
            f"  added {path}: None -> 'siderolabs/c'",
        ]

    def test_templates(self, tmp_path: Path) -> None:
        before = "machine:\n  network:\n    hostname: {{ name }}\n{% if a %}\n  type: worker\n{% endif %}\n# why\n"

        path = "talos/machineconfig.yaml.j2"
        assert changes(tmp_path, {path: before}, {path: before.replace("why", "because")}) == ()
        found = changes(tmp_path, {path: before}, {path: before.replace("{{ name }}", "{{ other }}")})
        assert shown(found) == [
            "machine changed machine config",
            "  changed machine.network.hostname: '{{ name }}' -> '{{ other }}'",
        ]
        found = changes(tmp_path, {path: before}, {path: before.replace("if a", "if b")})
        assert [each.matter for each in found] == [Matter.MACHINE]
        assert [each.verb for each in found[0].fields] == [Verb.CHANGED]

    def test_a_template_that_is_no_yaml(self, tmp_path: Path) -> None:
        before = "machine:\n  a: {{ if x }}[\n  b: 1\n{{ end }}\n"

        path = "talos/controlplane.yaml.tmpl"
        found = changes(tmp_path, {path: before}, {path: before.replace("b: 1", "b: 2")})

        assert shown(found) == ["machine changed controlplane.yaml.tmpl", "  changed line 3.b: '1' -> '2'"]

    def test_broken_after(self, tmp_path: Path) -> None:
        found = changes(tmp_path, {"p/a.yaml": "machine: {type: worker}\n"}, {"p/a.yaml": "machine: {type: [worker\n"})

        assert [each.matter for each in found] == [Matter.MACHINE]
        assert "cannot be read" in found[0].doubt
        assert found[0].fields


class TestScripts:
    TASKFILE = text("""\
        version: '3'
        vars: {CILIUM_VERSION: 1.17.6}
        tasks:
          deploy:
            cmds:
              # why
              - helm upgrade --install cilium cilium/cilium --version 1.17.6 --set ipam.mode=kubernetes
              - kubectl get nodes
        """)

    def test_taskfile(self, tmp_path: Path) -> None:
        after = self.TASKFILE.replace("VERSION: 1.17.6", "VERSION: 1.18.0").replace("# why", "# because")
        after = after.replace("--version 1.17.6", "--version 1.18.0").replace("=kubernetes", "=cluster-pool")

        found = changes(tmp_path, {"Taskfile.yaml": self.TASKFILE}, {"Taskfile.yaml": after})

        assert shown(found) == [
            "script changed Taskfile.yaml",
            "  changed vars.CILIUM_VERSION: '1.17.6' -> '1.18.0'",
            "  changed tasks.deploy.cmds[0].--version: '1.17.6' -> '1.18.0'",
            "  changed tasks.deploy.cmds[0].--set.ipam.mode: 'kubernetes' -> 'cluster-pool' values=ipam.mode",
        ]

    def test_a_script_in_a_taskfile(self, tmp_path: Path) -> None:
        before = text("""\
            version: '3'
            tasks:
              up:
                - |
                  # why
                  helm upgrade cilium cilium/cilium \\
                    --version 1.17.6
            """)
        after = before.replace("1.17.6", "1.18.0").replace("why", "because")

        (found,) = changes(tmp_path, {"Taskfile.yaml": before}, {"Taskfile.yaml": after})

        assert shown((found,))[1:] == ["  changed tasks.up[0].line 3.--version: '1.17.6' -> '1.18.0'"]
        assert found.fields[0].place.line == 7
        assert changes(tmp_path, {"Taskfile.yaml": before}, {"Taskfile.yaml": before.replace("why", "because")}) == ()

    def test_shell(self, tmp_path: Path) -> None:
        before = "#!/bin/sh\nVERSION=1.0\nkubectl apply -f a.yaml # why\ncat <<EOF\n# kept\nEOF\n"

        comments = before.replace("# why", "# because").replace("VERSION", "\n# more\nVERSION", 1)
        assert changes(tmp_path, {"scripts/up.sh": before}, {"scripts/up.sh": comments}) == ()
        after = before.replace("1.0", "1.1").replace("# kept", "# other")
        found = changes(tmp_path, {"scripts/up.sh": before}, {"scripts/up.sh": after})
        assert shown(found) == [
            "script changed up.sh",
            "  changed line 2.VERSION: '1.0' -> '1.1'",
            "  changed line 5: '# kept' -> '# other'",
        ]

    def test_justfile_and_passwords(self, tmp_path: Path) -> None:
        before = "up:\n    kubectl create secret generic a --from-literal=password=hunter2\n"

        found = changes(tmp_path, {"justfile": before}, {"justfile": before.replace("hunter2", "hunter3")})

        assert [each.matter for each in found] == [Matter.SCRIPT]
        assert "hunter" not in repr([(each.before, each.after) for each in found[0].fields])


class TestFiles:
    def test_renamed(self, tmp_path: Path) -> None:
        values = "".join(f"key{n}: {n}\n" for n in range(20))

        found = changes(tmp_path, {"a/values.yaml": values}, {"b/values.yaml": values.replace("key3: 3", "key3: 4")})

        assert shown(found) == ["values changed values from a/values.yaml", "  changed key3: 3 -> 4 values=key3"]
        found = changes(tmp_path, {"README.md": "a\nb\nc\nd\n"}, {"docs/README.md": "a\nb\nc\nd\n"})
        assert shown(found) == ["documentation moved README.md from README.md"]

    def test_broken(self, tmp_path: Path) -> None:
        found = changes(tmp_path, {"a.yaml": DEPLOYMENT}, {"a.yaml": f"{DEPLOYMENT}\n\t- [\n"})

        assert [each.matter for each in found] == [Matter.OBJECT]
        assert "cannot be read" in found[0].doubt
        assert found[0].verb is Verb.CHANGED

    def test_no_text(self, tmp_path: Path) -> None:
        found = changes(tmp_path, {"a.bin": b"\0a"}, {"a.bin": b"\0b"})

        assert [(each.matter, each.doubt) for each in found] == [(Matter.UNKNOWN, "it is no text")]

    def test_too_large(self, tmp_path: Path) -> None:
        found = changes(tmp_path, {}, {"a.yaml": b"a: 1\n" * (2 << 20)})

        assert found[0].doubt == "it is too large to be looked into"

    def test_many_lines(self, tmp_path: Path) -> None:
        lines = [f"line {n}\n" for n in range(30_000)]

        found = changes(tmp_path, {"a.txt": "".join(lines)}, {"a.txt": "".join(reversed(lines))})

        assert "not looked into" in found[0].doubt

    def test_what_is_in_neither_tree(self, tmp_path: Path) -> None:
        tree = make(tmp_path, {})

        (found,) = reading.changes(tree, tree, ["vendor/module"])

        assert (found.matter, found.verb, bool(found.fields)) == (Matter.UNKNOWN, Verb.CHANGED, True)
        assert "submodule" in found.doubt

    def test_encrypted_by_other_ways(self, tmp_path: Path) -> None:
        before = "KEY=ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:str]\nsops_mac=ENC[AES256_GCM,data:AA]\n"

        (found,) = changes(tmp_path, {"a.sops.env": before}, {"a.sops.env": before.replace("data:AAAA", "data:BBBB")})

        assert [(each.steps, each.is_secret, each.after) for each in found.fields] == [((), True, None)]

    def test_a_secret_that_is_broken_now(self, tmp_path: Path) -> None:
        before = {"a.yaml": TestSecrets.SECRET}

        found = changes(tmp_path, before, {"a.yaml": TestSecrets.SECRET.replace("  other: abc", "  other: [hunter3")})

        assert found[0].doubt
        assert "hunter" not in repr([(each.steps, each.before, each.after) for each in found[0].fields])

    def test_a_file_that_becomes_a_directory(self, tmp_path: Path) -> None:
        found = changes(tmp_path, {"apps": SERVICE}, {"apps/web.yaml": SERVICE})

        assert {each.verb for each in found} == {Verb.ADDED, Verb.REMOVED}

    def test_empty(self, tmp_path: Path) -> None:
        assert changes(tmp_path, {"a.yaml": ""}, {"a.yaml": "# nothing\n"}) == ()


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
