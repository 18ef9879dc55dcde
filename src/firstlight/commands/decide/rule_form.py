"""The form of rules for decisions, as they are written in YAML, by us and by teams.

A field that differs, or an object as a whole, gets the answer of the *first* rule that fits; a team's rules come before
ours, and one with the id of ours takes its place. *Factors* are tried besides, all of them: each raises the risk to at
least its own. So what is added to a change never makes the answer milder.
"""

import re
import typing
from collections.abc import Mapping
from typing import Literal

import msgspec

from firstlight.model.decision import Moment
from firstlight.plan.version_bump import Bump

# The form of procedures and checklists, as they are written in YAML.


Stage = Literal[
    "prepare", "branch", "add", "commit", "check", "push", "review", "approve", "bootstrap", "merge", "engine",
    "verify", "after",
]  # fmt: skip
"""When a step comes. Steps of several procedures are put together by this, each once.

Nothing of a machine or cluster is changed before ``approve``. Bootstrap's half stands before the merge, since what the
engine applies may need it; what needs the merge first is of ``engine``, whoever does it. What Git has of a change
already falls away: what is committed is neither added nor committed, what is merged is not pushed, reviewed or merged
either, and what needs nobody else's approval is not looked for one.
"""
STAGES: tuple[Stage, ...] = typing.get_args(Stage)

Each = Literal[
    "", "look", "carried", "cluster", "machines", "machine", "first", "joining", "leaving", "talos", "image",
    "upgrader", "kubernetes", "minors", "component", "components", "inline", "kustomization", "helmrelease",
    "application", "orphan",
]  # fmt: skip
"""For each of which a step is written; where there is none, the step falls away. ``look`` is every cluster that the
change reaches, which ``asked`` then names; without any it is written once. ``carried`` is a change that ``firstlight
change`` can carry through. ``machines`` is all machines of a cluster that it is about at once, ``machine`` each of
them, ``first`` the one that tries it, ``joining`` and ``leaving`` those that come and go with the change, ``talos`` a
cluster that gets another version of Talos, ``image`` each machine that gets another image of the same version,
``kubernetes`` a cluster that gets another version of it; none of these are Omni's. ``minors`` is a cluster that would
leave minor versions out, ``upgrader`` an object by which a controller upgrades its machines,
``components`` is all that a cluster has of them at once, ``inline`` a component that stands
inline in a machine config, ``orphan`` an Application or Kustomization whose objects stay when it goes."""

PLACEHOLDERS: dict[str, tuple[str, ...]] = {
    "": ("branch", "topic", "fresh", "undo", "files", "patch", "asked", "revert", "since", "mentions"),
    "look": ("cluster",),
    "cluster": ("cluster",),
    "carried": ("carried",),
    "machines": ("cluster", "which"),
    "machine": ("cluster", "machine", "address"),
    "first": ("cluster", "machine"),
    "joining": ("cluster", "machine"),
    "upgrader": ("cluster", "upgrader"),
    "leaving": ("cluster", "machine"),
    "talos": ("cluster", "to", "machines"),
    "image": ("cluster", "machine", "address", "image"),
    "kubernetes": ("cluster", "to"),
    "minors": ("cluster", "minors"),
    "component": ("cluster", "component", "version", "dependents"),
    "components": ("cluster", "components"),
    "inline": ("cluster", "component"),
    "kustomization": ("cluster", "component", "name", "namespace"),
    "helmrelease": ("cluster", "component", "name", "namespace"),
    "application": ("cluster", "component", "name", "namespace", "policy"),
    "orphan": ("cluster", "component", "name", "namespace"),
}
"""What can stand in braces. ``branch`` is what the engine follows, ``topic`` the branch of the change, ``fresh`` its
name where it has to be made first, ``undo`` the branch on which it is taken back, ``files`` all changed files that
``git add`` takes, ``patch`` the file of a patch, ``asked`` the options by which ``firstlight decide`` is asked about
the same at this stage (of commits, once there are any), ``revert`` the commits to take back, ``since`` the revision
before them, ``mentions`` where the repo still speaks of an address range that goes, ``policy`` what an Application's
``--sync-policy`` is set to, with the flags that belong to it, ``image`` the installer that a machine's config names,
``to`` the new version of Talos or Kubernetes, ``which`` the options that name machines (``--all``, ``--machine cp-1``),
``machines`` their names where not all are meant, ``carried`` how ``firstlight change start`` is told of the change. A
step falls away where there is none of what its command names, or of ``mentions``; of ``image``, ``to`` and ``machine``
only the command does. In commands all are quoted for a shell, and
``{--only components}`` has the option before each of them. Those of "" can stand anywhere.
"""
PLACEHOLDER = re.compile(r"\{(?:(?P<option>--[a-z-]+) )?(?P<name>\w+)\}")


class StepForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One thing to do."""

    stage: Stage
    text: str
    """What it does, in a few words; placeholders are filled here too, without quotes."""
    command: str = ""
    """One line to type, with ``{placeholders}``; empty where a person does something else."""
    each: Each = ""
    side: Literal["bootstrap", "gitops", ""] = ""
    """The half that it belongs to; empty for what belongs to neither."""
    engine: Literal["flux", "argocd", ""] = ""
    """Only in clusters with this engine; empty for any."""
    omni: bool | None = None
    """Only in clusters whose machines Omni keeps, or only in others; for any if it is left out."""
    gone: bool = False
    """For components that go with the change, in place of those that are there after it."""
    both: bool = False
    """Only for components that both sides have."""


class Procedure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """How a sort of change is done, and taken back.

    ``bootstrap``, ``gitops`` and ``none`` are the usual ones of their sides; a hybrid takes those of both. A rule may
    name another, which then stands in place of the usual one of its side. ``machine`` is the usual one of what makes
    machines what they are. ``cluster-new`` and ``cluster-gone`` are for clusters that only one state of the repo
    has. Where nothing works ``emergency-cluster`` comes first; where the engine does not, the steps
    of ``emergency-engine`` take the place of those that need it.
    """

    id: str
    title: str
    steps: tuple[StepForm, ...] = ()
    rollback: tuple[StepForm, ...] = ()
    like: tuple[str, ...] = ()
    """Procedures whose steps, and rollback unless the one here stands alone, are taken as well; ``usual`` is what the
    change would have without this one."""
    rollback_is_added: bool = False
    """Whether its rollback is added to that of the procedures that it is like; else it stands alone."""
    covers: tuple[str, ...] = ()
    """Procedures whose steps nobody needs in a cluster that gets this one: a cluster that is rebuilt has all of it."""
    carried: bool = True
    """Whether ``firstlight change`` does it; a change with a part that it does not do is not offered to it."""
    sources: tuple[str, ...] = ()


class CheckForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One item of a checklist."""

    id: str
    moment: Moment
    title: str
    says: str = ""
    """What somebody looks at where no program can."""
    usual: bool = False
    """For every change that touches a cluster; else only where a rule or a side names it."""
    sides: tuple[Literal["bootstrap", "gitops"], ...] = ()
    """Only for changes of these sides, hybrids among both; empty for all. A check with sides that is not usual is for
    every change of them."""
    sources: tuple[str, ...] = ()


# The form of decision trees and of the documents' criteria, as they are written in YAML.


class TreeQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
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


class DecisionTree(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A decision tree; the first question is where it starts."""

    id: str
    title: str
    questions: tuple[TreeQuestion, ...]
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


SideWord = Literal["bootstrap", "gitops", "hybrid", "owner", "none"]
"""``owner``: bootstrap where bootstrap keeps the component, hybrid where it brings it and Git takes it over, else
gitops."""
RiskWord = Literal["low", "medium", "high", "critical"]
Scalar = str | int | float | bool | None


class When(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What a rule fits: all that is given must be so, and of a list any."""

    matter: tuple[str, ...] = ()
    """Sorts of things, such as ``machine`` or ``object``."""
    verb: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """``group/Kind`` with stars, ``/Secret`` for the core group, ``*/Kind``; documents of Talos as ``talos/Kind``."""
    paths: tuple[str, ...] = ()
    """Ways to a field: ``machine.network.**``; ``*`` is one step, ``**`` any number, an item of a list is a step.
    A step with a dot in it stands in double quotes."""
    values: tuple[str, ...] = ()
    """Ways to a field inside the values of a chart, wherever those stand."""
    files: tuple[str, ...] = ()
    """Paths with stars; the last resort, since a path says little."""
    names: tuple[str, ...] = ()
    """Names, with stars, of the object, of the component or of its chart: any of them."""
    roles: tuple[str, ...] = ()
    """What the component is for: cni, dns, certificates, secrets, engine, storage …"""
    phases: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    bump: tuple[Bump, ...] = ()
    """What becomes of a version: the first number that differs; ``skip`` where a minor version is left out besides."""
    before: tuple[Scalar, ...] = ()
    after: tuple[Scalar, ...] = ()
    """Values; a text may have stars, and a star alone means itself. Null is for what was or will not be there."""
    grows: bool | None = None
    """Whether a number or quantity grows (true) or shrinks (false)."""
    clear: bool | None = None
    """True for a secret that anybody can read in Git from now on."""
    hooked: bool | None = None
    """True for a file that a hook or a command gate of firstlight.yaml runs or reads."""
    whole: bool | None = None
    """True for an object as a whole that comes, goes or moves, false for single fields."""


class DecisionRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What a sort of change means."""

    id: str
    title: str
    side: SideWord
    risk: RiskWord
    why: str
    when: tuple[When, ...] = ()
    """Any of these; a rule without any is only found by its words."""
    criteria: tuple[str, ...] = ()
    answers: Mapping[str, bool] = {}
    """What the questions of the decision trees get for an answer."""
    procedure: str = ""
    checks: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """How people say it."""
    asks: tuple[str, ...] = ()
    """What to ask whoever only says it in words."""
    sources: tuple[str, ...] = ()
    """Which row of which document says so."""


class FactorForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What makes a change more dangerous, whatever it is."""

    id: str
    risk: RiskWord
    why: str
    when: tuple[When, ...]
    sources: tuple[str, ...] = ()


class RuleFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A file with rules, and with what they name; whatever has the id of ours takes its place."""

    rules: tuple[DecisionRule, ...] = ()
    factors: tuple[FactorForm, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    procedures: tuple[Procedure, ...] = ()
    checks: tuple[CheckForm, ...] = ()
    trees: tuple[DecisionTree, ...] = ()
    synonyms: Mapping[str, tuple[str, ...]] = {}
    """Words for a word of the rules, by which sentences are understood."""
    examples: Mapping[str, tuple[str, ...]] = {}
    """Names by the sort of thing that they are names of."""
