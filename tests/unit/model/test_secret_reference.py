"""References of firstlight.yaml: what each form means, and what is none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight import errors
from firstlight.model import secret_reference
from firstlight.model.secret_reference import (
    EnvironmentReference,
    FileReference,
    OnePasswordReference,
    SopsReference,
    VaultReference,
    parse,
)
from firstlight.repo.declaration import declaration_form


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("op://home/cloudflare/token", OnePasswordReference("home", "cloudflare", "token")),
        ("op://home/my item/Admin/api key", OnePasswordReference("home", "my item", "api key", "Admin")),
        ("op://home/git/private key?attribute=otp", OnePasswordReference("home", "git", "private key", "", "otp")),
        ("sops:a/b.sops.yaml#data.age.agekey", SopsReference("a/b.sops.yaml", "data.age.agekey")),
        ("sops:./a//b.sops.yaml", SopsReference("a/b.sops.yaml")),
        ("vault:secret/home/dns#token", VaultReference("secret/home/dns", "token")),
        ("vault:/secret/dns/#a.b", VaultReference("secret/dns", "a.b")),
        ("env:CLOUDFLARE_TOKEN", EnvironmentReference("CLOUDFLARE_TOKEN")),
        ("file:keys/age.key", FileReference("keys/age.key")),
        ("file:/etc/age.key", FileReference("/etc/age.key")),
        ("file:~/.config/age.key", FileReference("~/.config/age.key")),
    ],
)
def test_what_a_reference_means(text: str, meant: secret_reference.Reference) -> None:
    assert parse(text) == meant
    assert parse(str(meant)) == meant
    assert re.search(declaration_form.REFERENCE, text), "the schema of firstlight.yaml takes it, too"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("op://home/cloudflare", "op://vault/item/field"),
        ("op://home//token", "op://vault/item/field"),
        ("op://a/b/c/d/e", "op://vault/item/field"),
        ("op://home/it's/token", "the id"),
        ("op://home/git/key?x=1", "attribute"),
        ("op:home/git/key", "op://vault/item/field"),
        ("sops:", "sops:FILE#key"),
        ("sops:a.yaml#", "sops:FILE#key"),
        ("sops:/etc/a.yaml#k", "sops:FILE#key"),
        ("sops:a/../../b.yaml", "sops:FILE#key"),
        ("sops:~/b.yaml", "sops:FILE#key"),
        ("vault:secret#key", "vault:MOUNT/PATH#key"),
        ("vault:secret/home", "vault:MOUNT/PATH#key"),
        ("vault:secret/../sys/raw#key", "vault:MOUNT/PATH#key"),
        ("vault:secret/a%2e%2e#key", "vault:MOUNT/PATH#key"),
        ("env:1A", "env:NAME"),
        ("env:A B", "env:NAME"),
        ("file:../b", "in the repo"),
        ("file:~ada/b", "in the repo"),
        ("file:.", "in the repo"),
        ("file: a", "in the repo"),
        ("sops:a\x1b[2J.yaml", "sops:FILE#key"),
        ("aws:x", "op://vault/item/field"),
        ("", "op://vault/item/field"),
    ],
)
def test_what_is_no_reference_says_what_to_write(text: str, hint: str) -> None:
    with pytest.raises(errors.UsageError) as caught:
        parse(text)

    assert hint in caught.value.hint


@given(st.text(min_size=6), st.sampled_from(["", "op:", "op://", "sops:", "vault:", "file:~", "env:"]))
def test_a_pasted_secret_is_never_repeated(secret: str, scheme: str) -> None:
    try:
        parse(scheme + secret)
    except errors.UsageError as error:
        rest = error.message.replace("reference", "") + error.hint
        assert secret not in rest or secret.strip() in " ".join(
            [secret_reference.FORMS, *secret_reference._FORMS.values()]
        )
