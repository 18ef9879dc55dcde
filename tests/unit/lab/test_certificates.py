import ssl
from pathlib import Path

from firstlight.lab import certificates


def test_strict_clients_accept_what_the_lab_serves(tmp_path: Path) -> None:
    """Python 3.13 verifies strictly by default; the lab must be ready there too."""
    authority = certificates.Authority(tmp_path, "ca")
    pair = authority.issue("server", common_name="server", server_names=["lab.example"])
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pair.certificate, pair.key)
    client = ssl.create_default_context(cafile=str(authority.pair.certificate))
    client.verify_flags |= ssl.VERIFY_X509_STRICT

    ends = [ssl.MemoryBIO() for _ in range(2)]
    one = client.wrap_bio(ends[0], ends[1], server_hostname="lab.example")
    other = server.wrap_bio(ends[1], ends[0], server_side=True)
    for _ in range(4):
        for end in (one, other):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue

    assert one.version() is not None


def test_a_pair_stays_as_long_as_it_fits(tmp_path: Path) -> None:
    authority = certificates.Authority(tmp_path, "ca")
    first = authority.issue("server", common_name="s", server_names=["a"]).certificate.read_bytes()
    same = authority.issue("server", common_name="s", server_names=["a"]).certificate.read_bytes()
    other = authority.issue("server", common_name="s", server_names=["a", "b"]).certificate.read_bytes()

    assert first == same
    assert first != other


def test_a_half_written_pair_is_made_anew(tmp_path: Path) -> None:
    authority = certificates.Authority(tmp_path, "ca")
    pair = authority.issue("server", common_name="s")
    pair.key.write_bytes(b"")

    again = authority.issue("server", common_name="s")

    assert again.key.read_bytes()
    assert certificates.Authority(tmp_path, "ca").pair.certificate.read_bytes()
    assert oct(again.key.stat().st_mode & 0o777) == "0o600"
