from pathlib import Path

from firstlight.lab.lab_part import Part, ReadinessProbe


def part(*argv: str, reads: tuple[Path, ...] = (), env: dict[str, str] | None = None) -> Part:
    return Part(name="p", what="", reality="real", argv=argv, probe=ReadinessProbe(), reads=reads, env=env or {})


def test_a_part_starts_anew_when_its_arguments_or_what_they_name_change(tmp_path: Path) -> None:
    certificate, other, log = tmp_path / "a.crt", tmp_path / "k.conf", tmp_path / "audit.log"
    for path in (certificate, other, log):
        path.write_text("one")
    one = part("p", f"--cert={certificate}", "--relative=a.crt", f"--log={log}", reads=(other,))
    before = one.stamp(tmp_path)

    log.write_text("two")
    assert one.stamp(tmp_path) == before
    certificate.write_text("two")
    second = one.stamp(tmp_path)
    other.write_text("two")
    third = one.stamp(tmp_path)

    assert len({before, second, third, part("p", "--flag").stamp(tmp_path)}) == 4
    assert part("p", env={"A": "1"}).stamp(tmp_path) != part("p").stamp(tmp_path)
