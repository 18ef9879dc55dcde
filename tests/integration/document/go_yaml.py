"""The oracle as a process: texts in, what Go's libraries read out."""

import base64
import dataclasses
import json
import math
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

MAXIMUM = 1 << 63


@dataclasses.dataclass(frozen=True)
class Answer:
    """What both libraries make of a text."""

    kubernetes: Any
    """The first document."""
    kubernetes_error: str
    talos: tuple[Any, ...]
    """Documents before the first error."""
    talos_error: str


class Oracle:
    """A running oracle."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"TZ": "UTC"}
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def ask(self, text: str | bytes) -> Answer:
        """What Go reads."""
        [answer] = self.ask_all([text])
        return answer

    def ask_all(self, texts: Sequence[str | bytes]) -> list[Answer]:
        """What Go reads, of some hundreds of texts at most, since nobody empties its output meanwhile."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        found = []
        for text in texts:
            data = text.encode() if isinstance(text, str) else text
            self._process.stdin.write(base64.b64encode(data) + b"\n")
            self._process.stdin.flush()
            found.append(_answer(json.loads(self._process.stdout.readline())))
        return found


def _answer(raw: dict[str, Any]) -> Answer:
    return Answer(
        raw.get("kubernetes"),
        raw.get("kubernetesError", ""),
        tuple(_typed(each) for each in raw["talos"]),
        raw.get("talosError", ""),
    )


def _typed(raw: list[Any]) -> Any:
    match raw:
        case ["null"]:
            return None
        case ["map", found]:
            return {key: _typed(each) for key, each in found.items()}
        case ["list", found]:
            return [_typed(each) for each in found]
        case ["float", found]:
            return float(found)
        case ["int", found]:
            return int(found)
        case [_, found]:
            return found
    raise AssertionError(raw)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same, types included; beyond 64 bits JSON does not tell floats from integers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or (one == other and math.copysign(1, one) == math.copysign(1, other))
    if type(one) is not type(other):
        numbers = {type(one), type(other)} == {int, float}
        return numbers and abs(one) >= MAXIMUM and float(one) == float(other)
    return bool(one == other)
