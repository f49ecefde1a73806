"""What a command prints: results on stdout, everything else on stderr, JSON alone where it was asked for."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message
from rich.console import Console, RenderableType

_PIPED_WIDTH = 200
_ALLOWED_CONTROLS = "\n\t"


def make_printable(text: str) -> str:
    """`text` without control and direction characters: text of documents must not be able to steer a terminal."""
    return "".join(
        character if character in _ALLOWED_CONTROLS or unicodedata.category(character) not in ("Cc", "Cf") else "\ufffd"
        for character in text
    )


def write_json(message: Message) -> str:
    """The message as canonical proto JSON, readable."""
    return json_format.MessageToJson(message, ensure_ascii=False)


def write_json_line(message: Message) -> str:
    """The message as canonical proto JSON on one line, for results that are a sequence."""
    return json.dumps(json_format.MessageToDict(message), ensure_ascii=False, separators=(",", ":"))


class Output:
    """Where one command prints.

    With `as_json`, stdout carries JSON and nothing else, and `result` is silent; notes and narration go to stderr.
    """

    def __init__(self, as_json: bool = False, *, narrate_on_stdout: bool = False) -> None:
        self.as_json = as_json
        # The streams are looked up when they are used, so that a caller may redirect them.
        # Tables in a file or a pipe need not fit a screen.
        width = None if sys.stdout.isatty() or narrate_on_stdout else _PIPED_WIDTH
        self._results = Console(file=sys.stdout, width=width, soft_wrap=True, highlight=False, markup=False)
        narration = sys.stdout if narrate_on_stdout and not as_json else sys.stderr
        self.narration = Console(file=narration, highlight=False, markup=False)

    def note(self, text: str) -> None:
        """One line for people, on stderr."""
        self.narration.print(text, soft_wrap=True)

    def narrate(self, *parts: RenderableType) -> None:
        """Narration, on stderr."""
        for part in parts:
            self.narration.print(part)

    def result(self, *parts: RenderableType) -> None:
        """The result for people, on stdout; nothing where JSON was asked for."""
        if not self.as_json:
            for part in parts:
                self._results.print(part)

    def result_part(self, text: str) -> None:
        """A piece of a line of the result, on stdout at once; nothing where JSON was asked for."""
        if not self.as_json:
            self._results.print(text, end="")

    def json(self, message: Message) -> None:
        """The response as JSON, on stdout; nothing unless JSON was asked for."""
        if self.as_json:
            print(write_json(message))

    def json_line(self, message: Message | Mapping[str, Any]) -> None:
        """One of several results as a line of JSON, on stdout; nothing unless JSON was asked for."""
        if self.as_json:
            compact = (
                write_json_line(message) if isinstance(message, Message) else json.dumps(message, ensure_ascii=False)
            )
            print(compact)
