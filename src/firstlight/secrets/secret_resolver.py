"""References made values: each once in a run, several at a time, and kept in memory only."""

import asyncio
import contextlib
import os
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from firstlight import errors
from firstlight.clients import onepassword, secret_errors, vault
from firstlight.clients import sops as clients_sops
from firstlight.clients.onepassword import OP_MISSING
from firstlight.model import secret_reference
from firstlight.model.secret import Secret
from firstlight.secrets import secret_files

K = TypeVar("K")


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


_PROVIDERS: Mapping[type, str] = {
    secret_reference.OnePasswordReference: "op",
    secret_reference.SopsReference: "sops",
    secret_reference.VaultReference: "Vault",
    secret_reference.EnvironmentReference: "environment",
    secret_reference.FileReference: "file",
}


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
