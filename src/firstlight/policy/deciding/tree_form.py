"""The form of decision trees and of the documents' criteria, as they are written in YAML."""

from typing import Literal

import msgspec


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One question of a tree, answered by yes or no."""

    id: str
    """Rules answer it by this name: ``answers: {restart: true}``. Two trees may share one."""
    text: str
    """As people are asked: ``Does it require a restart of the cluster?``"""
    if_yes: str
    if_no: str
    """The id of the next question, or where the tree ends: ``bootstrap``, ``gitops`` or ``hybrid``."""
    usually: bool | None = None
    """The answer where neither a rule nor a fact says otherwise; what is open counts as no."""
    help: str = ""
    """What is meant, for people who are asked."""


class Tree(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A decision tree; the first question is where it starts."""

    id: str
    title: str
    questions: tuple[Question, ...]
    sources: tuple[str, ...] = ()


class Criterion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One reason of the documents for a side; rules name it by its id."""

    id: str
    side: Literal["bootstrap", "gitops"]
    title: str
    """``Network Foundation``, as the document calls it."""
    text: str
    """``it affects core networking``: what a decision says for it, without a full stop."""
    sources: tuple[str, ...] = ()
