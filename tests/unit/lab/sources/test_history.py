from firstlight.lab.sources import git_commits
from firstlight.lab.sources.git_commits import PushedCommit

FIRST, SECOND = "1" * 40, "2" * 40


def test_a_log_is_read() -> None:
    output = (
        f"\x01{SECOND}\x02Ann\x02ann@example.org\x022026-01-02T03:04:05Z\x02"
        "subject\n\nbody with \x01 and \x02\n\x03\0\n"
        f"M\0a\0D\0b c\0T\0link\0"
        f"\x01{FIRST}\x02Bob\x02bob@example.org\x022026-01-01T03:04:05Z\x02empty\n\x03\0"
    ).encode()

    assert git_commits.parse_log(output) == [
        PushedCommit(
            SECOND, "Ann", "ann@example.org", "2026-01-02T03:04:05Z", "subject\n\nbody with \x01 and \x02", (),
            ("a", "link"), ("b c",),
        ),
        PushedCommit(FIRST, "Bob", "bob@example.org", "2026-01-01T03:04:05Z", "empty"),
    ]  # fmt: skip
    assert git_commits.parse_log(b"") == []
