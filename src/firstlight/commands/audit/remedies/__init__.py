"""Remedies: files and steps for findings that take more than one edit."""
