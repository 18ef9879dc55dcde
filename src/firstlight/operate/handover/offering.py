"""Changes of the files that say what an Application is, offered as diffs: a person reviews and commits them."""

import dataclasses
import difflib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.document import reading, splicing
from firstlight.document.within import mapping, sequence, text
from firstlight.model.component import Component, Origin
from firstlight.model.handover import Offer, Passing
from firstlight.model.plan import Link, Problem, Severity
from firstlight.model.rendition import Object
from firstlight.operate.handover import argocd_checks, ignoring
from firstlight.operate.handover.ignoring import Ignored
from firstlight.plan.facts import Facts

_REASONS = {
    argocd_checks.SERVER_SIDE: "what bootstrap applied becomes Argo CD's, and fields removed in Git disappear",
    argocd_checks.RESPECT: "what is ignored is not written either",
}
_SHOWN = 3


@dataclasses.dataclass(frozen=True, slots=True)
class _File:
    """A file that is changed, by one Application after the other."""

    before: str
    after: str = ""
    components: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


def offers(known: Facts, passing: Sequence[Passing], root: Path) -> tuple[Offer, ...]:
    """What Applications lack to take over what passes to them, a change for each file.

    Nothing where a file is generated or cannot be edited safely: then the problem alone tells what to write.

    Args:
        known: The facts of the cluster.
        passing: What passes to an engine.
        root: Of the repo.
    """
    files: dict[str, _File] = {}
    for component, origin, options, ignored in _lacking(known, passing):
        path = origin.place.path
        try:
            file = files.get(path) or _File(reading.decode((root / path).read_bytes()))
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


def problems(known: Facts, passing: Sequence[Passing]) -> Iterator[Problem]:
    """Fields over which Argo CD and the cluster would fight for ever."""
    for component, origin, _, ignored in _lacking(known, passing):
        if ignored:
            names = ", ".join(f"{each.id.kind} {each.id.name} ({each.why})" for each in ignored[:_SHOWN])
            more = f" and {len(ignored) - _SHOWN} more" if len(ignored) > _SHOWN else ""
            yield Problem(
                rule="handover-ignores", severity=Severity.WARNING, component=component.name,
                message=f"Application {origin.name} would write what others write, and never be in sync: {names}{more}",
                chain=(Link("Application", "does not ignore them", origin.place),),
                way_out=f"Add them to spec.ignoreDifferences, and {argocd_checks.RESPECT} to the sync options; "
                "firstlight handover --dry-run shows it as a change of the file.",
            )  # fmt: skip


def _lacking(
    known: Facts, passing: Sequence[Passing]
) -> Iterator[tuple[Component, Origin, list[str], list[Ignored]]]:  # fmt: skip
    everything = [obj for each in known.renditions.values() for obj in each.objects]
    for component, origin, those in argocd_checks.applications(known, passing):
        options, ignored = needed(origin, those, everything)
        if options or ignored:
            yield component, origin, options, ignored


def needed(origin: Origin, passing: Sequence[Passing], everything: Iterable[Object]) -> tuple[list[str], list[Ignored]]:
    """The sync options and the ignored fields that an Application lacks."""
    ignored = ignoring.needed(passing, everything, origin)
    said = argocd_checks.options(origin)
    options = [] if argocd_checks.is_server_side(origin, passing) else [argocd_checks.SERVER_SIDE]
    if ignored and argocd_checks.RESPECT not in said:
        options.append(argocd_checks.RESPECT)
    return [each for each in options if each not in said], [*ignored]


def _edited(before: str, path: str, origin: Origin, options: Sequence[str], ignored: Sequence[Ignored]) -> str | None:
    """The file with what an Application lacks; None if the Application is not written there."""
    document = _document(before, path, origin)
    if document is None:
        return None
    spec = ("spec", "template", "spec") if text(document.value, "kind") == "ApplicationSet" else ("spec",)
    entries = [each.entry for each in ignored]
    after = _added(before, (*spec, "syncPolicy", "syncOptions"), options, document)
    return _added(after, (*spec, "ignoreDifferences"), entries, document)


def _added(before: str, steps: tuple[str, ...], items: Sequence[Any], document: reading.Document) -> str:
    """The text with more items in a list, or with the list; others of the same template may have added some."""
    there = sequence(mapping(document.value, *steps[:-1]), steps[-1])
    new = [each for each in items if each not in there]
    if new and not there:
        return splicing.set_value(before, steps, new, document=document.index, path=document.path)
    for each in new:
        before = splicing.append(before, steps, each, document=document.index, path=document.path)
    return before


def _document(content: str, path: str, origin: Origin) -> reading.Document | None:
    """Where an Application is written, or the ApplicationSet that makes it."""
    maker = origin.maker or origin.definition
    wanted = (text(maker, "kind"), text(maker, "metadata", "name"))
    for each in reading.read_text(content, path).documents:
        if (text(each.value, "kind"), text(each.value, "metadata", "name")) == wanted:
            return each
    return None


def diff(before: str, after: str, path: str) -> str:
    """Two versions of a file as ``git apply`` takes them."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return "".join(each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in lines)
