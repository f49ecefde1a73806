"""Small words that every part of the narration uses: names of enum values, durations, places in documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from rich.text import Text

from citemesh.cli.output import make_printable

HEADING_STYLE = "bold cyan"
QUIET_STYLE = "dim"


class EnumNames(Protocol):
    """A generated enum, as far as its names are needed."""

    # Each enum takes its own type of number.
    def Name(self, number: Any) -> str:  # noqa: N802 - the name that protobuf gave it
        """The name of a value."""
        ...


def name_value(enum: EnumNames, value: int, prefix: str) -> str:
    """An enum value in words: STOP_REASON_NO_TRIGGER becomes "no trigger"."""
    try:
        name = enum.Name(value)
    except ValueError:
        return f"value {value} of a newer version"
    return name.removeprefix(prefix).lower().replace("_", " ")


def describe_duration(duration: Duration) -> str:
    """A duration at the resolution that matters to people: "8 ms", "1.2 s"."""
    seconds = duration.seconds + duration.nanos / 1e9
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def describe_date(time: Timestamp) -> str:
    """The day of a timestamp, in universal time."""
    return time.ToDatetime().date().isoformat()


def describe_place(title: str, section_path: Sequence[str], page_number: int) -> str:
    """Where something stands: title, innermost sections, page. Pages are left out for formats without them."""
    parts = [title or "untitled"]
    sections = [section for section in section_path if section and section != title]
    if sections:
        parts.append(" › ".join(sections[-2:]))
    if page_number:
        parts.append(f"page {page_number}")
    return make_printable(", ".join(parts))


def count(number: int, singular: str, plural: str = "") -> str:
    """A number with its noun: "1 file", "3 files"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def heading(text: str) -> Text:
    """The line above a part of the narration."""
    return Text(text, style=HEADING_STYLE)


def quiet(text: str) -> Text:
    """A line of less weight."""
    return Text(make_printable(text), style=QUIET_STYLE)
