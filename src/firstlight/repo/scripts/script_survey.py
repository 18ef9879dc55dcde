"""All scripts of a repo followed: what they deploy, in which order, and what else they do."""

import dataclasses
import posixpath
import re
import weakref
from collections.abc import Hashable, Sequence

from firstlight.model.cluster import Cluster
from firstlight.model.component import Certainty, ComponentNeed, Origin, SourceForm
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.source import DirectorySource
from firstlight.repo.declaration import declaration_file, declaration_form
from firstlight.repo.reader_result import ReaderResult
from firstlight.repo.scripts import masked_lines, script_tasks, task_book
from firstlight.repo.scripts.command_context import (
    CommandContext,
    CommandReading,
    HelmfileCall,
    Invocation,
    PathLookup,
    ScriptStep,
)
from firstlight.repo.scripts.commands import flux_commands, helm_commands, recognised_commands
from firstlight.repo.scripts.script_tasks import Shell, Task, TaskDialect
from firstlight.repo.scripts.task_book import TaskBook
from firstlight.repo.scripts.task_walk import TaskWalk
from firstlight.repo.work_tree import WorkTree

MAX_STEPS = 20_000
_SHELLS = {"bash", "sh", "zsh"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""What can be a name; a variable, a pattern or a placeholder is none."""
_SHOWN = 120
"""Characters of a command in a message."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSurvey:
    """What the scripts of a repo say."""

    origins: tuple[Origin, ...]
    unreached: tuple[Origin, ...]
    clusters: tuple[Cluster, ...]
    steps: tuple[ScriptStep, ...]
    helmfiles: tuple[HelmfileCall, ...]
    diagnostics: tuple[Diagnostic, ...]
    entries: tuple[str, ...]
    """Names of the tasks that a bootstrap starts with."""
    book: TaskBook = dataclasses.field(repr=False)


_KNOWN: weakref.WeakKeyDictionary[WorkTree, ScriptSurvey] = weakref.WeakKeyDictionary()


def survey_of(tree: WorkTree) -> ScriptSurvey:
    """The survey of a work tree, made once."""
    if tree not in _KNOWN:
        _KNOWN[tree] = _Surveyor(tree).run()
    return _KNOWN[tree]


class _Surveyor:
    def __init__(self, tree: WorkTree) -> None:
        self._book = task_book.read_tasks(tree)
        self._declared = declaration_file.command_files(tree)
        self._context = CommandContext(PathLookup(tree), clusters=frozenset(_cluster_names(tree)))
        self._origins: dict[tuple[str, str], Origin] = {}
        self._identities: dict[tuple[str, SourceForm, Hashable], tuple[str, str]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._entry_of: dict[tuple[str, str], str] = {}
        self._seen: dict[tuple[Place, str, str], str] = {}
        self._unreached: dict[tuple[Place, str, str], Origin] = {}
        self._clusters: dict[str, Cluster] = {}
        self._steps: dict[tuple[Place, str, tuple[str, ...]], ScriptStep] = {}
        self._helmfiles: dict[tuple[Place, str, bool], HelmfileCall] = {}
        self._diagnostics: dict[Diagnostic, None] = {}
        self._entry = ""

    def run(self) -> ScriptSurvey:
        """Follow everything twice: first for who calls whom, then from where bootstraps start."""
        first = TaskWalk(self._book, self._prepare, is_aside=lambda _: "")
        for task in self._book.tasks:
            first.follow(task, aside="everything")
        own = [task for task in self._book.tasks if not self._of_declaration(task)]
        starts = script_tasks.entries(own, first.calls)
        walk = TaskWalk(
            self._book, self._listen, is_aside=lambda task: self._of_declaration(task) or script_tasks.aside(task)
        )  # fmt: skip
        for task in starts:
            self._entry = task.name
            walk.follow(task)
        names = ", ".join(task.name for task in starts[:3]) + (" …" if len(starts) > 3 else "")
        for task in self._book.tasks:
            if task.key not in walk.visited:
                why = f"not called from {names}" if starts else "there is no bootstrap"
                other = f"task {task.name} is not part of a bootstrap ({why})"
                walk.follow(task, aside=self._of_declaration(task) or other)
        diagnostics = [*self._book.diagnostics, *walk.diagnostics, *self._diagnostics, *_folded(self._book)]
        return ScriptSurvey(
            origins=tuple(self._origins.values()),
            unreached=tuple(each for key, each in self._unreached.items() if key not in self._seen),
            clusters=tuple(self._clusters.values()),
            steps=tuple(self._steps.values()),
            helmfiles=tuple(self._helmfiles.values()),
            diagnostics=tuple(dict.fromkeys(masked_lines.plain_diagnostic(each) for each in diagnostics)),
            entries=tuple(task.name for task in starts),
            book=self._book,
        )

    def _of_declaration(self, task: Task) -> str:
        """That a script is run by firstlight itself, and so deploys nothing beside it; empty if it is not."""
        if task.dialect == TaskDialect.SHELL and task.place.path in self._declared:
            return f"{task.place.path} is a hook or a gate in {declaration_form.FILE}"
        return ""

    def _prepare(
        self, pipeline: Sequence[Invocation], task: Task, before: tuple[str, ...], aside: str
    ) -> Sequence[str]:
        """Learn the names of repositories and clusters, which may be said after they are used."""
        for invocation in pipeline:
            if invocation.program == "helm" and any(word.text == "repo" for word in invocation.words[1:3]):
                helm_commands.read_helm(invocation, self._context)
            elif invocation.program == "flux" and any(word.text == "bootstrap" for word in invocation.words[1:]):
                reading = flux_commands.read(invocation, self._context)
                if reading is not None and reading.cluster is not None:
                    self._context.clusters |= {reading.cluster.name}
        return ()

    def _listen(self, pipeline: Sequence[Invocation], task: Task, before: tuple[str, ...], aside: str) -> Sequence[str]:
        ids: list[str] = []
        last = pipeline[-1]
        if not aside and last.program in _SHELLS and len(pipeline) > 1 and len(last.words) == 1:
            message = f"what is piped into {last.program} is only known when it runs"
            self._diagnostics[Diagnostic.unknown("script-piped-into-shell", message, at=last.place)] = None
        for feeding in (each for invocation in pipeline for each in invocation.inner.values()):
            for invocation, reading in recognised_commands.recognise(feeding, self._context):
                self._step(invocation, reading, task, aside)
        for invocation, reading in recognised_commands.recognise(pipeline, self._context):
            self._step(invocation, reading, task, aside)
            if reading.helmfile is not None:
                self._helmfile(reading.helmfile, task, before, aside)
            if reading.cluster is not None and not aside:
                self._clusters.setdefault(reading.cluster.path, reading.cluster)
            if reading.origin is not None:
                ids += self._origin(reading.origin, before, aside)
        return ids

    def _step(self, invocation: Invocation, reading: CommandReading, task: Task, aside: str) -> None:
        args = tuple(masked_lines.masked_words(invocation.words[1:]))
        key = (invocation.place, reading.kind, args)
        old = self._steps.get(key)
        if len(self._steps) < MAX_STEPS and (old is None or (not aside and not old.is_reached)):
            self._steps[key] = ScriptStep(
                place=invocation.place, kind=reading.kind, role=reading.role, args=args, task=task.name,
                is_reached=not aside, unknowns=invocation.unknowns,
            )  # fmt: skip

    def _helmfile(self, call: HelmfileCall, task: Task, before: tuple[str, ...], aside: str) -> None:
        key = (call.place, call.environment, not aside)
        if not aside or (call.place, call.environment, True) not in self._helmfiles:
            self._helmfiles.setdefault(
                key, dataclasses.replace(call, is_reached=not aside, task=task.name, needs=() if aside else before)
            )

    def _origin(self, origin: Origin, before: tuple[str, ...], aside: str) -> list[str]:
        if not _NAME.fullmatch(origin.name):
            if not aside:
                message = f"what this deploys is only known when it runs: {origin.command[:_SHOWN]}"
                self._diagnostics[Diagnostic.unknown("script-deploys-unknown", message, at=origin.place)] = None
            return []
        seen = (origin.place, origin.cluster, origin.id)
        if aside:
            doubt = "; ".join(each for each in (aside, origin.doubt) if each)
            made = masked_lines.plain_origin(dataclasses.replace(origin, certainty=Certainty.GUESSED, doubt=doubt))
            self._unreached.setdefault(seen, made)
            return []
        if seen in self._seen:
            return [self._seen[seen]]
        origin, other = self._named(origin)
        if other is not None:
            self._seen[seen] = other.id
            self._again(origin, other)
            return [other.id]
        needs = tuple(
            ComponentNeed(id=each, place=origin.place, why="task order", is_order=True)
            for each in before
            if each != origin.id
        )
        self._origins[origin.cluster, origin.id] = dataclasses.replace(origin, needs=needs)
        self._entry_of[origin.cluster, origin.id] = self._entry
        self._seen[seen] = origin.id
        return [origin.id]

    def _named(self, origin: Origin) -> tuple[Origin, Origin | None]:
        """An origin with a name that is its own, or the other one that deploys the same."""
        identity = (origin.cluster, origin.form, _identity(origin))
        if identity in self._identities:
            return origin, self._origins[self._identities[identity]]
        names = [origin.name]
        if len(origin.objects) == 1:
            names.append(f"{origin.name}-{origin.objects[0].kind.lower()}")
        if origin.form == SourceForm.FLUX_COMMAND:
            names.append(f"{origin.name}-{str(origin.definition.get('verb')).split()[0]}")
        if isinstance(origin.source, DirectorySource):
            names.append(f"{posixpath.basename(posixpath.dirname(origin.source.path))}-{origin.name}")
        key = (origin.cluster, origin.id)
        self._counts[key] = self._counts.get(key, 0) + 1
        names.append(f"{origin.name}-{self._counts[key]}")
        for name in names:
            named = dataclasses.replace(origin, name=name)
            if (named.cluster, named.id) not in self._origins:
                break
        self._identities[identity] = (named.cluster, named.id)
        return named, None

    def _again(self, origin: Origin, first: Origin) -> None:
        """The same thing deployed in a second place: kept aside, and said where it differs."""
        if origin.source == first.source and origin.version == first.version:
            return
        key = (first.cluster, first.id)
        where = f"{first.place} deploys it first"
        if self._entry_of[key] != self._entry:
            where = f"{first.place} deploys it by {self._entry_of[key]}, this one by {self._entry}"
            if origin.version != first.version:
                versions = f"{origin.version or 'no version'} here, {first.version or 'no version'} in {first.place}"
                message = f"two bootstraps deploy {origin.name} differently: {versions}"
                self._diagnostics[
                    Diagnostic.warning("bootstraps-differ", message, at=origin.place, fix="Keep one of them.")
                ] = None
        made = dataclasses.replace(origin, certainty=Certainty.GUESSED, doubt=where)
        self._unreached[origin.place, origin.cluster, f"again/{origin.id}"] = made


def _identity(origin: Origin) -> Hashable:
    """The same for commands that deploy the same: a release by its name, objects by theirs, files by their path."""
    if origin.form == SourceForm.HELM_COMMAND:
        return origin.namespace, origin.name
    if origin.form == SourceForm.FLUX_COMMAND:
        return str(origin.definition.get("verb"))
    return origin.objects or repr(origin.source)


def _cluster_names(tree: WorkTree) -> set[str]:
    """Names below directories that are called clusters, or talos."""
    found: set[str] = set()
    for path in tree.files:
        parts = path.split("/")
        for n, part in enumerate(parts[:-2]):
            if part in ("clusters", "talos", "cluster", "environments"):
                found.add(parts[n + 1])
    return found


def _folded(book: TaskBook) -> list[Diagnostic]:
    """Commands in which a backslash was meant to continue a line that YAML has already joined."""
    message = "YAML makes one line of these, so the backslash escapes a space instead of continuing the line"
    return [
        Diagnostic.warning(
            "task-line-folded",
            message,
            at=Place(task.place.path, shell.lines[0]),
            fix="Begin the command with |, on its own line.",
        )
        for task in book.tasks
        if task.dialect == TaskDialect.TASK
        for shell in task.body
        if isinstance(shell, Shell) and len(shell.lines) == 1 and "\n" not in shell.text and "\\ " in shell.text
    ]


# Scripts read: what they deploy as origins, with file and line.


def read(tree: WorkTree) -> ReaderResult:
    """What Taskfiles, justfiles, Makefiles, mise tasks and shell scripts deploy; nothing is run."""
    found = survey_of(tree)
    return ReaderResult(
        clusters=found.clusters, origins=found.origins, unreached=found.unreached, diagnostics=found.diagnostics
    )


def steps(tree: WorkTree) -> tuple[ScriptStep, ...]:
    """Every command that is understood: what deploys, waits, changes, acts on machines or fetches secrets."""
    return survey_of(tree).steps


def helmfile_calls(tree: WorkTree) -> tuple[HelmfileCall, ...]:
    """Every command that runs helmfile."""
    return survey_of(tree).helmfiles
