"""Machine configurations of two states, and what became of them."""

from pathlib import Path

from firstlight.model.change import ChangeVerb, Matter
from tests.unit.repo.changes.manifests import SERVICE, text
from tests.unit.repo.changes.states import changes, shown


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
        assert [each.verb for each in found[0].fields] == [ChangeVerb.CHANGED]

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
