"""Where settings come from: one explicit mapping of environment variables, read once, checked whole.

paths.py needs the standard library alone; load.py turns a pydantic-settings class into a checked instance.
"""
