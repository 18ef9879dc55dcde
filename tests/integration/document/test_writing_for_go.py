"""What is written here is read back by Go's libraries as what it was, in both dialects."""

import os
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from firstlight.document import yaml_editor, yaml_reader, yaml_writer
from firstlight.document.yaml_reader import YamlDialect
from firstlight.document.yaml_writer import YamlStyle
from tests.integration.document.go_yaml import Oracle, same
from tests.unit.document import generated

SEED = int(os.environ.get("FIRSTLIGHT_SEED", "1"))
STYLES = [
    YamlStyle(),
    YamlStyle(step=4, dash=4),
    YamlStyle(step=2, dash=0),
    YamlStyle(step=4, dash=0),
    YamlStyle(step=1, dash=1),
]
_CHARACTERS = (
    "ab0123456789.eExXoO_+ \n\t:#-'\"\\{}[],&*!|>%@`?~=<"
    + "\r\x00\x07\x1b\x7f\x85\xa0\u2028\u2029\ufeff\u200b\ufffe\ue000😀é"
)
_LINE = ["", "a", "  ", "b: c", "# x", "\t", "- ", "é", "'", "---", "{{ x }}"]


def text(chance: random.Random) -> str:
    match chance.randrange(10):
        case 0 | 1 | 2:
            return generated.scalar(chance)
        case 3 | 4 | 5:
            return "".join(chance.choice(_CHARACTERS) for _ in range(chance.randint(0, 8)))
        case 6 | 7 | 8:
            lines = (
                "".join(chance.choice(_LINE) for _ in range(chance.randint(0, 3))) for _ in range(chance.randint(0, 5))
            )
            return "\n".join(lines)
        case _:
            return chance.choice(generated.WORDS)


def value(chance: random.Random, depth: int) -> Any:
    if depth == 0 or chance.random() < 0.5:
        choices: list[Callable[[], Any]] = [
            lambda: text(chance),
            lambda: text(chance),
            lambda: text(chance),
            lambda: chance.randint(-(1 << 63), (1 << 64) - 1),
            lambda: chance.choice([0, 1, -1, True, False, None]),
            lambda: chance.choice([0.5, 1.0, -0.0, 1e21, 1e-7, 1e300, 5e-324]),
            lambda: chance.random() * 10 ** chance.randint(-20, 30),
        ]
        return chance.choice(choices)()
    if chance.random() < 0.5:
        return {text(chance): value(chance, depth - 1) for _ in range(chance.randint(0, 4))}
    return [value(chance, depth - 1) for _ in range(chance.randint(0, 4))]


def differences(go: Oracle, written: str, expected: Any) -> list[Any]:
    """What Go and we read back that is something else; Kubernetes reads through JSON."""
    answer = go.ask(written)
    found: list[Any] = []
    if answer.kubernetes_error or not same(answer.kubernetes, as_json(expected)):
        found.append((answer.kubernetes_error, answer.kubernetes))
    if answer.talos_error or not same(next(iter(answer.talos), None), expected):
        found.append((answer.talos_error, answer.talos))
    for dialect in YamlDialect:
        contents = yaml_reader.read(written.encode(), "a.yaml", dialect=dialect)
        read = contents.documents[0].value if contents.documents else None
        if contents.diagnostics or not same(read, as_json(expected) if dialect is YamlDialect.KUBERNETES else expected):
            found.append((contents.diagnostics, read))
    return found


def as_json(found: Any) -> Any:
    """Whole floats are integers behind JSON, as far as 64 bits go."""
    if isinstance(found, dict):
        return {key: as_json(each) for key, each in found.items()}
    if isinstance(found, list):
        return [as_json(each) for each in found]
    if isinstance(found, float) and found.is_integer() and abs(found) < 1 << 63:
        return int(Decimal(repr(found)))  # the shortest digits, which are what JSON has
    return found


def test_every_value_comes_back(go: Oracle) -> None:
    chance = random.Random(SEED)
    for _ in range(5_000):
        expected = value(chance, 3)
        written = yaml_writer.dump(expected, style=chance.choice(STYLES))

        assert not differences(go, written, expected), (expected, written)


def test_every_value_comes_back_from_one_line(go: Oracle) -> None:
    chance = random.Random(SEED)
    for _ in range(2_000):
        expected = value(chance, 3)
        written = yaml_writer.flow(expected) + "\n"

        assert not differences(go, written, expected), (expected, written)


@pytest.mark.parametrize(
    "word", [*generated.WORDS, *generated.TAGGED, "<<", "y", "- a", "? b", "a: b", "a #b", "%x", "\ud7ff"]
)
def test_a_text_stays_a_text_as_value_and_key(go: Oracle, word: str) -> None:
    for expected in ({word: word}, [word], [[word, {word: [word]}]], word):
        assert not differences(go, yaml_writer.dump(expected), expected)
        assert not differences(go, yaml_writer.flow(expected) + "\n", expected)


def test_a_spliced_value_is_what_go_reads(go: Oracle) -> None:
    chance = random.Random(SEED)
    frame = "a: 1 # one\nlist:\n- x: &x {p: q}\n  z: |\n    text\n\n# between\nflow: {k: [1, 2], l: 'm'}\nlast: *x\n"
    paths: list[list[str | int]] = [
        ["a"],
        ["list", 0, "z"],
        ["list", 1],
        ["flow", "k", 1],
        ["flow", "new"],
        ["last"],
        ["n", "m"],
    ]
    for _ in range(1_500):
        new = value(chance, 2)
        path = chance.choice(paths)
        edited = yaml_editor.set_value(frame, path, new)

        answer = go.ask(edited)
        found: Any = answer.kubernetes
        for step in path:
            found = found[step]

        assert same(found, as_json(new)), (path, new, edited)
        assert not answer.talos_error
