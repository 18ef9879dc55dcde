"""Failures that are made on a lab, and what the doctor must say of each."""
