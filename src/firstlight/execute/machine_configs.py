"""The Kubernetes manifests in a machine config: which there are, and patches that take some of them out.

Talos knows three ways to list them: inline with their contents, by URL in three places, and since 1.14 each as a
document of its own.
"""

import asyncio
import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import yaml

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.document.within import mapping, sequence, text
from firstlight.execute import cluster_access
from firstlight.execute.world import World
from firstlight.model import talos_documents, versions
from firstlight.model.cluster import MachineRole
from firstlight.model.machine_config import DraftPatch, MachineDraft
from firstlight.model.secret import Secret

Document = Mapping[str, Any]

_PLACES = (("extraManifests",), ("network", "cni", "urls"), ("externalCloudProvider", "manifests"))
"""Where URLs are listed, below ``cluster``."""
_CNI = _PLACES[1]
_DELETE = {"$patch": "delete"}


@dataclasses.dataclass(frozen=True)
class ConfigManifests:
    """What a config lists."""

    inline: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """Contents by name."""
    documents: tuple[Document, ...] = dataclasses.field(default=(), repr=False)
    """Those that are documents of their own."""
    urls: Mapping[tuple[str, ...], tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """By where they are listed."""

    @property
    def names(self) -> frozenset[str]:
        """Everything: names of inline ones, URLs of the others."""
        return frozenset(
            [*self.inline, *map(_called, self.documents), *(each for urls in self.urls.values() for each in urls)]
        )

    @property
    def contents(self) -> Mapping[str, str]:
        """What the inline ones of both forms hold, by name; of equal names Talos takes that of the list."""
        apart = {text(each, "name"): text(each, "manifest") for each in self.documents if _is_inline(each)}
        return {**apart, **self.inline}

    @property
    def all_urls(self) -> tuple[str, ...]:
        """The URLs of both forms."""
        apart = [text(each, "url") for each in self.documents if not _is_inline(each)]
        return tuple(dict.fromkeys([*apart, *(each for urls in self.urls.values() for each in urls)]))

    @property
    def named_urls(self) -> Mapping[str, str]:
        """URLs by the name that a document gives them, which is what Talos calls the manifest then."""
        return {text(each, "name"): text(each, "url") for each in self.documents if not _is_inline(each)}


def manifests_in(documents: Iterable[Document]) -> ConfigManifests:
    """What the documents of a config list."""
    inline: dict[str, str] = {}
    apart: list[Document] = []
    urls: dict[tuple[str, ...], tuple[str, ...]] = {}
    for value in documents:
        if value.get("kind") in (talos_documents.INLINE, talos_documents.EXTERNAL):
            apart.append(value)
            continue
        for entry in sequence(value, "cluster", "inlineManifests"):
            if isinstance(entry, Mapping) and entry.get("name"):
                inline[str(entry["name"])] = str(entry.get("contents") or "")
        for place in _PLACES:
            if found := tuple(map(str, sequence(value, "cluster", *place))):
                urls[place] = found
    return ConfigManifests(inline, tuple(apart), urls)


def common_manifests(several: Sequence[ConfigManifests]) -> ConfigManifests:
    """What all of some configs list, as the first one has it."""
    if not several:
        return ConfigManifests()
    names = frozenset.intersection(*(each.names for each in several))
    return kept_manifests(several[0], names)


def kept_manifests(held: ConfigManifests, names: Collection[str]) -> ConfigManifests:
    """Only some of what a config lists."""
    return ConfigManifests(
        {name: each for name, each in held.inline.items() if name in names},
        tuple(each for each in held.documents if _called(each) in names),
        {place: rest for place, urls in held.urls.items() if (rest := tuple(each for each in urls if each in names))},
    )


def with_contents(
    held: ConfigManifests, contents: Mapping[str, str], *, documents: Collection[str] | None = None
) -> ConfigManifests:
    """Manifests with these inline ones, each in one form only: two of one name are one for Talos, and the last wins.

    Args:
        held: What is there; the others stay as they are.
        contents: By name.
        documents: Names of those that are to be documents, and not entries of the list; those that are, by default.
    """
    if documents is None:
        documents = {text(each, "name") for each in held.documents if _is_inline(each)} - {*held.inline}
    inline = {**held.inline, **{name: each for name, each in contents.items() if name not in documents}}
    made = {
        name: {"apiVersion": "v1alpha1", "kind": talos_documents.INLINE, "name": name, "manifest": each}
        for name, each in contents.items()
        if name in documents
    }
    return dataclasses.replace(
        held,
        inline={name: each for name, each in inline.items() if name not in made},
        documents=(
            *(made.pop(text(each, "name"), each) for each in held.documents if _is_document_of(each, inline, made)),
            *made.values(),
        ),
    )


def _is_document_of(document: Document, inline: Mapping[str, str], made: Mapping[str, Document]) -> bool:
    """Whether a document stays one: an external one does, an inline one unless the list has its name."""
    name = text(document, "name")
    return not _is_inline(document) or name in made or name not in inline


def manifest_patches(before: ConfigManifests, after: ConfigManifests) -> list[Document]:
    """What makes one list of manifests another, as patches in their order: patches append to lists, so the old go."""
    found: list[Document] = []
    if [*before.inline.items()] != [*after.inline.items()]:
        gone = [{"name": name, **_DELETE} for name in before.inline]
        new = [{"name": name, "contents": contents} for name, contents in after.inline.items()]
        found += [{"cluster": {"inlineManifests": entries}} for entries in (gone, new) if entries]
    found += [
        {"apiVersion": each.get("apiVersion") or "v1alpha1", "kind": each["kind"], "name": each.get("name"), **_DELETE}
        for each in before.documents
        if each not in after.documents
    ]
    found += [each for each in after.documents if each not in before.documents]
    for place in _PLACES:
        old, now = before.urls.get(place, ()), after.urls.get(place, ())
        if old != now:
            found += _listed(place, old, now)
    return found


def is_same_but_version(one: str, other: str) -> bool:
    """Whether two URLs are of the same manifest, perhaps in different versions."""
    return versions.without_versions(one) == versions.without_versions(other)


def _listed(place: tuple[str, ...], old: Sequence[str], now: Sequence[str]) -> list[Document]:
    found: list[Document] = []
    if place == _CNI and not now:
        # Without URLs it is none of Talos's any more; the word for somebody else's is "none".
        return [_at(place[:-1], _DELETE), _at(place[:-1], {"name": "none"})]
    if old:
        found.append(_at(place, _DELETE))
    if now:
        found.append(_at(place, list(now)))
    return found


def _at(place: Sequence[str], value: Any) -> Document:
    for part in reversed(("cluster", *place)):
        value = {part: value}
    return mapping(value)


def _is_inline(document: Document) -> bool:
    return document.get("kind") == talos_documents.INLINE


def _called(document: Document) -> str:
    return text(document, "name" if _is_inline(document) else "url")


# Machine configs out of drafts: generated, patched and validated, before any machine sees one.
#
# There are two renditions. A cluster that was never bootstrapped begins with the inline manifests that were rendered;
# later the machines keep those that they have, since one that comes back would take an object from its new owner. For
# the same reason a URL of what passes to the engine is only for a machine that has it.


async def make(draft: MachineDraft, world: World) -> Secret:
    """The config of a machine as the repo has it, inline manifests included that the repo has.

    Raises:
        errors.Refused: What the repo says of the machine does not make a config.
    """
    try:
        whole = await _text(draft.whole, world) if draft.whole is not None else await _generated(draft, world)
        is_new = talos_documents.is_made_of(text(each, "kind") for each in documents(whole))
        patches = [await _text(each, world, as_documents=is_new) for each in draft.patches]
        return await cluster_access.talosctl_program(world).patch_config(whole, patches) if patches else whole
    except talosctl.TalosRejected as error:
        places = ", ".join(dict.fromkeys(each.place.path for each in draft.patches))
        raise errors.Refused(
            f"{draft.machine.name}: no config comes of its declaration: {error.detail}",
            hint=f"Look into {places or draft.machine.place}.",
        ) from error


async def _generated(draft: MachineDraft, world: World) -> Secret:
    """What talosctl makes of the secrets. It applies patches to control planes and workers alike: none are given."""
    is_control_plane = draft.machine.role is MachineRole.CONTROL_PLANE
    secrets = await cluster_access.secrets(world)
    made = await cluster_access.talosctl_program(world).gen_config(
        "controlplane" if is_control_plane else "worker",
        cluster=draft.cluster,
        endpoint=draft.endpoint,
        secrets=secrets,
        kubernetes_version=draft.kubernetes.removeprefix("v"),
        talos_version=draft.generated_for,
        install_disk=draft.install_disk,
        install_image=draft.install_image,
        dns_domain=draft.dns_domain,
        additional_sans=draft.sans,
    )
    _require_readable(draft, made, secrets)
    return made


def _require_readable(draft: MachineDraft, made: Secret, secrets: Secret) -> None:
    """Refuse a config that could not read the Secrets in etcd.

    Clusters born with Talos 1.2 or before have an AES-CBC key. In the form of 1.14 talosctl writes it as the key
    of another provider, ``secretbox``.
    """
    bundle = next(iter(documents(secrets)), {})
    if not text(bundle, "secrets", "aescbcencryptionsecret"):
        return
    for each in documents(made):
        if each.get("kind") == "KubeEtcdEncryptionConfig" and "secretbox" in str(mapping(each, "config")):
            raise errors.Refused(
                f"{draft.machine.name}: the Talos secrets hold an AES-CBC key, which a config generated for Talos "
                f"{draft.generated_for or '1.14'} uses as a secretbox key: the API server could not read the Secrets",
                hint=f"Set clusters.{draft.cluster}.talosContract: v1.13 in firstlight.yaml.",
            )


async def bootstrap(draft: MachineDraft, config: Secret, world: World) -> Secret:
    """The rendition that a cluster begins with: what was rendered anew takes the place of what the repo has."""
    if draft.machine.role is not MachineRole.CONTROL_PLANE or not draft.inline:
        return config
    rendered = {name: contents.reveal().decode() for name, contents in draft.inline.items()}
    before = manifests(config)
    return await listing(config, with_contents(before, rendered, documents=_documents_of(config, rendered)), world)


async def steady(draft: MachineDraft, config: Secret, world: World, *, has: ConfigManifests) -> Secret:
    """The rendition for a cluster that is there: with the inline manifests that its machines have, and no others.

    URLs are as they are declared. Only one of what passes to the engine is left out where the machine does not have it,
    in whatever version: there it was released. An inline manifest has the contents that the machine has, in the form in
    which it is declared: as a document, or in the list.

    Args:
        draft: What the machine is to be.
        config: As it is declared.
        world: The run.
        has: What the machine has; for a new one, what all of the others have.
    """
    if draft.machine.role is not MachineRole.CONTROL_PLANE:
        return config

    def is_released(url: str) -> bool:
        return url in draft.passing and not any(is_same_but_version(url, each) for each in has.names)

    declared = manifests(config)
    urls = {
        place: rest
        for place, listed in declared.urls.items()
        if (rest := tuple(each for each in listed if not is_released(each)))
    }
    apart = tuple(
        each for each in declared.documents if not _is_inline(each) and not is_released(text(each, "url"))
    )  # fmt: skip
    bare = ConfigManifests(documents=apart, urls=urls)
    kept = with_contents(bare, has.contents, documents=_documents_of(config, has.contents))
    return await listing(config, kept, world)


async def validate(configs: Mapping[str, Secret], world: World) -> None:
    """Let talosctl check configs, by machine.

    Raises:
        errors.Refused: One of them is wrong; everything that is wrong is said.
    """
    offline = cluster_access.talosctl_program(world)
    found = await asyncio.gather(*(offline.validate(each) for each in configs.values()))
    problems = [f"{name}: {each}" for name, one in zip(configs, found, strict=True) for each in one.problems]
    if problems:
        raise errors.Refused(
            f"talosctl refuses the machine config{'s' if len(configs) > 1 else ''}: {'; '.join(problems)}",
            hint="Nothing was applied anywhere; correct the patches of these machines.",
        )


def manifests(config: Secret) -> ConfigManifests:
    """The Kubernetes manifests that a config lists."""
    return manifests_in(documents(config))


def inline_manifests(config: Secret) -> Mapping[str, str]:
    """The inline manifests of a config in both forms, by name."""
    return manifests(config).contents


def _documents_of(config: Secret, names: Collection[str]) -> frozenset[str]:
    """Those among inline manifests that a config has, or would get, as documents of their own."""
    held = manifests(config)
    apart = {text(each, "name") for each in held.documents if _is_inline(each)}
    has_documents = talos_documents.is_made_of(text(each, "kind") for each in documents(config))
    return frozenset(
        name
        for name in names
        if name in apart or (has_documents and name not in held.inline and talos_documents.is_name(name))
    )


def documents(config: Secret) -> tuple[Mapping[str, Any], ...]:
    """The documents of a config that talosctl has written."""
    try:
        values = list(yaml.load_all(config.reveal(), Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError):
        # It holds the cluster's keys, so that the parser's message is not passed on.
        raise errors.Refused("a machine config is no YAML") from None
    return tuple(each for each in values if isinstance(each, Mapping))


async def listing(config: Secret, wanted: ConfigManifests, world: World) -> Secret:
    """A config with these manifests, and no others."""
    patches = [
        Secret(yaml.dump(each, Dumper=yaml.CSafeDumper, sort_keys=False))
        for each in manifest_patches(manifests(config), wanted)
    ]
    return await cluster_access.talosctl_program(world).patch_config(config, patches) if patches else config


async def _text(patch: DraftPatch, world: World, *, as_documents: bool = False) -> Secret:
    if as_documents and patch.documents is not None:
        return patch.documents
    return patch.text if patch.text is not None else await world.resolve(patch.reference)
