"""The secrets of a Talos cluster: read where they are kept, or kept where they will be read.

They are the cluster: whoever has lost them cannot add a machine, and whoever has them owns it. So they are made once,
written only encrypted and only where they can be read again, and never written over.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import atomic_file, secret_errors
from firstlight.clients import sops as clients_sops
from firstlight.document import yaml_reader
from firstlight.model import secret_reference
from firstlight.model.secret import Secret
from firstlight.secrets import age_keys, derived_signing_keys, secret_files
from firstlight.secrets.dummies import Dummies

_NEEDED = (
    "cluster.id", "cluster.secret", "secrets.bootstraptoken", "trustdinfo.token", "certs.etcd.crt", "certs.etcd.key",
    "certs.k8s.crt", "certs.k8s.key", "certs.k8saggregator.crt", "certs.k8saggregator.key",
    "certs.k8sserviceaccount.key", "certs.os.crt", "certs.os.key",
)  # fmt: skip
_PUBLIC = frozenset({"crt", "id"})
_TALCONFIGS = ("talconfig.yaml", "talconfig.yml")
_TALSECRETS = ("talsecret.sops.yaml", "talsecret.sops.yml", "talsecret.yaml", "talsecret.yml")
"""What talhelper looks for, beside its talconfig.yaml."""
NAME = "secrets.sops.yaml"


async def load(reference: str, resolver: Callable[[str], Awaitable[Secret]]) -> Secret | None:
    """The secrets of a cluster, as ``talosctl gen secrets`` writes them; None where they are to be made.

    Args:
        reference: ``sops:FILE``, ``op://…``, ``vault:…``, ``env:…`` or ``file:…``.
        resolver: Of references. With dummies there are none: a rehearsal makes its own.

    Raises:
        problems.SecretError: They are there, and cannot be had. Never a reason to make others.
        errors.ConfigError: What is there is something else.
    """
    if isinstance(getattr(resolver, "__self__", resolver), Dummies):
        return None
    try:
        bundle = await resolver(reference)
    except secret_errors.SecretFileNotFound:
        # Only what is written encrypted can be made here; elsewhere a missing one is a mistake.
        if isinstance(secret_reference.parse(reference), secret_reference.SopsReference):
            return None
        raise
    check(bundle, reference)
    return bundle


async def keep(path: Path, bundle: Secret, sops: clients_sops.SopsClient, *, root: Path) -> None:
    """Write the secrets of a cluster, encrypted, into a file that is not there yet; whole or not at all.

    Args:
        path: The file.
        bundle: What ``talosctl gen secrets`` made.
        sops: What encrypts.
        root: The repo, whose .sops.yaml says for whom.

    Raises:
        errors.Refused: The file is there, or leads out of the repo; or nobody, or nobody here, could read it.
    """
    name, encrypted = await encrypt(path, bundle, sops, root=root)
    _write(path, encrypted, name)


async def encrypt(path: Path, bundle: Secret, sops: clients_sops.SopsClient, *, root: Path) -> tuple[str, bytes]:
    """Return the name of a file in the repo and what ``keep`` would write into it; nothing is written.

    Raises:
        errors.Refused: The same as ``keep`` does.
    """
    secret_files.refuse_outside(path, root, str(path))
    name = str(path.resolve().relative_to(root.resolve()))
    check(bundle, name)
    if path.exists() or path.is_symlink():
        raise errors.Refused(f"{name} is there already, and is not written over", hint="name it in talosSecrets")
    config = rules(path, root)
    if config is None:
        # The redirection comes first, so that the command can be pasted although it was folded.
        written = f'echo >{clients_sops.CONFIG} "creation_rules: [{await _rule(name, sops)}]"'
        raise errors.Refused(
            f"{name}: there is no {clients_sops.CONFIG} that says for whom it is encrypted",
            hint=f"Run in the top of the repo: {written}",
        )
    try:
        encrypted = await sops.encrypt(bundle, path, config=config, about=name)
    except secret_errors.NoCreationRule as error:
        raise errors.Refused(error.message, hint=await _added_rule(path, sops, config, root)) from None
    if readable := _readable(bundle, encrypted):
        what = f"{name}: by its rule in {config.name} sops would leave {', '.join(readable[:3])} … readable"
        raise errors.Refused(what, hint=await _added_rule(path, sops, config, root))
    await _refuse_unreadable(bundle, encrypted, path, sops, name)
    return name, encrypted


def usual(root: Path, cluster: str, *, machines: str = "") -> str:
    """The reference of a cluster's secrets where firstlight.yaml names none: what is there, or where they will be kept.

    Args:
        root: The repo.
        cluster: Its name.
        machines: The file, or directory, that declares its machines; relative to the repo.
    """
    given = root / machines if machines else root
    beside = given if given.is_dir() else given.parent
    found = [each for each in places(root, cluster, machines=machines) if (root / each).is_file()]
    if found:
        chosen = root / found[0]
    elif given.name in _TALCONFIGS:
        chosen = beside / _TALSECRETS[0]
    elif (root / "talos").is_dir():
        chosen = root / "talos" / cluster / NAME
    else:
        # Without the cluster's name it would be the file of every cluster that is declared there.
        chosen = beside / f"{cluster}.{NAME}"
    scheme = "sops" if ".sops." in chosen.name else "file"
    return f"{scheme}:{chosen.relative_to(root).as_posix()}"


def places(root: Path, cluster: str, *, machines: str = "") -> tuple[str, ...]:
    """Where a cluster's secrets may be if firstlight.yaml does not say where; relative to the repo, the best first."""
    given = root / machines if machines else root
    beside = given if given.is_dir() else given.parent
    own = f"{cluster}.{NAME}"
    found = [*(beside / each for each in _TALSECRETS), root / "talos" / cluster / NAME]
    found += [beside / own, root / own, beside / NAME]
    return tuple(dict.fromkeys(each.relative_to(root).as_posix() for each in found))


def cluster_id(bundle: Secret) -> str:
    """What tells clusters apart that have the same name; empty where there is none."""
    found = _at(_parsed(bundle.reveal()), "cluster.id")
    return found if isinstance(found, str) else ""


def check(bundle: Secret, about: str) -> None:
    """See that something is a cluster's secrets.

    Raises:
        errors.ConfigError: It is not; says which are missing.
    """
    found = _parsed(bundle.reveal())
    missing = [each for each in _NEEDED if not isinstance(_at(found, each), str) or not _at(found, each)]
    if missing:
        what = "these are no Talos secrets" if len(missing) == len(_NEEDED) else f"it lacks {', '.join(missing)}"
        raise errors.ConfigError(
            what, path=about, hint="they are what talosctl gen secrets, or talhelper gensecret, writes"
        )


def rules(path: Path, root: Path) -> Path | None:
    """The nearest .sops.yaml above a file, as sops would find it from there, but none outside of the repo."""
    top = root.resolve()
    for directory in path.resolve().parents:
        if (directory / clients_sops.CONFIG).is_file():
            return directory / clients_sops.CONFIG
        if directory == top:
            return None
    return None


async def _added_rule(path: Path, sops: clients_sops.SopsClient, config: Path, root: Path) -> str:
    """The advice to add a rule for a file to a .sops.yaml that is there."""
    name = str(path.resolve().relative_to(config.parent.resolve()))
    where = config.resolve().relative_to(root.resolve())
    rule = await _rule(name, sops)
    return f"Add a rule without encrypted_regex to creation_rules in {where}, above the others: - {rule}"


async def _rule(name: str, sops: clients_sops.SopsClient) -> str:
    """A creation rule on one line, for the user's own key: however it is folded, it can be pasted."""
    own = [age_keys.recipient(each.reveal()) for each in (await derived_signing_keys.find_own_keys(sops.environ)).seeds]
    return f"{{path_regex: '^{re.escape(name)}$', age: '{','.join(own) or 'age1…'}'}}"


def _readable(bundle: Secret, encrypted: bytes) -> list[str]:
    """The secret values that rules such as ``encrypted_regex`` left readable."""
    made = _parsed(encrypted)
    return [
        ".".join(steps)
        for steps, value in _leaves(_parsed(bundle.reveal()))
        if steps[-1] not in _PUBLIC and (not str(_at(made, ".".join(steps))).startswith("ENC[") or value in encrypted)
    ]


async def _refuse_unreadable(
    bundle: Secret, encrypted: bytes, path: Path, sops: clients_sops.SopsClient, name: str
) -> None:
    """See that whoever runs this can read them again."""
    try:
        again = await sops.reread(encrypted, path, about=name)
    except secret_errors.SecretUndecryptable as error:
        what = f"{name} would be encrypted for keys of which none is here, and the next run could not read it"
        raise errors.Refused(what, hint=error.hint) from None
    if _parsed(again.reveal()) != _parsed(bundle.reveal()):
        raise errors.Refused(f"{name}: what sops encrypts is not what it decrypts again")


def _write(path: Path, content: bytes, name: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file.staged(path, content) as staged:
            _place(staged, path, name)
    except OSError as error:
        raise errors.ClientError(f"{name} cannot be written: {error.strerror}", target=name) from None


def _place(staged: Path, path: Path, name: str) -> None:
    try:
        atomic_file.put_new(staged, path)
    except FileExistsError:
        raise errors.Refused(f"{name} was written by somebody else just now", hint="run this again") from None


def _parsed(data: bytes) -> Any:
    """YAML as values; None if it is none, whose content is not for a message."""
    try:
        documents = yaml_reader.load_all(data)
    except ValueError:
        return None
    return documents[0] if documents else None


def _at(value: Any, dotted: str) -> Any:
    for step in dotted.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _leaves(value: Any, steps: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], bytes]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves(each, (*steps, str(key)))
    elif value is not None and value != "":
        yield steps, str(value).encode()
