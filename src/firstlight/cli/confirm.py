"""Ask a person before something that cannot be undone."""

import sys

import click


def agreed(danger: str) -> bool:
    """Ask a person at a terminal; nobody there means no."""
    return sys.stdin.isatty() and click.confirm(f"{danger}\nGo on?", default=False, err=True)
