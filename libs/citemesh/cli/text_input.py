"""Text that a command takes from a file or from standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from citemesh.cli.exits import CommandError


def read_text_input(file: str) -> str:
    """The text of the file, or of standard input for "-". Raises CommandError, which names the file."""
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from None
