"""Which cluster it is: its authority, and the UID of kube-system."""

import base64
import datetime
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from firstlight import errors
from firstlight.execute import cluster_access, cluster_identity
from firstlight.execute.world import RunPrograms, World
from firstlight.model.cluster import Cluster
from firstlight.model.place import Place
from firstlight.model.secret import Secret

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def certificate(name: str, *, days: int = 3650) -> bytes:
    """A certificate as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + datetime.timedelta(days=days))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


def world(state: Path) -> World:
    async def resolve(reference: str) -> Secret:
        return Secret(reference)

    return World(
        cluster=Cluster(name="infra", place=Place("firstlight.yaml")),
        programs=RunPrograms(),
        resolve=resolve,
        state=state,
    )


class TestAuthority:
    def test_the_same_certificate_passes_however_it_is_written(self) -> None:
        pem = certificate("ca")

        cluster_identity.check_authority(b"# a comment\n" + pem.replace(b"\n", b"\r\n"), pem)
        cluster_identity.check_authority(pem + certificate("next"), pem)

    def test_another_one_of_the_same_name_is_refused(self) -> None:
        with pytest.raises(errors.Refused, match="another authority") as caught:
            cluster_identity.check_authority(certificate("ca"), certificate("ca"))

        assert caught.value.exit_code == 3

    def test_no_certificate_is_refused(self) -> None:
        with pytest.raises(errors.Refused):
            cluster_identity.check_authority(b"", certificate("ca"))

    def test_the_authority_is_read_from_talos_secrets(self) -> None:
        pem = certificate("ca")
        encoded = base64.b64encode(pem).decode()

        assert cluster_access.authority(Secret(yaml.dump({"certs": {"k8s": {"crt": encoded}}}))) == pem
        assert cluster_access.config_authority(Secret(yaml.dump({"cluster": {"ca": {"crt": encoded}}}))) == pem
        apart = {"kind": "KubeAPIServerCAConfig", "issuingCA": {"cert": pem.decode()}}
        assert cluster_access.config_authority(Secret(yaml.dump_all([{"cluster": {"token": "x"}}, apart]))) == pem

    @pytest.mark.parametrize("text", ["certs: {k8s: {crt: AAAA}}", "[]", "{", "certs: {k8s: {crt: '!!'}}"])
    def test_what_are_no_talos_secrets_is_refused_without_being_shown(self, text: str) -> None:
        with pytest.raises(errors.Refused) as caught:
            cluster_access.authority(Secret(text))

        assert "AAAA" not in str(caught.value)


class TestUid:
    def test_it_is_written_down_once_and_compared_later(self, tmp_path: Path) -> None:
        here = world(tmp_path)

        cluster_identity.check_uid(here, "one")
        before = (tmp_path / "infra" / "identity.json").stat()
        cluster_identity.check_uid(here, "one")

        assert (tmp_path / "infra" / "identity.json").stat().st_mtime_ns == before.st_mtime_ns
        with pytest.raises(errors.Refused, match="has the UID two, and had one"):
            cluster_identity.check_uid(here, "two")

    def test_a_bootstrap_begins_anew_and_the_old_ones_stay_to_be_read(self, tmp_path: Path) -> None:
        here = world(tmp_path)
        before = cluster_identity.known(tmp_path, "infra")
        for uid in ("one", "two"):
            cluster_identity.check_uid(here, uid)
            assert cluster_identity.known(tmp_path, "infra") == uid
            cluster_identity.set_aside(here)
            cluster_identity.set_aside(here)

        left = {each.name: each.read_text() for each in (tmp_path / "infra").iterdir()}
        assert (before, cluster_identity.known(tmp_path, "infra")) == ("", "")
        assert left == {
            "identity.1.json": '{"kubeSystem": "one"}\n',
            "identity.2.json": '{"kubeSystem": "two"}\n',
        }

    def test_a_broken_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "infra").mkdir()
        (tmp_path / "infra" / "identity.json").write_text("{")

        with pytest.raises(errors.Refused, match="cannot be read"):
            cluster_identity.check_uid(world(tmp_path), "one")

    @pytest.mark.parametrize("linked", ["infra", "infra/identity.json"])
    def test_a_link_is_not_followed(self, tmp_path: Path, linked: str) -> None:
        state, outside = tmp_path / ".firstlight", tmp_path / "outside"
        outside.mkdir()
        (state / linked).parent.mkdir(parents=True)
        (state / linked).symlink_to(outside if linked == "infra" else outside / "identity.json")

        with pytest.raises(errors.Refused, match="is a link"):
            cluster_identity.check_uid(world(state), "one")

        assert not list(outside.iterdir())
        (outside / "identity.json").write_text('{"kubeSystem": "one"}')
        with pytest.raises(errors.Refused, match="is a link"):
            cluster_identity.check_uid(world(state), "one")


class TestKeys:
    async def test_a_cluster_that_says_nothing_of_its_secrets_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(errors.Refused, match="nothing says where the Talos secrets of infra are"):
            await cluster_access.secrets(world(tmp_path))

    async def test_a_missing_talosctl_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(errors.ToolError, match="talosctl is needed"):
            await cluster_access.ensure(world(tmp_path))
