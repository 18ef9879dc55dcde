"""By what the actors of a lab know each other."""

from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from firstlight.lab.actors import actor_table
from firstlight.lab.lab_directory import LabDirectory
from firstlight.lab.simulations.actor_pods import shared


def test_they_are_made_once_and_belong_to_one_lab(tmp_path: Path) -> None:
    one, other = LabDirectory(tmp_path / "one"), LabDirectory(tmp_path / "other")
    for each in (one, other):
        each.make()

    first, again, elsewhere = shared(one), shared(one), shared(other)

    assert first == again
    assert first["password"] != elsewhere["password"]
    assert len(first["password"]) >= 32
    assert {path.stat().st_mode & 0o077 for path in one.certificates.iterdir() if path.suffix != ".crt"} == {0}


def test_the_certificate_is_one_of_a_client_and_its_authority_has_signed_it(tmp_path: Path) -> None:
    home = LabDirectory(tmp_path / "lab")
    home.make()

    places = shared(home)
    certificate, authority = (
        x509.load_pem_x509_certificate(Path(places[name]).read_bytes()) for name in ("certificate", "authority")
    )

    certificate.verify_directly_issued_by(authority)
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_no_secret_of_them_is_an_argument() -> None:
    """Every user of this computer can read arguments."""
    assert [
        row.name for row in actor_table.table() for text in (*row.arguments, *row.flags) if "{password}" in text
    ] == []
