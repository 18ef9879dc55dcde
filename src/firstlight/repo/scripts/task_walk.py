"""``sops exec-file FILE COMMAND`` and ``sops exec-env FILE COMMAND``: the command is a script of its own."""

import dataclasses
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo import go_template
from firstlight.repo.scripts import command_context, task_book, task_variables
from firstlight.repo.scripts.command_context import Invocation
from firstlight.repo.scripts.script_tasks import Shell, Task, TaskCall, TaskDialect
from firstlight.repo.scripts.shell import shell_expansion, shell_parser, shell_state, shell_tree
from firstlight.repo.scripts.shell.shell_expansion import ExpandedText, Value
from firstlight.repo.scripts.shell.shell_state import ShellState
from firstlight.repo.scripts.task_book import TaskBook

_VALUED = command_context.flag_names("user filename input-type output-type config")


def sops_script(invocation: Invocation) -> str:
    """What such a command runs, as a shell would read it; empty if it is none.

    The decrypted file, which sops puts in the place of ``{}``, is written as what prints it.
    """
    if invocation.program != "sops":
        return ""
    words = command_context.parse_flags(invocation.words[1:], valued=_VALUED, short={}).positional
    if len(words) < 3 or words[0].text not in ("exec-file", "exec-env"):
        return ""
    command = " ".join(each.text for each in words[2:])
    if words[0].text == "exec-env":
        return command
    printed = f"<(sops --decrypt {_quoted(words[1])})"
    for braces in ("'{}'", '"{}"', "{}"):
        command = command.replace(braces, printed)
    return command


def _quoted(path: ExpandedText) -> str:
    """A path as one word; what is not known in it stays a variable."""
    return shlex.quote(path.text) if path.is_known else f'"{path.text}"'


# Tasks followed as they would run: which commands, in which order, with which variables.
#
# Nothing is run. Both branches of a condition are followed, and a loop over a known list is followed for each of it.
# Whoever listens is told of every command and says by which names what it deploys is known; what comes later needs
# that.


MAX_VISITS = 2_000
"""Tasks that are followed, each with other variables counted again."""
MAX_STEPS = 40_000
"""Commands and blocks that are followed in all."""
MAX_SCRIPT = 300_000
"""Characters of one script; a longer one is an installer with a payload."""
MAX_DEPTH = 120
"""Tasks, functions and blocks inside of each other; Python's stack is the reason."""
MAX_ORDERED = 2_000
"""Deployed things of which each remembers all that ran before it; of more, needs may say more than they must."""
MAX_TURNS = 60
"""Of one loop over a known list."""
_ORDERED = {TaskDialect.JUST, TaskDialect.MAKE, TaskDialect.SHELL}
"""Who runs what a task needs in the order in which it is written."""

Listener = Callable[[Sequence[Invocation], Task, tuple[str, ...], str], Sequence[str]]
"""Told of a pipeline, its task, what ran before, and why it is aside; answers with ids of what it deploys."""


class TaskWalk:
    """Follows tasks; each once for the same variables."""

    def __init__(self, book: TaskBook, listener: Listener, *, is_aside: Callable[[Task], str]) -> None:
        self._book = book
        self._listener = listener
        self._is_aside = is_aside
        self._done: dict[tuple[Any, ...], tuple[str, ...]] = {}
        self._before: dict[str, frozenset[str]] = {}
        self._steps = 0
        self._depth = 0
        self._sourcing: set[tuple[str, int]] = set()
        self._aside = ""
        self._frontier: tuple[str, ...] = ()
        self.visited: set[tuple[str, int]] = set()
        """Keys of tasks that were followed as part of a bootstrap."""
        self.calls: dict[tuple[str, int], set[tuple[str, int]]] = {}
        """Who calls whom, by key."""
        self.diagnostics: dict[Diagnostic, None] = {}

    def follow(self, task: Task, *, aside: str = "") -> None:
        """Follow a task that people start; ``aside`` says why it is not part of a bootstrap."""
        self._aside, self._frontier = aside, ()
        self._visit(task, {}, ())

    # Tasks

    def _visit(self, task: Task, given: Mapping[str, Any], arguments: Sequence[Any]) -> None:
        key = (task.key, self._aside != "", tuple(sorted((name, str(each)) for name, each in given.items())),
               tuple(str(each) for each in arguments))  # fmt: skip
        if key in self._done:
            self._frontier = self._reduced(self._frontier + self._done[key])
            return
        if len(self._done) >= MAX_VISITS or self._depth >= MAX_DEPTH:
            message = f"{task.name} is not followed: too many tasks call each other"
            self.diagnostics[Diagnostic.unknown("script-too-deep", message, at=task.place)] = None
            return
        self._done[key] = ()
        aside = self._aside
        self._aside = aside or self._is_aside(task)
        if not self._aside:
            self.visited.add(task.key)
        self._depth += 1
        before = self._frontier
        values = task_variables.of(task, given, arguments)
        self._needs(task, values)
        for item in task.body:
            if isinstance(item, TaskCall):
                self._call(task, item, values)
            else:
                self._shell(task, item, values, arguments)
        self._depth -= 1
        self._aside = aside
        self._done[key] = tuple(each for each in self._frontier if each not in before)

    def _needs(self, task: Task, values: Mapping[str, Any]) -> None:
        before, after = self._frontier, self._frontier
        for call in task.needs:
            if task.dialect not in _ORDERED:
                self._frontier = before
            self._call(task, call, values)
            after = self._reduced(after + self._frontier)
        if task.needs:
            self._frontier = after

    def _call(self, task: Task, call: TaskCall, values: Mapping[str, Any]) -> None:
        name = task_variables.as_text(task_variables.value(task, call.name, values) if "{{" in call.name else call.name)
        place = Place(task.place.path, call.line)
        called = self._book.called(task, name.text) if name.is_known else None
        if called is None:
            if task.dialect != TaskDialect.MAKE:  # where it is a file, more often than not
                message = f"task {name.text} is not followed"
                if name.unknowns:
                    why = f"{', '.join(name.unknowns)} is only known when it runs"
                    missing = Diagnostic.unknown("task-name-unknown", f"{message}: {why}", at=place)
                else:
                    # The name may be another one: what a variable says is only its default.
                    make = Diagnostic.warning if "{{" in call.name else Diagnostic.error
                    how = " by default" if "{{" in call.name else ""
                    missing = make("task-missing", f"calls task {name.text}{how}, which does not exist", at=place)
                self.diagnostics[missing] = None
            return
        self.calls.setdefault(task.key, set()).add(called.key)
        given = {key: task_variables.value(task, raw, values) for key, raw in call.variables.items()}
        self._visit(called, given, [task_variables.value(task, each, values) for each in call.arguments])

    # Shells

    def _shell(self, task: Task, shell: Shell, values: Mapping[str, Any], arguments: Sequence[Any]) -> None:
        try:
            rendered = task_variables.render(task, shell.text, values)
        except go_template.GoTemplateError as error:
            place = Place(task.place.path, shell.line(error.line))
            self.diagnostics[
                Diagnostic.error("task-template-wrong", f"the template is wrong: {error.reason}", at=place)
            ] = None
            rendered = go_template.RenderedTemplate(go_template.remove_marks(shell.text))
        known: dict[str, Value] = {
            name: task_variables.as_text(task_variables.value(task, raw, values)) for name, raw in task.exported
        }
        known |= {str(n): task_variables.as_text(each) for n, each in enumerate(arguments, 1)}
        if arguments:
            known["@"] = tuple(task_variables.as_text(each) for each in arguments)
        directory = task_variables.as_text(
            task_variables.value(task, task.directory, values) if "{{" in task.directory else task.directory
        )
        state = ShellState(
            task, shell, known, shell_state.relative(directory), rendered,
            task.place.path if task.dialect == TaskDialect.SHELL else "",
        )  # fmt: skip
        if len(rendered.text) > MAX_SCRIPT:
            message = f"it is not read, since it has more than {MAX_SCRIPT} characters"
            self.diagnostics[
                Diagnostic.unknown("script-too-long", message, at=Place(task.place.path, shell.line(1)))
            ] = None
            return
        parsed = shell_parser.parse(rendered.text)
        for line, problem in parsed.problems:
            place = Place(task.place.path, state.line(line))
            self.diagnostics[
                Diagnostic.warning("script-syntax-unclear", f"{problem}, so what follows may be read wrongly", at=place)
            ] = None
        self._items(parsed.items, state)

    def _items(self, items: Sequence[shell_tree.Item], state: ShellState) -> None:
        if self._depth >= MAX_DEPTH:
            message = f"it is not followed deeper than {MAX_DEPTH} blocks, functions and tasks"
            self.diagnostics[Diagnostic.unknown("script-too-deep", message, at=state.task.place)] = None
            return
        self._depth += 1
        for item in items:
            self._steps += 1
            if self._steps > MAX_STEPS:
                message = f"what follows is left out: there are more than {MAX_STEPS} steps"
                self.diagnostics[Diagnostic.unknown("script-too-long", message, at=state.task.place)] = None
                break
            match item:
                case shell_tree.ShellFunction(name):
                    state.functions[name] = item
                case shell_tree.ShellLoop():
                    self._loop(item, state)
                case shell_tree.ShellGroup():
                    self._group(item, state)
                case shell_tree.Pipeline():
                    self._pipeline(item, state)
        self._depth -= 1

    def _group(self, group: shell_tree.ShellGroup, state: ShellState) -> None:
        kept = dict(state.variables), state.directory
        self._items(group.items, state)
        if group.is_subshell:
            state.variables, state.directory = kept

    def _loop(self, loop: shell_tree.ShellLoop, state: ShellState) -> None:
        listed = [each for word in loop.words for each in shell_expansion.words(word, state.scope())]
        if not loop.name or not listed or len(listed) > MAX_TURNS or not all(each.is_known for each in listed):
            if loop.name:
                state.variables[loop.name] = ExpandedText(f"${loop.name}", (loop.name,))
            self._items(loop.items, state)
            return
        for each in listed:
            state.variables[loop.name] = each
            self._items(loop.items, state)

    def _pipeline(self, pipeline: shell_tree.Pipeline, state: ShellState) -> None:
        invocations: list[Invocation] = []
        for command in pipeline.commands:
            if isinstance(command, shell_tree.ShellGroup):
                self._group(command, state)
                continue
            invocation = self._simple(command, state)
            if invocation is not None:
                invocations += self._inside(invocation, command.line, state) or [invocation]
        if not invocations:
            return
        if len(invocations) == 1 and self._run(invocations[0], state):
            return
        self._ran(tuple(self._listener(invocations, state.task, self._frontier, self._aside)))

    def _inside(self, invocation: Invocation, line: int, state: ShellState) -> list[Invocation]:
        """The commands that sops runs, in its place; a script of several pipelines is followed by itself."""
        script = sops_script(invocation)
        if not script or len(script) > MAX_SCRIPT:
            return []
        place = dataclasses.replace(state, offset=state.offset + line - 1, functions={})
        items = shell_parser.parse(script).items
        first = items[0] if len(items) == 1 else None
        if not isinstance(first, shell_tree.Pipeline) or not all(
            isinstance(each, shell_tree.Simple) for each in first.commands
        ):
            self._items(items, place)
            return []
        self._listener([invocation], state.task, self._frontier, self._aside)
        found = [self._simple(each, place) for each in first.commands if isinstance(each, shell_tree.Simple)]
        made = [each for each in found if each is not None]
        # People see the command as it is written.
        written = [invocation.written, *(() for _ in made[1:])]
        return [dataclasses.replace(each, written=shown) for each, shown in zip(made, written, strict=False)]

    def _ran(self, ids: tuple[str, ...]) -> None:
        """What was deployed is needed by what comes later; what was there before does not become the last again."""
        new = tuple(each for each in ids if each not in self._before)
        above = (self._before.get(other, frozenset()) for other in self._frontier)
        before = frozenset(self._frontier).union(*above) if len(self._before) < MAX_ORDERED else frozenset()
        for each in new:
            self._before[each] = before
        self._frontier = new or self._reduced(self._frontier + ids)

    def _simple(self, command: shell_tree.Simple, state: ShellState) -> Invocation | None:
        inner = self._substituted(command, state)
        if not command.words:
            shell_state.assign(command, state)
            return None
        return shell_state.invocation_of(command, state, inner)

    def _substituted(self, command: shell_tree.Simple, state: ShellState) -> dict[str, tuple[Invocation, ...]]:
        """Follow the commands inside of ``$(…)``; those inside of ``<(…)`` feed the command itself."""
        feeding: dict[str, tuple[Invocation, ...]] = {}
        words = [*command.words, *(word for _, word in command.assignments)]
        pieces = [
            (word, piece)
            for word in words
            for piece in word.pieces
            if piece.kind == shell_tree.ShellPieceKind.SUBSTITUTION
        ]
        for word, piece in pieces:
            if piece.source.startswith(("$((", "${")):
                continue
            items = shell_parser.parse(piece.text).items
            place = dataclasses.replace(state, offset=state.offset + word.line - 1, functions={})
            first = items[0] if items else None
            if piece.source.startswith("<(") and isinstance(first, shell_tree.Pipeline):
                commands = [each for each in first.commands if isinstance(each, shell_tree.Simple) and each.words]
                feeding[piece.source] = tuple(shell_state.invocation_of(each, place, {}) for each in commands)
            else:
                self._items(items, place)
        return feeding

    def _run(self, invocation: Invocation, state: ShellState) -> bool:
        """Follow a command that changes the directory, or runs a function, a task or a script."""
        program = invocation.words[0].text if invocation.words else ""
        if program in ("cd", "pushd"):
            target = invocation.words[1] if len(invocation.words) > 1 else ExpandedText("")
            state.directory = shell_state.entered(state.directory, target)
            return True
        if program in state.functions:
            self._function(state.functions[program], invocation.words[1:], state)
            return True
        called = task_book.called_tasks(self._book, invocation)
        if called is None:
            return False
        for name in called.missing:
            message = f"{name} is run here, and is not in the repo"
            self.diagnostics[Diagnostic.unknown("script-not-in-repo", message, at=invocation.place)] = None
        for task, arguments in called.tasks:
            self.calls.setdefault(state.task.key, set()).add(task.key)
            if called.is_sourced:
                self._source(task, state)
            else:
                given = {name: _template(each) for name, each in called.variables.items()}
                self._visit(task, given, [_template(each) for each in arguments])
        return True

    def _function(
        self, function: shell_tree.ShellFunction, arguments: Sequence[ExpandedText], state: ShellState
    ) -> None:
        kept = dict(state.variables)
        state.variables |= {str(n): each for n, each in enumerate(arguments, 1)}
        state.variables["@"] = tuple(arguments)
        del state.functions[function.name]  # one that calls itself is followed once
        self._items(function.items, state)
        state.functions[function.name] = function
        for name in [*(str(n) for n in range(1, len(arguments) + 1)), "@"]:
            state.variables.pop(name, None)
            if name in kept:
                state.variables[name] = kept[name]

    def _source(self, task: Task, state: ShellState) -> None:
        """A script that is read into this one: its functions and variables stay."""
        if task.key in self._sourcing:
            return
        self._sourcing.add(task.key)
        self.visited.add(task.key)
        shell = next((item for item in task.body if isinstance(item, Shell)), None)
        if shell is not None:
            rendered = task_variables.render(task, shell.text, {})
            inner = ShellState(
                task, shell, state.variables, state.directory, rendered, task.place.path, state.functions
            )
            self._items(shell_parser.parse(rendered.text).items, inner)
        self._sourcing.discard(task.key)

    def _reduced(self, frontier: tuple[str, ...]) -> tuple[str, ...]:
        """What ran last: without what ran before others of it."""
        unique = tuple(dict.fromkeys(frontier))
        above = frozenset().union(*(self._before.get(each, frozenset()) for each in unique)) if unique else frozenset()
        return tuple(each for each in unique if each not in above) or unique


def _template(value: ExpandedText) -> Any:
    return value.text if value.is_known else task_variables.unknown(value)
