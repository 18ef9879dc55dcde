"""Scripts and other files of two states, and what became of them."""

from pathlib import Path

from firstlight.model.change import ChangeVerb, Matter
from firstlight.repo.changes import repo_changes
from tests.unit.repo.changes import manifests
from tests.unit.repo.changes.manifests import DEPLOYMENT, SECRET, SERVICE
from tests.unit.repo.changes.states import changes, shown
from tests.unit.repo.trees import make


class TestScripts:
    TASKFILE = manifests.text("""\
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
            "  changed tasks.deploy.cmds[0].--set.\"ipam.mode\": 'kubernetes' -> 'cluster-pool' values=ipam.mode",
        ]

    def test_a_script_in_a_taskfile(self, tmp_path: Path) -> None:
        before = manifests.text("""\
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
        assert found[0].verb is ChangeVerb.CHANGED
        assert (found[0].place.path, found[0].place.line) == ("a.yaml", len(DEPLOYMENT.splitlines()) + 2)
        assert found[0].broken
        repaired = changes(tmp_path, {"a.yaml": f"{DEPLOYMENT}\n\t- [\n"}, {"a.yaml": DEPLOYMENT})
        assert [each.broken for each in repaired] == [""]
        (toml,) = changes(tmp_path, {"a.toml": "a = 1\n"}, {"a.toml": "a = 1\nb = [\n\n"})
        assert toml.broken
        (toml,) = changes(tmp_path, {"a.toml": "a = 1\n"}, {"a.toml": "a = 1\nb = ?\nc = 2\n"})
        assert toml.place.line == 2

    def test_a_template_is_not_broken(self, tmp_path: Path) -> None:
        text = "{{- range .Values.a }}\n{{ if .x }}a: [{{ else }}b: {{ end }}\n{{- end }}\n"
        chart = {"charts/a/Chart.yaml": "name: a\nversion: 1.0.0\n"}

        found = changes(
            tmp_path, {"charts/a/templates/a.yaml": text}, {"charts/a/templates/a.yaml": f"{text}# b\nc\n"}, rest=chart
        )

        assert [(each.matter, each.broken) for each in found] == [(Matter.CHART, "")]

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

        (found,) = repo_changes.changes(tree, tree, ["vendor/module"])

        assert (found.matter, found.verb, bool(found.fields)) == (Matter.UNKNOWN, ChangeVerb.CHANGED, True)
        assert "submodule" in found.doubt

    def test_encrypted_by_other_ways(self, tmp_path: Path) -> None:
        before = "KEY=ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:str]\nsops_mac=ENC[AES256_GCM,data:AA]\n"

        (found,) = changes(tmp_path, {"a.sops.env": before}, {"a.sops.env": before.replace("data:AAAA", "data:BBBB")})

        assert [(each.steps, each.is_secret, each.after) for each in found.fields] == [((), True, None)]

    def test_a_secret_that_is_broken_now(self, tmp_path: Path) -> None:
        before = {"a.yaml": SECRET}

        found = changes(tmp_path, before, {"a.yaml": SECRET.replace("  other: abc", "  other: [hunter3")})

        assert found[0].doubt
        assert "hunter" not in repr([(each.steps, each.before, each.after) for each in found[0].fields])

    def test_a_file_that_becomes_a_directory(self, tmp_path: Path) -> None:
        found = changes(tmp_path, {"apps": SERVICE}, {"apps/web.yaml": SERVICE})

        assert {each.verb for each in found} == {ChangeVerb.ADDED, ChangeVerb.REMOVED}

    def test_empty(self, tmp_path: Path) -> None:
        assert changes(tmp_path, {"a.yaml": ""}, {"a.yaml": "# nothing\n"}) == ()
