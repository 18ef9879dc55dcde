"""The safe edits of findings, made in memory, shown as a diff, and written: all files, or none."""

import contextlib
import dataclasses
import difflib
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import atomic_file
from firstlight.clients.git import Git, NotARepository
from firstlight.model.finding import EditVerb, FileEdit, Finding
from firstlight.repo import overlaid_tree, work_tree
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.secrecy import clear_secrets
from firstlight.repo.work_tree import WorkTree

_ORDER = (EditVerb.DELETE, EditVerb.WRITE, EditVerb.SET, EditVerb.APPEND, EditVerb.REMOVE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FilePatch:
    """What edits make of files."""

    before: Mapping[str, bytes | None] = dataclasses.field(repr=False)
    """By path, relative to the repo; None for a file that is new."""
    after: Mapping[str, bytes | None] = dataclasses.field(repr=False)
    """None for a file that goes."""
    fixed: tuple[Finding, ...]
    refused: tuple[tuple[Finding, str], ...] = ()
    """Findings whose edits were not made, each with why."""

    @property
    def diff(self) -> str:
        """The change, as ``git apply`` and ``patch -p1`` take it in the repo's directory."""
        return "".join(unified_diff(path, self.before[path], data) for path, data in sorted(self.after.items()))

    def laid_over(self, tree: WorkTree) -> WorkTree:
        """The work tree as it is afterwards."""
        return OverlaidTree(tree, dict(self.after)) if self.after else tree


def patch(tree: WorkTree, findings: Iterable[Finding]) -> FilePatch:
    """What the safe edits of findings make of the files; one that cannot be made leaves out its finding alone."""
    good: list[Finding] = []
    refused: list[tuple[Finding, str]] = []
    for each in findings:
        if each.edits and (why := _unfit(tree, each.edits) or _unfit_alone(tree, each)):
            refused.append((each, why))
        elif each.edits:
            good.append(each)
    texts, why = _made(tree, good)
    if why:
        # Each can be made, and not all of them together: as many as there can be, the worst first.
        alone, good = good, []
        for each in alone:
            made, why = _made(tree, [*good, each])
            if why:
                refused.append((each, why))
            else:
                good, texts = [*good, each], made
    before = {path: tree.bytes(path) if tree.is_file(path) else None for path in texts}
    contents = {path: text.encode() if text is not None else None for path, text in texts.items()}
    after = {path: data for path, data in contents.items() if data != before[path]}
    return FilePatch(before=before, after=after, fixed=tuple(good), refused=tuple(refused))


def _made(tree: WorkTree, findings: Sequence[Finding]) -> tuple[dict[str, str | None], str]:
    """The texts of files with all edits made, or why that cannot be done."""
    edits = (dataclasses.replace(edit, path=tree.real(edit.path)) for each in findings for edit in each.edits)
    try:
        return overlaid_tree.edited_files(tree, _in_order(edits)), ""
    except errors.ConfigError as error:
        return {}, error.message
    except UnicodeDecodeError:
        return {}, "the file is no UTF-8"


def _unfit_alone(tree: WorkTree, finding: Finding) -> str:
    """Why its edits are not made: they cannot be, or whoever reads the diff would read a secret in it.

    What names a key of an ExternalSecret gives none away, on either side of the diff.
    """
    texts, why = _made(tree, [finding])
    then = OverlaidTree(tree, {path: text.encode() if text is not None else None for path, text in texts.items()})
    for path in texts:
        shown = [*_shown(tree, then, path), *_shown(then, tree, path)]
        if clear_secrets.tells_secret("".join(shown)):
            return f"{path} has a secret in clear beside it, which a diff would show"
    return why


def _shown(tree: WorkTree, other: WorkTree, path: str) -> Iterator[str]:
    """The lines of a file that a diff against its other state shows: those that differ, and those around them."""
    if not tree.is_file(path):
        return
    lines = _lines(tree.bytes(path) or b"")
    others = _lines((other.bytes(path) if other.is_file(path) else None) or b"")
    names = clear_secrets.lines_with_key_names(tree, path)
    for group in difflib.SequenceMatcher(None, lines, others).get_grouped_opcodes():
        yield from (lines[number] for number in range(group[0][1], group[-1][2]) if number + 1 not in names)


def written_lines(before: bytes, after: bytes) -> Iterator[tuple[int, str]]:
    """The lines that are new in a file, each with its number."""
    new = _lines(after)
    for verb, _, _, first, end in difflib.SequenceMatcher(None, _lines(before), new).get_opcodes():
        if verb in ("insert", "replace"):
            yield from ((number + 1, new[number]) for number in range(first, end))


def _unfit(tree: WorkTree, edits: Sequence[FileEdit]) -> str:
    """Why files are not edited; empty if nothing is in the way."""
    for path in {each.path for each in edits}:
        if work_tree.join(".", path) != path or not (tree.root / path).parent.resolve().is_relative_to(tree.root):
            return f"{path} is outside of the repo"
        # What a diff shows around a change is read by whoever reads the log of a pipeline.
        if tree.is_file(path) and clear_secrets.has_clear_secrets(tree, path):
            return f"{path} has secrets in clear, which a diff would show"
    return ""


def _in_order(edits: Iterable[FileEdit]) -> list[FileEdit]:
    """Removals last and from the end of lists, so that no index means another item by then."""
    unique = list(dict.fromkeys(_Key(each) for each in edits))
    ordered = sorted(unique, key=lambda key: _ORDER.index(key.edit.verb))
    kept = [key.edit for key in ordered if key.edit.verb is not EditVerb.REMOVE]
    removals = [key.edit for key in ordered if key.edit.verb is EditVerb.REMOVE]
    return [*kept, *sorted(removals, key=_from_the_end, reverse=True)]


def _from_the_end(edit: FileEdit) -> tuple[object, ...]:
    return edit.path, edit.document, [(isinstance(step, int), step if isinstance(step, int) else 0, str(step))
                                      for step in edit.steps]  # fmt: skip


class _Key:
    """An edit by what it says; its value may be a mapping, which has no hash."""

    def __init__(self, edit: FileEdit) -> None:
        self.edit = edit

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.edit == other.edit

    def __hash__(self) -> int:
        return hash((self.edit.path, self.edit.verb, self.edit.steps, self.edit.document))


async def uncommitted(root: Path, paths: Iterable[str], *, git: Path | None) -> tuple[str, ...]:
    """Those of some files that no commit has as they are, so that nobody could take an edit back."""
    wanted = sorted(paths)
    if git is None:
        return tuple(wanted)
    program = Git(git)
    try:
        head = await program.head(root)
        changes = await program.status(root)
    except NotARepository:
        return tuple(wanted)
    top = (head.work_tree or root).resolve()
    dirty = {name for each in changes for name in (each.path, each.old_path) if name}
    tracked = await program.tracked(root)
    real = root.resolve()
    prefix = "" if real == top else f"{real.relative_to(top).as_posix()}/"
    return tuple(each for each in wanted if f"{prefix}{each}" in dirty or each not in tracked)


def write(tree: WorkTree, made: FilePatch) -> None:
    """Put all files in their places, or none of them.

    Raises:
        errors.Refused: A file is not any more what it was when it was read.
        OSError: One cannot be written; the others are as they were.
    """
    staged: dict[Path, Path] = {}
    done: list[Path] = []
    old: dict[Path, bytes | None] = {}
    with contextlib.ExitStack() as stack:
        for path, content in made.after.items():
            file = tree.root / tree.real(path)
            old[file] = made.before[path]
            if _content(file) != made.before[path]:
                raise errors.Refused(f"{path} has changed since it was read", hint="Nothing was written: run it again.")
            if content is not None:
                staged[file] = stack.enter_context(_staged(file, content))
        try:
            for file in old:
                if file in staged:
                    atomic_file.put(staged[file], file)
                else:
                    file.unlink()
                done.append(file)
        except BaseException:
            for file in done:
                _put_back(file, old[file])
            raise


def _staged(file: Path, content: bytes) -> contextlib.AbstractContextManager[Path]:
    """The new content beside the file, with its permissions."""
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o644
    return atomic_file.staged(file, content, mode=mode)


def _put_back(file: Path, content: bytes | None) -> None:
    with contextlib.suppress(OSError):
        if content is None:
            file.unlink(missing_ok=True)
        else:
            with _staged(file, content) as staged:
                atomic_file.put(staged, file)


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


# Two contents of a file as a unified diff that ``git apply`` takes, whatever their line ends.


_ODD = re.compile(r'["\\\x00-\x1f\x7f]')
_NO_END = "\\ No newline at end of file\n"


def unified_diff(path: str, before: bytes | None, after: bytes | None) -> str:
    """The difference; empty if there is none.

    Args:
        path: Relative to the directory in which the patch is applied.
        before: None for a file that is new.
        after: What it is to be; None for a file that goes.
    """
    old, new = _lines(before or b""), _lines(after or b"")
    names = (
        _name("a", path) if before is not None else "/dev/null",
        _name("b", path) if after is not None else "/dev/null",
    )
    lines = difflib.unified_diff(old, new, *names, lineterm="\n")
    return "".join(_ended(each) for each in lines)


def _lines(content: bytes) -> list[str]:
    """Lines with their ends, which only a line feed is: other separators belong to the text."""
    pieces = content.decode(errors="surrogateescape").split("\n")
    lines = [f"{each}\n" for each in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n{_NO_END}"


def _name(side: str, path: str) -> str:
    """A name as Git writes it: odd ones in quotes, and a tab after those with spaces, so that they end somewhere."""
    name = f"{side}/{path}"
    if _ODD.search(name):
        escaped = _ODD.sub(lambda match: "\\" + (match[0] if match[0] in '"\\' else f"{ord(match[0]):03o}"), name)
        return f'"{escaped}"'
    return f"{name}\t" if " " in name else name
