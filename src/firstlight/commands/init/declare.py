"""The questions that a repo leaves open, their answers, and the firstlight.yaml that is made of them."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from firstlight import errors
from firstlight.cli import output, which_repo
from firstlight.clients import atomic_file
from firstlight.model.platform import Platform
from firstlight.repo.declaration import declaration_form, inferred_declaration
from firstlight.repo.declaration.inferred_declaration import InitQuestion


def declare(given: Sequence[str], *, force: bool, dry_run: bool, root: Path | None, form: str) -> None:
    """Write firstlight.yaml and its schema."""
    platform = which_repo.platform(root, as_it_is=True)
    file = platform.root / declaration_form.FILE
    if os.path.lexists(file) and not force and not dry_run:
        raise errors.Refused(f"{file} is there already", hint="It is the declaration. To infer it anew: --force")
    for path in (
        file,
        platform.root / inferred_declaration.SCHEMA,
        (platform.root / inferred_declaration.SCHEMA).parent,
    ):
        if path.is_symlink():
            raise errors.Refused(f"{path} is a link, which may lead anywhere", hint="Remove it.")
    if file.is_dir():
        raise errors.Refused(f"{file} is a directory", hint="Remove it.")
    answers = _asked(platform, _parsed(given), form)
    text = inferred_declaration.text(platform, answers)
    if not dry_run:
        schema = platform.root / inferred_declaration.SCHEMA
        schema.parent.mkdir(mode=0o755, exist_ok=True)
        _write(schema, _schema())
        _write(file, text)
    open_questions = inferred_declaration.open_questions(platform, answers)
    if form == "json":
        asked = [{"key": each.key, "text": each.text, "why": each.why} for each in open_questions]
        output.write_json({"path": "" if dry_run else str(file), "text": text, "questions": asked})
        return
    print(text if dry_run else f"{file}\n\n{text}", end="")
    for question in open_questions:
        print(f"\nnot known: {question.text}\n  {question.why}\n  firstlight init --force --answer '{question.key}=…'")
    if not dry_run:
        print("\nnext: firstlight inventory")


def _parsed(given: Sequence[str]) -> dict[str, str]:
    answers = {}
    for each in given:
        key, separator, value = each.partition("=")
        if not separator or not value:
            raise errors.UsageError(f"--answer {key} has no value", hint="Write --answer KEY=VALUE.")
        answers[key] = value
    return answers


def _asked(platform: Platform, given: dict[str, str], form: str) -> dict[str, str]:
    """The answers: those given, and on a terminal those to the other questions."""
    asked = inferred_declaration.questions(platform)
    keys = {each.key for each in asked}
    if unknown := sorted(each for each in given if not inferred_declaration.is_asked(each, asked)):
        hint = f"Open are: {', '.join(sorted(keys))}" if keys else "There is nothing to ask."
        raise errors.UsageError(f"nobody asks for {unknown[0]}", hint=hint)
    for key, value in given.items():
        if problem := inferred_declaration.problem_of(key, value):
            raise errors.UsageError(f"the answer to {key} {problem}")
    answers = dict(given)
    if form == "text" and sys.stdin.isatty():
        for question in asked:
            if question.key not in answers and not question.key.endswith(f".{inferred_declaration.ANY_KEY}"):
                print(f"{question.why}", file=sys.stderr)
                if value := _answer(question):
                    answers[question.key] = value
    return answers


def _answer(question: InitQuestion) -> str:
    """What somebody types, once it can be an answer; empty for later."""
    while True:
        value = str(click.prompt(f"{question.text} (empty: later)", default="", show_default=False, err=True))
        if not value or not (problem := inferred_declaration.problem_of(question.key, value)):
            return value
        print(f"that {problem}", file=sys.stderr)


def _schema() -> str:
    return msgspec.json.format(msgspec.json.encode(declaration_form.schema()), indent=2).decode() + "\n"


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    atomic_file.replace(path, text.encode(), mode=None)
