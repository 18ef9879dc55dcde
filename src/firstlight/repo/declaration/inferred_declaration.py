"""The shortest firstlight.yaml for a platform that was read without one.

It declares what was inferred (clusters, what is in bootstrap and in which order) and leaves out what the repo says
itself (networks, versions, the Git URL). What nobody can know from the repo becomes a question.
"""

import dataclasses
import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from firstlight.engines import adapters
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.component import Certainty, Component, Owner, Phase, Side
from firstlight.model.platform import FoundationSecret, Platform
from firstlight.repo.declaration import declaration_form

SCHEMA = ".firstlight/schema.json"
ANY_KEY = "KEY"
"""Stands for each key of a Secret of which nobody says what is in it."""
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9._/@-]*")
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


@dataclasses.dataclass(frozen=True)
class InitQuestion:
    """What only a person knows."""

    key: str
    """Where the answer goes: ``gitops.engine``, ``clusters.infra.path``, ``secrets.NAMESPACE/NAME.KEY``."""
    text: str
    why: str


def questions(platform: Platform) -> tuple[InitQuestion, ...]:
    """What could not be known."""
    return tuple(_questions(platform))


def is_asked(key: str, asked: Sequence[InitQuestion]) -> bool:
    """Whether somebody asks for an answer."""
    return any(key == each.key or (_is_open(each) and key.startswith(each.key[: -len(ANY_KEY)])) for each in asked)


def problem_of(key: str, value: str) -> str:
    """Why a value is no answer; empty if it is one. The value may be a secret that somebody typed, and is not shown."""
    if key.startswith("secrets.") and not re.fullmatch(declaration_form.REFERENCE, value):
        return "is no reference: write op://vault/item/field, sops:FILE#key, vault:PATH#key, env:NAME or file:PATH"
    if key == "gitops.engine" and value not in set(Engine):
        return "must be flux or argocd"
    return ""


def _is_open(question: InitQuestion) -> bool:
    return question.key.endswith(f".{ANY_KEY}")


def open_questions(platform: Platform, answers: Mapping[str, str]) -> list[InitQuestion]:
    """What is still not known."""
    return [
        each
        for each in questions(platform)
        if each.key not in answers
        and not (_is_open(each) and any(key.startswith(each.key[: -len(ANY_KEY)]) for key in answers))
    ]


def _questions(platform: Platform) -> Iterator[InitQuestion]:
    if platform.engine is None:
        yield InitQuestion("gitops.engine", "Which engine owns the cluster: flux or argocd?", "the repo has neither")
    engine = adapters.ADAPTERS[platform.engine].title if platform.engine else ""
    is_asked = platform.engine is not None and adapters.starts_from_directory(platform.engine)
    for cluster in platform.clusters if is_asked else ():
        if not cluster.path and adapters.starts_from_directory(cluster.engine):
            text = f"Which directory does {engine} start from in {cluster.name}?"
            yield InitQuestion(f"clusters.{cluster.name}.path", text, f"nothing in {cluster.place} says so")
    for secret in _secrets(platform):
        if secret.brought and not secret.data:
            continue
        for key in [key for key, reference in secret.data.items() if not reference] or [ANY_KEY] * (not secret.data):
            text = f"Where is {key} of the Secret {secret.namespace}/{secret.name}?"
            yield InitQuestion(f"secrets.{secret.namespace}/{secret.name}.{key}", text, secret.why)


def _secrets(platform: Platform) -> list[FoundationSecret]:
    """The foundation, each Secret once: several clusters need the same ones."""
    found: dict[tuple[str, str], FoundationSecret] = {}
    for each in platform.secrets:
        found.setdefault((each.namespace, each.name), each)
    return list(found.values())


def text(platform: Platform, answers: Mapping[str, str]) -> str:
    """The file, with what was answered."""
    lines = [
        f"# yaml-language-server: $schema={SCHEMA}",
        f"apiVersion: {declaration_form.API_VERSION}",
        f"kind: {declaration_form.KIND}",
        f"metadata: {_flow({'name': _name(platform.name)})}",
    ]
    if engine := answers.get("gitops.engine"):
        lines.append(f"gitops: {_flow({'engine': engine})}")
    if secrets := [*_secret_lines(platform, answers)]:
        lines += ["secrets:", *secrets]
    if platform.clusters:
        lines += ["clusters:", *(_cluster_line(each, platform, answers) for each in platform.clusters)]
    if components := [*_component_lines(platform)]:
        lines += ["components:", *components]
    return "\n".join(lines) + "\n"


def _secret_lines(platform: Platform, answers: Mapping[str, str]) -> Iterator[str]:
    for secret in _secrets(platform):
        mine = f"secrets.{secret.namespace}/{secret.name}."
        data = {key.removeprefix(mine): answer for key, answer in answers.items() if key.startswith(mine)}
        if data:
            yield f"  - name: {_scalar(secret.name)}"
            yield f"    namespace: {_scalar(secret.namespace)}"
            yield f"    data: {_flow(data)}"


def _cluster_line(cluster: Cluster, platform: Platform, answers: Mapping[str, str]) -> str:
    facts = {
        "machines": _machines(cluster, platform),
        "path": cluster.path or answers.get(f"clusters.{cluster.name}.path", ""),
    }
    return f"  {_name(cluster.name)}: {_flow({key: value for key, value in facts.items() if value})}"


def _machines(cluster: Cluster, platform: Platform) -> str:
    """The file that has all machines, or the directory, which must not have machines of other clusters."""
    paths = sorted({each.place.path for each in cluster.machines})
    if not paths:
        return ""
    path = posixpath.commonpath(paths)
    if [posixpath.basename(path).partition(".")[0]] == [each.name for each in cluster.machines]:
        # The file of one machine: the next one will have a file beside it.
        path = posixpath.dirname(path)
    others = {each.place.path for other in platform.clusters if other != cluster for each in other.machines}
    return path if not any(f"{other}/".startswith(f"{path}/") for other in others) else ""


def _component_lines(platform: Platform) -> Iterator[str]:
    """What is in bootstrap, a line each."""
    mine: dict[str, list[Component]] = {}
    for component in platform.components:
        if component.phase not in {Phase.GITOPS, Phase.MACHINE} and component.side != Side.GITOPS:
            mine.setdefault(component.name, []).append(component)
    for name, components in mine.items():
        facts = [_facts(platform, each) for each in components]
        if any(each != facts[0] for each in facts):
            # One line cannot say two things; what the repo says of each cluster still counts.
            yield f"  # {name} differs between {', '.join(each.cluster for each in components)} and is left to the repo"
            continue
        if len(components) < len(platform.clusters):
            facts[0]["clusters"] = [each.cluster for each in components]
        doubt = next((found for each in components if (found := _doubt(each))), "")
        yield f"  {name}: {_flow(facts[0])}" + (f"   # not sure: {doubt}" if doubt else "")


def _facts(platform: Platform, component: Component) -> dict[str, str | Sequence[str]]:
    inside = {
        each.name
        for each in platform.components_of(component.cluster)
        if each.side != Side.GITOPS and each.phase != Phase.GITOPS
    }
    needs = [each for each in component.needs if each in inside]
    facts: dict[str, str | Sequence[str]] = {"phase": component.phase}
    if needs:
        facts["needs"] = needs
    has_both = all(component.halves)
    if component.owner != (Owner.GITOPS if has_both else Owner.BOOTSTRAP):
        facts["owner"] = component.owner
    return facts


def _doubt(component: Component) -> str:
    guessed = [each.doubt for each in component.origins if each.certainty == Certainty.GUESSED and each.doubt]
    return guessed[0].replace("\n", " ") if guessed else ""


def _name(name: str) -> str:
    """A name as firstlight.yaml allows it."""
    bare = re.sub(r"[^a-z0-9.-]+", "-", name.rpartition("/")[2].lower()).strip("-.")
    return bare or "platform"


def _flow(facts: Mapping[str, str | Sequence[str]]) -> str:
    return "{" + ", ".join(f"{key}: {_scalar(value)}" for key, value in facts.items()) + "}"


def _scalar(value: str | Sequence[str]) -> str:
    if not isinstance(value, str):
        return "[" + ", ".join(map(_scalar, value)) + "]"
    # A JSON string is a YAML string, in both of Go's dialects.
    return value if _PLAIN.fullmatch(value) and value.lower() not in _WORDS else json.dumps(value, ensure_ascii=False)
