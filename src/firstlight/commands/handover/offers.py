"""Offer the edits of Application files without which Argo CD cannot take over."""

import dataclasses
import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.document import yaml_editor, yaml_reader
from firstlight.document.within import mapping, sequence, text
from firstlight.model import argocd_names
from firstlight.model.component import Origin
from firstlight.model.handover import Offer, Passing
from firstlight.plan import argocd_takeover
from firstlight.plan.argocd_takeover import ArgoIgnoredFields, lacking_applications
from firstlight.plan.cluster_facts import ClusterFacts

_REASONS = {
    argocd_takeover.SERVER_SIDE: "what bootstrap applied becomes Argo CD's, and fields removed in Git disappear",
    argocd_takeover.RESPECT: "what is ignored is not written either",
}


@dataclasses.dataclass(frozen=True, slots=True)
class _File:
    """A file that is changed, by one Application after the other."""

    before: str
    after: str = ""
    components: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


def offers(known: ClusterFacts, passing: Sequence[Passing], root: Path) -> tuple[Offer, ...]:
    """What Applications lack to take over what passes to them, a change for each file.

    Nothing where a file is generated or cannot be edited safely: then the problem alone tells what to write.

    Args:
        known: The facts of the cluster.
        passing: What passes to an engine.
        root: Of the repo.
    """
    files: dict[str, _File] = {}
    for component, origin, options, ignored in lacking_applications(known, passing):
        path = origin.place.path
        try:
            file = files.get(path) or _File(yaml_reader.decode((root / path).read_bytes()))
            after = _edited(file.after or file.before, path, origin, options, ignored)
        except (OSError, UnicodeDecodeError, errors.ConfigError):
            continue
        if after is not None:
            reasons = [f"{each}: {_REASONS[each]}" for each in options]
            reasons += [f"{each.id.kind} {each.id.name}: {each.why}" for each in ignored]
            files[path] = _File(
                file.before, after, (*file.components, component.name), tuple(dict.fromkeys((*file.why, *reasons)))
            )
    return tuple(
        Offer(component=", ".join(each.components), path=path, why=each.why, diff=diff(each.before, each.after, path))
        for path, each in files.items()
    )


def _edited(
    before: str, path: str, origin: Origin, options: Sequence[str], ignored: Sequence[ArgoIgnoredFields]
) -> str | None:
    """The file with what an Application lacks; None if the Application is not written there."""
    document = _document(before, path, origin)
    if document is None:
        return None
    spec = ("spec", "template", "spec") if text(document.value, "kind") == argocd_names.APPLICATION_SET else ("spec",)
    entries = [each.entry for each in ignored]
    after = _added(before, (*spec, "syncPolicy", "syncOptions"), options, document)
    return _added(after, (*spec, "ignoreDifferences"), entries, document)


def _added(before: str, steps: tuple[str, ...], items: Sequence[Any], document: yaml_reader.YamlDocument) -> str:
    """The text with more items in a list, or with the list; others of the same template may have added some."""
    there = sequence(mapping(document.value, *steps[:-1]), steps[-1])
    new = [each for each in items if each not in there]
    if new and not there:
        return yaml_editor.set_value(before, steps, new, document=document.index, path=document.path)
    for each in new:
        before = yaml_editor.append(before, steps, each, document=document.index, path=document.path)
    return before


def _document(content: str, path: str, origin: Origin) -> yaml_reader.YamlDocument | None:
    """Where an Application is written, or the ApplicationSet that makes it."""
    maker = origin.maker or origin.definition
    wanted = (text(maker, "kind"), text(maker, "metadata", "name"))
    for each in yaml_reader.read_text(content, path).documents:
        if (text(each.value, "kind"), text(each.value, "metadata", "name")) == wanted:
            return each
    return None


def diff(before: str, after: str, path: str) -> str:
    """Two versions of a file as ``git apply`` takes them."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return "".join(each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in lines)
