"""What a remedy asks of a person, and the answers that were given with ``--answer KEY=VALUE``."""

import dataclasses
import enum
from collections.abc import Iterable, Mapping

from firstlight import errors
from firstlight.model import address_range
from firstlight.model.address_range import AddressRange
from firstlight.model.cluster import Cluster
from firstlight.repo import gitops_tree
from firstlight.repo.platform_view import PlatformView


class AnswerForm(enum.StrEnum):
    """What an answer looks like."""

    ADDRESS = "ADDRESS"
    NETWORK = "NETWORK"
    DIRECTORY = "DIRECTORY"
    SERVICE = "NAMESPACE/NAME"
    NAME = "NAME"
    YES_NO = "yes|no"


@dataclasses.dataclass(frozen=True, slots=True)
class RemedyQuestion:
    """What only a person can say."""

    text: str
    key: str = ""
    """What ``--answer`` calls it; empty for what the repo itself has to say."""
    form: AnswerForm = AnswerForm.NAME

    def __str__(self) -> str:
        return f"{self.text} (--answer {self.key}={self.form})" if self.key else self.text


class Interview:
    """The questions of one remedy; those that were answered are not open any more."""

    def __init__(self, answers: Mapping[str, str] | None = None) -> None:
        self._answers = answers or {}
        self._asked: dict[str, RemedyQuestion] = {}
        self._open: dict[RemedyQuestion, None] = {}

    @property
    def open_questions(self) -> tuple[RemedyQuestion, ...]:
        """Those without an answer, in their order."""
        return tuple(self._open)

    def tell(self, text: str) -> None:
        """Say what is not known, and cannot be answered here."""
        self._open[RemedyQuestion(text)] = None

    def ask(self, key: str, text: str, form: AnswerForm) -> str:
        """Return the answer; empty where there is none yet.

        Raises:
            errors.UsageError: The answer is not of this form.
        """
        question = RemedyQuestion(text, key, form)
        self._asked[key] = question
        answer = self._answers.get(key, "")
        if not answer:
            self._open[question] = None
        elif not _fits(answer, form):
            raise errors.UsageError(f"--answer {key}: {answer} is not {_SHAPES[form]}", hint=text)
        return answer

    def network(self, key: str, text: str) -> AddressRange | None:
        """Ask for a network."""
        return address_range.network(self.ask(key, text, AnswerForm.NETWORK) or None)

    def directory(self, scene: PlatformView, cluster: Cluster) -> str:
        """Return the directory that a cluster alone applies; empty where a person has not said yet which that is."""
        own = cluster.path.removeprefix("./").rstrip("/")
        for question in gitops_tree.shared(scene, cluster):
            answer = self.ask(f"directory.{cluster.name}", question, AnswerForm.DIRECTORY)
            answer = answer.removeprefix("./").rstrip("/")
            if answer and not any(each.startswith(f"{answer}/") for each in scene.files.files):
                raise errors.UsageError(f"--answer directory.{cluster.name}: there is no directory {answer}")
            return answer
        return own

    def check(self) -> None:
        """See that every answer answers a question.

        Raises:
            errors.UsageError: One does not.
        """
        if left := sorted(self._answers.keys() - self._asked.keys()):
            known = ", ".join(f"{each.key}={each.form}" for each in self._asked.values())
            hint = f"It asks for {known}." if known else "It asks nothing that can be answered so."
            raise errors.UsageError(f"the remedy does not ask for {', '.join(left)}", hint=hint)


_SHAPES = {
    AnswerForm.ADDRESS: "an address",
    AnswerForm.NETWORK: "a network, such as 10.0.0.0/16",
    AnswerForm.DIRECTORY: "a directory of the repo",
    AnswerForm.SERVICE: "NAMESPACE/NAME",
    AnswerForm.NAME: "a name",
    AnswerForm.YES_NO: "yes or no",
}


def _fits(answer: str, form: AnswerForm) -> bool:
    match form:
        case AnswerForm.ADDRESS:
            return address_range.address(answer) is not None
        case AnswerForm.NETWORK:
            return "/" in answer and address_range.network(answer) is not None
        case AnswerForm.YES_NO:
            return answer in ("yes", "no")
        case AnswerForm.SERVICE:
            namespace, slash, name = answer.partition("/")
            return bool(namespace and slash and name) and answer.isprintable() and " " not in answer
        case _:
            return answer.isprintable() and not answer.startswith(("/", "..", "-"))


def typed_answers(typed: Iterable[str]) -> Mapping[str, str]:
    """Read ``KEY=VALUE``.

    Raises:
        errors.UsageError: One is written otherwise, or given twice.
    """
    answers: dict[str, str] = {}
    for each in typed:
        key, mark, value = each.partition("=")
        if not (mark and key and value):
            raise errors.UsageError(f"--answer {each} is not an answer", hint="Write --answer KEY=VALUE.")
        if answers.setdefault(key, value) != value:
            raise errors.UsageError(f"--answer {key} is given twice")
    return answers
