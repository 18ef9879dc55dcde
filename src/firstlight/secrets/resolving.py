"""References made values: each once in a run, several at a time, and kept in memory only."""

import asyncio
import contextlib
import dataclasses
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from firstlight import errors
from firstlight.clients import onepassword, sops, vault
from firstlight.clients import secret_errors as problems
from firstlight.clients.onepassword.op import MISSING as NO_OP
from firstlight.model import reference as references_
from firstlight.model.place import Place
from firstlight.model.platform import FoundationSecret
from firstlight.model.secret import Secret
from firstlight.secrets import files, picking

K = TypeVar("K")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """References that cannot be resolved, for one reason; or, as a warning, that better should not be."""

    message: str
    references: tuple[str, ...]
    places: tuple[Place, ...] = ()
    """Where they are said."""
    hint: str = ""
    is_warning: bool = False


class Resolver:
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
        self._one_password: onepassword.Op | onepassword.Connect | None = None
        self._vault: vault.Vault | None = None

    async def resolve(self, reference: str) -> Secret:
        """The value of a reference; asked for once, unless that fails.

        Raises:
            errors.UsageError: It is no reference.
            problems.SecretError: The value cannot be had.
            errors.ToolError: The program that knows it is not there.
            errors.Refused: It leads where nothing may be read.
        """
        parsed = references_.parse(reference)
        return await _once(self._values, str(parsed), lambda: self._read(parsed))

    __call__ = resolve

    async def problems(self, references: Mapping[str, Place | None]) -> tuple[Problem, ...]:
        """All that keeps references from being resolved, found by resolving them.

        Args:
            references: Where each is said.
        """
        outcomes = await asyncio.gather(*(self.resolve(each) for each in references), return_exceptions=True)
        found: dict[tuple[str, str, bool], list[str]] = {}
        for reference, outcome in zip(references, outcomes, strict=True):
            if isinstance(outcome, errors.FirstlightError):
                what = outcome.what if isinstance(outcome, problems.SecretError) else outcome.message
                found.setdefault((what, outcome.hint, False), []).append(reference)
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                what, hint = self._warning(reference)
                if what:
                    found.setdefault((what, hint, True), []).append(reference)
        return tuple(
            Problem(
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
            if isinstance(each, onepassword.Connect | vault.Vault):
                await each.close()
        self._one_password = self._vault = None

    async def _read(self, reference: references_.Reference) -> Secret:
        match reference:
            case references_.OnePassword():
                value = await self._one_password_client().read(reference)
            case references_.Sops():
                value = await self._decrypted(reference)
            case references_.Vault():
                if self._vault is None:
                    self._vault = vault.Vault(self._environ)
                value = await self._vault.read(reference)
            case references_.Environment():
                value = self._variable(reference)
            case references_.File():
                path = files.locate(reference, self._root, environ=self._environ)
                value = await asyncio.to_thread(files.read, path, reference)
        if not value.reveal().strip():
            raise problems.Empty(_PROVIDERS[type(reference)], str(reference), "it is empty")
        return value

    def _one_password_client(self) -> "onepassword.Op | onepassword.Connect":
        if self._one_password is None:
            if onepassword.is_set(self._environ):
                self._one_password = onepassword.Connect(self._environ)
            elif self._op is not None:
                self._one_password = onepassword.Op(self._op, environ=self._environ)
            else:
                raise errors.ToolError("op is needed for op:// and is not here", hint=NO_OP)
        return self._one_password

    async def _decrypted(self, reference: references_.Sops) -> Secret:
        if self._sops is None:
            raise errors.ToolError("sops is needed for sops: and is not here", hint="firstlight tools install sops")
        path = files.locate(reference, self._root, environ=self._environ)
        if reference.key and not picking.is_structured(path):
            what = "a file of this kind has no keys"
            raise problems.NotFound("sops", str(reference), what, hint="leave out # and what follows")
        as_json = bool(reference.key) and picking.needs_json(path)
        client = sops.Sops(self._sops, environ=self._environ)
        about = f"sops:{reference.path}"
        content = await _once(
            self._files, (reference.path, as_json), lambda: client.decrypt(path, about=about, as_json=as_json)
        )
        return picking.value(content, reference) if reference.key else content

    def _variable(self, reference: references_.Environment) -> Secret:
        if reference.name not in self._environ:
            hint = f"export {reference.name}=…"
            raise problems.NotFound("environment", str(reference), "the variable is not set", hint=hint)
        return Secret(os.fsencode(self._environ[reference.name]))

    def _warning(self, reference: str) -> tuple[str, str]:
        parsed = references_.parse(reference)
        if not isinstance(parsed, references_.File):
            return "", ""
        return files.warning(files.locate(parsed, self._root, environ=self._environ))


_PROVIDERS: Mapping[type, str] = {
    references_.OnePassword: "op",
    references_.Sops: "sops",
    references_.Vault: "Vault",
    references_.Environment: "environment",
    references_.File: "file",
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
        if each.startswith("op:") and not onepassword.is_set(environ):
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
        references_.parse(text)
    except errors.UsageError:
        return False
    return True


def _listed(named: list[str]) -> str:
    if not _is_reference(named[0]):
        return ""  # it may be a secret that somebody pasted
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    return f"{named[0]}{more}: "
