"""What is read here is what Go's libraries read, in both dialects: thousands of texts, and every exception by name."""

import os
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from firstlight.document import yaml_reader
from firstlight.document.yaml_reader import YamlContents, YamlDialect
from firstlight.model.diagnostic import Severity
from tests.integration.document.go_yaml import Answer, Oracle, same
from tests.unit.document import generated

SEED = int(os.environ.get("FIRSTLIGHT_SEED", "1"))
LAB = Path(__file__).parents[3] / "lab" / "pins" / "talosctl-1-13" / "go.mod"

KNOWN = {
    "the first document is all that Kubernetes reads of what it is given": (YamlDialect.KUBERNETES, "[]e]\n"),
    "libyaml takes '?' in a plain text inside of brackets": (YamlDialect.KUBERNETES, "[a?b]\n"),
    "libyaml takes '?x' inside of brackets for a key": (YamlDialect.TALOS, "[?x]\n"),
    "libyaml takes ':' before a bracket or comma for no text": (YamlDialect.TALOS, "[a:]\n"),
    "libyaml ends a tag at a bracket or comma": (YamlDialect.KUBERNETES, "[a, !foo, b]\n"),
    "libyaml has fewer characters for anchors": (YamlDialect.TALOS, "a: &b.c d\n"),
    "libyaml does not know the escape \\'": (YamlDialect.KUBERNETES, '"\\\'"\n'),
    "Talos leaves a key without a name out": (YamlDialect.TALOS, "~: 1\n"),
    "Talos counts only keys that are texts as written where something is merged": (
        YamlDialect.TALOS,
        "a: &a {1: x}\nb: {1: y, <<: *a }\n",
    ),
    "Kubernetes refuses what a later key replaces": (YamlDialect.KUBERNETES, "a: .inf\na: 1\n"),
}
"""Where the reading differs, why, and an example. Most is the price of libyaml instead of Go's own scanners."""


def excuse(text: str, dialect: YamlDialect, answer: Answer, contents: YamlContents) -> str:
    """The known reason for a difference, or nothing."""
    messages = " ".join(diagnostic.message for diagnostic in contents.diagnostics)
    is_kubernetes = dialect is YamlDialect.KUBERNETES
    candidates = {
        "the first document is all that Kubernetes reads of what it is given": is_kubernetes
        and bool(answer.talos_error)
        and not answer.kubernetes_error,
        "libyaml takes '?' in a plain text inside of brackets": bool(re.search(r"[\[{][^\]}]*\?", text)),
        "libyaml takes ':' before a bracket or comma for no text": bool(re.search(r"[\[{,].*:", text, re.DOTALL))
        and ("unexpected ':'" in messages or "a value is missing" in messages),
        "libyaml ends a tag at a bracket or comma": bool(re.search(r"!\S*[\[\]{},]", text)),
        "libyaml has fewer characters for anchors": not is_kubernetes and bool(re.search(r"&\S*[^\w\s-]", text)),
        "libyaml does not know the escape \\'": "\\'" in text,
        "Talos leaves a key without a name out": not is_kubernetes and "a key is empty" in messages,
        "Kubernetes refuses what a later key replaces": "given twice" in messages,
    }
    return next((reason for reason, holds in candidates.items() if holds), "")


def read(text: str, dialect: YamlDialect) -> tuple[Any, bool, YamlContents]:
    """The first document, and whether the text is refused."""
    contents = yaml_reader.read(text.encode(), "a.yaml", dialect=dialect)
    value = next((each.value for each in contents.documents if each.index == 0), None)
    return value, any(diagnostic.severity is Severity.ERROR for diagnostic in contents.diagnostics), contents


def is_same(text: str, dialect: YamlDialect, answer: Answer) -> bool:
    value, is_refused, _ = read(text, dialect)
    if dialect is YamlDialect.KUBERNETES:
        error, expected = answer.kubernetes_error, answer.kubernetes
    else:
        # A key that stands twice is read here, with a diagnostic that says so.
        error, expected = answer.talos_error, next(iter(answer.talos), None)
    return is_refused == bool(error) and (is_refused or same(value, expected))


@pytest.mark.parametrize("dialect", YamlDialect)
def test_scalars_everywhere(go: Oracle, dialect: YamlDialect) -> None:
    chance = random.Random(SEED)
    texts = [generated.small(chance) for _ in range(12_000)]
    differences, excuses = [], Counter[str]()
    for text, answer in zip(texts, go.ask_all(texts), strict=True):
        if is_same(text, dialect, answer):
            continue
        if reason := excuse(text, dialect, answer, read(text, dialect)[2]):
            excuses[reason] += 1
        else:
            differences.append((text, read(text, dialect)[0], answer))

    assert not differences, differences[:5]
    assert excuses.total() < len(texts) * 0.02, excuses


@pytest.mark.parametrize("dialect", YamlDialect)
def test_documents_of_every_style(go: Oracle, dialect: YamlDialect) -> None:
    writer = generated.Writer(random.Random(SEED))
    texts = [writer.document() for _ in range(5_000)]
    differences = [
        (text, read(text, dialect)[0], answer)
        for text, answer in zip(texts, go.ask_all(texts), strict=True)
        if not is_same(text, dialect, answer)
    ]

    assert not differences, differences[:2]
    assert sum(read(text, dialect)[1] for text in texts) < len(texts) / 10, "most of them should be YAML"


def test_several_documents(go: Oracle) -> None:
    writer = generated.Writer(random.Random(SEED))
    for _ in range(300):
        parts = [writer.document().removeprefix("\ufeff") for _ in range(3)]
        parts = [
            part if part.endswith("\n") else part + "\n" for part in parts if "---" not in part and "..." not in part
        ]
        text = "---\n".join(parts)

        answer = go.ask(text)
        contents = yaml_reader.read(text.encode(), "a.yaml", dialect=YamlDialect.TALOS)

        if any("no anchor" in each.message for each in contents.diagnostics):
            continue  # Talos's library still knows the anchors of the documents above
        assert bool(answer.talos_error) == any(each.severity is Severity.ERROR for each in contents.diagnostics)
        if not answer.talos_error:
            values = {each.index: each.value for each in contents.documents}
            assert contents.count == len(answer.talos) or not parts
            assert same([values.get(n) for n in range(len(answer.talos))], list(answer.talos))


@pytest.mark.parametrize("reason", KNOWN)
def test_a_known_difference_is_still_one(go: Oracle, reason: str) -> None:
    dialect, text = KNOWN[reason]

    assert not is_same(text, dialect, go.ask(text))


@pytest.mark.parametrize("size", [3, 40, 2_000])
def test_bombs_are_refused_as_go_refuses_them(go: Oracle, size: int) -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 8 if size == 2_000 else 2))
    text = f"l0: &l0 [{', '.join('x' * min(size, 40))}]\n{levels}"

    answer = go.ask(text)

    for dialect, error in ((YamlDialect.KUBERNETES, answer.kubernetes_error), (YamlDialect.TALOS, answer.talos_error)):
        assert read(text, dialect)[1] == bool(error)


def test_the_libraries_are_those_of_the_lab() -> None:
    """Talos's own, in the version of the older line of machines.

    Talos 1.14 reads tags without a name in another way (``! 12`` is a text there), and refuses keys that look like
    times; configs that both lines read alike use neither.
    """
    ours = (Path(__file__).parent / "oracle" / "go.mod").read_text()

    for module in ("go.yaml.in/yaml/v4", "go.yaml.in/yaml/v2", "sigs.k8s.io/yaml"):
        pattern = rf"{re.escape(module)} (\S+)"
        assert re.search(pattern, ours)[1] == re.search(pattern, LAB.read_text())[1]  # type: ignore[index]
