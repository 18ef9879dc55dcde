"""Two states of a repo and the files that differ, read into changes."""

import dataclasses
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence

from firstlight.model.change import Change, ChangedField, ChangeVerb, Matter
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.repo import team_files
from firstlight.repo.changes import compared_pieces, file_pieces, kustomization_uses, line_changes, platform_files
from firstlight.repo.changes.compared_pieces import Piece
from firstlight.repo.changes.file_pieces import FilePieces
from firstlight.repo.changes.kustomization_uses import KustomizationUses
from firstlight.repo.changes.line_changes import Line
from firstlight.repo.changes.platform_files import PlatformFiles
from firstlight.repo.work_tree import WorkTree

_MODES = {"100644": "not executable", "100755": "executable"}
_RUN = (Matter.SCRIPT, Matter.TOOLING, Matter.UNKNOWN)
"""What somebody may run."""


def changes(
    before: WorkTree,
    after: WorkTree,
    paths: Iterable[str],
    *,
    platforms: Sequence[Platform] = (),
    modes: Mapping[str, tuple[str, str]] | None = None,
    is_stored: bool = False,
) -> tuple[Change, ...]:
    """What became of the things in files that differ.

    Args:
        before: The repo as it was.
        after: The repo as it is.
        paths: Files that differ, of either.
        platforms: What the repo describes, before and after, as far as that is known: it tells which files shape
            machines and which hold values.
        modes: Files that became executable or are no longer: of scripts, and of what nobody knows, that is a change.
        is_stored: Whether the later state is in Git: what can be read there is encrypted by no filter any more.
    """
    known = platform_files.files_of_platforms(platforms, named=platform_files.machine_files((before, after)))
    trees = [(each, KustomizationUses(each)) for each in (before, after)]
    old: list[Piece] = []
    new: list[Piece] = []
    found: list[Change] = []
    plain: list[tuple[FilePieces | None, FilePieces | None]] = []
    for path in dict.fromkeys(paths):
        one, other = (file_pieces.read(tree, path, known, uses, is_stored=is_stored) for tree, uses in trees)
        if one is None and other is None:
            found.append(_left_out(path))
            continue
        found += _executable(one, other, path, (modes or {}).get(path))
        if one and other and _is_same(before, after, path):
            continue
        if any(each is not None and each.pieces is None for each in (one, other)):
            plain.append((one, other))
            continue
        old += one.pieces or () if one else ()
        new += other.pieces or () if other else ()
        found += _statements(one, other)
    for was, will in _renamed(plain):
        halves = [*_by_lines(was, None), *_by_lines(None, will)] if was and will and was.path != will.path else []
        found += _apart(_by_lines(was, will), halves, known)
    for first, second in compared_pieces.paired_pieces(old, new):
        change = _compared(first, second, before, after)
        if change is not None:
            halves = _halves(first, second) if change.old_path else []
            found += _apart([change], halves, known)
    return tuple(sorted(found, key=lambda each: (each.place, each.title, each.verb)))


def _executable(
    one: FilePieces | None, other: FilePieces | None, path: str, modes: tuple[str, str] | None
) -> Iterator[Change]:
    """That a script can be run from now on, or no longer."""
    sort = _graver(one, other)
    if modes is not None and sort in _RUN:
        yield mode_changed(path, sort, modes)


def mode_changed(path: str, sort: Matter, modes: tuple[str, str]) -> Change:
    """That a file became executable, or is no longer."""
    place = Place(path)
    words = [_MODES.get(each, each) for each in modes]
    field = ChangedField(steps=("mode",), verb=ChangeVerb.CHANGED, place=place, before=words[0], after=words[1])
    name = posixpath.basename(path)
    return Change(matter=sort, verb=ChangeVerb.CHANGED, place=place, title=name, fields=(field,))


def _compared(first: Piece | None, second: Piece | None, before: WorkTree, after: WorkTree) -> Change | None:
    if (
        first is None
        or second is None
        or not (kustomization_uses.is_kustomization(first) and kustomization_uses.is_kustomization(second))
    ):
        return compared_pieces.compare_pieces(first, second)
    change = compared_pieces.compare_pieces(first, kustomization_uses.renamed_piece(first, second, before, after))
    return change and kustomization_uses.without_same(change, first, second, before=before, after=after)


def _halves(first: Piece | None, second: Piece | None) -> list[Change]:
    """What went in one place, and came in another."""
    found = (compared_pieces.compare_pieces(first, None), compared_pieces.compare_pieces(None, second))
    return [each for each in found if each is not None]


def _apart(changes: Sequence[Change], halves: Sequence[Change], known: PlatformFiles) -> Iterable[Change]:
    """What stands elsewhere now, with what that means if somebody looks only in one of the places.

    A machine config for other machines than before, or for none, is not the same one in another file.
    """
    for each in changes:
        if not each.old_path:
            yield each
        elif each.matter is Matter.MACHINE and not known.is_for_same(each.old_path, each.place.path):
            yield from halves
        else:
            yield dataclasses.replace(each, apart=tuple(halves))


def _left_out(path: str) -> Change:
    """What differs and is in neither tree: it is there, but nothing that could be read."""
    place = Place(path)
    is_policy = path.partition("/")[0] == team_files.DIRECTORY  # such as a link in place of the rules
    return Change(
        matter=Matter.POLICY if is_policy else Matter.UNKNOWN,
        verb=ChangeVerb.CHANGED,
        place=place,
        title=posixpath.basename(path),
        fields=(ChangedField(steps=(), verb=ChangeVerb.CHANGED, place=place),),
        doubt="it is no file that is read: a submodule, a link to nowhere, or a name that nobody can type",
    )


def _is_same(before: WorkTree, after: WorkTree, path: str) -> bool:
    one, other = before.bytes(path), after.bytes(path)
    return one is not None and one == other


def _statements(one: FilePieces | None, other: FilePieces | None) -> list[Change]:
    """What differs in the statements of a template: its documents do not show them."""
    if one is None or other is None or not (one.is_template or other.is_template):
        return []
    is_secret = one.is_secret or other.is_secret
    first, second = (
        [line._replace(is_hidden=line.is_hidden or is_secret) for line in line_changes.statements(each.text or "")]
        for each in (one, other)
    )
    fields = line_changes.line_fields(first, second, other.path)
    if not fields:
        return []
    name = posixpath.basename(other.path)
    return [Change(matter=other.matter, verb=ChangeVerb.CHANGED, place=fields[0].place, title=name, fields=fields)]


def _renamed(
    files: Sequence[tuple[FilePieces | None, FilePieces | None]],
) -> list[tuple[FilePieces | None, FilePieces | None]]:
    """Files that went together with those of the same text that came."""
    gone = [one for one, other in files if one and other is None]
    made: list[tuple[FilePieces | None, FilePieces | None]] = []
    used: set[str] = set()
    for one, other in files:
        if other is not None and one is None:
            one = next(
                (each for each in gone if each.path not in used and each.text is not None and _is_alike(each, other)),
                None,
            )
            if one is not None:
                used.add(one.path)
        made.append((one, other))
    return [(one, other) for one, other in made if other is not None or (one and one.path not in used)]


def _is_alike(one: FilePieces, other: FilePieces) -> bool:
    first, second = set((one.text or "").splitlines()), set((other.text or "").splitlines())
    return one.matter is other.matter and len(first & second) * 2 >= max(len(first | second), 1)


def _by_lines(one: FilePieces | None, other: FilePieces | None) -> list[Change]:
    shown = other or one
    assert shown is not None
    doubts = [each.doubt for each in (other, one) if each and each.doubt]
    old_path = one.path if one and other and one.path != other.path else ""
    mistake = other.mistake if other is not None else None
    change = Change(
        matter=_graver(one, other),
        verb=ChangeVerb.ADDED if one is None else ChangeVerb.REMOVED if other is None else ChangeVerb.CHANGED,
        place=mistake.place if mistake is not None else Place(shown.path),
        title=posixpath.basename(shown.path),
        old_path=old_path,
        doubt="; ".join(dict.fromkeys(doubts)),
        is_unread=bool(doubts) or _is_lost(one, other),
        broken=_message(mistake) if mistake is not None else "",
    )
    whole = ChangedField(steps=(), verb=change.verb, place=change.place)
    if any(each is not None and each.text is None for each in (one, other)):
        return [dataclasses.replace(change, fields=(whole,))]
    first, second = (_said(each) if each else [] for each in (one, other))
    if max(len(first), len(second)) > line_changes.MAX_LINES:
        doubt = f"it has more than {line_changes.MAX_LINES:,} lines, and was not looked into"
        return [dataclasses.replace(change, fields=(whole,), doubt=doubt, is_unread=True)]
    if any(each is not None and each.is_secret for each in (one, other)):
        is_other = [each.text for each in first] != [each.text for each in second]
        hidden = dataclasses.replace(whole, is_secret=True, is_clear=_has_clear(other))
        fields: tuple[ChangedField, ...] = (hidden,) if is_other else ()
    else:
        fields = line_changes.line_fields(first, second, shown.path, old_path=old_path)
        if len(fields) >= line_changes.MAX_FIELDS and change.matter is not Matter.DOCUMENTATION:
            doubt = f"more than {line_changes.MAX_FIELDS:,} lines differ, and not all were looked into"
            change = dataclasses.replace(change, doubt=change.doubt or doubt, is_unread=True)
    if one and other and not fields:
        if old_path:
            return [dataclasses.replace(change, verb=ChangeVerb.MOVED)]
        return [dataclasses.replace(change, fields=(whole,))] if change.doubt and _text_differs(first, second) else []
    return [dataclasses.replace(change, fields=fields or (whole,))]


def _has_clear(file: FilePieces | None) -> bool:
    """Whether a secret can be read in a file, though what it was before could not."""
    made = [compared_pieces.compare_pieces(None, each) for each in (file.pieces if file is not None else None) or ()]
    return any(field.is_clear for each in made if each is not None for field in each.fields)


def _message(mistake: Diagnostic) -> str:
    return f"{mistake.message}. {mistake.fix}" if mistake.fix else mistake.message


def _is_lost(one: FilePieces | None, other: FilePieces | None) -> bool:
    """Whether a machine config could be read by its fields in one of its states, and by lines only in the other."""
    both = [each for each in (one, other) if each is not None]
    is_machine = any(each.matter is Matter.MACHINE for each in both)
    return is_machine and len({each.pieces is None for each in both}) > 1


def _said(file: FilePieces) -> list[Line]:
    # Only a template has comments in braces; in a script they would hide what is between them.
    found = line_changes.lines_said(file.text or "", comments=_comments(file.path), is_template=file.is_template)
    return line_changes.hidden_lines(found) if file.path.endswith(line_changes.TERRAFORM_SUFFIXES) else found


def _text_differs(first: Sequence[Line], second: Sequence[Line]) -> bool:
    return [each.text for each in first] != [each.text for each in second]


def _graver(one: FilePieces | None, other: FilePieces | None) -> Matter:
    """What a file is if its two states do not agree: a machine config that is broken now is still one."""
    sorts = [each.matter for each in (other, one) if each is not None]
    readable = [each.matter for each in (other, one) if each is not None and each.pieces]
    if Matter.MACHINE in sorts:
        return Matter.MACHINE
    return (readable or [each for each in sorts if each is not Matter.UNKNOWN] or sorts)[0]


def _comments(path: str) -> tuple[str, ...]:
    """What begins a comment in a file; in documentation nothing does."""
    name = posixpath.basename(path)
    if name.endswith((".md", ".mdx", ".rst", ".adoc", ".txt")):
        return ()
    if name.endswith((".json5", ".jsonc", ".js", ".ts", ".go", ".cue", ".jsonnet", ".libsonnet")):
        return ("//",)
    return ("#", "//") if name.endswith(line_changes.TERRAFORM_SUFFIXES) else ("#",)
