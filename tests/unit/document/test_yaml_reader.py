import pytest

from firstlight.document import yaml_reader


def test_documents() -> None:
    assert yaml_reader.load_all("a: 1\n---\n- b\n---\n") == [{"a": 1}, ["b"], None]
    assert yaml_reader.load_all(b"") == []


@pytest.mark.parametrize("text", ["[" * 200_000, "{a: " * 200_000, "- " * 50_000 + "a", "[" * 201 + "]" * 201])
def test_what_is_too_deep_does_not_end_the_process(text: str) -> None:
    with pytest.raises(ValueError, match="deeper"):
        yaml_reader.load_all(text)


def test_where_it_is_wrong() -> None:
    with pytest.raises(ValueError, match="not YAML") as caught:
        yaml_reader.load_all("a: 1\nb: [\n")

    problem, line = yaml_reader.problem_of(caught.value)
    assert problem
    assert line == 3


@pytest.mark.parametrize("text", ["!!python/object:os.system {}", "a: !unknown b", "\x00", b"\xff"])
def test_what_is_not_read(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        yaml_reader.load_all(text)


def test_anchors_are_no_bomb() -> None:
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 30))

    with pytest.raises(ValueError, match="aliases") as caught:
        yaml_reader.load_all(f"l0: &l0 [x]\n{levels}\n")

    assert yaml_reader.problem_of(caught.value)[1] > 1


def test_it_reads_as_go_does() -> None:
    [document] = yaml_reader.load_all("a: 12:30\nb: 0o17\nc: 2026-99-99T00:00:00Z\nd: 2026-01-01\n1: y\n")

    assert document == {"a": "12:30", "b": 15, "c": "2026-99-99T00:00:00Z", "d": "2026-01-01", "1": True}
