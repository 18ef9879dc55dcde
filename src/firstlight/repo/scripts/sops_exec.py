"""``sops exec-file FILE COMMAND`` and ``sops exec-env FILE COMMAND``: the command is a script of its own."""

import shlex

from firstlight.repo.scripts import flags
from firstlight.repo.scripts.invocation import Invocation
from firstlight.repo.scripts.shell.expansion import Text

_VALUED = flags.names("user filename input-type output-type config")


def script(invocation: Invocation) -> str:
    """What such a command runs, as a shell would read it; empty if it is none.

    The decrypted file, which sops puts in the place of ``{}``, is written as what prints it.
    """
    if invocation.program != "sops":
        return ""
    words = flags.parse(invocation.words[1:], valued=_VALUED, short={}).positional
    if len(words) < 3 or words[0].text not in ("exec-file", "exec-env"):
        return ""
    command = " ".join(each.text for each in words[2:])
    if words[0].text == "exec-env":
        return command
    printed = f"<(sops --decrypt {_quoted(words[1])})"
    for braces in ("'{}'", '"{}"', "{}"):
        command = command.replace(braces, printed)
    return command


def _quoted(path: Text) -> str:
    """A path as one word; what is not known in it stays a variable."""
    return shlex.quote(path.text) if path.is_known else f'"{path.text}"'
