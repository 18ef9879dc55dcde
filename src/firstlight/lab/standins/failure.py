"""How a stand-in says that something went wrong, in the words of the real thing."""


class OpFailure(Exception):
    """``op`` prints this and ends with 1."""
