"""Secrets of two states: that they changed is told, and never what they are."""

from pathlib import Path

from firstlight.model.change import Matter
from firstlight.repo.changes import compared_pieces
from tests.unit.repo.changes import manifests
from tests.unit.repo.changes.manifests import SECRET
from tests.unit.repo.changes.states import changes, shown


class TestSecrets:
    def test_values_are_never_told(self, tmp_path: Path) -> None:
        (found,) = changes(tmp_path, {"a.yaml": SECRET}, {"a.yaml": SECRET.replace("hunter2", "hunter3")})

        assert shown((found,)) == ["object changed Secret s", "  changed stringData.password: None -> None secret"]
        assert "hunter" not in repr(found)
        assert found.before is found.after is None

    def test_nor_of_what_comes_or_goes(self, tmp_path: Path) -> None:
        (found,) = changes(tmp_path, {}, {"a.yaml": SECRET})

        assert [each.path for each in found.fields if each.is_secret] == ["stringData.password", "stringData.other"]
        assert not any(each.before or each.after for each in found.fields if each.is_secret)

    ENCRYPTED = manifests.text("""\
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
        assert found.doubt == compared_pieces.ANEW

    def test_another_ciphertext_may_be_another_value(self, tmp_path: Path) -> None:
        after = self.ENCRYPTED.replace("data:AAAA", "data:BBBB").replace("MMMM", "NNNN")

        (found,) = changes(tmp_path, {"s.sops.yaml": self.ENCRYPTED}, {"s.sops.yaml": after})

        assert shown((found,))[1:] == ["  changed stringData.password: None -> None secret"]
        assert found.doubt == compared_pieces.ENCRYPTED
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
        patch = manifests.text("""\
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
