"""The command line: one file a command. Wiring, printing and exit codes; nothing is decided here."""
