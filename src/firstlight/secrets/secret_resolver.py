"""References made values: each once in a run, several at a time, and kept in memory only."""

import asyncio
import contextlib
import dataclasses
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from firstlight import errors
from firstlight.clients import onepassword, secret_errors, vault
from firstlight.clients import sops as clients_sops
from firstlight.clients.onepassword import OP_MISSING
from firstlight.model import secret_reference
from firstlight.model.place import Place
from firstlight.model.platform import FoundationSecret
from firstlight.model.secret import Secret
from firstlight.secrets import secret_files

K = TypeVar("K")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SecretProblem:
    """References that cannot be resolved, for one reason; or, as a warning, that better should not be."""

    message: str
    references: tuple[str, ...]
    places: tuple[Place, ...] = ()
    """Where they are said."""
    hint: str = ""
    is_warning: bool = False


class SecretResolver:
    """The user's providers of secrets; also callable, as ``World.resolve`` is."""

    def __init__(
        self,
        root: Path,
        *,
        sops: Path | None = None,
        op: Path | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """Prepare; nothing is asked yet.

        Args:
            root: The repo.
            sops: Where sops is; without it ``sops:`` cannot be resolved.
            op: Where op is; without it ``op://`` needs a Connect server.
            environ: Where variables, and the ways to the providers, are found.
        """
        self._root = root
        self._sops = sops
        self._op = op
        self._environ = dict(environ)
        self._values: dict[str, asyncio.Task[Secret]] = {}
        self._files: dict[tuple[str, bool], asyncio.Task[Secret]] = {}
        self._one_password: onepassword.OnePasswordCli | onepassword.OnePasswordConnect | None = None
        self._vault: vault.VaultClient | None = None

    async def resolve(self, reference: str) -> Secret:
        """The value of a reference; asked for once, unless that fails.

        Raises:
            errors.UsageError: It is no reference.
            problems.SecretError: The value cannot be had.
            errors.ToolError: The program that knows it is not there.
            errors.Refused: It leads where nothing may be read.
        """
        parsed = secret_reference.parse(reference)
        return await _once(self._values, str(parsed), lambda: self._read(parsed))

    __call__ = resolve

    async def problems(self, references: Mapping[str, Place | None]) -> tuple[SecretProblem, ...]:
        """All that keeps references from being resolved, found by resolving them.

        Args:
            references: Where each is said.
        """
        outcomes = await asyncio.gather(*(self.resolve(each) for each in references), return_exceptions=True)
        found: dict[tuple[str, str, bool], list[str]] = {}
        for reference, outcome in zip(references, outcomes, strict=True):
            if isinstance(outcome, errors.FirstlightError):
                what = outcome.what if isinstance(outcome, secret_errors.SecretError) else outcome.message
                found.setdefault((what, outcome.hint, False), []).append(reference)
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                what, hint = self._warning(reference)
                if what:
                    found.setdefault((what, hint, True), []).append(reference)
        return tuple(
            SecretProblem(
                message=_listed(named) + what,
                references=tuple(each for each in named if _is_reference(each)),
                places=tuple(sorted({place for each in named if (place := references[each]) is not None})),
                hint=hint,
                is_warning=is_warning,
            )
            for (what, hint, is_warning), named in found.items()
        )

    async def close(self) -> None:
        """Forget all values, and end all connections."""
        for task in (*self._values.values(), *self._files.values()):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
        self._values.clear()
        self._files.clear()
        for each in (self._one_password, self._vault):
            if isinstance(each, onepassword.OnePasswordConnect | vault.VaultClient):
                await each.close()
        self._one_password = self._vault = None

    async def _read(self, reference: secret_reference.Reference) -> Secret:
        match reference:
            case secret_reference.OnePasswordReference():
                value = await self._one_password_client().read(reference)
            case secret_reference.SopsReference():
                value = await self._decrypted(reference)
            case secret_reference.VaultReference():
                if self._vault is None:
                    self._vault = vault.VaultClient(self._environ)
                value = await self._vault.read(reference)
            case secret_reference.EnvironmentReference():
                value = self._variable(reference)
            case secret_reference.FileReference():
                path = secret_files.locate(reference, self._root, environ=self._environ)
                value = await asyncio.to_thread(secret_files.read_secret_file, path, reference)
        if not value.reveal().strip():
            raise secret_errors.SecretEmpty(_PROVIDERS[type(reference)], str(reference), "it is empty")
        return value

    def _one_password_client(self) -> onepassword.OnePasswordCli | onepassword.OnePasswordConnect:
        if self._one_password is None:
            if onepassword.is_connect_set(self._environ):
                self._one_password = onepassword.OnePasswordConnect(self._environ)
            elif self._op is not None:
                self._one_password = onepassword.OnePasswordCli(self._op, environ=self._environ)
            else:
                raise errors.ToolError("op is needed for op:// and is not here", hint=OP_MISSING)
        return self._one_password

    async def _decrypted(self, reference: secret_reference.SopsReference) -> Secret:
        if self._sops is None:
            raise errors.ToolError("sops is needed for sops: and is not here", hint="firstlight tools install sops")
        path = secret_files.locate(reference, self._root, environ=self._environ)
        if reference.key and not secret_files.is_structured(path):
            what = "a file of this kind has no keys"
            raise secret_errors.SecretNotFound("sops", str(reference), what, hint="leave out # and what follows")
        as_json = bool(reference.key) and secret_files.needs_json(path)
        client = clients_sops.SopsClient(self._sops, environ=self._environ)
        about = f"sops:{reference.path}"
        content = await _once(
            self._files, (reference.path, as_json), lambda: client.decrypt(path, about=about, as_json=as_json)
        )
        return secret_files.value_of_key(content, reference) if reference.key else content

    def _variable(self, reference: secret_reference.EnvironmentReference) -> Secret:
        if reference.name not in self._environ:
            hint = f"export {reference.name}=…"
            raise secret_errors.SecretNotFound("environment", str(reference), "the variable is not set", hint=hint)
        return Secret(os.fsencode(self._environ[reference.name]))

    def _warning(self, reference: str) -> tuple[str, str]:
        parsed = secret_reference.parse(reference)
        if not isinstance(parsed, secret_reference.FileReference):
            return "", ""
        return secret_files.permission_warning(secret_files.locate(parsed, self._root, environ=self._environ))


_PROVIDERS: Mapping[type, str] = {
    secret_reference.OnePasswordReference: "op",
    secret_reference.SopsReference: "sops",
    secret_reference.VaultReference: "Vault",
    secret_reference.EnvironmentReference: "environment",
    secret_reference.FileReference: "file",
}


def places(secrets: Iterable[FoundationSecret]) -> dict[str, Place | None]:
    """The references of Secrets, and where each is said first; those that nobody knows are left out."""
    found: dict[str, Place | None] = {}
    for secret in secrets:
        for reference in secret.data.values():
            if reference:
                found.setdefault(reference, secret.place)
    return found


def programs(references: Iterable[str], *, environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """The programs that resolving takes: ``sops``, ``op``."""
    needed = set()
    for each in references:
        if each.startswith("sops:"):
            needed.add("sops")
        if each.startswith("op:") and not onepassword.is_connect_set(environ):
            needed.add("op")
    return frozenset(needed)


async def _once(
    tasks: dict[K, asyncio.Task[Secret]], key: K, make: Callable[[], Coroutine[Any, Any, Secret]]
) -> Secret:
    """What is under way, or known, is not asked for again; what failed may be."""
    task = tasks.get(key)
    if task is None:
        task = tasks[key] = asyncio.ensure_future(make())
    try:
        # One who gives up waiting does not take it from the others.
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        raise
    except BaseException:
        if tasks.get(key) is task:
            del tasks[key]
        raise


def _is_reference(text: str) -> bool:
    try:
        secret_reference.parse(text)
    except errors.UsageError:
        return False
    return True


def _listed(named: list[str]) -> str:
    if not _is_reference(named[0]):
        return ""  # it may be a secret that somebody pasted
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    return f"{named[0]}{more}: "
