"""Secrets that anybody can read in Git, and what only looks like one."""

import base64
from pathlib import Path

import pytest

from firstlight.repo.secrecy import clear_secrets
from firstlight.repo.work_tree import WorkTree
from tests.unit.repo.changes.states import changes

SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n"
READABLE = {
    "a password": ("password", "correct-horse"),
    "a short one": ("pin", "1234"),
    "a weak one": ("password", "password"),
    "a key": ("tls.key", "-----BEGIN PRIVATE KEY-----\nabc\n"),
    "a login in an address": ("url", "https://web:correct-horse@git.example.org"),
    "a file with a password beside variables": ("config.ini", "host = ${HOST}\npassword = correct-horse\n"),
}
UNREADABLE = {
    "nothing": ("password", ""),
    "encrypted": ("password", "ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]"),
    "a variable": ("password", "${PASSWORD}"),
    "a variable with a default": ("password", "${PASSWORD:=none}"),
    "a template": ("password", "{{ .Values.password }}"),
    "a reference": ("password", "op://home/db/password"),
    "another reference": ("password", "<path:secret/data/db#password>"),
    "a placeholder": ("password", "CHANGE_ME"),
    "another placeholder": ("password", "your-password-here"),
    "stars": ("password", "********"),
    "an address": ("url", "https://git.example.org/web.git"),
    "an address with a variable": ("dsn", "postgres://web:${PASSWORD}@db/web"),
    "a name": ("username", "web"),
    "a switch": ("insecure", "true"),
    "a certificate": ("ca.crt", "-----BEGIN CERTIFICATE-----\nabc\n"),
}


@pytest.mark.parametrize("holder", ["data", "stringData"])
@pytest.mark.parametrize(
    ("case", "expected"), [*((each, True) for each in READABLE), *((each, False) for each in UNREADABLE)]
)
def test_what_can_be_read(holder: str, case: str, expected: bool) -> None:
    name, text = {**READABLE, **UNREADABLE}[case]
    value = base64.b64encode(text.encode()).decode() if holder == "data" else text

    assert clear_secrets.stands_clear((holder, name), value) is expected


def test_variables_are_not_decoded() -> None:
    assert not clear_secrets.stands_clear(("data", "password"), "${PASSWORD_BASE64}")
    assert clear_secrets.stands_clear(("data", "keystore"), base64.b64encode(b"\xff\xfe\x00\x01").decode())


def test_only_values_of_secrets(tmp_path: Path) -> None:
    def clear(path: str, text: str) -> list[str]:
        found = changes(tmp_path, {}, {path: text})
        return [field.path for each in found for field in each.fields if field.is_clear]

    secret = f"{SECRET}stringData: {{password: correct-horse, user: web}}\n"
    assert clear("a.yaml", secret) == ["stringData.password"]
    assert clear("a.yaml", secret.replace("kind: Secret", "kind: ConfigMap").replace("stringData", "data")) == []
    assert clear("docs/a.yaml", f"{SECRET}stringData: {{password: correct-horse}}\n") == []
    generated = "secretGenerator: [{name: a, literals: [password=correct-horse, 'user=${USER}']}]\n"
    assert clear("k/kustomization.yaml", generated) == ["secretGenerator[name=a].literals[0]"]
    encrypted = "stringData: {password: 'ENC[AES256_GCM,data:a]', plain: hello}\nsops: {mac: 'ENC[a]'}\n"
    assert clear("a.yaml", f"{SECRET}{encrypted}") == []


def test_what_was_in_clear_text_and_goes(tmp_path: Path) -> None:
    text = f"{SECRET}stringData:\n  password: correct-horse\n"

    (gone,) = changes(tmp_path, {"a.yaml": text}, {})
    (hidden,) = changes(tmp_path, {"a.yaml": text}, {"a.yaml": text.replace("correct-horse", "${PASSWORD}")})
    (shown,) = changes(tmp_path, {"a.yaml": text.replace("correct-horse", "${PASSWORD}")}, {"a.yaml": text})

    assert not any(field.is_clear for each in (gone, hidden) for field in each.fields)
    assert [(field.is_clear, field.after) for field in shown.fields] == [(True, None)]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("*.yaml filter=git-crypt diff=git-crypt\n", True),
        ("apps/** filter=git-crypt\n", True),
        ("apps/**/*.yaml filter=crypt diff=crypt merge=crypt\n", True),
        ("*.yaml filter=git-crypt\napps/web/a.yaml !filter !diff\n", False),
        ("*.key filter=git-crypt\n", False),
        ("*.yaml filter=lfs\n", False),
        ("# *.yaml filter=git-crypt\n\n*.yaml text\n", False),
    ],
)
def test_what_git_encrypts(tmp_path: Path, attributes: str, expected: bool) -> None:
    (tmp_path / ".gitattributes").write_text(attributes)
    (tmp_path / "apps/web").mkdir(parents=True)
    (tmp_path / "apps/web/a.yaml").write_text(SECRET)

    assert clear_secrets.is_filtered(WorkTree(tmp_path), "apps/web/a.yaml") is expected


def test_what_could_not_be_read_before(tmp_path: Path) -> None:
    text = f"{SECRET}stringData:\n  password: correct-horse\n"

    (found,) = changes(tmp_path, {"a.yaml": f"{text}  - [\n"}, {"a.yaml": text})

    assert [(field.is_clear, field.is_secret, field.after) for field in found.fields] == [(True, True, None)]
