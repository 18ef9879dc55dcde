"""Bootstrap as scripts have it: command lines of Taskfiles, justfiles, Makefiles, mise and shell scripts.

They are parsed and never executed. Each command that deploys something is an origin with its file, its line, and how
sure the reading is; a task that no bootstrap calls is kept apart, with the reason.
"""

from firstlight.repo.scripts.command_context import HelmfileCall, ScriptStep, StepRole
from firstlight.repo.scripts.script_survey import helmfile_calls, read, steps

__all__ = ["HelmfileCall", "ScriptStep", "StepRole", "helmfile_calls", "read", "steps"]
