"""A repo with a .sops.yaml, and keys that are the same in every run."""

import subprocess
from pathlib import Path

from firstlight.model.secret import Secret
from firstlight.secrets import age_keys

MINE, THEIRS = b"\x07" * 32, b"\x09" * 32


class EncryptedRepo:
    """A directory whose files sops encrypts for one person."""

    def __init__(self, root: Path, sops: Path) -> None:
        self.root = root
        self.sops = sops
        self.rule(age_keys.recipient(MINE))

    @property
    def environ(self) -> dict[str, str]:
        """Of the one who can decrypt them."""
        return {"PATH": "/usr/bin:/bin", "SOPS_AGE_KEY": age_keys.identity(MINE).reveal().decode()}

    @property
    def stranger(self) -> dict[str, str]:
        """Of somebody else."""
        return {**self.environ, "SOPS_AGE_KEY": age_keys.identity(THEIRS).reveal().decode()}

    def rule(self, recipient: str, *, path: str = r"\.sops\.|\.env$|\.ini$|\.key$", more: str = "") -> None:
        """The one rule of its .sops.yaml."""
        text = f"creation_rules:\n  - path_regex: '{path}'\n    age: {recipient}\n"
        (self.root / ".sops.yaml").write_text(text + (f"    {more}\n" if more else ""))

    def encrypt(self, name: str, content: str | bytes) -> Path:
        """A file of it."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        done = subprocess.run(
            [self.sops, f"--config={self.root}/.sops.yaml", "encrypt", f"--filename-override={path}", "/dev/stdin"],
            input=data, capture_output=True, check=True, env={},
        )  # fmt: skip
        path.write_bytes(done.stdout)
        return path


BUNDLE = """\
cluster:
    id: aWRlbnRpdHktb2YtdGhlLWNsdXN0ZXItMTIzNDU2Nzg=
    secret: Y2x1c3Rlci1zZWNyZXQtY2FuYXJ5LTEyMzQ1Njc4OTA=
secrets:
    bootstraptoken: abcdef.0123456789canary
    secretboxencryptionsecret: c2VjcmV0Ym94LWNhbmFyeS0xMjM0NTY3ODkwMTIzNDU=
trustdinfo:
    token: fedcba.9876543210canary
certs:
    etcd: {crt: ZXRjZC1jcnQ=, key: ZXRjZC1rZXktY2FuYXJ5}
    k8s: {crt: azhzLWNydA==, key: azhzLWtleS1jYW5hcnk=}
    k8saggregator: {crt: YWdnLWNydA==, key: YWdnLWtleS1jYW5hcnk=}
    k8sserviceaccount: {key: c2Eta2V5LWNhbmFyeQ==}
    os: {crt: b3MtY3J0, key: b3Mta2V5LWNhbmFyeQ==}
"""


def bundle() -> Secret:
    """Talos secrets in form; no cluster could live with them."""
    return Secret(BUNDLE)
