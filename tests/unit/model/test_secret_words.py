"""Words that name secrets, by who asks, and that nobody else has such lists."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import firstlight
from firstlight.model import secret_words

SOURCES = Path(firstlight.__file__).parent

NAMES = (
    "password", "adminPassword", "passwordFile", "existingSecret", "secretName", "clientSecret", "token", "tokenTTL",
    "apiKey", "api-key", "sshKey", "connectionString", "dsn", "auth", "cert", "keys", "replicas", "username",
)  # fmt: skip


@pytest.mark.parametrize(
    ("judge", "accepted"),
    [
        (secret_words.is_secret_setting, {"password", "adminPassword", "token", "apiKey", "api-key"}),
        (
            secret_words.is_secret_name,
            {
                "password", "adminPassword", "clientSecret", "token", "apiKey", "api-key", "sshKey",
                "connectionString", "dsn", "auth",
            },
        ),
        (
            secret_words.is_certain,
            {"password", "adminPassword", "existingSecret", "clientSecret", "token", "apiKey", "api-key"},
        ),
        (
            secret_words.is_in_path,
            {
                "password", "adminPassword", "passwordFile", "existingSecret", "secretName", "clientSecret", "token",
                "tokenTTL", "apiKey", "api-key",
            },
        ),
        (secret_words.is_sensitive_value, {*NAMES} - {"replicas", "username"}),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)  # fmt: skip
def test_each_caller_keeps_its_words(judge: Callable[[str], bool], accepted: set[str]) -> None:
    assert {name for name in NAMES if judge(name)} == accepted


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (("auth", "user"), True),
        (("grafana", "adminCredentials", "user"), True),
        (("auth", "secretName"), False),
        (("imagePullSecrets", "name"), False),
        (("external-secrets", "replicas"), False),
        (("auth", "resources", "cpu"), False),
        (("password",), False),
    ],
)
def test_what_stands_below_a_secret_name(steps: tuple[str, ...], expected: bool) -> None:
    assert secret_words.is_below_secret_name(steps) is expected


OTHERS = {
    "model/secret_words.py": "here",
    "repo/scripts/masked_lines.py": "flags of commands",
    "repo/secrecy/secret_text.py": "parameters of URLs",
    "repo/secrecy/clear_secrets.py": "placeholders",
    "commands/audit/checks/bootstrap_steps.py": "names of files",
    "commands/audit/checks/password_hashes.py": "names of values that are hashes of something else",
    "gates/causes/message_codes.py": "messages of servers",
    "commands/doctor/rules/missing_secrets.py": "messages of servers",
}
"""Modules with an expression that has several words for secrets as alternatives, and what it is for."""


def test_the_words_stand_in_one_place() -> None:
    word = re.compile(r"(?:^|[|(?:])\\?(?:passw|token|secret|credential)")
    found = {
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "|" in node.value
        if len(word.findall(node.value)) > 1
    }
    assert found == set(OTHERS)
