import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.lab.sources import pkt_line
from firstlight.lab.sources.pkt_line import PushCommands, PushReport, RefUpdate, encode

OLD, NEW, NONE = "a" * 40, "b" * 40, "0" * 40
REQUEST = (
    encode(f"shallow {OLD}\n".encode())
    + encode(f"{OLD} {NEW} refs/heads/main\0 report-status side-band-64k\n".encode())
    + encode(f"{NONE} {NEW} refs/heads/with space".encode())
    + pkt_line.FLUSH
    + b"PACK\0\0\0\2 and 0032 whatever follows"
)
REPORT = encode(b"unpack ok\n") + encode(b"ok refs/heads/main\n") + encode(b"ng refs/heads/x hook declined\n") + b"0000"


def bands(report: bytes, size: int) -> bytes:
    """A report as clients with bands get it, with progress between its parts."""
    parts = [report[start : start + size] for start in range(0, len(report), size)]
    return b"".join(encode(b"\2ok refs/heads/lie\n") + encode(b"\1" + part) for part in parts) + b"0000"


@given(st.integers(1, 200))
def test_commands_however_they_are_cut(size: int) -> None:
    commands = PushCommands()
    for start in range(0, len(REQUEST), size):
        commands.feed(REQUEST[start : start + size])

    assert commands.updates == [RefUpdate("refs/heads/main", OLD, NEW), RefUpdate("refs/heads/with space", NONE, NEW)]


@given(st.integers(1, 200), st.integers(1, 60), st.booleans())
def test_reports_however_they_are_cut(size: int, band: int, in_bands: bool) -> None:
    report, content = PushReport(), bands(REPORT, band) if in_bands else REPORT
    for start in range(0, len(content), size):
        report.feed(content[start : start + size])

    assert report.moved == {"refs/heads/main"}


@given(st.lists(st.binary(max_size=200), max_size=10))
def test_nonsense_is_survived(chunks: list[bytes]) -> None:
    commands, report = PushCommands(), PushReport()
    for chunk in chunks:
        commands.feed(chunk)
        report.feed(chunk)


@pytest.mark.parametrize("content", [b"zzzzrest", b"0001", b"0003", b"fff1x", b"-001"])
def test_what_is_no_line_ends_it(content: bytes) -> None:
    lines = pkt_line.PktLines()
    assert lines.feed(content) == []
    assert lines.is_broken
    assert lines.feed(b"0008ok x") == []


def test_the_framing() -> None:
    assert encode(b"# service=git-upload-pack\n") == b"001e# service=git-upload-pack\n"
