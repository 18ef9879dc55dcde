"""``python -m firstlight``."""

from firstlight.cli import main

main.main()
