"""omnictl as one class: a method for each command, sorted into files by what they are about."""

from firstlight.clients.omnictl.access import Access
from firstlight.clients.omnictl.templates import Templates


class Omnictl(Templates, Access):
    """omnictl at a path, as the user has it."""
