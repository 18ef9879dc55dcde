"""What is unpacked, and what is left alone."""

import base64
import gzip
import time

import pytest

from firstlight.repo.secrecy import hidden_texts

TEXT = "kind: Secret\nmetadata: {name: login, namespace: web}\n"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("data", [TEXT.encode(), gzip.compress(TEXT.encode(), mtime=0)])
def test_base64_is_unpacked(data: bytes) -> None:
    assert hidden_texts.unpacked(encoded(data)) == TEXT


def test_base64_in_several_lines_is_unpacked() -> None:
    lines = encoded(TEXT.encode())
    assert hidden_texts.unpacked(f"{lines[:32]}\n{lines[32:]}\n") == TEXT


@pytest.mark.parametrize(
    "value",
    [
        "short",
        "a sentence that is as long as base64 would have to be, and longer",
        encoded(b"\xff\xfe" * 40),
        "H4sI" + "A" * 60,
    ],
)
def test_anything_else_is_left_alone(value: str) -> None:
    assert hidden_texts.unpacked(value) in (None, "")


def test_little_that_becomes_much_is_cut() -> None:
    bomb = encoded(gzip.compress(b"a" * (hidden_texts.LONGEST * 4)))

    assert len(hidden_texts.unpacked(bomb) or "") == hidden_texts.LONGEST


def test_here_documents_have_their_lines() -> None:
    script = "#!/bin/sh\nkubectl apply -f - <<-'EOF' && echo done\n\tkind: Secret\n\tEOF\ncat <<OPEN\nnever ends\n"

    assert list(hidden_texts.here_documents(script)) == [(2, "\tkind: Secret\n")]


def test_a_template_keeps_its_lines() -> None:
    template = "{{- if .x }}\na: {{ .b }}\n{% set x = 1\n%}\nc: 1\n{{ end }}\n"

    assert hidden_texts.without_template(template) == "\na: <variable>\n\n\nc: 1\n\n"


@pytest.mark.parametrize("piece", ["{{", "{%", "{#", "{{ a", "{% a", "<<A\n"])
def test_what_never_ends_is_read_at_once(piece: str) -> None:
    text = piece * 50_000
    begun = time.perf_counter()

    hidden_texts.without_template(text)
    assert list(hidden_texts.here_documents(text)) == []

    assert time.perf_counter() - begun < 5
