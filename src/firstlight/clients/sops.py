"""What an encrypted file says in plain: by which keys it can be decrypted, and whom sops would ask for them."""

import dataclasses
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import command, secret_errors
from firstlight.clients.sandbox import program_limits
from firstlight.document import yaml_reader
from firstlight.model.secret import Secret

__all__ = ["CONFIG", "SopsClient"]

_PROVIDERS = ("age", "pgp", "kms", "gcp_kms", "azure_kv", "hc_vault", "hckms")
_FLAT = re.compile(r"^(?:sops_)?(?P<kind>[a-z_]+?)__list_\d+__map_(?P<name>\w+)\s*=\s*(?P<value>.*)$", re.MULTILINE)
"""How dotenv and ini files have it: ``sops_age__list_0__map_recipient=age1…``."""


@dataclasses.dataclass(frozen=True)
class SopsMetadata:
    """The part of an encrypted file that sops wrote for itself."""

    kinds: frozenset[str]
    """``age``, ``pgp``, ``kms``, ``gcp_kms``, ``azure_kv``, ``hc_vault``, ``hckms``."""
    recipients: tuple[str, ...] = ()
    """Public keys of age, and fingerprints of PGP."""
    vaults: tuple[str, ...] = ()
    """Addresses of Vault servers that sops would show the user's token to."""


def read_metadata(data: bytes, path: Path) -> SopsMetadata | None:
    """What a file says of its keys; None if it is not encrypted.

    Raises:
        ValueError: It cannot be read.
    """
    if path.suffix in (".env", ".ini"):
        return _flat(data.decode(errors="replace"))
    if path.suffix in (".yaml", ".yml"):
        documents = yaml_reader.load_all(data)
    else:
        # Everything that is neither is kept as JSON, with the content in one field; what is no JSON is plain.
        try:
            documents = [json.loads(data)]
        except (ValueError, RecursionError):
            return None
    found = [each["sops"] for each in documents if isinstance(each, dict) and isinstance(each.get("sops"), dict)]
    if not any("mac" in each for each in found):
        return None
    keys = [(kind, entry) for each in found for kind, entry in _entries(each)]
    return _metadata(keys)


def _flat(text: str) -> SopsMetadata | None:
    if not re.search(r"^(?:sops_)?mac\s*=", text, re.MULTILINE):
        return None
    return _metadata([(match["kind"], {match["name"]: match["value"].strip()}) for match in _FLAT.finditer(text)])


def _metadata(keys: list[tuple[str, Mapping[str, Any]]]) -> SopsMetadata:
    names = [str(entry[name]) for _, entry in keys for name in ("recipient", "fp") if entry.get(name)]
    vaults = [str(entry["vault_address"]) for _, entry in keys if entry.get("vault_address")]
    return SopsMetadata(
        # Kinds in groups of keys are named before them: "key_groups__list_0__map_age".
        kinds=frozenset(each for each in _PROVIDERS if any(kind.endswith(each) for kind, _ in keys)),
        recipients=tuple(dict.fromkeys(names)),
        vaults=tuple(dict.fromkeys(vaults)),
    )


def _entries(section: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for group in [section, *(section.get("key_groups") or ())]:
        if not isinstance(group, Mapping):
            continue
        for kind in _PROVIDERS:
            entries = group.get(kind) or ()
            yield from ((kind, each) for each in entries if isinstance(each, Mapping))


# Running sops: files decrypted into memory, and secrets encrypted on their way to a file.
#
# It finds the user's keys as it does on the user's command line: in SOPS_AGE_KEY, SOPS_AGE_KEY_FILE and the places
# below the home directory. The credentials of a cloud or of Vault it gets only for a file that says that it needs
# them; and the address of a Vault comes from the file, that is from whoever wrote it, so it must be the user's own.


TIMEOUT = 60.0
"""Seconds; a key on a card may wait for somebody to touch it."""
SIZE = 8 << 20
"""Bytes of the largest file that is decrypted: Kubernetes takes 1 MiB in a Secret."""
WHOLE = 16 << 30
"""Bytes of the largest that is decrypted into a file: etcd has 8 GiB at most, and encrypted it is a third larger."""
CONFIG = ".sops.yaml"

_INHERITED = (
    "HOME", "PATH", "XDG_CONFIG_HOME", "GNUPGHOME", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy",
    "http_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "SOPS_AGE_KEY", "SOPS_AGE_KEY_FILE", "SOPS_AGE_KEY_CMD",
    "SOPS_AGE_SSH_PRIVATE_KEY_FILE", "SOPS_AGE_SSH_PRIVATE_KEY_CMD", "SOPS_GPG_EXEC", "SOPS_DECRYPTION_ORDER",
)  # fmt: skip
_PREFIXES = {"kms": "AWS_", "gcp_kms": "GOOGLE_", "azure_kv": "AZURE_", "hc_vault": "VAULT_", "hckms": "HUAWEICLOUD_"}
_KEYS = ("SOPS_AGE_KEY", "SOPS_AGE_KEY_FILE", "SOPS_AGE_KEY_CMD")
_UNDECRYPTABLE = 128
_MAC_MISMATCH = 51
_DECRYPTION_FAILED = 25


class SopsClient:
    """sops at a path."""

    def __init__(self, program: Path, *, environ: Mapping[str, str] = os.environ) -> None:
        """Prepare to run it.

        Args:
            program: Where it is.
            environ: Where the user's keys are found.
        """
        self._program = program.absolute()
        self._environ = dict(environ)

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment in which the user's keys are found."""
        return self._environ

    async def decrypt(self, path: Path, *, about: str = "", as_json: bool = False) -> Secret:
        """The content of an encrypted file.

        Args:
            path: The file.
            about: What it is called in messages; its path if it is not given.
            as_json: Turn what it holds into JSON.

        Raises:
            problems.NoSuchFile: It is not there.
            problems.NotEncrypted: It is plain.
            problems.Undecryptable: None of the user's keys decrypts it.
            problems.Damaged: It was changed after it was encrypted.
        """
        about = about or str(path)
        found = self._metadata(path, about)
        options = ["--output-type=json"] if as_json else []
        done = await self._run(["decrypt", *options, str(path.absolute())], about, env=self._environment(found.kinds))
        if done.code != 0:
            raise self._undecrypted(about, done, found)
        return Secret(done.stdout)

    async def decrypt_into(self, path: Path, into: Path, *, about: str = "") -> None:
        """Decrypt a file of whatever bytes, as ``encrypt_into`` made it, into one that only its owner can read.

        Args:
            path: The file.
            into: Where its content goes, in a private place; what was there before is lost.
            about: What it is called in messages; its path if it is not given.

        Raises:
            problems.NoSuchFile: It is not there.
            problems.NotEncrypted: It is plain.
            problems.Undecryptable: None of the user's keys decrypts it.
            problems.Damaged: It was changed after it was encrypted.
        """
        about = about or str(path)
        found = self._metadata(path, about, largest=WHOLE)
        into.touch(mode=0o600)
        arguments = ["--input-type=binary", "--output-type=binary", f"--output={into.absolute()}", str(path.absolute())]
        done = await self._run(["decrypt", *arguments], about, env=self._environment(found.kinds))
        if done.code != 0:
            into.unlink(missing_ok=True)
            raise self._undecrypted(about, done, found)

    async def reread(self, encrypted: bytes, path: Path, *, about: str, is_whole: bool = True) -> Secret:
        """What would be decrypted from a file that is not written yet; its name tells its form.

        Args:
            encrypted: Its content.
            path: Where it would be.
            about: What it is called in messages.
            is_whole: Whether it must be as sops left it; kustomize adds labels and namespaces to it, and Flux takes it.

        Raises:
            problems.Undecryptable: None of the user's keys decrypts it.
        """
        found = self._checked(encrypted, path, about)
        options = [] if is_whole else ["--ignore-mac"]
        arguments = ["decrypt", *options, f"--filename-override={path.absolute()}", "/dev/stdin"]
        done = await self._run(arguments, about, env=self._environment(found.kinds), stdin=encrypted)
        if done.code != 0:
            raise self._undecrypted(about, done, found)
        return Secret(done.stdout)

    async def encrypt(self, content: Secret, path: Path, *, config: Path, about: str = "") -> bytes:
        """What belongs into a file, encrypted for those whom the rules of a .sops.yaml name for its path.

        Raises:
            problems.NoRule: The rules do not name anybody.
            problems.Unreadable: The rules, or the content, cannot be read.
        """
        arguments = [f"--filename-override={path.absolute()}", "/dev/stdin"]
        return (await self._encrypt(content, arguments, config=config, about=about or str(path))).stdout

    async def encrypt_into(self, content: Secret, into: Path, *, rule: Path, config: Path, about: str) -> None:
        """Encrypt whatever bytes into a file that is not there yet, for those who may read another one.

        Args:
            content: The bytes.
            into: The file; what was there before is lost.
            rule: The path whose rule counts.
            config: The .sops.yaml.
            about: What it is called in messages.

        Raises:
            problems.NoRule: The rules do not name anybody.
            problems.Unreadable: The rules cannot be read, or leave the content as it is.
        """
        arguments = [
            "--input-type=binary",
            "--output-type=binary",
            f"--filename-override={rule.absolute()}",
            f"--output={into.absolute()}",
            "/dev/stdin",
        ]
        await self._encrypt(content, arguments, config=config, about=about)
        with into.open("rb") as file:
            if b'"ENC[' not in file.read(200):
                into.unlink()
                raise secret_errors.SecretUnreadable(
                    "sops", about, f"by the rule of {rule.name} sops would leave it readable"
                )

    async def _encrypt(
        self, content: Secret, arguments: Sequence[str], *, config: Path, about: str
    ) -> command.Completed:
        # The rules come with the repo: whomever they name gets to see public keys only, and nobody a token.
        home = self._environ.get("HOME", "")
        keys = self._environ.get("GNUPGHOME", f"{home}/.gnupg" if home else "")
        env = {"PATH": self._environ.get("PATH", ""), **({"GNUPGHOME": keys} if keys else {})}
        given = [f"--config={config.absolute()}", "encrypt", *arguments]
        done = await self._run(given, about, env=env, stdin=content.reveal())
        if done.code != 0:
            raise _unencrypted(about, config, done)
        return done

    async def version(self) -> str:
        """Its version, such as ``3.13.3``."""
        done = await self._run(["--disable-version-check", "--version"], "sops", env={})
        match = re.match(rb"sops (\d\S*)", done.stdout)
        return match[1].decode() if match else ""

    def _metadata(self, path: Path, about: str, *, largest: int = SIZE) -> SopsMetadata:
        try:
            with path.open("rb") as file:
                data = file.read(largest + 1)
        except (FileNotFoundError, NotADirectoryError):
            raise secret_errors.SecretFileNotFound("sops", about, "there is no such file", hint=_WRITE_IT) from None
        except OSError as error:
            raise secret_errors.SecretUnreadable("sops", about, f"it cannot be read: {error.strerror}") from None
        if len(data) > largest:
            raise secret_errors.SecretUnreadable("sops", about, f"it has more than {largest >> 20} MiB")
        return self._checked(data, path, about)

    def _checked(self, data: bytes, path: Path, about: str) -> SopsMetadata:
        try:
            found = read_metadata(data, path)
        except ValueError as error:
            _, line = yaml_reader.problem_of(error)
            where = f" (line {line})" if line else ""
            raise secret_errors.SecretUnreadable("sops", about, f"it is no YAML{where}") from None
        if found is None:
            hint = f"encrypt it: sops encrypt --in-place {path.name}; and if it was ever pushed, make a new secret"
            raise secret_errors.SecretNotEncrypted("sops", about, "it is not encrypted", hint=hint)
        mine = self._environ.get("VAULT_ADDR", "").rstrip("/")
        for each in found.vaults:
            if each.rstrip("/") != mine:
                raise errors.Refused(
                    f"{about}: its key is in a Vault that is not yours, and sops would show it your token",
                    hint="if the address in the file is right, set VAULT_ADDR to it",
                )
        return found

    def _environment(self, kinds: frozenset[str]) -> dict[str, str]:
        prefixes = tuple(_PREFIXES[each] for each in kinds if each in _PREFIXES)
        return {
            name: value
            for name, value in self._environ.items()
            if name in _INHERITED or (prefixes and name.startswith(prefixes))
        }

    async def _run(
        self, arguments: Sequence[str], about: str, *, env: Mapping[str, str], stdin: bytes = b""
    ) -> command.Completed:
        try:
            return await command.run(
                [str(self._program), *arguments], timeout=TIMEOUT, env={**env, "LC_ALL": "C"}, stdin=stdin, check=False,
                within=program_limits.KEEPER,
            )  # fmt: skip
        except errors.TimedOut:
            raise secret_errors.SecretStoreTimedOut(
                "sops", about, f"sops did not finish within {TIMEOUT:g} s"
            ) from None
        except errors.LimitExceeded as error:
            raise secret_errors.SecretUnreadable(
                "sops", about, error.message.replace(str(self._program), "sops", 1)
            ) from None
        except errors.Unreachable as error:
            raise errors.ToolError(str(error), hint="firstlight tools install sops") from None

    def _undecrypted(self, about: str, done: command.Completed, found: SopsMetadata) -> secret_errors.SecretError:
        if done.code == _UNDECRYPTABLE:
            listed = ", ".join(found.recipients[:3]) + (" and others" if len(found.recipients) > 3 else "")
            what = f"none of the keys here decrypts it; it is encrypted for {listed or ', '.join(sorted(found.kinds))}"
            return secret_errors.SecretUndecryptable("sops", about, what, hint=self._key_hint(done.stderr))
        if done.code in (_MAC_MISMATCH, _DECRYPTION_FAILED):
            return secret_errors.SecretDamaged("sops", about, "it was changed after it was encrypted")
        return secret_errors.SecretUnreadable(
            "sops", about, f"sops exited with {done.code}", hint=f"see: sops decrypt {about}"
        )

    def _key_hint(self, said: str) -> str:
        said = " ".join(said.replace("|", " ").split())
        if "failed to open SOPS_AGE_KEY_FILE" in said:
            return "SOPS_AGE_KEY_FILE names a file that cannot be opened"
        if match := re.search(r"failed to parse '(SOPS_AGE_KEY(?:_FILE)?)'", said):
            return f"what {match[1]} holds is no age key"
        given = [name for name in _KEYS if self._environ.get(name)]
        if given:
            return f"{given[0]} holds another key: is it that of another cluster or person?"
        return "set SOPS_AGE_KEY_FILE to the file that has the private key, or have somebody add yours: sops updatekeys"


_WRITE_IT = "write it with: sops edit FILE"


def _unencrypted(about: str, config: Path, done: command.Completed) -> secret_errors.SecretError:
    said = done.stderr
    if "no matching creation rules found" in said or "has no creation rules" in said:
        return secret_errors.NoCreationRule("sops", about, f"no rule of {config} is for this path")
    if "Could not unmarshal config file" in said:
        return secret_errors.SecretUnreadable("sops", about, f"{config} is no YAML")
    if "age public key" in said or "malformed recipient" in said:
        return secret_errors.SecretUnreadable("sops", about, f"the rule in {config} has a recipient that is no age key")
    if "Could not generate data key" in said:
        what = f"one of those whom {config} names for this path cannot be encrypted for"
        return secret_errors.SecretUnreadable(
            "sops", about, what, hint=f"see: echo 'a: b' | sops encrypt --filename-override {about}"
        )
    return secret_errors.SecretUnreadable("sops", about, f"sops exited with {done.code}")
