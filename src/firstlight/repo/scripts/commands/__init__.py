"""Command lines that are understood, one file for a program."""
