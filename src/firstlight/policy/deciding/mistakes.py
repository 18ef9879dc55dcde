"""What is wrong with files of rules and tests: said as of every other file of a known form."""

from firstlight.document.mistakes import Mistaken, either, near, parsed

__all__ = ["Mistaken", "either", "near", "parsed"]
